"""DP-FERMI: a penalty on dependence by descent and ascent, private for the sensitive attribute (Lowy et al., 2023).

The published variant is Algorithm 1 with the noise of Theorem 3.3. The proved variant (docs/methods/dp_fermi.md) has
noisy group shares, an independent secret Poisson sample for what depends on groups, and one release a step for theta
and W together; its epsilon holds for everything that the run releases, all iterates included.

A record of group r under condition c pulls theta by a_r v, v its gradient of h and a_r = 2 (W_r1 - W_r0) / sqrt(p_r),
and W by 2 e_r F^T / sqrt(p_r). Both are summed over one secret sample, less what is public: the midrange of a_r over
r; and for W the mean u of F over the public batch, whose part the noisy counts give, and the midpoint over r.

psi's gradient in theta is J^T u for the Jacobian J of the record's F (l,), one back-propagation of the seed of u . F:
u is 2 W_s / sqrt(p_s) for the part of a record that depends on its group, and -sum_r W_r^2 for the part that does not.
Each is scaled down to L_theta |u|, which is no change where J is not larger than L_theta. Components of u along (1, ..,
1) do nothing, since F sums to 1, and are left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from fairpriv_core import checks
from fairpriv_core.engine.clipping import clip_factors
from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.loop import Keeping, OneSum, Rule, Sampled, Seeding, Stateful
from fairpriv_core.engine.rows import Feed, Indices, Records, join_samples
from fairpriv_core.engine.watch import Bound
from fairpriv_core.errors import RunFailed
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import MethodInfo, Style, parameter
from fairpriv_core.methods.cell_counts import MOVED, release_counts
from fairpriv_core.methods.shared import penalty
from fairpriv_core.methods.shared.iterates import ReturnedIterates, check_iterate, iterate
from fairpriv_core.methods.shared.penalty import ClassConditions, Directions, across, group_directions
from fairpriv_core.methods.shared.penalty_weight import CHOSEN_ON, PenaltyWeights, releases_of_decisions
from fairpriv_core.methods.shared.releases import Private, Release, Sample, check_noises
from fairpriv_core.methods.shared.setting import Setting, SettingRule, TrainsByRule
from fairpriv_core.notions.cells import Cells
from fairpriv_core.privacy.sums import sensitivity

_ROUNDING = 1.0 + 1e-12  # so that rounding never puts the claim above its target
JACOBIAN = math.sqrt(2.0)  # the rows of F's Jacobian are dh and -dh: its Frobenius norm is this times |dh|


@dataclass(frozen=True)
class DpFermi(Private, TrainsByRule):
    """Hyper-parameters of DP-FERMI.

    A step releases theta's sum and W's as one vector, each over the root of its share: `noise_primal` is the multiplier
    of the whole, over the root of its share that of a part. `share_counts` is the share of mu^2 for the group sizes, mu
    the Gaussian mechanism with the run's (epsilon, delta), and `share_gap` that for decisions where a gap is aimed at.
    The shares are the proved variant's.
    """

    info: ClassVar[MethodInfo] = MethodInfo(
        name="dp_fermi",
        title="DP-FERMI",
        style=Style("vermilion", "dash", "square"),
        summary="Penalises dependence between decision and group; protects each person's sensitive attribute.",
        citation="Lowy, Gupta and Razaviyayn (2023), Stochastic differentially private and fair learning, Algorithm 1",
        threat_model="attribute",
        source="paper",
        pursued=("decisions",),
        variants=fields.VARIANTS,
        calibrates="noise_primal",
        max_labels=None,
    )
    UNPROVED: ClassVar[str] = (
        "The published accounting does not hold: the group shares are exact though one changed attribute changes "
        "every record's term, and the same public batch undoes the amplification by sampling."
    )

    variant: str = fields.shared("variant")
    epochs: int = fields.shared("epochs")
    batch_size: int = fields.shared("batch_size", 512)
    sampling_rate: float | None = fields.shared("sampling_rate")
    learning_rate: float = fields.shared("learning_rate", 0.008)
    optimizer: str = fields.shared("optimizer")
    hidden_layers: int = fields.shared("hidden_layers")
    width: int = fields.shared("width")
    network: str = fields.shared("network")
    multiplier: float = fields.shared("fixed_multiplier")
    gap_target: float | None = fields.penalty_gap_target()
    clip_primal: float = parameter(
        0.35,
        "Clipping bound L_θ",
        "Largest norm that the gradient of one record's predicted probabilities may have.",
        low=0.001,
        high=100.0,
        log=True,
        paper="1 to 5",
    )
    dual_step: float = fields.shared("adversary_step")
    dual_norm: float = fields.shared("adversary_norm")
    noise_primal: float | None = fields.noise_multiplier("Noise σ of a step", "half the joint shift of θ and W")
    noise_counts: float | None = fields.noise_multiplier("Count noise σ_c", "the counts' shift √2")
    noise_gap: float | None = fields.shared("noise_gap")
    share_dual: float = parameter(
        0.1, "Budget share, W", "Share of a step's budget for W; θ has the rest.", low=0.01, high=0.99, expert=True
    )
    share_counts: float = fields.shared("share_counts")
    share_gap: float = fields.shared("share_gap")
    iterate: str = iterate()

    def __post_init__(self) -> None:
        fields.check_network(self)
        checks.one_of(fields.VARIANTS, variant=self.variant)
        check_iterate(self.iterate)
        if self.sampling_rate is not None:
            checks.rate(sampling_rate=self.sampling_rate)
        checks.not_negative(multiplier=self.multiplier)
        checks.positive(clip_primal=self.clip_primal, dual_step=self.dual_step, dual_norm=self.dual_norm)
        fields.check_gap_target(self.gap_target, self.variant)
        checks.open_unit(share_dual=self.share_dual)
        checks.shares(share_counts=self.share_counts, share_gap=self.share_gap)
        check_noises(self)

    @property
    def share_of_w(self) -> float:
        """The share of 1 / noise_primal^2 that W's sum has; as published both sums have the same multiplier."""
        return 0.5 if self.variant == "published" else self.share_dual

    def rate(self, n_train: int) -> float:
        """The chance of a row to be in a step's sample; |B| / n where it is not given, and as published."""
        if self.sampling_rate is None or self.variant == "published":
            return fields.share_of_rows(self.batch_size, n_train)
        return self.sampling_rate

    def idle_reason(self) -> str | None:
        """Why there is no penalty; None where there is one."""
        return fields.format_idle({"multiplier": self.multiplier})

    def releases(self, n_train: int, groups: int) -> tuple[Release, ...]:
        """The group sizes, of which a person who moves changes two; decisions, if a gap is aimed at; and the steps.

        A step's two sums lie in balls of half of how far one person moves them: theta's with W at its norm D, and W's,
        groups of one size. As published sizes are read in clear, and the bounds are those in the proof of Theorem 3.3,
        on means over a batch.
        """
        published, pursues = self.variant == "published", self.multiplier > 0
        theta, w = math.sqrt(2.0 * groups) * self.dual_norm * self.clip_primal, math.sqrt(8.0 * max(groups - 1, 1))
        if published:
            w = math.sqrt(8.0 * groups) / self.batch_size
            theta = w * self.dual_norm * self.clip_primal
        sample = Sample(self.rate(n_train), "add_remove" if published else "replace")
        steps = Release("primal", theta, "noise_primal", "step", self.steps(n_train), sample=sample, beside={"dual": w})
        return (
            Release(
                "counts",
                None if published else MOVED,
                "noise_counts",
                share="share_counts",
                needed=pursues and not published,
            ),
            *releases_of_decisions(self, 2),
            replace(steps, needed=pursues),
        )

    def count_deviation(self) -> float | None:
        """That of the shift √2 of a person who moves; None of the published variant, which counts in clear."""
        return MOVED * self.noise("noise_counts") if self.proved else None

    def published_epsilon(self, n_train: int, delta: float) -> float | None:
        """Return what Theorem 3.3 claims for the same noise multipliers, q and T; it does not count the group sizes.

        sigma_theta = 4 L D sqrt(T ln(1/delta) / rho) / (epsilon n) and sigma_w likewise; over the shifts sqrt(8 / rho)
        L D / m and sqrt(8 / rho) / m that its proof bounds, both are q sqrt(2 T ln(1/delta)) / epsilon.
        """
        if self.multiplier == 0:
            return 0.0
        largest = max(self.share_of_w, 1.0 - self.share_of_w)
        noise = self.noise("noise_primal")
        return self._claim(n_train, delta) * math.sqrt(largest) / noise if noise else math.inf

    def calibrated(self, *, epsilon: float, delta: float, n_train: int) -> Self:
        """Return a copy with every noise set that is not set by hand; as published by Theorem 3.3, turned around."""
        known = self
        if self.variant == "published" and self.noise_primal is None and self.multiplier > 0:
            checks.positive(epsilon=epsilon)
            noise = self._claim(n_train, delta) * math.sqrt(self.share_of_w) / epsilon
            known = replace(self, noise_primal=noise * _ROUNDING)
        return super(DpFermi, known).calibrated(epsilon=epsilon, delta=delta, n_train=n_train)

    def assumptions(self) -> tuple[str, ...]:
        """What epsilon takes as given."""
        return (
            *fields.ATTRIBUTE_ASSUMED,
            fields.chosen_on("Adult, COMPAS and synthetic data" if self.gap_target is None else CHOSEN_ON),
        )

    @classmethod
    def rule(cls, setting: Setting[Any]) -> Rule:
        rules = _OF_CLASSES if setting.shape.outputs > 1 else _OF_A_LOGIT
        return rules[setting.methods[0].variant](setting)

    def _claim(self, n_train: int, delta: float) -> float:
        return claim_of_theorem(rate=self.rate(n_train), steps=self.steps(n_train), delta=delta)


def claim_of_theorem(*, rate: float, steps: int, delta: float) -> float:
    """Return epsilon of Theorem 3.3 times the noise multiplier of each part of a step."""
    checks.open_unit(delta=delta)
    return rate * math.sqrt(2.0 * steps * math.log(1.0 / delta))


@dataclass(frozen=True)
class Pairs:
    """K models' two sums over one sample each: `theta` (K, P) and `w` (K, conditions, k, l).

    The bounds (K,) are on the L2 norm of what one record adds to a sum (theta's may be 0: the sum is 0 then).
    """

    theta: np.ndarray
    theta_bound: np.ndarray
    w: np.ndarray
    w_bound: np.ndarray


class StepRelease:
    """Releases the pairs of every step with the noise of each model's method; models of multiplier 0 release nothing.

    Each sum is scaled to the root of its share of the budget, so a record adds at most 1 to the vector: a multiplier
    sigma on the whole is sigma / sqrt(share) on each part (docs/methods/dp_fermi.md).
    """

    def __init__(self, setting: Setting[DpFermi]) -> None:
        self._setting = setting
        self._radii = [float(method.multiplier > 0) for method in setting.methods]
        shares = np.array([method.share_of_w for method in setting.methods])
        self._of_w, self._of_theta = np.sqrt(shares), np.sqrt(1.0 - shares)

    def release(self, pairs: Pairs, *, step: int) -> tuple[np.ndarray, np.ndarray]:
        """Return both sums of each model with noise: one sampled Gaussian on the vector that holds them."""
        theta_unit, w_unit = (pairs.theta_bound / self._of_theta)[:, None], (pairs.w_bound / self._of_w)[:, None]
        theta = pairs.theta / np.where(theta_unit > 0, theta_unit, np.inf)
        w = pairs.w.reshape(len(theta), -1) / w_unit
        noisy = self._setting.release_sums(np.concatenate([theta, w], axis=1), radii=self._radii, step=step)
        size = theta.shape[1]
        return noisy[:, :size] * theta_unit, (noisy[:, size:] * w_unit).reshape(pairs.w.shape)


class FermiRule(SettingRule, Stateful, Keeping, OneSum):
    """Public batch: loss, psi's first term, the public remainder. Secret sample: what depends on groups, noised."""

    jacobian: ClassVar[float] = JACOBIAN  # of F, over the gradient that `clip` bounds: with one logit, that of h
    samples_batches: ClassVar[bool] = False
    uses_batches: ClassVar[bool] = True
    batch: penalty.Averages

    def __init__(self, setting: Setting[DpFermi]) -> None:
        self.setting, self.arrays = setting, {}
        methods, cells = self.setting.methods, self.setting.cells
        self.conditions = self.list_conditions(cells)
        self.pursued = [k for k, method in enumerate(methods) if method.multiplier > 0]
        self.clip = self.setting.column("clip_primal") / self.jacobian
        self.weights = PenaltyWeights(self.setting, self.arrays, cells_moved=2)
        self.multiplier = self.weights.column
        counts = np.ones((len(methods), cells.count))
        for k in self.pursued:
            if self.setting.trainings[k].checkpoint is None:
                counts[k] = self.sizes(k)
        self._returned = ReturnedIterates(self.setting)
        self._expected = np.array(self.setting.rates) * self.setting.n
        self._dual_step, self._dual_norm = (
            self.setting.column(name).astype(np.float64)[..., None, None] for name in ("dual_step", "dual_norm")
        )
        self.step_release = StepRelease(self.setting)
        self.shares = self.conditions.shares(counts)
        self.w = penalty.independent(self.shares, self.setting.trains[0].labels)
        self.arrays |= {"adversary": self.w, "group_shares": self.shares}
        self.set_tables()

    def keep(self, parameters: np.ndarray, step: int) -> None:
        self._returned.keep(parameters, step)

    def kept(self, model: int) -> np.ndarray | None:
        return self._returned.kept(model)

    def list_conditions(self, cells: Cells) -> penalty.Conditions:
        """Return the notion's conditions."""
        return penalty.Conditions(cells)

    def sizes(self, k: int) -> np.ndarray:
        """Return the cells' sizes of model k (cells,), noisy."""
        return release_counts(self.setting, k)

    def samples(self, epoch: int, batches: list[Indices]) -> list[Indices] | None:
        if not self.pursued:
            return None
        models, steps = range(len(self.w)), len(batches)
        return join_samples([self.setting.draw_samples(k, epoch, steps, needed=k in self.pursued) for k in models])

    def public_weights(self, records: Records) -> np.ndarray:
        if not self.pursued:
            return records.deviation / np.float32(records.count)
        self.batch = self.conditions.average(self.conditions.count_labels(records))
        return self.batch_weights(records)

    def batch_weights(self, records: Records) -> np.ndarray:
        """Return each batch record's weight (K, B): that of the loss, and psi's by `derivatives`."""
        weights = penalty.clipped_derivatives(records, self.clip)
        weights *= records.look_up(self.derivatives * self.multiplier)
        weights += records.deviation
        weights /= np.float32(records.count)
        return weights

    def secret_weights(self, records: Records) -> np.ndarray:
        weights = penalty.clipped_derivatives(records, self.clip)
        weights *= records.look_up(self._centred)
        return records.keep(weights)

    def release(self, totals: np.ndarray, records: Records, step: int) -> np.ndarray:
        u, shares = self.batch.means, self.shares
        pairs = Pairs(
            theta=totals,
            theta_bound=sensitivity(self.radius * self.clip[:, 0]),
            w=penalty.derivative_of_w(self.conditions.group_sums(records, centre=u), shares),
            w_bound=penalty.sensitivity_of_w(shares, u),
        )
        theta, w = self.step_release.release(pairs, step=step)
        decay = 2.0 * self.batch.weights[..., None, None] * (self.w - np.sqrt(shares)[..., None])
        ascent = penalty.without_excess(w, shares) / self._expected[:, None, None, None] - decay * u[..., None, :]
        self.ascend(ascent)
        update: np.ndarray = theta * (self.multiplier / self._expected[:, None])
        return update

    def ascend(self, ascent: np.ndarray) -> None:
        """Move W of the models that pursue the notion along `ascent` (K, conditions, k, l), and set what follows."""
        moved = self.w + self._dual_step * ascent
        pursued = np.isin(np.arange(len(self.w)), self.pursued)[:, None, None, None]
        self.w[:] = np.where(pursued, penalty.project(moved, self._dual_norm), self.w)
        self.set_tables()

    def end_epoch(self, epoch: int, kernel: Kernel, feed: Feed) -> None:
        if epoch + 1 >= self.setting.methods[0].epochs:
            return  # lambda after the last epoch would change nothing: decisions are not released
        for k in self.pursued:
            if self.setting.methods[k].gap_target is not None:
                sizes = self.shares[k].ravel() * self._count_people(k)
                self.weights.follow(k, sizes=sizes, epoch=epoch, kernel=kernel, feed=feed)
        self.multiplier = self.weights.column

    def _count_people(self, k: int) -> np.ndarray:
        """Return how many rows there are under each cell's condition (cells,): labels are public."""
        train, cells = self.setting.trains[k], self.setting.cells
        people: np.ndarray = cells.conditions @ np.bincount(train.y, minlength=train.labels).astype(np.float64)
        return people

    def watched(self, records: Records) -> dict[str, tuple[np.ndarray, Bound]]:
        return {
            "gradient_norm": (penalty.derivatives(records) * records.norms, self.clip),
            "output": (records.probability, None),
        }

    def scalars(self, model: int) -> dict[str, float]:
        return self.conditions.cells.name_curves(multiplier=self.multipliers(model))

    def notes(self, model: int) -> dict[str, object]:
        if model not in self.pursued:
            return self._returned.notes(model)
        names = self.conditions.cells.names
        return {
            **self._returned.notes(model),
            "multipliers": dict(zip(names, self.multipliers(model).tolist(), strict=True)),
            "group_shares": dict(zip(names, self.shares[model].ravel().tolist(), strict=True)),
            "adversary": self.w[model].tolist(),
        }

    def state(self, model: int) -> dict[str, np.ndarray]:
        return {**super().state(model), **self._returned.state(model)}

    def load(self, model: int, state: Mapping[str, np.ndarray]) -> None:
        self._returned.load(model, state)
        super().load(model, state)

    def prepare(self) -> None:
        self.multiplier = self.weights.column
        self.set_tables()

    def multipliers(self, model: int) -> np.ndarray:
        """Return each cell's multiplier (cells,), for the analyst."""
        return penalty.multipliers(self.w[model], self.shares[model], float(self.weights.values[model]))

    def set_tables(self) -> None:
        """Derive the step's tables from W and the shares, both released: slopes less their midranges, radius."""
        derivatives = penalty.group_derivatives(self.w, self.shares)
        midrange = (derivatives.max(axis=2) + derivatives.min(axis=2)) / 2.0
        centred = self.conditions.by_code(derivatives - midrange[..., None]).astype(np.float32)
        public = self.conditions.by_label(penalty.public_derivatives(self.w) + midrange)
        self.derivatives = np.tile(public, self.conditions.groups).astype(np.float32)
        self._centred = centred
        self.radius = np.abs(centred).max(axis=1).astype(np.float64)


class PublishedFermiRule(FermiRule):
    """Loss and psi of the same batch; noise on psi's gradients, lambda times both (lines 5 and 6).

    docs/methods/dp_fermi.md says what this leaves unprotected.
    """

    samples_batches: ClassVar[bool] = True

    def sizes(self, k: int) -> np.ndarray:
        """Return the cells' exact sizes (cells,); RunFailed, naming the cell, where one is empty."""
        train, cells = self.setting.trains[k], self.setting.cells
        sizes = cells.sizes(*train.members)
        if not sizes.all():
            raise RunFailed(
                f"group '{cells.names[int(sizes.argmin())]}' has no training rows; at least 1 is needed: leave the "
                "group out or merge it with another one."
            )
        return sizes

    def samples(self, epoch: int, batches: list[Indices]) -> list[Indices] | None:
        return batches if self.pursued else None

    def secret_weights(self, records: Records) -> np.ndarray:
        """Return the weights of the whole update: the sample is the public batch itself.

        Psi's terms alone are clipped, and the noise is scaled to them: the paper takes the loss as public.
        """
        return self.batch_weights(records)

    def release(self, totals: np.ndarray, records: Records, step: int) -> np.ndarray:
        sums, shares = self.conditions.count_rows(records), self.shares
        scale = self.multiplier / records.count
        w_sensitivity = np.sqrt(8.0 / shares.min(axis=(1, 2)))  # of W's sum, in the proof of Theorem 3.3
        pairs = Pairs(
            theta=totals,
            theta_bound=w_sensitivity * self._norm_bound * scale[:, 0],
            w=2.0 * self.conditions.total(sums) / np.sqrt(shares)[..., None],
            w_bound=w_sensitivity,
        )
        theta, w = self.step_release.release(pairs, step=step)
        averages = self.conditions.average(self.conditions.count_labels(records))
        mean = averages.means * averages.weights[..., None]
        ascent = w / records.count - 2.0 * self.w * mean[..., None, :]
        self.ascend(self.multiplier[..., None, None] * ascent)
        return np.where(scale > 0, theta, totals)

    @cached_property
    def _norm_bound(self) -> np.ndarray:
        """D times the bound on |dF| of each model (K,)."""
        bound: np.ndarray = (self.setting.column("dual_norm") * self.clip)[:, 0].astype(np.float64) * self.jacobian
        return bound

    def set_tables(self) -> None:
        """Derive the step's table from W and the shares."""
        of_label = self.conditions.by_label(penalty.public_derivatives(self.w))
        of_group = self.conditions.by_code(penalty.group_derivatives(self.w, self.shares))
        self.derivatives = (np.tile(of_label, self.conditions.groups) + of_group).astype(np.float32)


class FermiClassesRule(Seeding, FermiRule):
    """The proved variant: a step propagates back the batch's losses, its part of psi, and the secret sample's."""

    jacobian: ClassVar[float] = 1.0
    conditions: ClassConditions

    def list_conditions(self, cells: Cells) -> ClassConditions:
        return ClassConditions(cells)

    def public_update(self, batch: Sampled) -> np.ndarray:
        records = batch.records
        weights = records.deviation / np.float32(records.count)
        update = batch.kernel.weighted_sum(batch.passed, weights, batch.rows).copy()
        if self.pursued:
            self.batch = self.conditions.average(self.conditions.count_labels(records))
            update += self.multiplier / np.float32(records.count) * self.sum_of_directions(batch, self.public)
        return update

    def secret_update(self, sampled: Sampled) -> np.ndarray:
        return self.release(self.sum_of_directions(sampled, self.secret), sampled.records, sampled.step)

    def sum_of_directions(self, sampled: Sampled, directions: Directions) -> np.ndarray:
        """Return the sum (K, P) of the records' J^T u, each scaled down to L_theta |u|; overwritten by the next."""
        records = sampled.records
        derived = sampled.back(directions.seeds(records))
        weights = clip_factors(derived.records.norms, self.clip) * records.look_up(directions.lengths)
        return derived.sum(records.keep(weights))

    def watched(self, records: Records) -> dict[str, tuple[np.ndarray, Bound]]:
        """Return the norms of the secret part's J^T u over |u|, which L_theta bounds."""
        return {"gradient_norm": (records.back(self.secret.seeds(records)).norms, self.clip)}

    def multipliers(self, model: int) -> np.ndarray:
        """Return how hard each cell is pulled (cells,): of two labels the size of PF-LD's multiplier."""
        directions = group_directions(self.w[model], self.shares[model])
        sizes = np.sqrt(2.0 * (directions**2).sum(axis=-1))
        multipliers: np.ndarray = float(self.multiplier[model, 0]) * (self.shares[model] * sizes).ravel()
        return multipliers

    def set_tables(self) -> None:
        """Derive u of each code from W and the shares, both released; what all groups share of it is public."""
        directions = group_directions(self.w, self.shares)
        centre = self.centre(directions)
        self.public = Directions.of(self.conditions.spread_labels(across(centre - (self.w**2).sum(axis=-2))))
        self.secret = Directions.of(self.conditions.spread_groups(across(directions - centre[..., None, :])))
        self.radius = self.secret.lengths.max(axis=1).astype(np.float64)

    def centre(self, directions: np.ndarray) -> np.ndarray:
        """Return the midpoint over groups of u's entries (K, conditions, l)."""
        midpoint: np.ndarray = (directions.max(axis=-2) + directions.min(axis=-2)) / 2.0
        return midpoint


class PublishedFermiClassesRule(FermiClassesRule, PublishedFermiRule):
    """As published: the secret sample is the public batch, and nothing is centred.

    The part that depends on the group is at most L_theta 2 |W_s| / sqrt(p_s) long, so that a changed attribute moves
    the sum by no more than the proof of Theorem 3.3 has it.
    """

    def secret_update(self, sampled: Sampled) -> np.ndarray:
        update = self.public_update(sampled)
        update += self.multiplier / np.float32(sampled.records.count) * self.sum_of_directions(sampled, self.secret)
        return self.release(update, sampled.records, sampled.step)

    def centre(self, directions: np.ndarray) -> np.ndarray:
        return np.zeros_like(directions[..., 0, :])


_OF_A_LOGIT: dict[str, type[FermiRule]] = {"proved": FermiRule, "published": PublishedFermiRule}
_OF_CLASSES: dict[str, type[FermiRule]] = {"proved": FermiClassesRule, "published": PublishedFermiClassesRule}
