"""Theorems 4 and 5 of PF-LD (eq. 12, 13): how far a clipped and noised release lies from the true one, and the bound.

Both at a finished model, with its last multipliers: the error of the constraints' gradient over batches of the run's
size, and that of the violations over all training rows. For the analyst: raw.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import erf

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.rows import Feed, Records
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.fields import count_batch, surrogate_of
from fairpriv_core.methods.shared.lagrangian import BatchTerms, CellTable, batch_terms, cell_means, outputs
from fairpriv_core.notions.cells import Cells, build_cells
from fairpriv_core.notions.notion import Notion
from fairpriv_core.notions.surrogates import Surrogate, derivative, output

_BATCHES = 10


def find_errors(
    method: Any, notion: Notion, multipliers: Mapping[str, float], *, kernel: Kernel, train: Dataset, seed: int
) -> dict[str, float]:
    """Return "gradient" and "violation", means over batches or cells, each with its "_bound".

    That of the gradient is a root mean square over the noise, which is at least what eq. 12 bounds.
    `method` is PF-LD as published, calibrated; `multipliers` are by the cells' names; `kernel` holds the one model.
    Raises BadInput for another variant: the theorems are of the paper's noise.
    """
    if method.variant != "published":
        raise BadInput(f"variant must be published, got {method.variant}: eq. 12 and 13 are of its noise.")
    cells = build_cells(notion, train.group_names, train.labels)
    target, feed = surrogate_of(method, notion.target), Feed([train])
    weights = np.array([[multipliers[name] for name in cells.names]])
    gradient = _gradient(method, cells, target, weights, kernel=kernel, feed=feed, seed=seed)
    violation = _violation(method, cells, target, kernel=kernel, feed=feed)
    return {
        "gradient": gradient[0],
        "gradient_bound": gradient[1],
        "violation": violation[0],
        "violation_bound": violation[1],
    }


def _gradient(
    method: Any,
    cells: Cells,
    target: Surrogate,
    multipliers: np.ndarray,
    *,
    kernel: Kernel,
    feed: Feed,
    seed: int,
) -> tuple[float, float]:
    """Return |G - G~| and the right-hand side of eq. 12, means over batches."""
    table, errors, bounds = CellTable.of(cells), [], []
    rng = np.random.default_rng(seed)
    batch = count_batch(method, feed.n)
    for _ in range(_BATCHES):
        batch_rows = feed.draw([rng.choice(feed.n, batch, replace=False)])
        passed = kernel.take(batch_rows)
        records = Records(passed, batch_rows)
        values = output(target, records.logits, records.label)
        terms = batch_terms(table, multipliers=multipliers, signed=np.array([[False]]), records=records, values=values)
        slopes = derivative(target, records.probability, records.label)
        norms = np.abs(slopes) * records.norms
        beyond = np.maximum(1.0 - method.clip_primal / np.maximum(norms, 1e-30), 0.0)
        gone = kernel.weighted_sum(passed, slopes * beyond * records.look_up(terms.group), slice(None))[0].astype(float)
        scale = _scale(method, terms)
        errors.append(float(np.sqrt(gone @ gone + gone.size * scale**2)))
        bias = np.abs(records.look_up(terms.group)) * np.maximum(norms - method.clip_primal, 0.0)
        bounds.append(float(np.sqrt(gone.size) * scale + bias.sum()))
    return float(np.mean(errors)), float(np.mean(bounds))


def _scale(method: Any, terms: BatchTerms) -> float:
    """Return the deviation of the noise of a primal step: sigma_p times eq. 7."""
    smallest = float(terms.smallest.reshape(-1)[0])
    return float(method.noise("noise_primal") * 2.0 * method.clip_primal * method.multiplier_max / (smallest - 1.0))


def _violation(method: Any, cells: Cells, target: Surrogate, *, kernel: Kernel, feed: Feed) -> tuple[float, float]:
    """Return E |V_i - V~_i| and the right-hand side of eq. 13, means over the cells."""
    values = outputs(0, h=output, target=target, kernel=kernel, feed=feed)
    clipped = values.clip(-method.clip_dual, method.clip_dual)
    own, cut, excess = (
        cell_means(0, cells=cells, values=values, group_values=group_values, feed=feed)
        for group_values in (values, clipped, np.abs(values) - np.abs(clipped))
    )
    scale = float(np.sqrt(2.0)) * method.clip_dual / (float(own.size.min()) - 1.0) * method.noise("noise_dual")
    true = np.abs(own.population - own.sum / own.size)
    bias = np.abs(cut.population - cut.sum / cut.size) - true
    expected = np.sqrt(2.0 / np.pi) * scale * np.exp(-0.5 * (bias / scale) ** 2) + bias * erf(
        bias / (scale * np.sqrt(2.0))
    )
    return float(expected.mean()), float((scale + excess.sum / excess.size).mean())
