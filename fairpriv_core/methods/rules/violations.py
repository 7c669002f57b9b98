"""Constraint violations over all training rows, in float64: what a dual step needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.records import Feed
from fairpriv_core.notions.cells import LABELS, NO_CELL, Cells
from fairpriv_core.notions.notion import Target
from fairpriv_core.notions.surrogates import output, sigmoid, slope

_CHUNK = 4096


@dataclass(frozen=True)
class Means:
    """For each cell i: `population` mean of h over P_i (public under `attribute`), `sum` and exact `size` of G_i."""

    population: np.ndarray
    sum: np.ndarray
    size: np.ndarray


def outputs(model: int, *, target: Target, kernel: Kernel, feed: Feed) -> np.ndarray:
    """Return h of every training row of one model (n,), float64."""
    columns = feed.columns[model]
    scores = kernel.score(slice(model, model + 1), columns.features)[0]
    return output(target, scores, columns.labels).astype(np.float64)


def constraint_norms(model: int, *, target: Target, kernel: Kernel, feed: Feed) -> np.ndarray:
    """Return |dh| of every training row of one model (n,), float64; public where x and y are."""
    alone = kernel.alone(model)
    columns, parts = feed.columns[model], []
    for start in range(0, feed.n, _CHUNK):
        rows = slice(start, start + _CHUNK)
        passed = alone.run(columns.features[rows][None])
        parts.append(np.abs(slope(target, sigmoid(passed.logits[0]), columns.labels[rows])) * passed.norms[0])
    return np.concatenate(parts).astype(np.float64)


def cell_means(model: int, *, cells: Cells, values: np.ndarray, group_values: np.ndarray, feed: Feed) -> Means:
    """Return population means of `values` and group sums of `group_values`, both (n,), over the cells."""
    cell_of, codes = cells.of.reshape(-1), feed.columns[model].codes
    by_label, people = np.zeros(LABELS), np.zeros(LABELS, dtype=np.int64)
    sums, sizes = np.zeros(cells.count), np.zeros(cells.count)
    for start in range(0, feed.n, _CHUNK):
        rows = slice(start, start + _CHUNK)
        label, cell = codes[rows] % LABELS, cell_of[codes[rows]]
        inside = cell != NO_CELL
        by_label = _add_in_order(by_label, label, values[rows])
        people += np.bincount(label, minlength=LABELS)
        sums = _add_in_order(sums, cell[inside], group_values[rows][inside])
        sizes += np.bincount(cell[inside], minlength=cells.count)
    population = [
        by_label.sum() / people.sum() if condition < 0 else by_label[condition] / max(people[condition], 1)
        for condition in cells.label
    ]
    return Means(population=np.array(population), sum=sums, size=sizes)


def _add_in_order(totals: np.ndarray, places: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return `totals` with each value added at its place, one after the other: no bit depends on where chunks end."""
    first = np.arange(len(totals))
    return np.bincount(np.concatenate([first, places]), np.concatenate([totals, values]), len(totals))


def finite(values: np.ndarray) -> np.ndarray:
    """Return `values` with what is not finite at 0: such a row contributes nothing."""
    return np.where(np.isfinite(values), values, 0.0)
