"""What FairLens needs to know of the groups: sums over records, and the regularisers' factors that follow from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fairpriv_core.engine.clipping import MARGIN, clip_factors
from fairpriv_core.engine.kernel import Kernel, Pass
from fairpriv_core.engine.records import Drawn, Feed, Records

_CHUNK = 4096
_PARTS = np.sqrt([0.45, 0.45, 0.1])  # the parts' lengths in one record's contribution, whose length is 1


@dataclass(frozen=True)
class GroupSums:
    """Sums over the records of each group, float64: gradients (groups, P), what clipping cuts off of them (P,) over all
    groups, sizes (groups,), and closeness to the boundary 1 - sum_k f_k^2 (groups,).
    """

    gradients: np.ndarray
    excess: np.ndarray
    sizes: np.ndarray
    boundary: np.ndarray

    def __add__(self, other: GroupSums) -> GroupSums:
        return GroupSums(
            self.gradients + other.gradients,
            self.excess + other.excess,
            self.sizes + other.sizes,
            self.boundary + other.boundary,
        )

    def pack(self, bound: float, reach: float) -> np.ndarray:
        """Return all sums as one vector; a record adds at most 1 to it in L2, its gradient clipped to C (1 + reach)."""
        parts = (
            self.gradients.ravel() / ((1.0 + reach) * bound),
            self.excess / (reach * bound),
            np.concatenate([self.sizes, 2.0 * self.boundary]) / np.sqrt(2.0),
        )
        return np.concatenate([length * part for length, part in zip(_PARTS, parts, strict=True)])

    @staticmethod
    def unpack(vector: np.ndarray, bound: float, reach: float, groups: int) -> GroupSums:
        """Return the sums of a packed vector."""
        size = (vector.size - 2 * groups) // (groups + 1)
        gradients, excess, rest = np.split(vector, [groups * size, (groups + 1) * size])
        sizes, boundary = np.split(rest / _PARTS[2] * np.sqrt(2.0), 2)
        return GroupSums(
            gradients.reshape(groups, size) / _PARTS[0] * ((1.0 + reach) * bound),
            excess / _PARTS[1] * (reach * bound),
            sizes,
            boundary / 2.0,
        )


@dataclass(frozen=True)
class Factors:
    """What a record's regularisers need: for the logit's gradient the directions (P,) `excess` and `pull`, and a factor
    for each group of both regularisers; `clipping` and `boundary` are the groups' deviations that they weigh.
    """

    excess: np.ndarray
    pull: np.ndarray
    gradient_factors: np.ndarray
    boundary_factors: np.ndarray
    clipping: np.ndarray
    boundary: np.ndarray


def derive_factors(sums: GroupSums, *, least: float) -> Factors:
    """Return what follows from `sums`: signs of the groups' deviations, and n / n_a; groups below `least` have none."""
    known = sums.sizes >= least
    sizes, people = np.maximum(sums.sizes, 1.0), max(float(sums.sizes.sum()), 1.0)
    excess, mean = sums.excess / people, sums.gradients.sum(axis=0) / people
    apart = sums.gradients / sizes[:, None] - mean
    clipping = (apart @ excess) * known
    boundary = (sums.boundary / sizes - sums.boundary.sum() / people) * known
    signs, sides = np.sign(clipping), np.sign(boundary)
    return Factors(
        excess=excess,
        pull=signs @ apart,
        gradient_factors=signs * people / sizes - signs.sum(),
        boundary_factors=sides * people / sizes - sides.sum(),
        clipping=clipping,
        boundary=boundary,
    )


def sum_sample(passed: Pass, records: Records, rows: slice, *, model: int, groups: int, bound: float) -> GroupSums:
    """Return the sums over one model's sample, gradients as they are: for the published variant alone."""
    return _sum(passed, records, rows, model=model, groups=groups, bound=bound, reach=np.inf)


def sum_everyone(model: int, *, kernel: Kernel, feed: Feed, groups: int, bound: float, reach: float) -> GroupSums:
    """Return the sums over all training rows of one model, each gradient clipped to C (1 + `reach`) first."""
    total: GroupSums | None = None
    for passed, records in _passes(model, kernel, feed):
        part = _sum(passed, records, slice(None), model=0, groups=groups, bound=bound, reach=reach)
        total = part if total is None else total + part
    assert total is not None
    return total


def directional(kernel: Kernel, passed: Pass, rows: slice, direction: np.ndarray) -> np.ndarray:
    """Return the inner product of each record's gradient of the logit with `direction` (K, P): (K, rows)."""
    products = np.zeros(passed.logits[:, rows].shape, dtype=np.float32)
    directions = kernel.shape.views(direction.astype(np.float32))
    for (weights, biases), (activation, delta) in zip(directions, passed.layers, strict=True):
        along = np.matmul(activation[:, rows], weights.transpose(0, 2, 1)) + biases
        products += (along * delta[:, rows]).sum(axis=2)
    return products


def _passes(model: int, kernel: Kernel, feed: Feed) -> Iterator[tuple[Pass, Records]]:
    alone = Kernel(kernel.shape, kernel.parameters[model : model + 1])
    for rows in np.array_split(np.arange(feed.n), -(-feed.n // _CHUNK)):
        drawn = Drawn([feed.columns[model]], [rows])
        passed = alone.run(drawn.features, drawn.squares)
        yield passed, Records(passed, drawn)


def _sum(
    passed: Pass, records: Records, rows: slice, *, model: int, groups: int, bound: float, reach: float
) -> GroupSums:
    probability = records.probability[model]
    norms, deviation, present, group = (
        np.broadcast_to(values, records.logits.shape)[model]
        for values in (records.norms, records.deviation, records.present, records.group)
    )
    weights, cut = _gradient_weights(deviation, norms, bound=bound, reach=reach)
    here = (present > 0) & np.isfinite(norms)
    of_group = (group == np.arange(groups)[:, None]) * here.astype(np.float64)
    total = _weighted_sums(passed, rows, model, np.concatenate([of_group * weights, (cut * here)[None]]), here)
    closeness = np.nan_to_num((2.0 * probability * (1.0 - probability)).astype(np.float64), nan=0.0)
    return GroupSums(total[:-1], total[-1], of_group.sum(axis=1), of_group @ closeness)


def _gradient_weights(
    deviation: np.ndarray, norms: np.ndarray, *, bound: float, reach: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return each record's weight on the logit's gradient: up to C (1 + `reach`), and beyond C alone."""
    lengths = np.abs(deviation) * norms
    kept = clip_factors(lengths, (1.0 + reach) * bound) if np.isfinite(reach) else np.ones_like(lengths)
    cut = np.maximum(kept - bound * (1.0 - MARGIN) / lengths, 0.0)
    whole, beyond = (np.nan_to_num((deviation * share).astype(np.float64), nan=0.0) for share in (kept, cut))
    return whole, beyond


def _weighted_sums(passed: Pass, rows: slice, model: int, weights: np.ndarray, finite: np.ndarray) -> np.ndarray:
    """Return the sums (m, P) of the logit's gradients weighted by each row of `weights` (m, B), in float64."""
    parts = []
    for activation, delta in passed.layers:
        inputs = np.where(finite[:, None], activation[model, rows].astype(np.float64), 0.0)
        outputs = np.where(finite[:, None], delta[model, rows].astype(np.float64), 0.0)
        scaled = weights[:, :, None] * outputs
        parts += [(scaled.transpose(0, 2, 1) @ inputs).reshape(len(weights), -1), scaled.sum(axis=1)]
    return np.concatenate(parts, axis=1)
