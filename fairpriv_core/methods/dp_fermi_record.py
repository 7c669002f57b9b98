"""DP-FERMI with all features protected: DP-SGD on Lowy et al.'s (2023) objective, every record's share clipped as one.

Group sizes are released once. A step releases clipped gradients and, of the same sample, the groups' sums of predicted
probabilities, from which W ascends. docs/methods/dp_fermi.md has algorithm and argument.

A record of group r under condition c adds dh times lambda (|W_.0|^2 - |W_.1|^2 + 2 (W_r1 - W_r0) / sqrt(p_r)) to the
gradient of its loss; both are multiples of the logit's gradient and are clipped as one. Of the same sample the sums of
h - m_c over the cells are released: with the noisy sizes d they give P(r, yhat, c), and so psi's gradient in W.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from fairpriv_core import checks
from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.loop import Rule, Sampled
from fairpriv_core.engine.rows import Feed, Records
from fairpriv_core.engine.watch import Bound
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import MethodInfo, Style, parameter
from fairpriv_core.methods.cell_counts import release_counts
from fairpriv_core.methods.dp_fermi import claim_of_theorem
from fairpriv_core.methods.shared import penalty
from fairpriv_core.methods.shared.noisy_sums import NoisySums, NoisySumsRule
from fairpriv_core.methods.shared.penalty_weight import CHOSEN_ON, PenaltyWeights, releases_of_decisions
from fairpriv_core.methods.shared.releases import Release
from fairpriv_core.methods.shared.setting import Setting

_MEMORY = 0.9  # weight of the past in the centres m_c


@dataclass(frozen=True)
class DpFermiRecord(NoisySums):
    """Hyper-parameters. `noise_primal` is the multiplier of a step's whole release.

    Gradients have noise_primal / sqrt(1 - share_dual) over C, the groups' sums noise_primal / sqrt(share_dual).
    `share_counts` is the share of mu^2 for the group sizes, mu the Gaussian mechanism with the run's (epsilon, delta),
    and `share_gap` that for decisions where a gap is aimed at.
    """

    info: ClassVar[MethodInfo] = MethodInfo(
        name="dp_fermi_record",
        title="DP-FERMI for whole records",
        style=Style("vermilion", "longdashdot", "square", legend="DP-FERMI, records"),
        summary="Penalises dependence between decision and group; protects whole records.",
        citation="Lowy, Gupta and Razaviyayn (2023), Stochastic differentially private and fair learning, Theorem 3.3",
        threat_model="record",
        source="paper",
        pursued=("decisions",),
        variants=("proved",),
        calibrates="noise_primal",
    )

    batch_size: int = fields.shared("batch_size", 1024)
    learning_rate: float = fields.shared("learning_rate", 0.0075)
    clip_primal: float = parameter(
        2.0,
        "Clipping bound C",
        "Largest L2 norm that one record's gradient of loss and penalty together may have.",
        low=0.01,
        high=100.0,
        log=True,
    )
    multiplier: float = fields.shared("fixed_multiplier", 5.0)
    gap_target: float | None = fields.penalty_gap_target()
    dual_step: float = fields.shared("adversary_step")
    network: str = fields.shared("network")
    dual_norm: float = fields.shared("adversary_norm")
    noise_counts: float | None = fields.noise_multiplier("Count noise σ_c", "the counts' shift 1")
    noise_gap: float | None = fields.shared("noise_gap")
    share_dual: float = parameter(
        0.1,
        "Budget share, W",
        "Share of a step's budget for the groups' sums, which move W; gradients have the rest.",
        low=0.01,
        high=0.99,
        expert=True,
    )
    share_counts: float = fields.shared("share_counts", 0.02)
    share_gap: float = fields.shared("share_gap")

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.not_negative(multiplier=self.multiplier)
        checks.positive(dual_step=self.dual_step, dual_norm=self.dual_norm)
        fields.check_gap_target(self.gap_target)
        checks.open_unit(share_dual=self.share_dual)
        checks.shares(share_counts=self.share_counts, share_gap=self.share_gap)

    @property
    def share_of_w(self) -> float:
        """The share of 1 / noise_primal^2 that the groups' sums have: none where there is no penalty."""
        return self.share_dual if self.multiplier > 0 else 0.0

    def idle_reason(self) -> str | None:
        """Why there is no penalty; None where there is one."""
        return fields.format_idle({"multiplier": self.multiplier})

    def releases(self, n_train: int, groups: int) -> tuple[Release, ...]:
        """With a penalty the group sizes, in which a record counts once, and with a gap aimed at its decisions.

        In any case the steps, and beside a step's gradients the groups' sums, to which a record adds at most 1.
        """
        counts = Release("counts", 1.0, "noise_counts", share="share_counts", needed=self.multiplier > 0)
        beside = {"dual": 1.0} if self.multiplier > 0 else {}
        steps = replace(self.step_sum(n_train, self.clip_primal, **beside), name="primal")
        return (counts, *releases_of_decisions(self, 1), steps)

    def count_deviation(self) -> float:
        """A record is counted once."""
        return self.noise("noise_counts")

    def published_epsilon(self, n_train: int, delta: float) -> float | None:
        """Return what the second half of Theorem 3.3 claims for the same noise multipliers, q and T.

        Its two deviations over the shifts that its proof bounds are q sqrt(2 T ln(1/delta)) / epsilon, as in the first.
        """
        claim = claim_of_theorem(rate=self.rate(n_train), steps=self.steps(n_train), delta=delta)
        largest = max(self.share_of_w, 1.0 - self.share_of_w)
        return claim * math.sqrt(largest) / self.noise() if self.noise() else math.inf

    def assumptions(self) -> tuple[str, ...]:
        """What epsilon takes as given."""
        return (
            *fields.RECORD_ASSUMED,
            fields.chosen_on("Adult, COMPAS and synthetic data" if self.gap_target is None else CHOSEN_ON),
        )

    @classmethod
    def rule(cls, setting: Setting[Any]) -> Rule:
        return DpFermiRecordRule(setting)


class DpFermiRecordRule(NoisySumsRule):
    """DP-SGD on every record's share of the objective; a step's noisy sums move W, and the centres of the next sums."""

    def __init__(self, setting: Setting[Any]) -> None:
        super().__init__(setting)
        self.conditions = penalty.Conditions(setting.cells)
        models, cells = len(setting.methods), setting.cells
        self._weights = PenaltyWeights(setting, self.arrays, cells_moved=1)
        self.arrays["noisy_counts"] = np.ones((models, cells.count))
        self.arrays["centres"] = np.full((models, self.conditions.count), 0.5)
        for k, method in enumerate(setting.methods):
            if method.multiplier > 0 and setting.trainings[k].checkpoint is None:
                self.arrays["noisy_counts"][k] = release_counts(setting, k)
        self.arrays["adversary"] = penalty.independent(self.conditions.shares(self.arrays["noisy_counts"]))
        self._set_table()

    def share(self, model: int) -> float:
        return float(self.setting.methods[model].share_of_w)

    def secret_update(self, sampled: Sampled) -> np.ndarray:
        update = super().secret_update(sampled)
        self._set_table()
        return update

    def statistics(self, records: Records) -> np.ndarray | None:
        if not any(method.multiplier for method in self.setting.methods):
            return None
        centres = self.arrays["centres"]
        columns = np.stack([1.0 - centres, centres], axis=-1)
        sums = self.conditions.group_sums(records, centre=columns)[..., 1]
        values: np.ndarray = (sums / _reach(centres)[..., None]).reshape(len(centres), -1)
        return values

    def learn(self, model: int, statistics: np.ndarray, gradient: np.ndarray) -> None:
        method = self.setting.methods[model]
        if method.multiplier == 0:
            return
        centres, w = self.arrays["centres"], self.arrays["adversary"]
        sums = statistics.reshape(self.conditions.count, -1) * _reach(centres[model])[:, None]
        sizes = self.arrays["noisy_counts"][model].reshape(sums.shape) / self.setting.n
        positive = (sums / self.divisor(model) + centres[model][:, None] * sizes).clip(0.0, sizes)
        joint = np.stack([sizes - positive, positive], axis=-1)
        shares = (sizes / sizes.sum(axis=1, keepdims=True))[..., None]
        ascent = 2.0 * joint / np.sqrt(shares) - 2.0 * w[model] * joint.sum(axis=1, keepdims=True)
        w[model] = penalty.project(w[model] + method.dual_step * ascent, method.dual_norm)
        centres[model] += (1.0 - _MEMORY) * (positive.sum(axis=1) / sizes.sum(axis=1) - centres[model])

    def watched(self, records: Records) -> dict[str, tuple[np.ndarray, Bound]]:
        return {
            **super().watched(records),
            "output": (records.probability, None),
        }

    def scalars(self, model: int) -> dict[str, float]:
        return self.conditions.cells.name_curves(multiplier=self._multipliers(model))

    def notes(self, model: int) -> dict[str, object]:
        if self.setting.methods[model].multiplier == 0:
            return {}
        names = self.conditions.cells.names
        return {
            "multipliers": dict(zip(names, self._multipliers(model).tolist(), strict=True)),
            "noisy_counts": dict(zip(names, self.arrays["noisy_counts"][model].tolist(), strict=True)),
            "adversary": self.arrays["adversary"][model].tolist(),
        }

    def end_epoch(self, epoch: int, kernel: Kernel, feed: Feed) -> None:
        if epoch + 1 >= self.setting.methods[0].epochs:
            return  # lambda after the last epoch would change nothing: decisions are not released
        for k, method in enumerate(self.setting.methods):
            if method.multiplier > 0 and method.gap_target is not None:
                sizes = self.arrays["noisy_counts"][k]
                self._weights.follow(k, sizes=sizes, epoch=epoch, kernel=kernel, feed=feed)

    def prepare(self) -> None:
        self._set_table()

    def derivatives(self, records: Records) -> np.ndarray:
        """Return each record's derivative of loss + lambda psi with respect to the logit (K, B)."""
        penalty_weights = records.look_up(self._table) * penalty.derivatives(records)
        values: np.ndarray = records.deviation + self._weights.column * penalty_weights
        return values

    def _multipliers(self, model: int) -> np.ndarray:
        shares = self.conditions.shares(self.arrays["noisy_counts"])[model]
        return penalty.multipliers(self.arrays["adversary"][model], shares, float(self._weights.values[model]))

    def _set_table(self) -> None:
        """Derive each (group, label)'s factor of dh from W and the sizes, both released."""
        shares, w = self.conditions.shares(self.arrays["noisy_counts"]), self.arrays["adversary"]
        factors = penalty.group_derivatives(w, shares) + penalty.public_derivatives(w)[..., None]
        self._table = self.conditions.by_code(factors).astype(np.float32)


def _reach(centres: np.ndarray) -> np.ndarray:
    """Return how far a probability can be from each centre."""
    reach: np.ndarray = np.maximum(centres, 1.0 - centres)
    return reach
