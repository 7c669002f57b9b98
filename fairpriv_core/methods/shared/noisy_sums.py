"""What DP-SGD and its relatives share: every step releases one noisy sum over a secret Poisson sample.

`NoisySums` releases clipped gradients alone. `SumsWithCounts` releases counts of the same sample beside them: gradients
and counts are one vector and one Gaussian, whose budget is divided between them.

A method says how gradients are clipped (`weights`, `bounds`), what is counted beside them (`statistics`), and what
follows from the noisy counts (`learn`). Whatever chooses a step's bounds was released at an earlier step (proved
variants); published variants read the step's own sample first (`read_sample`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairpriv_core import checks
from fairpriv_core.engine.clipping import clip_weights
from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.loop import Sampled, Stateful
from fairpriv_core.engine.rows import Feed, Indices, Records, join_samples
from fairpriv_core.engine.watch import Bound
from fairpriv_core.errors import BadInput
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import MethodInfo, parameter
from fairpriv_core.methods.none import loss_gradient_norms
from fairpriv_core.methods.shared.releases import Private, Release, Sample, check_noises
from fairpriv_core.methods.shared.setting import Setting, SettingRule, TrainsByRule
from fairpriv_core.privacy.accountants import rdp_epsilon
from fairpriv_core.privacy.event import Events
from fairpriv_core.privacy.sums import sensitivity

NOISE_BOUNDS = ("adaptive", "set")  # what an adaptive method's noise is scaled to
REACH = 1000.0  # an adaptive bound stays within this factor of the one that is set: public limits
_MEMORY = 0.9  # weight of the past in a running mean of released counts


@dataclass(frozen=True)
class NoisySums(Private, TrainsByRule):
    """Poisson samples at rate q = batch_size / n; contributions lie in a ball that the noise multiplier is over."""

    info: ClassVar[MethodInfo]

    epochs: int = fields.shared("epochs")
    batch_size: int | None = fields.shared("fitting_sample_size")
    learning_rate: float = fields.shared("learning_rate")
    optimizer: str = fields.shared("optimizer")
    hidden_layers: int = fields.shared("hidden_layers")
    width: int = fields.shared("width")
    clip_primal: float = parameter(
        1.0, "Clipping bound C", "Largest L2 norm that one record's gradient may have.", low=0.01, high=100.0, log=True
    )
    noise_primal: float | None = fields.noise_multiplier("Noise multiplier σ", "C")

    def __post_init__(self) -> None:
        fields.check_network(self)
        checks.positive(clip_primal=self.clip_primal)
        check_noises(self)

    def rate(self, n_train: int) -> float:
        """The chance of a row to be in a sample."""
        return fields.share_of_rows(fields.count_batch(self, n_train), n_train)

    def steps_per_epoch(self, n_train: int) -> int:
        """The number of samples in an epoch."""
        return self.steps(n_train) // self.epochs

    def step_sum(self, n_train: int, sensitivity: float, **beside: float) -> Release:
        """Return the release of each step: a noisy sum over a sample, to which a record adds at most `sensitivity`."""
        sample, steps = Sample(self.rate(n_train)), self.steps(n_train)
        return Release("gradients", sensitivity, "noise_primal", "step", steps, sample=sample, beside=beside)

    def releases(self, n_train: int, groups: int) -> tuple[Release, ...]:
        """A step's sum, to which a record adds its gradient, clipped to C."""
        return (self.step_sum(n_train, self.clip_primal),)

    def published_event(self, n_train: int) -> Events:
        """Return what papers count: the steps' sums alone, and not what chooses rates or weights in them."""
        return (self.step_sum(n_train, self.clip_primal).at(self.noise()),)

    def published_epsilon(self, n_train: int, delta: float) -> float | None:
        """Return what the paper's accounting claims for the same noise (RDP)."""
        return rdp_epsilon(self.published_event(n_train), delta)

    def taken_as_given(self) -> tuple[str, ...]:
        """What is public, and what a neighbour is."""
        return ("The number of training rows is public.", "A neighbouring data set has one record zeroed out.")


@dataclass(frozen=True)
class SumsWithCounts(NoisySums):
    """Each step's counts choose how the next step clips (proved), or how the same step does (published).

    `share_counts` is the counts' share of a step's budget: with sigma the multiplier of the whole release, gradients
    have sigma / sqrt(1 - share) over their bound and counts sigma / sqrt(share) over 1. `COUNT_NOISE` is what the paper
    multiplies sigma by for its counts; None where it reads the sample without noise.
    """

    COUNT_NOISE: ClassVar[float | None] = None
    FOUND_ON: ClassVar[str] = "Adult"

    variant: str = fields.shared("variant")
    share_counts: float = parameter(
        0.05,
        "Budget share, counts",
        "Share of each step's budget for the counts that choose how to clip (proved variant).",
        low=0.001,
        high=0.5,
        expert=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of(fields.VARIANTS, variant=self.variant)
        checks.open_unit(share_counts=self.share_counts)

    def gradient_noise(self) -> float:
        """The noise multiplier of the gradients alone; BadInput before calibration."""
        return self.noise() / math.sqrt(1.0 - self.share_counts) if self.proved else self.noise()

    def count_noise(self) -> float | None:
        """The noise multiplier of the counts alone; None where the paper adds none. BadInput before calibration."""
        if self.proved:
            return self.noise() / math.sqrt(self.share_counts)
        return None if self.COUNT_NOISE is None else self.COUNT_NOISE * self.noise()

    def largest_bound(self, groups: int) -> float:
        """Return how long a gradient may be: the first step's bound, unless more is known beforehand."""
        return self.clip_primal

    def releases(self, n_train: int, groups: int) -> tuple[Release, ...]:
        """A step's sum of gradients, and beside them its counts, to which a record adds at most 1 in L2.

        The published variant's noisy counts, of the step's own sample, pass as releases of their own.
        """
        if self.proved or self.COUNT_NOISE is None:
            return (self.step_sum(n_train, self.largest_bound(groups), counts=1.0),)
        steps = self.steps(n_train)
        counts = Release("counts", 1.0, "noise_primal", "step", steps, multiple=self.COUNT_NOISE)
        return (self.step_sum(n_train, self.largest_bound(groups)), counts)

    def published_event(self, n_train: int) -> Events:
        """Return what the paper's accounting counts: gradients, and its noisy counts as if on samples of their own."""
        counts = self.count_noise() if self.COUNT_NOISE is not None else None
        noises = [level for level in (self.gradient_noise(), counts) if level is not None]
        return tuple(self.step_sum(n_train, self.clip_primal).at(noise) for noise in noises)


@dataclass(frozen=True)
class AdaptiveBounds(SumsWithCounts):
    """Bounds follow the gradients' norms: noise too, which a proof needs; or not, as the published text can be read."""

    bound_of_noise: str = parameter(
        "adaptive",
        "Noise scaled to",
        "The adaptive bound, which a proof needs; or, published variant, the C that is set, as the papers' DP-SGD step "
        "has it.",
        choices=NOISE_BOUNDS,
        expert=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of(NOISE_BOUNDS, bound_of_noise=self.bound_of_noise)
        if self.proved and self.bound_of_noise == "set":
            raise BadInput(
                "bound_of_noise 'set' adds too little noise for the proved variant; take adaptive, or published.",
                field="bound_of_noise",
            )

    def unproved_reason(self) -> str | None:
        """Why the published variant has no epsilon; None for the proved variant."""
        if self.bound_of_noise == "set":
            return f"{self.UNPROVED} Here the noise does not follow the bound either, and contributions exceed it."
        return super().unproved_reason()


class NoisySumsRule(SettingRule, Stateful):
    """DP-SGD itself: gradients clipped to C, summed, noised at sigma C, divided by the expected batch size q n."""

    samples_batches: ClassVar[bool] = False
    uses_batches: ClassVar[bool] = False

    def __init__(self, setting: Setting[Any]) -> None:
        self.setting, self.arrays = setting, {}
        self._noises = list(self.setting.noises)
        self._proved = np.array([method.unproved_reason() is None for method in self.setting.methods])

    def read_sample(self, sampled: Sampled) -> None:
        """Read the step's own sample; only a published variant does."""

    def bounds(self) -> np.ndarray:
        """Return how long a record's gradient may be in this step's sum, for each model (K,): as declared, if fixed."""
        return np.array([own.sensitivity for own, _ in self.setting.sums])

    def record_bounds(self, records: Records) -> np.ndarray:
        """Return what each record's gradient is cut to, at most its model's of `bounds`, (K, 1) or (K, m)."""
        return self.column_of(self.bounds())

    def noise_bounds(self) -> np.ndarray:
        """Return what each model's noise is scaled to (K,): where epsilon is proved, what a record can move the sum."""
        bounds = self.bounds()
        return np.where(self._proved, sensitivity(bounds), bounds)

    def weights(self, sampled: Sampled) -> np.ndarray:
        """Return each record's weight on the logit's gradient, (K, S) or (layers, K, S)."""
        records = sampled.records
        bounds = self.record_bounds(records).astype(np.float32, copy=False)
        return records.keep(clip_weights(self.derivatives(records), records.norms, bounds))

    def derivatives(self, records: Records) -> np.ndarray:
        """Return each record's derivative of the objective with respect to the logit (K, S)."""
        return records.deviation

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
        return self.setting.draw_samples(model, epoch, self.setting.methods[model].steps_per_epoch(self.setting.n))

    def public_weights(self, records: Records) -> np.ndarray:
        raise AssertionError("no public batch is drawn")

    def secret_update(self, sampled: Sampled) -> np.ndarray:
        self.read_sample(sampled)
        bounds, beside = self.noise_bounds(), self.statistics(sampled.records)
        totals = sampled.sum(self.weights(sampled))
        if beside is None:
            gradients = self._release(totals, bounds, sampled.step)
        else:
            gradients, noisy = self._release_both(totals, beside, bounds, sampled.step)
            for k, gradient in enumerate(gradients):
                self.learn(k, noisy[k], gradient)
        divisors = np.array([self.divisor(k) for k in range(len(gradients))])
        gradients *= 1.0 / divisors[:, None]
        return gradients

    def _release(self, totals: np.ndarray, radii: np.ndarray, step: int) -> np.ndarray:
        return self.setting.release_sums(totals, radii=radii.tolist(), noises=self._noises, step=step)

    def _release_both(
        self, totals: np.ndarray, counts: np.ndarray, bounds: np.ndarray, step: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return noisy gradients and counts: one vector [g, w b] with |g| <= C, |b| <= 1 and w = C sqrt(s / (1 - s)).

        A record's contribution has length at most sqrt(C^2 + w^2) = C / sqrt(1 - s), s the counts' share.
        """
        models, size = totals.shape
        shares = np.array([self.share(k) for k in range(models)])
        weights = (bounds * np.sqrt(shares / (1.0 - shares)))[:, None]
        vectors = np.concatenate([totals, weights * counts], axis=1)
        noisy = self._release(vectors, bounds / np.sqrt(1.0 - shares), step)
        return noisy[:, :size], noisy[:, size:] / np.where(weights > 0, weights, 1.0)

    def end_epoch(self, epoch: int, kernel: Kernel, feed: Feed) -> None:
        return None

    def watched(self, records: Records) -> dict[str, tuple[np.ndarray, Bound]]:
        return {"gradient_norm": (np.abs(self.derivatives(records)) * records.norms, self.record_bounds(records))}

    def scalars(self, model: int) -> dict[str, float]:
        return {}

    def notes(self, model: int) -> dict[str, object]:
        return {}


class ExportedCurvesRule(NoisySumsRule):
    """A rule whose curves are exported with the model: its proved variant draws them from releases alone."""

    def notes(self, model: int) -> dict[str, object]:
        return dict(self.scalars(model))


def as_published(methods: Sequence[AdaptiveBounds], bounds: np.ndarray) -> np.ndarray:
    """Return what each published model's noise is scaled to (K,): its adaptive bound, or the C that is set."""
    adaptive = np.array([method.bound_of_noise == "adaptive" for method in methods])
    return np.where(adaptive, bounds, [method.clip_primal for method in methods])


def clipped_loss_weights(records: Records, bounds: np.ndarray) -> np.ndarray:
    """Return (p - y) min(1, C / norm) of each record (K, S), `bounds` (K, 1) or (K, S); 0 where not present."""
    return records.keep(clip_weights(records.deviation, records.norms, bounds))


def raw_norms(records: Records) -> list[np.ndarray]:
    """Return the norms of each model's sample, without noise: for published variants alone."""
    norms = loss_gradient_norms(records).astype(np.float64)
    masks = (records.present > 0) & np.isfinite(norms)
    return [own[mask] for own, mask in zip(norms, masks, strict=True)]


def within_reach(bound: float, start: float) -> float:
    """Return `bound`, kept within a factor of REACH of `start`."""
    return min(max(bound, start / REACH), start * REACH)


def count_by(of: np.ndarray, masks: np.ndarray, size: int) -> np.ndarray:
    """Return how many records of `masks` (K, S) are of each kind `of` (K, S) in 0..size-1: (K, size), exact."""
    rows = zip(*np.broadcast_arrays(of, masks), strict=True)
    return np.stack([np.bincount(own, mask, size) for own, mask in rows])


def running_mean(mean: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Return the mean of released values with `new` taken in; `new` itself where nothing was (NaN)."""
    return np.where(np.isnan(mean), new, _MEMORY * mean + (1.0 - _MEMORY) * new)


def running_noise(deviation: float) -> float:
    """Return the standard deviation of a running mean of values that each have noise of `deviation`."""
    return deviation * math.sqrt((1.0 - _MEMORY) / (1.0 + _MEMORY))
