"""What a private method releases, declared once. What it announces, its noise, and its calls of the mechanism follow.

Shares of the budget are shares of mu^2, mu the Gaussian mechanism with the run's (epsilon, delta): Gaussian releases
compose by the sum of 1 / multiplier^2. A Laplace release of scale b counts as 1 / b^2 there. Shares only divide: what
a run costs is what the accountant makes of all its events, and the last noise is set so that this is what was asked.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np

from fairpriv_core import checks
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.training import Training
from fairpriv_core.errors import FairprivError
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import MethodInfo, parameters
from fairpriv_core.privacy.calibrate import calibrate
from fairpriv_core.privacy.event import Counted, Event, Events, Gaussian, Laplace, Parallel, Relation, SampledGaussian
from fairpriv_core.privacy.gaussian import gaussian_mu

Often = Literal["step", "epoch", "once"]
_OFTEN: tuple[Often, ...] = ("step", "epoch", "once")


@dataclass(frozen=True)
class Sample:
    """The secret Poisson sample that a sum is over: a record's chance to be in it, and what a neighbour is.

    With `by_group` there is a sum for each group, over its own records alone: they are released in parallel.
    """

    rate: float
    relation: Relation = "add_remove"
    by_group: bool = False


@dataclass(frozen=True)
class Release:
    """One kind of release, on a known number of rows and of groups.

    `sensitivity` is how far one person moves it: in L2 under Gaussian noise, in L1 under Laplace noise, and of a sum
    over a `sample` what a record adds beside an absent one. Where the bound follows from what was released before, the
    call says it, and what stands here is of groups of one size; None where nothing is said beforehand. `beside` has
    that of other parts of the same vector, which share its noise.

    `noise` names the field of its noise, of which it has `multiple`. `share` names the field of its share of the
    budget; None where the noise is not set by a share. It is made `times` times, `often` says when, unless the settings
    do not need it. `purpose` is what its noise is drawn for, where that is not its name.
    """

    name: str
    sensitivity: float | None
    noise: str
    often: Often = "once"
    times: int = 1
    share: str | None = None
    needed: bool = True
    sample: Sample | None = None
    laplace: bool = False
    multiple: float = 1.0
    beside: Mapping[str, float] = field(default_factory=dict)
    purpose: str = ""

    @property
    def made(self) -> bool:
        """Whether it is made at all."""
        return self.needed and self.times > 0

    def level(self, method: Any) -> float:
        """Return its noise multiplier, or Laplace scale; BadInput before calibration."""
        return self.multiple * fields.known_noise(**{self.noise: getattr(method, self.noise)})

    def at(self, noise: float) -> Counted:
        """Return what all of it releases with this noise, of a sum over parts each part's."""
        if self.sample is not None:
            return SampledGaussian(noise, self.sample.rate, self.times, self.sample.relation)
        return Laplace(noise, self.times) if self.laplace else Gaussian(noise, self.times)

    def event(self, method: Any) -> Event:
        """Return what all of it releases; BadInput before calibration."""
        total = self.at(self.level(method))
        return Parallel(((total,),)) if self.sample is not None and self.sample.by_group else total

    def divide(self, method: Any, mu: float) -> float | None:
        """Return the noise that its share of the budget leaves it; what is set by hand stays."""
        known: float | None = getattr(method, self.noise)
        if self.share is None or known is not None:
            return known
        share: float = getattr(method, self.share)
        return 1.0 / (mu * math.sqrt(share)) if self.often == "once" else math.sqrt(max(self.times, 1) / share) / mu


class Private(ABC):
    """Mixin of a method that hides something: `releases` declares all that leaves it; `info.calibrates` is set last."""

    info: ClassVar[MethodInfo]
    FOUND_ON: ClassVar[str] = ""  # the data sets that its defaults were chosen on
    UNPROVED: ClassVar[str]  # why no epsilon is proved for its published variant
    __dataclass_fields__: ClassVar[dict[str, Any]]

    @abstractmethod
    def releases(self, n_train: int, groups: int) -> tuple[Release, ...]:
        """Return what `fit` releases on so many rows and groups, in order, needed with these settings or not."""

    def noise(self, name: str = "") -> float:
        """Return the noise in the field `name`, or the one that calibration sets last; BadInput before calibration."""
        name = name or str(self.info.calibrates)
        return fields.known_noise(**{name: getattr(self, name)})

    def event(self, n_train: int) -> Events:
        """Return what `fit` will release on `n_train` rows; how many groups there are changes none of it."""
        return tuple(release.event(self) for release in self.releases(n_train, 2) if release.made)

    def sensitivities(self, n_train: int, groups: int) -> dict[str, float]:
        """Return how far one person can move each kind of release, by its name, where groups are of one size.

        Those that are made most often come first, those that are never made are left out.
        """
        sensitivities: dict[str, float] = {}
        made = [release for release in self.releases(n_train, groups) if release.made]
        for release in sorted(made, key=lambda release: _OFTEN.index(release.often)):
            sensitivities |= {} if release.sensitivity is None else {release.name: release.sensitivity}
            sensitivities |= release.beside
        return sensitivities

    def published_event(self, n_train: int) -> Events:
        """Return what the accounting counts that noise is set by where no epsilon is proved."""
        return self.event(n_train)

    def published_epsilon(self, n_train: int, delta: float) -> float | None:
        """No paper makes a claim."""
        return None

    def calibrated(self, *, epsilon: float, delta: float, n_train: int) -> Self:
        """Return a copy with every noise set that is not set by hand, so that the variant's epsilon holds.

        BadInput where what is set by hand costs more.
        """
        declared, last = self.releases(n_train, 2), str(self.info.calibrates)
        mu = gaussian_mu(epsilon, delta) if any(release.share for release in declared) else math.nan
        known = replace(self, **{release.noise: release.divide(self, mu) for release in declared})
        if getattr(self, last) is not None:
            return known
        proved = self.unproved_reason() is None

        def events_for(noise: float) -> Events:
            ready = replace(known, **{last: noise})
            return ready.event(n_train) if proved else ready.published_event(n_train)

        noise = calibrate(events_for, epsilon=epsilon, delta=delta, accountant="pld" if proved else "rdp")
        needs_noise = any(release.noise == last and release.made for release in declared)
        return replace(known, **{last: noise}) if needs_noise else known

    @property
    def proved(self) -> bool:
        """Whether this is the proved variant; a method without variants is."""
        return getattr(self, "variant", "proved") == "proved"

    def unproved_reason(self) -> str | None:
        """Why the published variant has no epsilon; None for the proved variant."""
        return None if self.proved else self.UNPROVED

    def taken_as_given(self) -> tuple[str, ...]:
        """What is public, and what a neighbour is."""
        return fields.RECORD_ASSUMED if self.info.threat_model == "record" else fields.ATTRIBUTE_ASSUMED

    def assumptions(self) -> tuple[str, ...]:
        """What epsilon takes as given; what whoever uses the model takes on; which choice is not charged."""
        needed = (fields.GROUP_NEEDED,) if self.info.needs_group_at_prediction else ()
        return (*self.taken_as_given(), *needed, *((fields.chosen_on(self.FOUND_ON),) if self.FOUND_ON else ()))

    def release(
        self,
        name: str,
        value: np.ndarray,
        train: Dataset,
        training: Training,
        *,
        sensitivity: float | None = None,
        index: int = 0,
    ) -> np.ndarray:
        """Release `value`, a function of all rows, as what is declared as `name`: with its noise, counted as announced.

        One person moves it by at most `sensitivity`, the declared one where none is given. FairprivError for what is
        not declared, or not to be made with these settings.
        """
        declared = [release for release in self.releases(train.n, train.groups) if release.made and not release.sample]
        releases = {release.name: release for release in declared}
        if name not in releases or (sensitivity is None and releases[name].sensitivity is None):
            raise FairprivError(
                f"{self.info.name} has not declared that it releases '{name}', and how far one moves it."
            )
        own = releases[name]
        moved = own.sensitivity if sensitivity is None else sensitivity
        how: dict[str, Any] = {"sensitivity": moved, "purpose": own.purpose or name, "index": index}
        if own.laplace:
            return training.mechanism.laplace(value, scale=own.level(self), **how)
        return training.mechanism.gaussian(value, noise_multiplier=own.level(self), **how)


def check_noises(method: Any) -> None:
    """Raise BadInput for a noise, set by hand, that is out of range."""
    for name in parameters(method):
        if name.startswith("noise_") and getattr(method, name) is not None:
            checks.not_negative(**{name: getattr(method, name)})
