"""The rule of OneRelease: a Lagrangian on group means that are weighted by p(a | x, y), estimated from one release.

Notation. Cell i's mean of h is sum_z w_zi h_z, w_zi proportional to the estimated chance that record z is in cell i.
h is the chance p of the decision 1 that the model gives; where the notion compares errors, the chance to be wrong.
Training minimises J + sum_i lambda_i mean_i; the multipliers of the cells among the same people sum to 0. They follow
the means of hard decisions, so that what is reported is what is driven to the gap aimed at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.records import Feed, Indices, Records, count_streams
from fairpriv_core.methods.one_release import OneRelease
from fairpriv_core.methods.rules.one_release_estimate import Estimate
from fairpriv_core.methods.rules.plain import PlainRule
from fairpriv_core.methods.rules.setting import Setting
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.surrogates import slope


@dataclass(frozen=True)
class _Tables:
    """What follows of an estimate: the cells' `weights` w (cells, n), and the `factors` n w dh/dp of dp (n, cells)."""

    weights: np.ndarray
    factors: np.ndarray


class OneReleaseRule(PlainRule):
    """Public batches alone, weighted by what was estimated for each of the K models."""

    def __init__(self, setting: Setting[OneRelease], estimates: Sequence[Estimate]) -> None:
        super().__init__(setting)
        self._cells = setting.cells
        self._estimates = estimates
        unlike = {id(estimate): estimate for estimate in estimates}
        tables = {name: self._tables(estimate) for name, estimate in unlike.items()}
        self._each = [tables[id(estimate)] for estimate in estimates]
        self._multipliers = np.zeros((len(estimates), self._cells.count))
        self._gaps = np.full((len(estimates), len(notions())), np.nan)
        self._means = np.zeros((len(estimates), setting.shape.size))
        self._batches: list[Indices] = []
        self._step = 0

    def samples(self, epoch: int, batches: list[Indices]) -> list[Indices] | None:
        self._batches = batches
        return None

    def public_weights(self, records: Records) -> np.ndarray:
        drawn = self._batches[self._step % len(self._batches)]
        self._step += 1
        weights = slope("score", records.probability, records.label)
        weights *= self._factors(drawn)
        weights += records.deviation
        weights /= np.float32(records.count)
        return weights

    def _tables(self, estimate: Estimate) -> _Tables:
        weights = estimate.cell_weights(self._cells)
        signs = 1.0 - 2.0 * estimate.y if self.setting.target == "loss" else 1.0
        factors = np.ascontiguousarray((self.setting.n * weights * signs).T, dtype=np.float32)
        return _Tables(weights.astype(np.float32), factors)

    def _factors(self, drawn: Indices) -> np.ndarray:
        """Return each drawn record's factor of dp, p the chance of a 1: n sum_i lambda_i w_zi dh/dp, (K, B).

        It is for the mean over a batch. Where the notion compares errors, dh/dp is -1 for label 1.
        """
        multipliers, models = self._multipliers.astype(np.float32), len(self._each) // len(drawn)
        parts, first = [], 0
        for (stream, _), alike in groupby(enumerate(self._each), lambda pair: (pair[0] // models, id(pair[1]))):
            after = first + len(list(alike))
            rows = self._each[first].factors.take(drawn[stream], axis=0)
            parts.append(multipliers[first:after] @ rows.T)
            first = after
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

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

    def _decide(self, kernel: Kernel, feed: Feed) -> Iterator[np.ndarray]:
        """Yield each model's decisions on its training rows (n,), at once for models of one data set."""
        alike = count_streams([id(columns) for columns in feed.columns])
        models = len(feed.columns) // alike
        for first in range(0, len(feed.columns), models):
            yield from kernel.score(slice(first, first + models), feed.columns[first].features) > 0

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

    def _take_dual_step(self, k: int, decided: np.ndarray) -> None:
        wrong = decided != (self._estimates[k].y == 1)
        counted = wrong if self.setting.target == "loss" else decided
        means = (self._each[k].weights @ counted.astype(np.float32)).astype(np.float64)
        self._multipliers[k] = move_multipliers(
            self._multipliers[k], means, among=self._cells.label, method=self.setting.methods[k]
        )

    def _name_gaps(self, model: int) -> dict[str, float | None]:
        """Return the gap of each notion by the name of its metric; None where the release tells none."""
        known = zip(notions().values(), self._gaps[model].tolist(), strict=True)
        return {notion.metric: gap if np.isfinite(gap) else None for notion, gap in known}


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
