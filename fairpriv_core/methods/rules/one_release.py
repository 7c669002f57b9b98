"""The rule of OneRelease: a Lagrangian on group means that are weighted by p(a | x, y), estimated from one release.

Notation. Cell i's mean of h is sum_z w_zi h_z, w_zi proportional to the estimated chance that record z is in cell i.
h is the chance p of the decision 1 that the model gives; where the notion compares errors, the chance to be wrong.
Training minimises J + sum_i lambda_i mean_i; the multipliers of the cells among the same people sum to 0. They follow
the means of hard decisions, so that what is reported is what is driven to the gap aimed at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.networks import NetworkShape, logits
from fairpriv_core.engine.records import Feed, Indices, Records, count_streams
from fairpriv_core.methods.one_release import OneRelease
from fairpriv_core.methods.rules.one_release_estimate import Estimate
from fairpriv_core.methods.rules.plain import PlainRule
from fairpriv_core.methods.rules.setting import Setting
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.surrogates import slope


class OneReleaseRule(PlainRule):
    """Public batches alone, weighted by what was estimated for each of the K models."""

    def __init__(self, setting: Setting[OneRelease], estimates: Sequence[Estimate]) -> None:
        super().__init__(setting)
        self._cells = setting.cells
        self._estimates = estimates
        weights = {id(estimate): estimate.cell_weights(self._cells) for estimate in estimates}
        self._weights = [weights[id(estimate)] for estimate in estimates]
        self._multipliers = np.zeros((len(estimates), self._cells.count))
        self._gaps = np.full((len(estimates), len(notions())), np.nan)
        first = setting.methods[0]
        shape = NetworkShape(setting.trains[0].d, first.hidden_layers, first.width)
        self._means = np.zeros((len(estimates), shape.size))
        self._batches: list[Indices] = []
        self._step = 0
        self._set_factors()

    def samples(self, epoch: int, batches: list[Indices]) -> list[Indices] | None:
        self._batches = batches
        return None

    def public_weights(self, records: Records) -> np.ndarray:
        drawn = self._batches[self._step % len(self._batches)]
        self._step += 1
        factors = self._factors[:, drawn[0]] if len(drawn) == 1 else self._gather(drawn)
        weights = slope("score", records.probability, records.label)
        weights *= factors
        weights += records.deviation
        weights /= np.float32(records.count)
        return weights

    def _gather(self, drawn: Indices) -> np.ndarray:
        models = len(self._factors) // len(drawn)  # of each stream, one after the other
        return np.stack([each[drawn[k // models]] for k, each in enumerate(self._factors)])

    def end_epoch(self, epoch: int, kernel: Kernel, feed: Feed) -> None:
        last = epoch + 1 == self.setting.methods[0].epochs
        for k, method in enumerate(self.setting.methods):
            parameters = kernel.parameters[k]
            counted = epoch - method.first_averaged()
            if counted >= 0:
                self._means[k] += (parameters - self._means[k]) / (counted + 1)
            if last:
                parameters[:] = self._means[k]
        for k, decided in enumerate(self._decide(kernel, feed)):
            if last or self.setting.trainings[k].observer.watches:
                self._gaps[k] = self._estimates[k].gaps(decided)
            if not last:  # multipliers after the last epoch would change nothing
                self._take_dual_step(k, decided)
        self._set_factors()

    def _decide(self, kernel: Kernel, feed: Feed) -> Iterator[np.ndarray]:
        """Yield each model's decisions on its training rows (n,), at once for models of one data set."""
        alike = count_streams([id(columns) for columns in feed.columns])
        models = len(feed.columns) // alike
        for first in range(0, len(feed.columns), models):
            shared = kernel.parameters[first : first + models]
            yield from logits(kernel.shape, shared, feed.columns[first].features) > 0

    def scalars(self, model: int) -> dict[str, float]:
        curves = self._cells.name_curves(multiplier=self._multipliers[model])
        return {
            **curves,
            **{f"released/{name}": gap for name, gap in self._name_gaps(model).items() if gap is not None},
        }

    def notes(self, model: int) -> dict[str, object]:
        return {
            "multipliers": dict(zip(self._cells.names, self._multipliers[model].tolist(), strict=True)),
            "released_gaps": self._name_gaps(model),
            **self._estimates[model].notes(self.setting.methods[model].event(self.setting.n)),
        }

    def state(self, model: int) -> dict[str, np.ndarray]:
        return {
            "multipliers": self._multipliers[model].copy(),
            "mean_parameters": self._means[model].copy(),
            "gaps": self._gaps[model].copy(),
            "statistic": self._estimates[model].statistic.copy(),
            "taken": np.array(self._step),
        }

    def load(self, model: int, state: Mapping[str, np.ndarray]) -> None:
        self._multipliers[model] = state["multipliers"]
        self._means[model] = state["mean_parameters"]
        self._gaps[model] = state["gaps"]
        self._step = int(state["taken"])
        self._set_factors()

    def _take_dual_step(self, k: int, decided: np.ndarray) -> None:
        wrong = decided != (self._estimates[k].y == 1)
        means = self._weights[k] @ (wrong if self.setting.target == "loss" else decided)
        self._multipliers[k] = move_multipliers(
            self._multipliers[k], means, among=self._cells.label, method=self.setting.methods[k]
        )

    def _name_gaps(self, model: int) -> dict[str, float | None]:
        """Return the gap of each notion by the name of its metric; None where the release tells none."""
        known = zip(notions().values(), self._gaps[model].tolist(), strict=True)
        return {notion.metric: gap if np.isfinite(gap) else None for notion, gap in known}

    def _set_factors(self) -> None:
        """Derive each record's factor of dp, p the chance of a 1, from the multipliers: n sum_i lambda_i w_zi dh/dp.

        It is for the mean over a batch. Where the notion compares errors, dh/dp is -1 for label 1.
        """
        factors = []
        for multipliers, weights, estimate in zip(self._multipliers, self._weights, self._estimates, strict=True):
            signs = 1.0 - 2.0 * estimate.y if self.setting.target == "loss" else 1.0
            factors.append(self.setting.n * (multipliers @ weights) * signs)
        self._factors = np.stack(factors).astype(np.float32)


def move_multipliers(
    multipliers: np.ndarray, means: np.ndarray, *, among: np.ndarray, method: OneRelease
) -> np.ndarray:
    """Return the multipliers (cells,) after a dual step on the cells' means (cells,).

    For each `among` (cells,), the people that a cell is among: above the gap aimed at, the highest mean's multiplier
    rises and the lowest's falls by dual_step times the excess; below it all of them shrink towards 0 by as much. None
    leaves +-multiplier_max.
    """
    moved = multipliers.copy()
    for people in np.unique(among):
        cells = np.flatnonzero(among == people)
        top, bottom = cells[means[cells].argmax()], cells[means[cells].argmin()]
        step = method.dual_step * (means[top] - means[bottom] - method.gap_target)
        size = np.abs(moved[cells]).max()
        if step > 0:
            moved[top] += step
            moved[bottom] -= step
        elif size > 0:
            moved[cells] *= max(0.0, 1.0 + step / size)
        size = np.abs(moved[cells]).max()
        if size > method.multiplier_max:
            moved[cells] *= method.multiplier_max / size
    return moved
