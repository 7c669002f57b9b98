"""When FairDP with certificates ends training: at a look at which its bound on the gap is too large (Remark 2).

After each of so many equal parts of the epochs, but for the last, a look releases noisy counts of the model's decisions
on the training rows. Where the bound that follows from them is above the target, training ends, and the model of the
look before is exported. How many looks there are and when is fixed beforehand, and all are paid for: what is released
of a run that ends is a function of what one of the planned length releases, so the planned length's epsilon covers it.

The bound is a signal. It certifies nothing, as the model was fitted to these rows; what a run certifies rests on test
rows that no look has seen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from fairpriv_core import checks
from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.rows import Feed
from fairpriv_core.engine.training import Fitted
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.base import parameter
from fairpriv_core.methods.fields import known_noise, share_of_budget
from fairpriv_core.methods.shared.releases import Release
from fairpriv_core.methods.shared.setting import Setting
from fairpriv_core.notions.cells import LABELS
from fairpriv_core.notions.certified import certify_gaps
from fairpriv_core.notions.notion import Notion
from fairpriv_core.privacy.event import Events

ONE_CELL = 1.0  # a record zeroed out leaves one count of (group, label, decision)


class Looking(Protocol):
    """The hyper-parameters that looks are made by."""

    @property
    def epochs(self) -> int: ...
    @property
    def failure(self) -> float: ...
    @property
    def proved(self) -> bool: ...
    @property
    def certificate_target(self) -> float | None: ...
    @property
    def looks(self) -> int: ...
    @property
    def share_looks(self) -> float: ...
    @property
    def noise_looks(self) -> float | None: ...


def certificate_target() -> Any:
    """The bound at which training ends; None where it has its full length."""
    return parameter(
        None,
        "Bound to stay below",
        "Training ends at the first look whose bound on the gap is above this, and the model of the look before is "
        "exported. Empty: training has its full length. Proved variant.",
        low=0.0,
        high=1.0,
        expert=True,
    )


def looks() -> Any:
    """How often the bound is looked at."""
    return parameter(
        4,
        "Looks",
        "So many times the bound is released while the model trains, at most once an epoch. Each costs its share of "
        "ε, made or not. There are none without a bound to stay below.",
        low=1,
        high=100,
        expert=True,
    )


def share_looks() -> Any:
    """Share of the budget for all looks."""
    return share_of_budget(0.05, "looks", "all looks, if there is a bound to stay below")


def noise_looks() -> Any:
    """Noise of a look's counts, which calibration sets where there are looks, unless a person does."""
    return parameter(
        None,
        "Noise of looks σ_l",
        "Noise standard deviation of the counts of decisions at a look; empty: set from ε.",
        low=0.0,
        high=1e4,
        expert=True,
    )


def check_looks(method: Looking) -> None:
    """Raise BadInput for a target that is none, or of a published variant, and for looks out of range."""
    checks.whole(low=1, looks=method.looks)
    checks.open_unit(share_looks=method.share_looks)
    if method.certificate_target is None:
        return
    checks.open_unit(certificate_target=method.certificate_target)
    if not method.proved:
        raise BadInput(
            "certificate_target needs variant=proved: a published run's looks would be raw, and no ε would hold.",
            field="certificate_target",
        )


def releases_of_looks(method: Looking) -> tuple[Release, ...]:
    """Return the releases of all planned looks, made or not; () without a target."""
    if method.certificate_target is None:
        return ()
    count = len(list_looks(method))
    return (Release("looks", ONE_CELL, "noise_looks", "epoch", count, "share_looks" if count else None),)


def list_looks(method: Looking) -> tuple[int, ...]:
    """Return after how many epochs each look is made, in order, no two after one and none at the end; () for none."""
    if method.certificate_target is None:
        return ()
    count = min(method.looks, method.epochs - 1)
    return tuple(method.epochs * place // (count + 1) for place in range(1, count + 1))


def require_reachable(method: Looking, notion: Notion, *, n_train: int, groups: int) -> None:
    """Raise BadInput where the target is below the bound of the best counts that so many rows can have.

    These are of one answer for everybody, in groups alike, all rows being of a label that counts.
    """
    target = method.certificate_target
    if target is None or not list_looks(method):
        return
    labels = sorted({label for population in notion.populations for label in population})
    best = np.zeros((groups, LABELS, LABELS))
    best[:, labels, 0] = n_train / (groups * len(labels))
    noise = ONE_CELL * known_noise(noise_looks=method.noise_looks)
    bound = certify_gaps(best, noise, failure=method.failure)["bounds"][notion.name]
    least = 1.0 if bound is None else bound
    if least > target:
        raise BadInput(
            f"certificate_target must be at least {math.ceil(1000 * least) / 1000:g} here, got {target:g}: no look on "
            f"{n_train:,} training rows in {groups} groups shows less. Take a larger target, a larger ε, or more rows.",
            field="certificate_target",
        )


def as_planned(fitted: Fitted, *, planned: Events, steps_per_epoch: int) -> Fitted:
    """Return a model whose training ended at a look with the releases of the planned length, else as it is.

    When it ended depends on the data, so what it released by then is no cost that may be stated. Its steps are its own,
    not those of the models that were trained with it.
    """
    looks: Any = fitted.notes.get("looks", {})
    last_epoch = looks.get("ended_after")
    return fitted if last_epoch is None else replace(fitted, events=planned, steps=last_epoch * steps_per_epoch)


class Looks:
    """The looks of K models: which of them have `ended` (K,), their bounds, and what each would export if it ended."""

    def __init__(self, setting: Setting[Any]) -> None:
        self._setting = setting
        self.ended = np.zeros(len(setting.methods), dtype=bool)
        self._bounds: list[list[float]] = [[] for _ in setting.methods]
        self._kept: dict[int, np.ndarray] = {}

    def end_epoch(self, epoch: int, kernel: Kernel, feed: Feed) -> None:
        """Look at the models that are due after `epoch`, from 0; those that have ended stay what they are to export."""
        for k, method in enumerate(self._setting.methods):
            due = list_looks(method)
            if not self.ended[k] and epoch + 1 in due:
                self._look(k, due.index(epoch + 1), kernel, feed)
            if self.ended[k]:
                kernel.parameters[k] = self._kept[k]

    def notes(self, model: int) -> dict[str, object]:
        """Return what is exported of a model's looks; {} without a target."""
        due, bounds = list_looks(self._setting.methods[model]), self._bounds[model]
        if not due:
            return {}
        last = len(bounds) - 1
        ending = {"ended_after": due[last], "exported_after": due[max(last - 1, 0)]} if self.ended[model] else {}
        return {"looks": {"after_epochs": list(due[: len(bounds)]), "bounds": list(bounds), **ending}}

    def state(self, model: int) -> dict[str, np.ndarray]:
        """Return what a checkpoint needs of one model; {} before its first look."""
        if model not in self._kept:
            return {}
        return {
            "looks_ended": self.ended[model].copy(),
            "looks_bounds": np.array(self._bounds[model]),
            "looks_kept": self._kept[model],
        }

    def load(self, model: int, state: Mapping[str, np.ndarray]) -> None:
        """Go on from a checkpoint."""
        if "looks_kept" in state:
            self.ended[model], self._kept[model] = state["looks_ended"], state["looks_kept"]
            self._bounds[model] = state["looks_bounds"].tolist()

    def _look(self, k: int, place: int, kernel: Kernel, feed: Feed) -> None:
        """Release model k's decisions; where the bound is too large it has ended, at the first look with this model."""
        method, notion = self._setting.methods[k], self._setting.trainings[k].notion
        noise = known_noise(noise_looks=method.noise_looks)
        decided = self._count(k, kernel, feed).ravel().astype(np.float64)
        released = self._setting.release(k, "looks", decided, index=place)
        counts = released.reshape(-1, LABELS, LABELS)
        bound = certify_gaps(counts, ONE_CELL * noise, failure=method.failure)["bounds"][notion.name]
        self._bounds[k].append(1.0 if bound is None else bound)
        self.ended[k] = self._bounds[k][-1] > method.certificate_target
        if not self.ended[k] or place == 0:
            self._kept[k] = kernel.parameters[k].copy()

    def _count(self, k: int, kernel: Kernel, feed: Feed) -> np.ndarray:
        """Return the counts (groups, labels, decisions) of model k on its training rows that have a score."""
        columns, groups = feed.columns[k], self._setting.trains[k].groups
        scores = kernel.score(slice(k, k + 1), columns.features)[0]
        decided = (columns.codes * LABELS + (scores > 0))[np.isfinite(scores) & columns.present]
        counts = np.bincount(decided, minlength=groups * LABELS * LABELS)
        return counts.reshape(groups, LABELS, LABELS)
