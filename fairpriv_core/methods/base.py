"""What every method is: a frozen dataclass of hyper-parameters, what it declares, and its few verbs."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import cache
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.training import Fitted, Training
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.notion import Compares, Notion
from fairpriv_core.privacy.event import Events

#: how a method may be drawn: colours by their names in figures/styles.py, dashes and markers as plotly has them
COLORS = ("blue", "sky", "vermilion", "green", "purple", "orange", "yellow", "grey", "ink")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
MARKERS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "triangle-down", "star", "hexagon", "pentagon")
ThreatModel = Literal["attribute", "record"]
Variant = Literal["proved", "published"]
Source = Literal["paper", "other", "ours"]


@dataclass(frozen=True)
class Style:
    """How figures draw a method: one of COLORS, of DASHES and of MARKERS.

    `legend` is what legends and tables call the method; "" where that is its title.
    """

    color: str
    dash: str
    marker: str
    legend: str = ""


@dataclass(frozen=True)
class MethodInfo:
    """What a method can do; forms, figures, tests and tables read this instead of testing names.

    Attributes:
        style: no two methods have the same dash and marker, and the methods of one family share a colour.
        threat_model: None for a method that is not private.
        pursued: what notions compare that the method can pursue; () for a method that only reports the chosen notion.
        only: the names of the notions that it takes; None for all that fit `pursued`.
        calibrates: the field that calibration sets, if any.
        max_groups, max_labels: None where there is no limit.
        needs_group_at_prediction: whether predictions of any of its models need the group.
        uses_groups: False where training does not look at the sensitive attribute at all.
        certifies: whether a run bounds the gaps of the model that it exports; the method's `certified_failure` is the
            chance that the bounds fail (runs/certificate.py).
        counts_groups: whether the sizes that it needs are those of groups, whatever the notion.
        reuses: the parameters that belong to a release which later fits can be given (`Training.given`); () for none.
        source: a "paper" that Papers repeats, "ours", or any "other".
        weighs_rows: whether a row's loss may have a weight; epsilon was tested with weights.
        public_part: whether features and groups of some training rows are public, which epsilon does not cover.
        reads_answers: whether it can be given randomised answers in place of the sensitive attribute (`Dataset`).
    """

    name: str
    title: str
    style: Style
    summary: str
    citation: str
    threat_model: ThreatModel | None
    pursued: tuple[Compares, ...] = ()
    only: tuple[str, ...] | None = None
    variants: tuple[Variant, ...] = ()
    calibrates: str | None = None
    max_groups: int | None = None
    max_labels: int | None = 2
    needs_group_at_prediction: bool = False
    uses_groups: bool = True
    certifies: bool = False
    counts_groups: bool = False
    reuses: tuple[str, ...] = ()
    source: Source = "other"
    weighs_rows: bool = False
    public_part: bool = False
    reads_answers: bool = False

    @property
    def legend(self) -> str:
        """What legends and tables call it."""
        return self.style.legend or self.title

    @property
    def pursues_notion(self) -> bool:
        """Whether it pursues the chosen notion, and does not only report it."""
        return bool(self.pursued)

    @property
    def notions(self) -> tuple[str, ...]:
        """The notions that a run of it may be asked for, by name: those that it can pursue, or report as a gap."""
        return tuple(name for name, notion in notions().items() if self.takes(notion))

    def pursues(self, notion: Notion) -> bool:
        """Return whether it can pursue a notion."""
        return notion.compares in self.pursued and self.takes(notion)

    def takes(self, notion: Notion) -> bool:
        """Return whether a run of it may be asked for a notion: levels are measured, and asked for of none."""
        if self.only is not None:
            return notion.name in self.only
        return notion.compares in self.pursued if self.pursued else not notion.is_level


@dataclass(frozen=True)
class Parameter:
    """How a form shows one hyper-parameter: its help, valid range (inclusive), scale and the paper's value.

    With `open` other values than `choices` are allowed, and the method checks them. `fairer` says of a parameter that
    trades accuracy against fairness whether "more" or "less" of it is fairer. The parameters in `replaces` do not apply
    where this one is set; where it is None, other parameters have the defaults in `otherwise`.
    """

    title: str
    help: str
    low: float | None = None
    high: float | None = None
    log: bool = False
    choices: tuple[str, ...] = ()
    open: bool = False
    paper: str | None = None
    expert: bool = False
    unit: str = ""
    fairer: Literal["more", "less"] | None = None
    replaces: tuple[str, ...] = ()
    otherwise: Mapping[str, float] = field(default_factory=dict)

    @property
    def symbol(self) -> str | None:
        """The symbol that its title ends with, a λ without its index; None where the title has none.

        >>> tuple(Parameter(title, "").symbol for title in ("Clipping bound C_p", "Largest multiplier λ_max", "Epochs"))
        ('C_p', 'λ', None)
        """
        match = re.search(r"λ|\b[A-Z](_\w)?$", self.title)
        return match[0] if match else None


def parameter(
    default: Any,
    title: str,
    help: str,
    **shown: Any,
) -> Any:
    """Declare a hyper-parameter: a dataclass field whose metadata says how a form shows it."""
    return field(default=default, metadata={"parameter": Parameter(title=title, help=help, **shown)})


def parameters(method: type[Method] | Method) -> dict[str, tuple[Parameter, Field[Any]]]:
    """Return each hyper-parameter of `method` by name, in order of declaration, with its dataclass field."""
    return dict(_read_parameters(method if isinstance(method, type) else type(method)))


@cache
def _read_parameters(kind: type[Method]) -> Mapping[str, tuple[Parameter, Field[Any]]]:
    return {
        item.name: (item.metadata["parameter"], item)
        for item in fields(kind)
        if item.default is not MISSING and "parameter" in item.metadata
    }


def list_sliders(method: type[Method] | Method) -> tuple[str, ...]:
    """Return the hyper-parameters that every form and help names first, beside ε.

    The gap aimed at, what trades accuracy against fairness (such as λ), and the clipping bounds, as far as `method` has
    them.
    """
    known = parameters(method)
    bounds = ("clip_primal", "clip_dual")
    replaced = known["gap_target"][0].replaces if "gap_target" in known else ()
    trade = [name for name, (form, _) in known.items() if form.fairer or (name in replaced and not form.expert)]
    first = ("gap_target", *(name for name in trade if name not in bounds), *bounds)
    return tuple(name for name in dict.fromkeys(first) if name in known)


@dataclass(frozen=True)
class LeastGap:
    """The least gap that releases can show: with groups of one size, and with one a quarter as large as each other."""

    even: float
    uneven: float


class Method(Protocol):
    """A frozen dataclass of hyper-parameters; change is by copy."""

    info: ClassVar[MethodInfo]
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def steps(self, n_train: int) -> int:
        """Return how many steps `fit` takes on `n_train` rows."""

    def event(self, n_train: int) -> Events:
        """Return what `fit` will release on `n_train` rows; pure. () for a method that is not private."""

    def sensitivities(self, n_train: int, groups: int) -> dict[str, float]:
        """Return how far one person can move each kind of release, by its name, where groups are of one size.

        The noise of a step's sum covers what rounding adds to that as well (privacy/sums.py).
        """

    def published_epsilon(self, n_train: int, delta: float) -> float | None:
        """Return what the paper's accounting claims for the same noise, rate and steps; None if it makes no claim."""

    def calibrated(self, *, epsilon: float, delta: float, n_train: int) -> Self:
        """Return a copy whose noise makes the chosen variant's epsilon at most `epsilon`; itself if not private."""

    def unproved_reason(self) -> str | None:
        """Return why no finite epsilon is proved for these settings, in one sentence; None where one is proved."""

    def assumptions(self) -> tuple[str, ...]:
        """Return what the stated epsilon takes as given, one sentence each."""

    def idle_reason(self) -> str | None:
        """Return why a method that pursues a notion pursues none with these settings; None where it does."""

    def count_deviation(self) -> float | None:
        """Return the standard deviation of the noise on a cell's size, in rows; 0 where another release tells sizes.

        A run that finds a size below `cell_counts.FLOOR` ends, and has spent what it released; None where none does.
        """

    def require_possible(self, notion: Notion, *, n_train: int, groups: int) -> None:
        """Raise BadInput where the method, calibrated, cannot do what is asked of it on so many rows and groups."""

    def least_gap(self, notion: Notion, data: Dataset, n_train: int) -> LeastGap | None:
        """Return the least gap that its releases (calibrated) can show; None where that is not known beforehand.

        It is that of `n_train` rows like those of `data`, of which it reads what is public.
        """

    def decides_by_group(self) -> bool:
        """Return whether predictions of a model that is trained with these settings need the group."""

    def public_rows(self, n_train: int, seed: int) -> np.ndarray | None:
        """Return which rows (n,) have features and groups that epsilon does not protect; None where it protects all."""

    def fit(self, train: Dataset, training: Training) -> Fitted:
        """Train one model; raises RunFailed where the run cannot go on."""

    @classmethod
    def fit_many(cls, methods: Sequence[Any], trains: Sequence[Dataset], trainings: Sequence[Training]) -> list[Fitted]:
        """Train K models, in one loop where the method can: training sets of one size, networks of one shape."""


class Pursuing:
    """Mixin of a method whose settings change neither whether it pursues a notion nor what predictions need.

    Others say when they do.
    """

    info: ClassVar[MethodInfo]

    def idle_reason(self) -> str | None:
        """Nothing is switched off."""
        return None

    def count_deviation(self) -> float | None:
        """No cell must have a least size."""
        return None

    def require_possible(self, notion: Notion, *, n_train: int, groups: int) -> None:
        """Public numbers rule out nothing that is asked for."""

    def least_gap(self, notion: Notion, data: Dataset, n_train: int) -> LeastGap | None:
        """Not known beforehand."""

    def decides_by_group(self) -> bool:
        """Whether predictions need the group, whatever the settings are."""
        return self.info.needs_group_at_prediction

    def public_rows(self, n_train: int, seed: int) -> np.ndarray | None:
        """No row is set apart."""


class FitsMany(Pursuing, ABC):
    """Mixin of a method that trains K models in one loop: a single fit is K = 1."""

    def fit(self, train: Dataset, training: Training) -> Fitted:
        """Train one model; raises RunFailed where the run cannot go on."""
        return self.fit_many([self], [train], [training])[0]

    @classmethod
    @abstractmethod
    def fit_many(cls, methods: Sequence[Any], trains: Sequence[Dataset], trainings: Sequence[Training]) -> list[Fitted]:
        """Train K models in one loop."""


class FitsAlone(Pursuing, ABC):
    """Mixin of a method that trains one model at a time."""

    @abstractmethod
    def fit(self, train: Dataset, training: Training) -> Fitted:
        """Train one model; raises RunFailed where the run cannot go on."""

    @classmethod
    def fit_many(cls, methods: Sequence[Any], trains: Sequence[Dataset], trainings: Sequence[Training]) -> list[Fitted]:
        """Train K models one after the other."""
        fits = zip(methods, trains, trainings, strict=True)
        return [method.fit(train, training) for method, train, training in fits]


class NotPrivate:
    """Mixin of a method that adds no noise: it releases nothing, hides nothing and claims nothing."""

    def event(self, n_train: int) -> Events:
        """Nothing is released through a mechanism."""
        return ()

    def sensitivities(self, n_train: int, groups: int) -> dict[str, float]:
        """Nothing is hidden, so no bound is needed."""
        return {}

    def published_epsilon(self, n_train: int, delta: float) -> float | None:
        """No claim is made."""
        return None

    def calibrated(self, *, epsilon: float, delta: float, n_train: int) -> Self:
        """There is no noise to set."""
        return self

    def unproved_reason(self) -> str | None:
        """Why there is no epsilon."""
        return "The method adds no noise: it is not private."

    def assumptions(self) -> tuple[str, ...]:
        """Nothing is claimed, so nothing is assumed."""
        return ()
