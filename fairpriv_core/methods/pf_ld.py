"""PF-LD: fair by Lagrangian duality, private for the sensitive attribute (Tran, Fioretto and Van Hentenryck, 2021).

The published variant is Algorithm 1 with eq. 8 and 10. The proved variant (docs/privacy.md) has signed multipliers, an
independent secret Poisson sample for the group terms, and noise that covers every contribution; its epsilon holds for
everything that the run releases, all iterates included. With a gap aimed at, its dual steps are of decisions
(multipliers.py).

Notation. d_i are noisy cell counts, constants once released. A record with label y and group a has coefficient
c_a = lambda_i / (q d_i) for its cell i, 0 without one; the midrange over a, cbar_y, is public, and so is its part of
the sum. What remains of any record lies in the ball of radius r C_p, r = max |c_a - cbar_y|.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairpriv_core import checks
from fairpriv_core.engine.clipping import MARGIN
from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.loop import OneSum, Rule, Stateful
from fairpriv_core.engine.rows import Feed, Indices, Records, join_samples
from fairpriv_core.engine.watch import Bound
from fairpriv_core.errors import BadInput
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import MethodInfo, Style, parameter
from fairpriv_core.methods.cell_counts import MOVED, name_noise, release_counts
from fairpriv_core.methods.clipping_choice import ClippingCurve, Warmup, best_bound, build_curve, proved_noise
from fairpriv_core.methods.shared.lagrangian import LagrangianRule, cell_means, constraint_norms, finite, outputs
from fairpriv_core.methods.shared.multipliers import dual_bound, measured, move_multipliers
from fairpriv_core.methods.shared.releases import Private, Release, Sample, check_noises
from fairpriv_core.methods.shared.setting import Setting, SettingRule, TrainsByRule
from fairpriv_core.notions.cells import LABELS, NO_CELL
from fairpriv_core.notions.surrogates import derivative, output
from fairpriv_core.privacy.accountants import rdp_epsilon
from fairpriv_core.privacy.event import Events
from fairpriv_core.privacy.sums import on_grid, sensitivity

_LEAST_RADIUS = 1e-30  # of steps whose multipliers are back at 0: counted, since a release has put them there


@dataclass(frozen=True)
class PfLd(Private, TrainsByRule):
    """Hyper-parameters of PF-LD.

    `share_dual` and `share_counts` split the budget of the proved variant: shares of mu^2, mu the Gaussian mechanism
    with the run's (epsilon, delta); the primal steps get what is left.
    """

    info: ClassVar[MethodInfo] = MethodInfo(
        name="pf_ld",
        title="PF-LD",
        style=Style("blue", "solid", "circle"),
        summary="Pursues the chosen notion by Lagrangian duality; protects each person's sensitive attribute.",
        citation="Tran, Fioretto and Van Hentenryck (2021), Differentially private and fair deep learning, eq. 8, 10",
        threat_model="attribute",
        source="paper",
        pursued=("decisions", "errors"),
        variants=fields.VARIANTS,
        calibrates="noise_primal",
        weighs_rows=True,
    )
    FOUND_ON: ClassVar[str] = "Adult and Bank"
    UNPROVED: ClassVar[str] = (
        "The published accounting does not hold: one changed attribute moves two group means and can flip a sign, "
        "the noise scale reads group sizes, and the same public batch undoes the amplification by sampling."
    )

    variant: str = fields.shared("variant")
    epochs: int = fields.shared("epochs")
    batch_size: int | None = fields.shared("fitting_batch_size")
    sampling_rate: float | None = fields.shared("sampling_rate")
    learning_rate: float = fields.shared("learning_rate", 0.002)
    optimizer: str = fields.shared("optimizer")
    hidden_layers: int = fields.shared("hidden_layers")
    width: int = fields.shared("width")
    network: str = fields.shared("network")
    clip_primal: float | None = parameter(
        0.5,
        "Primal clipping bound C_p",
        "Largest norm that one record's gradient of the constraint may have. Small: bias; large: noise. "
        "Empty: the minimiser of Theorem 4 after the first epoch, from public values.",
        low=0.001,
        high=100.0,
        log=True,
        paper="10",
    )
    clip_dual: float = parameter(
        1.0,
        "Dual clipping bound C_d",
        "Largest output that one record may add to a violation; a probability never exceeds 1. With a gap aimed at it "
        "does not apply: decisions, 0 or 1, are summed.",
        low=0.01,
        high=20.0,
        log=True,
        paper="5",
    )
    surrogate: str = fields.shared("surrogate")
    multiplier_max: float = fields.shared("multiplier_max")
    warmup_epochs: int = fields.shared("warmup_epochs")
    dual_step: float = fields.shared("dual_step")
    gap_target: float | None = fields.gap_target(multiplier_max=2.0)
    noise_primal: float | None = fields.noise_multiplier("Primal noise σ_p", "half the primal shift r C_p")
    noise_dual: float | None = fields.noise_multiplier("Dual noise σ_d", "the dual shift")
    noise_counts: float | None = fields.noise_multiplier("Count noise σ_c", "the counts' shift √2")
    share_dual: float = fields.share_of_budget(0.25, "dual", "the violations")
    share_counts: float = fields.shared("share_counts")

    def __post_init__(self) -> None:
        fields.check_network(self)
        checks.one_of(fields.VARIANTS, variant=self.variant)
        if self.sampling_rate is not None:
            checks.rate(sampling_rate=self.sampling_rate)
        checks.positive(clip_dual=self.clip_dual, dual_step=self.dual_step)
        if self.clip_primal is not None:
            checks.positive(clip_primal=self.clip_primal)
        elif self.variant == "published":
            raise BadInput("clip_primal must be a number > 0 for the published variant, got none.", field="clip_primal")
        checks.one_of(fields.SURROGATES, surrogate=self.surrogate)
        checks.not_negative(multiplier_max=self.multiplier_max)
        checks.whole(low=0, warmup_epochs=self.warmup_epochs)
        fields.check_gap_target(self.gap_target, self.variant)
        checks.shares(share_dual=self.share_dual, share_counts=self.share_counts)
        check_noises(self)

    @property
    def pursues(self) -> bool:
        """Whether multipliers ever leave 0: only then are violations and group gradients released."""
        return self.multiplier_max > 0 and self.noisy_epochs > 0

    @property
    def signed_dual(self) -> bool:
        """Whether a dual step's h is a logit, in [-C_d, C_d], for a notion of the decision."""
        return self.surrogate == "logit" and self.gap_target is None

    @property
    def dual_steps(self) -> int:
        """After how many epochs multipliers move; the proved variant leaves out the last, when it changes nothing."""
        first = max(self.warmup_epochs, 1)
        return self.epochs - first + (self.variant == "published")

    @property
    def noisy_epochs(self) -> int:
        """In how many epochs group gradients are released."""
        return self.epochs - (self.warmup_epochs if self.variant == "published" else max(self.warmup_epochs, 1))

    def rate(self, n_train: int) -> float:
        """The chance of a row to be in a step's secret sample."""
        return self.published_rate(n_train) if self.sampling_rate is None else self.sampling_rate

    def published_rate(self, n_train: int) -> float:
        """The sampling rate that the paper's accounting uses: |B| / n."""
        return fields.share_of_rows(fields.count_batch(self, n_train), n_train)

    def idle_reason(self) -> str | None:
        """Why multipliers stay 0; None where they move."""
        return fields.format_idle({"multiplier_max": self.multiplier_max}, self.epochs, self.warmup_epochs)

    def releases(self, n_train: int, groups: int) -> tuple[Release, ...]:
        """The cells' sizes, of which a person who moves changes two; then a dual step after an epoch; then the steps.

        A step's sum lies in the ball of r C_p, here with multipliers at +-lambda_max, half of how far one person moves
        it. A dual step's mean loses h, centred, for one cell and gains it for another; of logits, for notions of the
        decision, h is twice as wide. The true group sizes are protected: n / groups stands in.
        """
        if self.variant == "published":
            return self._published_releases(n_train, groups)
        rate, group_size = self.rate(n_train), n_train / groups
        dual = dual_bound(self) / (math.sqrt(2.0) * group_size)
        return (
            Release("counts", MOVED, "noise_counts", share="share_counts"),
            self._dual(dual * (2.0 if self.signed_dual else 1.0)),
            self._primal(1.0 / (rate * group_size), Sample(rate, "replace"), n_train),
        )

    def _published_releases(self, n_train: int, groups: int) -> tuple[Release, ...]:
        """As its accounting counts them, with the bounds of eq. 7 and 9; sizes are read in clear."""
        primal = 2.0 / max(fields.count_batch(self, n_train) / groups - 1.0, 1.0)
        dual = math.sqrt(2.0) * self.clip_dual / max(n_train / groups - 1.0, 1.0)
        return (
            self._primal(primal, Sample(self.published_rate(n_train)), n_train),
            self._dual(dual),
            Release("counts", None, "noise_counts", share="share_counts", needed=False),
        )

    def _primal(self, moved: float, sample: Sample, n_train: int) -> Release:
        bound = None if self.clip_primal is None else moved * self.multiplier_max * self.clip_primal
        steps = self.steps(n_train) // self.epochs * self.noisy_epochs
        return Release("primal", bound, "noise_primal", "step", steps, needed=self.pursues, sample=sample)

    def _dual(self, moved: float) -> Release:
        return Release("dual", moved, "noise_dual", "epoch", self.dual_steps, "share_dual", self.pursues)

    def published_event(self, n_train: int) -> Events:
        """Return what Theorem 3 counts: not the group sizes, and each step as under add/remove."""
        rate = self.rate(n_train) if self.variant == "proved" else self.published_rate(n_train)
        declared = (self._primal(1.0, Sample(rate), n_train), self._dual(1.0))
        return tuple(release.event(self) for release in declared if release.made)

    def count_deviation(self) -> float | None:
        """That of the shift √2 of a person who moves; None of the published variant, which counts in clear."""
        return MOVED * self.noise("noise_counts") if self.variant == "proved" else None

    def published_epsilon(self, n_train: int, delta: float) -> float | None:
        """Return what Theorem 3 claims for the same noise multipliers, q and T; it does not count the group sizes."""
        return rdp_epsilon(self.published_event(n_train), delta)

    def unproved_reason(self) -> str | None:
        """Why the published variant has no epsilon; None for the proved variant."""
        if self.proved or self.surrogate != "logit":
            return super().unproved_reason()
        return f"{self.UNPROVED} A logit has a sign, so that C_d does not bound a dual step either (Theorem 2)."

    def clipping_curves(self, warmup: Warmup) -> dict[str, ClippingCurve]:
        """Return the bounds of Theorems 4 and 5 over C_p and C_d for this method's noise, from public values alone.

        Multipliers are taken at +-1 (the minimiser does not depend on their size) and the groups as equally large,
        since their sizes are protected. Needs calibrated noise. {} where multipliers never leave 0: nothing is clipped.
        With a gap aimed at, C_d clips nothing and has no curve.
        """
        if not self.pursues:
            return {}
        counts = np.full(warmup.groups, warmup.rows / warmup.groups)
        if self.variant == "published":
            smallest = fields.count_batch(self, warmup.rows) / warmup.groups
            primal = 2.0 * math.sqrt(warmup.parameters) * self.noise("noise_primal") / max(smallest - 1.0, 1.0)
            dual = math.sqrt(2.0) * self.noise("noise_dual") / max(counts[0] - 1.0, 1.0)
        else:
            primal = proved_noise(
                size=warmup.parameters,
                noise_multiplier=self.noise("noise_primal"),
                rate=self.rate(warmup.rows),
                counts=counts,
            )
            halved = 1.0 if self.signed_dual else 0.5
            dual = self.noise("noise_dual") * math.sqrt(2.0) * halved / counts[0]
        curves = {"clip_primal": build_curve(warmup.norms, noise=primal, weight=float(warmup.groups))}
        if self.gap_target is not None:
            return curves
        return {**curves, "clip_dual": build_curve(warmup.outputs, noise=dual, weight=1.0)}

    @classmethod
    def rule(cls, setting: Setting[Any]) -> Rule:
        published = setting.methods[0].variant == "published"
        return LagrangianRule(setting, private=True) if published else PfLdRule(setting)


class PfLdRule(SettingRule, Stateful, OneSum):
    """Public batch: loss, population terms and the public remainder. Secret sample: the group terms, noised."""

    samples_batches: ClassVar[bool] = False
    uses_batches: ClassVar[bool] = True

    def __init__(self, setting: Setting[PfLd]) -> None:
        self.setting, self._cells = setting, setting.cells
        self._everyone = bool((self._cells.label == NO_CELL).all())
        bounds = [[np.inf if method.clip_primal is None else method.clip_primal] for method in self.setting.methods]
        self._clip = np.array(bounds, dtype=np.float32)
        self._multipliers = np.zeros((len(self.setting.methods), self._cells.count))
        self._violations = np.zeros_like(self._multipliers)
        self._counts = np.ones_like(self._multipliers)
        for k, training in enumerate(self.setting.trainings):
            if training.checkpoint is None:
                self._counts[k] = release_counts(self.setting, k)
        self.arrays = {"multipliers": self._multipliers, "violations": self._violations}
        self.arrays |= {"noisy_counts": self._counts, "clip_primal": self._clip}
        self._set_tables()

    def samples(self, epoch: int, batches: list[Indices]) -> list[Indices] | None:
        if not any(self._radius):
            return None
        draws = [
            self.setting.draw_samples(k, epoch, len(batches), needed=radius > 0)
            for k, radius in enumerate(self._radius)
        ]
        return join_samples(draws)

    def public_weights(self, records: Records) -> np.ndarray:
        loss = records.deviation / np.float32(records.count)
        if not any(self._radius):
            return loss
        derivatives = derivative(self.setting.target, records.probability, records.label)
        remainder = self.setting.clip_derivatives(derivatives, records, self._clip)
        remainder *= records.look_up(self._remainder * np.float32(self.setting.n / records.count))
        derivatives *= self._population_terms(records)
        derivatives += loss
        derivatives -= remainder
        return derivatives

    def _population_terms(self, records: Records) -> np.ndarray:
        """Return each record's factor of dh in sum_i lambda_i grad mu(B_P,i): (K, B), or (K, 1) where all are alike."""
        if self._everyone:
            return self._multiplier_sum / np.float32(records.count)
        of_label = (
            records.count_codes(len(self._cells.of) * LABELS).reshape(-1, len(self._cells.of), LABELS).sum(axis=1)
        )
        people = np.maximum(of_label @ self._cells.conditions.T, 1.0)
        factors = (self._multipliers / people) @ self._cells.conditions
        return records.look_up(np.tile(factors, len(self._cells.of)).astype(np.float32))

    def secret_weights(self, records: Records) -> np.ndarray:
        derivatives = derivative(self.setting.target, records.probability, records.label)
        weights = self.setting.clip_derivatives(derivatives, records, self._clip)
        weights *= records.look_up(self._centred)
        return records.keep(weights)

    def release(self, totals: np.ndarray, records: Records, step: int) -> np.ndarray:
        return self.setting.release_sums(totals, radii=self._reach, step=step)

    def end_epoch(self, epoch: int, kernel: Kernel, feed: Feed) -> None:
        first = max(self.setting.methods[0].warmup_epochs, 1) - 1
        if epoch < first or epoch + 1 >= self.setting.methods[0].epochs:
            return  # multipliers after the last epoch would change nothing: not released
        for k, method in enumerate(self.setting.methods):
            counts = self._counts[k]
            if epoch == first and method.clip_primal is None:
                self._clip[k] = choose_clip(self.setting, k, counts=counts, kernel=kernel, feed=feed)
            if method.multiplier_max > 0:
                self._violations[k] = release_violations(
                    self.setting, k, counts=counts, epoch=epoch, kernel=kernel, feed=feed
                )
                self._multipliers[k] = move_multipliers(
                    self._multipliers[k],
                    self._violations[k],
                    among=self._cells.label,
                    shares=np.ones(len(counts)),
                    method=method,
                )
        self._set_tables()

    def watched(self, records: Records) -> dict[str, tuple[np.ndarray, Bound]]:
        norms = np.abs(derivative(self.setting.target, records.probability, records.label)) * records.norms
        values = output(self.setting.target, records.logits, records.label)
        first = self.setting.methods[0]
        return {
            "gradient_norm": (norms, self._clip),
            "output": (values, self.setting.bounds("clip_dual") if first.gap_target is None else None),
        }

    def scalars(self, model: int) -> dict[str, float]:
        curves = self._cells.name_curves(multiplier=self._multipliers[model], violation=self._violations[model])
        method, counts = self.setting.methods[model], self._counts[model]
        if not method.pursues:
            return curves
        spread = method.noise("noise_dual") * _largest_move(counts, self._cells.label) / 2.0
        return {**curves, **name_noise(self._cells, counts, spread)}

    def notes(self, model: int) -> dict[str, object]:
        names = self._cells.names
        return {
            "multipliers": dict(zip(names, self._multipliers[model].tolist(), strict=True)),
            "noisy_counts": dict(zip(names, self._counts[model].tolist(), strict=True)),
            "clip_primal": float(self._clip[model, 0]) if np.isfinite(float(self._clip[model, 0])) else None,
        }

    def prepare(self) -> None:
        self._set_tables()

    def _set_tables(self) -> None:
        """Derive the step's tables from multipliers and counts, both released: coefficients, midranges, radius."""
        groups = len(self._cells.of)
        rates = np.array(self.setting.rates)[:, None]
        per_cell = np.append(self._multipliers / (rates * self._counts), np.zeros((len(rates), 1)), axis=1)
        coefficients = per_cell[:, self._cells.of]  # (K, groups, 2); NO_CELL takes the appended zero
        midrange = (coefficients.max(axis=1) + coefficients.min(axis=1)) / 2.0
        centred = (coefficients - midrange[:, None, :]).astype(np.float32)
        self._multiplier_sum: np.ndarray = self._multipliers.sum(axis=1, keepdims=True).astype(np.float32)
        self._remainder = np.tile(midrange * rates, groups).astype(np.float32)
        self._centred = -centred.reshape(len(rates), groups * LABELS)  # group terms are taken off
        radius = np.abs(centred).max(axis=(1, 2)).astype(np.float64)
        radius[self._violations.any(axis=1) & (radius == 0)] = _LEAST_RADIUS
        self._radius = radius.tolist()
        reach = sensitivity(np.where(radius > 0, radius, 1.0) * self._clip[:, 0].astype(np.float64))
        self._reach = np.where(radius > 0, reach, 0.0).tolist()


def release_violations(
    setting: Setting[PfLd], k: int, *, counts: np.ndarray, epoch: int, kernel: Kernel, feed: Feed
) -> np.ndarray:
    """Release mu(P_i) - mu(G_i) of model k, (cells,): h clipped to [0, C_d], and centred, which halves the shift.

    With a gap aimed at, h is the decision, 0 or 1, and 1 takes the place of C_d. A logit is clipped to [-C_d, C_d].
    """
    method, cells = setting.methods[k], setting.cells
    values = finite(outputs(k, h=measured(method), target=setting.target, kernel=kernel, feed=feed))
    bound, signed = dual_bound(method), method.signed_dual and setting.target == "logit"
    half, centre = (bound, 0.0) if signed else (bound / 2.0, bound / 2.0)
    lowest = -bound * (1.0 - MARGIN) if signed else bound * MARGIN
    centred = on_grid(values.clip(lowest, bound * (1.0 - MARGIN)) - centre, half)
    means = cell_means(k, cells=cells, values=values, group_values=centred, feed=feed)
    moved = half * _largest_move(counts, cells.label)
    released = setting.release(k, "dual", means.sum / counts, sensitivity=moved, index=epoch)
    violations: np.ndarray = means.population - (released + centre)
    return violations


def choose_clip(setting: Setting[PfLd], k: int, *, counts: np.ndarray, kernel: Kernel, feed: Feed) -> float:
    """Return C_p of model k: Theorem 4's minimiser over all records and noisy counts, all public by now."""
    method = setting.methods[k]
    noise = proved_noise(
        size=kernel.shape.size,
        noise_multiplier=method.noise("noise_primal"),
        rate=method.rate(setting.n),
        counts=counts,
    )
    norms = constraint_norms(k, target=setting.target, kernel=kernel, feed=feed)
    return best_bound(norms, noise=noise, weight=float(len(counts)))


def _largest_move(counts: np.ndarray, label: np.ndarray) -> float:
    """Return max sqrt(1/d_i^2 + 1/d_j^2) over two cells that a person may move between: those among the same people."""
    squares = []
    for among in np.unique(label):
        inverse = np.sort(1.0 / counts[label == among])
        squares.append(float((inverse[-2:] ** 2).sum()))
    return math.sqrt(max(squares))
