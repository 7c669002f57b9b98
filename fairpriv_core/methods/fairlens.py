"""DP-SGD with regularisers on what makes it cost groups unlike amounts (Tran, Dinh and Fioretto, 2021).

The objective is the loss + sum_a (gamma_1 |<g_a - g, g - g_C>| + gamma_2 |b_a - b|): g_a and g are the mean gradients
of group a and of everyone, g_C the mean of clipped gradients, b the mean of 1 - sum_k f_k^2, which stands in for the
trace of the Hessian. docs/methods/dp_sgd_family.md says what of this could not be checked against the paper.

H of a record is p (1 - p) J J^T, J the logit's gradient; for a network that leaves out the logit's own curvature. Then
all parts of a record's gradient are multiples of J:

    p - y + p (1 - p) (gamma_1 (k_a J.r + [|g| > C] J.u) + gamma_2 l_a 2 (1 - 2 p)),

r the mean of what clipping cuts off, u = sum_a s_a (g_a - g), k_a and l_a from signs and shares of the groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairpriv_core import checks
from fairpriv_core.engine.clipping import MARGIN, clip_factors, clip_weights
from fairpriv_core.engine.kernel import Kernel, Pass
from fairpriv_core.engine.loop import Rule, Sampled
from fairpriv_core.engine.rows import Drawn, Feed, Records
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import MethodInfo, Style, parameter
from fairpriv_core.methods.shared.noisy_sums import ExportedCurvesRule, NoisySums
from fairpriv_core.methods.shared.releases import Release
from fairpriv_core.methods.shared.setting import Setting
from fairpriv_core.privacy.sums import sensitivity

_CHUNK = 4096
_PARTS = np.sqrt([0.45, 0.45, 0.1])  # the parts' lengths in one record's contribution, whose length is 1


@dataclass(frozen=True)
class FairLens(NoisySums):
    """Every record's gradient of loss and regularisers is clipped as one.

    Proved: group statistics come from sums over all rows, noised and paid for after each epoch but the last, and serve
    the epoch that follows; the first one has none. Published: they are the sample's own, without noise.
    """

    info: ClassVar[MethodInfo] = MethodInfo(
        name="fairlens",
        title="Tran et al. (FairLens)",
        style=Style("yellow", "longdash", "cross"),
        summary="DP-SGD that holds what clipping and noise cost alike for every group; protects whole records.",
        citation="Tran, Dinh and Fioretto (2021), Differentially private empirical risk minimization under the "
        "fairness lens",
        threat_model="record",
        variants=fields.VARIANTS,
        calibrates="noise_primal",
    )
    FOUND_ON: ClassVar[str] = "Adult"
    UNPROVED: ClassVar[str] = (
        "The published accounting does not hold: each record's clipped gradient depends, by way of group "
        "statistics without noise, on all other records of the sample."
    )

    variant: str = fields.shared("variant")
    multiplier_gradient: float = parameter(
        0.3,
        "Multiplier γ₁, clipping",
        "How hard groups are held alike in what clipping cuts off.",
        low=0.0,
        high=100.0,
    )
    multiplier_boundary: float = parameter(
        0.3,
        "Multiplier γ₂, noise",
        "How hard groups are held alike in how close they are to the decision boundary, where noise costs most.",
        low=0.0,
        high=100.0,
        fairer="more",
    )
    reach: float = parameter(
        3.0,
        "Reach of the statistics",
        "Up to how many C beyond C a gradient counts in the group statistics (proved variant).",
        low=0.1,
        high=100.0,
        log=True,
        expert=True,
    )
    share_statistics: float = parameter(
        0.1,
        "Budget share, statistics",
        "Share of the budget for the group statistics.",
        low=0.01,
        high=0.9,
        expert=True,
    )
    noise_statistics: float | None = fields.noise_multiplier("Statistics noise σ_s", "the statistics' shift 1")

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of(fields.VARIANTS, variant=self.variant)
        checks.not_negative(multiplier_gradient=self.multiplier_gradient, multiplier_boundary=self.multiplier_boundary)
        checks.positive(reach=self.reach)
        checks.open_unit(share_statistics=self.share_statistics)

    @property
    def regularises(self) -> bool:
        """Whether any regulariser is in force; otherwise the method is DP-SGD."""
        return self.multiplier_gradient > 0 or self.multiplier_boundary > 0

    @property
    def measured_epochs(self) -> int:
        """After how many epochs group statistics are released."""
        return self.epochs - 1 if self.proved and self.regularises else 0

    def idle_reason(self) -> str | None:
        """Why nothing is regularised; None where something is: the proved variant needs an epoch's statistics first."""
        weights = {"multiplier_gradient": self.multiplier_gradient, "multiplier_boundary": self.multiplier_boundary}
        return fields.format_idle(weights, self.epochs if self.proved else None)

    def releases(self, n_train: int, groups: int) -> tuple[Release, ...]:
        """The group statistics, if any, of which a record's part has length 1 at most (`GroupSums.pack`); the steps."""
        times = self.measured_epochs
        share = "share_statistics" if times else None
        statistics = Release("statistics", 1.0, "noise_statistics", "epoch", times, share)
        return (statistics, *super().releases(n_train, groups))

    def unproved_reason(self) -> str | None:
        """Why the published variant has no epsilon; None for the proved variant, and where nothing is regularised."""
        return super().unproved_reason() if self.regularises else None

    @classmethod
    def rule(cls, setting: Setting[Any]) -> Rule:
        return FairLensRule(setting) if setting.methods[0].proved else FairLensPublishedRule(setting)


class FairLensRule(ExportedCurvesRule):
    """Proved: noisy sums over all rows, released after each epoch but the last, set the regularisers' factors."""

    LEAST: ClassVar[float] = 30.0  # a group of fewer records, by the noisy count, is left out of the regularisers

    def __init__(self, setting: Setting[Any]) -> None:
        super().__init__(setting)
        models, groups, size = len(setting.methods), setting.trains[0].groups, setting.shape.size
        for name in ("gradient_factors", "boundary_factors", "clipping", "boundary"):
            self.arrays[name] = np.zeros((models, groups))
        for name in ("excess", "toward_mean"):
            self.arrays[name] = np.zeros((models, size))

    def weights(self, sampled: Sampled) -> np.ndarray:
        records, derivatives = sampled.records, self.objective_derivatives(sampled)
        return records.keep(clip_weights(derivatives, records.norms, self.column_of(self.bounds()).astype(np.float32)))

    def objective_derivatives(self, sampled: Sampled) -> np.ndarray:
        """Return each record's derivative of loss and regularisers with respect to the logit (K, S)."""
        records, group = sampled.records, sampled.records.group
        deviation = records.deviation
        curvature = records.probability * (1.0 - records.probability)
        along = self._of_group("gradient_factors", group) * self._along(sampled, "excess")
        clipped = np.abs(deviation) * records.norms > self.setting.column("clip_primal")
        along += np.where(clipped, self._along(sampled, "toward_mean"), 0.0)
        boundary = self._of_group("boundary_factors", group) * 2.0 * (1.0 - 2.0 * records.probability)
        regulariser = self.setting.column("multiplier_gradient") * along
        regulariser += self.setting.column("multiplier_boundary") * boundary
        derivatives: np.ndarray = deviation + curvature * regulariser
        return derivatives

    def end_epoch(self, epoch: int, kernel: Kernel, feed: Feed) -> None:
        for k, method in enumerate(self.setting.methods):
            if epoch < method.measured_epochs:
                self.set_factors(k, self._release_sums(k, epoch, kernel, feed))

    def set_factors(self, model: int, sums: GroupSums) -> None:
        """Take what the regularisers of one model need from `sums`."""
        for name, value in vars(derive_factors(sums, least=self.LEAST)).items():
            self.arrays[name][model] = value

    def scalars(self, model: int) -> dict[str, float]:
        names = self.setting.trains[model].group_names
        return {
            f"{kind}/{name}": float(value)
            for kind in ("clipping", "boundary")
            for name, value in zip(names, self.arrays[kind][model], strict=True)
        }

    def _of_group(self, name: str, group: np.ndarray) -> np.ndarray:
        own = np.broadcast_to(group, (len(self.arrays[name]), group.shape[1]))
        return np.take_along_axis(self.arrays[name].astype(np.float32), own, axis=1)

    def _along(self, sampled: Sampled, name: str) -> np.ndarray:
        return directional(sampled.kernel, sampled.passed, sampled.rows, self.arrays[name])

    def _release_sums(self, k: int, epoch: int, kernel: Kernel, feed: Feed) -> GroupSums:
        method, groups = self.setting.methods[k], self.setting.trains[k].groups
        sums = sum_everyone(k, kernel=kernel, feed=feed, groups=groups, bound=method.clip_primal, reach=method.reach)
        packed = sums.pack(method.clip_primal, method.reach)
        noisy = self.setting.release(k, "statistics", packed, sensitivity=sensitivity(1.0), index=epoch)
        return GroupSums.unpack(noisy, method.clip_primal, method.reach, groups)


class FairLensPublishedRule(FairLensRule):
    """Published: the statistics are those of the step's own sample, without noise, read where they regularise."""

    LEAST: ClassVar[float] = 1.0

    def read_sample(self, sampled: Sampled) -> None:
        for k, method in enumerate(self.setting.methods):
            if not method.regularises:  # epsilon is proved then, also of the notes
                continue
            groups, bound = self.setting.trains[k].groups, method.clip_primal
            sums = _sum(
                sampled.passed, sampled.records, sampled.rows, model=k, groups=groups, bound=bound, reach=np.inf
            )
            self.set_factors(k, sums)


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
    """What a record's regularisers need: for the logit's gradient the directions (P,) `excess` and `toward_mean`, and
    a factor for each group of both regularisers; `clipping` and `boundary` are the groups' deviations that they weigh.
    """

    excess: np.ndarray
    toward_mean: np.ndarray
    gradient_factors: np.ndarray
    boundary_factors: np.ndarray
    clipping: np.ndarray
    boundary: np.ndarray


def derive_factors(sums: GroupSums, *, least: float) -> Factors:
    """Return what follows from `sums`: signs of the groups' deviations, and n / n_a; groups below `least` have none."""
    mask = sums.sizes >= least
    sizes, people = np.maximum(sums.sizes, 1.0), max(float(sums.sizes.sum()), 1.0)
    excess, mean = sums.excess / people, sums.gradients.sum(axis=0) / people
    separate = sums.gradients / sizes[:, None] - mean
    clipping = (separate @ excess) * mask
    boundary = (sums.boundary / sizes - sums.boundary.sum() / people) * mask
    signs, sides = np.sign(clipping), np.sign(boundary)
    return Factors(
        excess=excess,
        toward_mean=signs @ separate,
        gradient_factors=signs * people / sizes - signs.sum(),
        boundary_factors=sides * people / sizes - sides.sum(),
        clipping=clipping,
        boundary=boundary,
    )


def sum_everyone(model: int, *, kernel: Kernel, feed: Feed, groups: int, bound: float, reach: float) -> GroupSums:
    """Return the sums over all training rows of one model, each gradient clipped to C (1 + `reach`) first."""
    total: GroupSums | None = None
    alone = kernel.alone(model)
    for rows in np.array_split(np.arange(feed.n), -(-feed.n // _CHUNK)):
        batch = Drawn([feed.columns[model]], [rows])
        passed = alone.run(batch.features, batch.squares)
        part = _sum(passed, Records(passed, batch), slice(None), model=0, groups=groups, bound=bound, reach=reach)
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


def _sum(
    passed: Pass, records: Records, rows: slice, *, model: int, groups: int, bound: float, reach: float
) -> GroupSums:
    """Return the sums over one model's records, each gradient clipped to C (1 + `reach`) first."""
    probability = records.probability[model]
    norms, deviation, present, group = (
        np.broadcast_to(values, records.logits.shape)[model]
        for values in (records.norms, records.deviation, records.present, records.group)
    )
    weights, cut = _gradient_weights(deviation, norms, bound=bound, reach=reach)
    mask = (present > 0) & np.isfinite(norms)
    of_group = (group == np.arange(groups)[:, None]) * mask.astype(np.float64)
    total = _weighted_sums(passed, rows, model, np.concatenate([of_group * weights, (cut * mask)[None]]), mask)
    closeness = np.nan_to_num((2.0 * probability * (1.0 - probability)).astype(np.float64), nan=0.0)
    return GroupSums(total[:-1], total[-1], of_group.sum(axis=1), of_group @ closeness)


def _gradient_weights(
    deviation: np.ndarray, norms: np.ndarray, *, bound: float, reach: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return each record's weight on the logit's gradient: up to C (1 + `reach`), and beyond C alone."""
    lengths = np.abs(deviation) * norms
    shortened = clip_factors(lengths, (1.0 + reach) * bound) if np.isfinite(reach) else np.ones_like(lengths)
    cut = np.maximum(shortened - bound * (1.0 - MARGIN) / lengths, 0.0)
    inside, beyond = (np.nan_to_num((deviation * share).astype(np.float64), nan=0.0) for share in (shortened, cut))
    return inside, beyond


def _weighted_sums(passed: Pass, rows: slice, model: int, weights: np.ndarray, finite: np.ndarray) -> np.ndarray:
    """Return the sums (m, P) of the logit's gradients weighted by each row of `weights` (m, B), in float64."""
    parts = []
    for activation, delta in passed.layers:
        inputs = np.where(finite[:, None], activation[model, rows].astype(np.float64), 0.0)
        outputs = np.where(finite[:, None], delta[model, rows].astype(np.float64), 0.0)
        scaled = weights[:, :, None] * outputs
        parts += [(scaled.transpose(0, 2, 1) @ inputs).reshape(len(weights), -1), scaled.sum(axis=1)]
    return np.concatenate(parts, axis=1)
