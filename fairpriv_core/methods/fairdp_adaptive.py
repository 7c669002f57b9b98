"""FairDP with adaptive clipping: a bound for each group or class, where bias and variance balance (FairDP, 2021).

Algorithm 1 with C_k the minimiser of eq. 5, exactly. The printed noise does not say which C_k it is scaled to; here it
is the largest, which every contribution needs.

tau(C) = slope eta(C) + eta(C)^2 + noise C^2, eta(C) = sum_i weight_i max(0, norm_i - C): convex, and quadratic between
neighbouring norms, where its derivative vanishes at C = W (slope / 2 + S) / (W^2 + noise), W and S being the sums of
weight and of weight * norm over the norms above.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairpriv_core import checks
from fairpriv_core.engine.loop import Rule, Sampled
from fairpriv_core.engine.rows import Records
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import MethodInfo, Style, parameter
from fairpriv_core.methods.none import loss_gradient_norms
from fairpriv_core.methods.shared.noisy_sums import (
    AdaptiveBounds,
    ExportedCurvesRule,
    as_published,
    count_by,
    raw_norms,
    running_mean,
    running_noise,
    within_reach,
)
from fairpriv_core.methods.shared.setting import Setting

KINDS = ("class", "group")
BINS = 16  # of a histogram of norms: half octaves, from C / 16 to 16 C, the outer ones open
_MIDDLES = 2.0 ** ((np.arange(BINS) - BINS / 2 + 0.5) / 2.0)  # in units of C
_CLEAR = 2.0  # a bin below this many deviations of its noise counts as empty


@dataclass(frozen=True)
class FairDpAdaptive(AdaptiveBounds):
    """Published: eq. 5 over the sample's own norms. Proved: over a noisy histogram of norms for each kind of record.

    The histogram is counted beside the gradients; a running mean of it, the shares that it implies and the released
    gradients' norm set the next step's bounds.
    """

    info: ClassVar[MethodInfo] = MethodInfo(
        name="fairdp_adaptive",
        title="FairDP (adaptive clipping)",
        style=Style("green", "dot", "diamond", legend="FairDP, adaptive clipping"),
        summary="DP-SGD that balances clipping bias and noise for each group; protects whole records.",
        citation="FairDP (2021), Fair differential privacy can mitigate the disparate impact on model accuracy, eq. 5",
        threat_model="record",
        source="paper",
        variants=fields.VARIANTS,
        calibrates="noise_primal",
        max_labels=None,
    )
    UNPROVED: ClassVar[str] = (
        "The published accounting does not hold: the clipping bounds, and with them the noise, are chosen from the "
        "sample's own gradients without noise, as the paper's footnote 1 says."
    )

    network: str = fields.shared("network")
    clip_by: str = parameter(
        "class",
        "Bounds by",
        "Whether each class (label) or each sensitive group has a bound.",
        choices=KINDS,
        paper="class",
    )
    lipschitz: float = parameter(
        1e-4,
        "Lipschitz constant L",
        "Of the loss, in eq. 5. Small: less bias is accepted for less noise.",
        low=1e-6,
        high=100.0,
        log=True,
        expert=True,
        paper="1",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of(KINDS, clip_by=self.clip_by)
        checks.positive(lipschitz=self.lipschitz)

    @property
    def slope(self) -> float:
        """2 (1 + 1 / (mu L)), the factor of |grad f| eta in eq. 5."""
        return 2.0 * (1.0 + 1.0 / (self.learning_rate * self.lipschitz))

    @classmethod
    def rule(cls, setting: Setting[Any]) -> Rule:
        return FairDpRule(setting) if setting.methods[0].proved else FairDpPublishedRule(setting)


class FairDpRule(ExportedCurvesRule):
    """Proved: a histogram of norms for each kind, counted beside the gradients, sets the next step's bounds."""

    def __init__(self, setting: Setting[FairDpAdaptive]) -> None:
        super().__init__(setting)
        self.by_group = setting.methods[0].clip_by == "group"
        kinds = setting.trains[0].groups if self.by_group else setting.trains[0].labels
        self.arrays["clip_kinds"] = np.repeat(super().bounds()[:, None], kinds, axis=1)
        self.arrays["histogram"] = np.full((len(setting.methods), kinds, BINS), np.nan)
        self.arrays["gradient_square"] = np.full(len(setting.methods), np.nan)

    def bounds(self) -> np.ndarray:
        largest: np.ndarray = self.arrays["clip_kinds"].max(axis=1)
        return largest

    def kinds_of(self, records: Records) -> np.ndarray:
        """Return the group or class of each record (K, S)."""
        return records.code // records.labels if self.by_group else records.code % records.labels

    def record_bounds(self, records: Records) -> np.ndarray:
        kinds = np.broadcast_to(self.kinds_of(records), records.shape)
        return np.take_along_axis(self.arrays["clip_kinds"], kinds, axis=1)

    def statistics(self, records: Records) -> np.ndarray | None:
        norms = loss_gradient_norms(records) / self.setting.column("clip_primal")
        half_octaves = np.nan_to_num(2.0 * np.log2(norms) + BINS / 2, nan=0.0)
        bins = np.floor(half_octaves).clip(0, BINS - 1).astype(np.int64)
        size = self.arrays["histogram"][0].size
        return count_by(self.kinds_of(records) * BINS + bins, records.present > 0, size)

    def learn(self, model: int, statistics: np.ndarray, gradient: np.ndarray) -> None:
        method, arrays, people = self.setting.methods[model], self.arrays, self.divisor(model)
        deviation = method.gradient_noise() * self.noise_bounds()[model]
        square = (gradient @ gradient - gradient.size * deviation**2) / people**2
        arrays["gradient_square"][model] = running_mean(arrays["gradient_square"][model], square)
        arrays["histogram"][model] = running_mean(
            arrays["histogram"][model], statistics.reshape(arrays["histogram"][model].shape)
        )
        self._balance(model, gradient.size)

    def _balance(self, model: int, size: int) -> None:
        """Minimise eq. 5 for each kind over its histogram; what the noise hides leaves the bounds as they are."""
        method, people, histogram = self.setting.methods[model], self.divisor(model), self.arrays["histogram"][model]
        clear = np.where(histogram > _CLEAR * running_noise(method.count_noise()), histogram, 0.0)
        slope = method.slope * self._gradient_norm(model, clear)
        for kind, counts in enumerate(clear):
            if slope > 0 and counts.any():
                share = max(float(histogram[kind].sum()), 0.0) / people
                self.set_bound(
                    model,
                    kind,
                    minimise_bias_variance(
                        _MIDDLES * method.clip_primal,
                        counts / people,
                        slope=slope,
                        noise=share**2 * method.gradient_noise() ** 2 * size,
                    ),
                )

    def _gradient_norm(self, model: int, counts: np.ndarray) -> float:
        """Estimate |grad f|: the released gradient's norm, as much longer as norms are before they are clipped."""
        middles = _MIDDLES * self.setting.methods[model].clip_primal
        clipped = float((counts * np.minimum(middles, self.arrays["clip_kinds"][model][:, None])).sum())
        longer = float((counts * middles).sum()) / clipped if clipped > 0 else 1.0
        return longer * math.sqrt(max(float(self.arrays["gradient_square"][model]), 0.0))

    def set_bound(self, model: int, kind: int, bound: float) -> None:
        """Let `bound` be the kind's, within public limits."""
        self.arrays["clip_kinds"][model, kind] = within_reach(bound, self.setting.methods[model].clip_primal)

    def scalars(self, model: int) -> dict[str, float]:
        train = self.setting.trains[model]
        names = train.group_names if self.by_group else train.label_names
        return {f"clip/{name}": float(c) for name, c in zip(names, self.arrays["clip_kinds"][model], strict=True)}


class FairDpPublishedRule(FairDpRule):
    """Published: eq. 5 over the sample's own norms, sizes and gradient; n is the sample's size."""

    def noise_bounds(self) -> np.ndarray:
        return as_published(self.setting.methods, self.bounds())

    def read_sample(self, sampled: Sampled) -> None:
        records = sampled.records
        kinds, present, _ = np.broadcast_arrays(self.kinds_of(records), records.present > 0, np.empty(records.shape))
        finite = np.isfinite(loss_gradient_norms(records))
        total = sampled.sum(records.deviation * records.present)
        for k, norms in enumerate(raw_norms(records)):
            method, own = self.setting.methods[k], kinds[k][present[k] & finite[k]]
            for kind in np.unique(own):
                inside = norms[own == kind]
                bound = minimise_bias_variance(
                    inside,
                    np.full(inside.size, 1.0 / norms.size),
                    slope=method.slope * float(np.linalg.norm(total[k])) / norms.size,
                    noise=(inside.size / norms.size) ** 2 * method.noise() ** 2 * total[k].size,
                )
                self.set_bound(k, int(kind), bound)

    def statistics(self, records: Records) -> np.ndarray | None:
        return None


def bias_variance(
    bounds: np.ndarray, norms: np.ndarray, weights: np.ndarray, *, slope: float, noise: float
) -> np.ndarray:
    """Return tau at each of `bounds` (m,) for `norms` and `weights` (n,), all >= 0."""
    excess = np.maximum(norms[None, :] - bounds[:, None], 0.0) @ weights
    tau: np.ndarray = slope * excess + excess**2 + noise * bounds**2
    return tau


def minimise_bias_variance(norms: np.ndarray, weights: np.ndarray, *, slope: float, noise: float) -> float:
    """Return the C >= 0 that minimises tau, exactly; the smallest such C, 0.0 for no norms. O(n log n)."""
    order = np.argsort(norms)
    ends = np.concatenate([[0.0], np.asarray(norms, dtype=np.float64)[order]])
    drops = np.concatenate([[0.0], np.asarray(weights, dtype=np.float64)[order]])
    weight = drops.sum() - np.cumsum(drops)  # above each end, and so throughout the interval that it begins
    value = (drops * ends).sum() - np.cumsum(drops * ends)
    curvature = weight**2 + noise
    with np.errstate(divide="ignore", invalid="ignore"):
        turn = np.where(curvature > 0, weight * (slope / 2.0 + value) / curvature, 0.0)
    inside = np.clip(turn, ends, np.append(ends[1:], np.inf))
    excess = value - weight * inside
    tau = slope * excess + excess**2 + noise * inside**2
    return float(inside[int(tau.argmin())])
