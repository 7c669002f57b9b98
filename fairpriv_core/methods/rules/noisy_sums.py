"""What the rules of DP-SGD and its relatives share: clipped gradients and counts of one sample, released as one vector.

A method says how gradients are clipped (`weights`, `bounds`), what is counted beside them (`statistics`), and what
follows from the noisy counts (`learn`). Whatever chooses a step's bounds was released at an earlier step (proved
variants); published variants read the step's own sample first (`look`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairpriv_core.engine.clipping import clip_weights
from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.loop import Sampled
from fairpriv_core.engine.records import Feed, Indices, Records, join_samples
from fairpriv_core.methods.noisy_sums import AdaptiveBounds
from fairpriv_core.methods.rules.plain import loss_gradient_norms
from fairpriv_core.methods.rules.setting import Setting
from fairpriv_core.privacy.sums import sensitivity

REACH = 1000.0  # an adaptive bound stays within this factor of the one that is set: public limits
_MEMORY = 0.9  # weight of the past in a running mean of released counts


@dataclass
class NoisySumsRule:
    """DP-SGD itself: gradients clipped to C, summed, noised at sigma C, divided by the expected batch size q n.

    `kept` holds what training goes on from, by name, each array's first axis the model: all of it is checkpointed.
    """

    setting: Setting[Any]
    uses_batches: bool = False
    kept: dict[str, np.ndarray] = field(init=False, default_factory=dict)
    _noises: list[float] = field(init=False)
    _proved: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self._noises = [method.noise() for method in self.setting.methods]
        self._proved = np.array([method.unproved_reason() is None for method in self.setting.methods])

    def look(self, sampled: Sampled) -> None:
        """Read the step's own sample; only a published variant does."""

    def bounds(self) -> np.ndarray:
        """Return how long a record's gradient may be in this step's sum, for each model (K,)."""
        return np.array([method.clip_primal for method in self.setting.methods])

    def noise_bounds(self) -> np.ndarray:
        """Return what each model's noise is scaled to (K,): where epsilon is proved, what a record can move the sum."""
        bounds = self.bounds()
        return np.where(self._proved, sensitivity(bounds), bounds)

    def weights(self, sampled: Sampled) -> np.ndarray:
        """Return each record's weight on the logit's gradient, (K, S) or (layers, K, S)."""
        return clipped_loss_weights(sampled.records, self.column_of(self.bounds()).astype(np.float32))

    def statistics(self, records: Records) -> np.ndarray | None:
        """Return what is summed over the sample beside the gradients (K, m): a record adds at most 1, in L2."""
        return None

    def share(self, model: int) -> float:
        """Return the statistics' share of a step's budget."""
        return float(self.setting.methods[model].share_counts)

    def learn(self, model: int, statistics: np.ndarray, gradient: np.ndarray) -> None:
        """Take in a step's release: noisy statistics (m,) and the noisy sum of gradients (P,)."""

    def column_of(self, values: np.ndarray) -> np.ndarray:
        """Return one value a model (K,) as (K, 1)."""
        return values[:, None]

    def divisor(self, model: int) -> float:
        """Return what a sum of gradients is divided by."""
        return self.setting.n * self.setting.rates[model]

    def samples(self, epoch: int, batches: list[Indices]) -> list[Indices] | None:
        return join_samples([self.draw(k, epoch) for k in range(len(self.setting.methods))])

    def draw(self, model: int, epoch: int) -> list[np.ndarray]:
        """Return one model's secret samples of an epoch."""
        method, n = self.setting.methods[model], self.setting.n
        return self.setting.trainings[model].mechanism.sample(
            n=n, rate=method.rate(n), epoch=epoch, steps=method.steps_per_epoch(n)
        )

    def public_weights(self, records: Records) -> np.ndarray:
        raise AssertionError("no public batch is drawn")

    def secret_update(self, sampled: Sampled) -> np.ndarray:
        self.look(sampled)
        bounds, beside = self.noise_bounds(), self.statistics(sampled.records)
        totals = sampled.sum(self.weights(sampled))
        counts = totals[:, :0] if beside is None else beside
        gradients, noisy = self._release(totals, counts, bounds, sampled.step)
        for k, gradient in enumerate(gradients):
            self.learn(k, noisy[k], gradient)
        divisors = np.array([self.divisor(k) for k in range(len(gradients))])
        gradients *= 1.0 / divisors[:, None]
        return gradients

    def _release(
        self, totals: np.ndarray, counts: np.ndarray, bounds: np.ndarray, step: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return noisy gradients and counts: one vector [g, w b] with |g| <= C, |b| <= 1 and w = C sqrt(s / (1 - s)).

        A record's contribution has length at most sqrt(C^2 + w^2) = C / sqrt(1 - s), s the counts' share.
        """
        models, size = totals.shape
        shares = np.array([self.share(k) if counts.size else 0.0 for k in range(models)])
        weights = (bounds * np.sqrt(shares / (1.0 - shares)))[:, None]
        noisy = self.setting.release_sums(
            np.concatenate([totals, weights * counts], axis=1) if counts.size else totals,
            radii=(bounds / np.sqrt(1.0 - shares)).tolist(),
            noise_multipliers=self._noises,
            sampling_rates=self.setting.rates,
            relation="add_remove",
            step=step,
        )
        return noisy[:, :size], noisy[:, size:] / np.where(weights > 0, weights, 1.0)

    def end_epoch(self, epoch: int, kernel: Kernel, feed: Feed) -> None:
        return None

    def watched(self, records: Records) -> dict[str, tuple[np.ndarray, float | None]]:
        return {"gradient_norm": (loss_gradient_norms(records), float(self.bounds()[0]))}

    def scalars(self, model: int) -> dict[str, float]:
        return {}

    def notes(self, model: int) -> dict[str, object]:
        return {}

    def state(self, model: int) -> dict[str, np.ndarray]:
        return {name: value[model].copy() for name, value in self.kept.items()}

    def load(self, model: int, state: Mapping[str, np.ndarray]) -> None:
        for name, value in self.kept.items():
            value[model] = state[name]


def as_published(methods: Sequence[AdaptiveBounds], bounds: np.ndarray) -> np.ndarray:
    """Return what each published model's noise is scaled to (K,): its adaptive bound, or the C that is set."""
    wanted = np.array([method.bound_of_noise == "adaptive" for method in methods])
    return np.where(wanted, bounds, [method.clip_primal for method in methods])


def clipped_loss_weights(records: Records, bounds: np.ndarray) -> np.ndarray:
    """Return (p - y) min(1, C / norm) of each record (K, S), `bounds` (K, 1) or (K, S); 0 where not present."""
    return records.keep(clip_weights(records.deviation, records.norms, bounds))


def raw_norms(records: Records) -> list[np.ndarray]:
    """Return the norms of each model's sample, without noise: for published variants alone."""
    norms = loss_gradient_norms(records).astype(np.float64)
    kept = (records.present > 0) & np.isfinite(norms)
    return [own[here] for own, here in zip(norms, kept, strict=True)]


def within_reach(bound: float, start: float) -> float:
    """Return `bound`, kept within a factor of REACH of `start`."""
    return min(max(bound, start / REACH), start * REACH)


def count_by(of: np.ndarray, chosen: np.ndarray, size: int) -> np.ndarray:
    """Return how many records are `chosen` (K, S) of each kind `of` (K, S) in 0..size-1: (K, size), exact."""
    each = zip(*np.broadcast_arrays(of, chosen), strict=True)
    return np.stack([np.bincount(own, here, size) for own, here in each])


def running_mean(mean: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Return the mean of released values with `new` taken in; `new` itself where nothing was (NaN)."""
    return np.where(np.isnan(mean), new, _MEMORY * mean + (1.0 - _MEMORY) * new)


def running_noise(deviation: float) -> float:
    """Return the standard deviation of a running mean of values that each have noise of `deviation`."""
    return deviation * math.sqrt((1.0 - _MEMORY) / (1.0 + _MEMORY))
