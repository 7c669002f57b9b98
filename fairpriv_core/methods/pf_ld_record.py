"""PF-LD for whole records: DP-SGD on a Lagrangian whose multipliers follow noisy violations (this project's own).

Group sizes are released once; every step is DP-SGD on the records' shares of the Lagrangian; after each epoch noisy
sums of h over the groups move the signed multipliers. docs/methods/pf_ld_record.md has algorithm and argument.

Notation. d_i are noisy cell sizes and m_i centres, constants once released; p_i is the size of cell i's population: n,
or the noisy number of rows with its label. To the gradient of its loss a record of cell i adds dh times the sum of
n lambda_j / p_j over the cells j of its population, less n lambda_i / d_i. Loss and constraints are multiples of one
gradient of the logit and are clipped as one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairpriv_core import checks
from fairpriv_core.engine.clipping import MARGIN
from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.loop import Rule
from fairpriv_core.engine.rows import Feed, Records
from fairpriv_core.engine.watch import Bound
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import MethodInfo, Style, parameter
from fairpriv_core.methods.cell_counts import name_noise, release_counts
from fairpriv_core.methods.shared.lagrangian import finite, outputs
from fairpriv_core.methods.shared.multipliers import dual_bound, measured, move_multipliers
from fairpriv_core.methods.shared.noisy_sums import NoisySumsRule
from fairpriv_core.methods.shared.poisson_shares import PoissonShares
from fairpriv_core.methods.shared.releases import Release
from fairpriv_core.methods.shared.setting import Setting, TrainsByRule
from fairpriv_core.notions.cells import NO_CELL
from fairpriv_core.notions.surrogates import derivative, output
from fairpriv_core.privacy.sums import on_grid


@dataclass(frozen=True)
class PfLdRecord(PoissonShares, TrainsByRule):
    """Hyper-parameters.

    `share_dual` and `share_counts` split the budget: shares of mu^2, mu the Gaussian mechanism with the run's
    (epsilon, delta); the steps get what is left.
    """

    info: ClassVar[MethodInfo] = MethodInfo(
        name="pf_ld_record",
        title="PF-LD for whole records",
        style=Style("blue", "longdash", "circle", legend="PF-LD, records"),
        summary="Pursues the chosen notion by Lagrangian duality; protects whole records.",
        citation="this project, after Tran, Fioretto and Van Hentenryck (2021) and Abadi et al. (2016)",
        threat_model="record",
        source="ours",
        pursued=("decisions", "errors"),
        variants=("proved",),
        calibrates="noise_primal",
    )
    FOUND_ON: ClassVar[str] = "Adult"

    network: str = fields.shared("network")
    clip_dual: float = parameter(
        1.0,
        "Dual clipping bound C_d",
        "Largest output that one record may add to a violation; a probability never exceeds 1. With a gap aimed at it "
        "does not apply: decisions, 0 or 1, are summed.",
        low=0.01,
        high=20.0,
        log=True,
    )
    multiplier_max: float = fields.shared("multiplier_max")
    dual_step: float = parameter(
        3.0,
        "Dual step s",
        "How far a multiplier moves after each epoch, for a violation of 1 of a group that is everyone.",
        low=0.01,
        high=50.0,
        log=True,
        expert=True,
    )
    gap_target: float | None = fields.gap_target(multiplier_max=0.57)
    noise_primal: float | None = fields.noise_multiplier("Primal noise σ", "C")
    noise_dual: float | None = fields.noise_multiplier("Dual noise σ_d", "the dual shift")
    noise_counts: float | None = fields.noise_multiplier("Count noise σ_c", "the counts' shift 1")
    share_dual: float = fields.share_of_budget(0.1, "dual", "the violations")
    share_counts: float = fields.shared("share_counts", 0.03)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive(clip_dual=self.clip_dual, dual_step=self.dual_step)
        checks.not_negative(multiplier_max=self.multiplier_max)
        fields.check_gap_target(self.gap_target)
        checks.shares(share_dual=self.share_dual, share_counts=self.share_counts)

    @property
    def pursues(self) -> bool:
        """Whether multipliers ever leave 0; otherwise the method is DP-SGD and releases nothing beside its steps."""
        return self.multiplier_max > 0 and self.epochs > 1

    def idle_reason(self) -> str | None:
        """Why multipliers stay 0; None where they move."""
        return fields.format_idle({"multiplier_max": self.multiplier_max}, self.epochs)

    def releases(self, n_train: int, groups: int) -> tuple[Release, ...]:
        """With multipliers the cells' sizes, in which a record counts once, and after each epoch but the last a dual
        step's sums, to which it adds at most C_d, or 1 of decisions (`release_deviations`). In any case the steps.
        """
        counts = Release("counts", 1.0, "noise_counts", share="share_counts", needed=self.pursues)
        dual = Release("dual", dual_bound(self), "noise_dual", "epoch", self.epochs - 1, "share_dual", self.pursues)
        return (counts, dual, self.step_sum(n_train))

    def count_deviation(self) -> float:
        """A record is counted once."""
        return self.noise("noise_counts")

    @classmethod
    def rule(cls, setting: Setting[Any]) -> Rule:
        return PfLdRecordRule(setting)


class PfLdRecordRule(NoisySumsRule):
    """DP-SGD on the Lagrangian; after each epoch but the last, noisy sums over the cells move its multipliers."""

    def __init__(self, setting: Setting[Any]) -> None:
        super().__init__(setting)
        self._cells = setting.cells
        # cells among the same people
        self._alike = (self._cells.label[:, None] == self._cells.label).astype(np.float64)
        shape = (len(setting.methods), self._cells.count)
        self.arrays["multipliers"], self.arrays["violations"] = np.zeros(shape), np.zeros(shape)
        self.arrays["noisy_counts"] = np.ones(shape)
        self.arrays["centres"] = np.array([[dual_bound(method)] for method in setting.methods]) / 2.0 * np.ones(shape)
        for k, (method, training) in enumerate(zip(setting.methods, setting.trainings, strict=True)):
            if method.pursues and training.checkpoint is None:
                self.arrays["noisy_counts"][k] = release_counts(setting, k)
        self._set_factors()

    def end_epoch(self, epoch: int, kernel: Kernel, feed: Feed) -> None:
        if epoch + 1 >= self.setting.methods[0].epochs:
            return  # multipliers after the last epoch would change nothing: not released
        for k, method in enumerate(self.setting.methods):
            if method.pursues:
                sums = release_deviations(
                    self.setting, k, centres=self.arrays["centres"][k], epoch=epoch, kernel=kernel, feed=feed
                )
                self._take_dual_step(k, sums)
        self._set_factors()

    def watched(self, records: Records) -> dict[str, tuple[np.ndarray, Bound]]:
        first = self.setting.methods[0]
        return {
            **super().watched(records),
            "output": (
                output(self.setting.target, records.logits, records.label),
                self.setting.bounds("clip_dual") if first.gap_target is None else None,
            ),
        }

    def scalars(self, model: int) -> dict[str, float]:
        arrays = self.arrays
        curves = self._cells.name_curves(multiplier=arrays["multipliers"][model], violation=arrays["violations"][model])
        method, counts = self.setting.methods[model], arrays["noisy_counts"][model]
        if not method.pursues:
            return curves
        moved = _largest_move(arrays["centres"][model], dual_bound(method)) / dual_bound(method)
        return {**curves, **name_noise(self._cells, counts, method.noise("noise_dual") * moved / float(counts.min()))}

    def notes(self, model: int) -> dict[str, object]:
        exported = ("multipliers", "noisy_counts") if self.setting.methods[model].pursues else ()
        return {name: dict(zip(self._cells.names, self.arrays[name][model].tolist(), strict=True)) for name in exported}

    def prepare(self) -> None:
        self._set_factors()

    def derivatives(self, records: Records) -> np.ndarray:
        """Return each record's derivative of its share of the Lagrangian with respect to the logit (K, B)."""
        derivatives = derivative(self.setting.target, records.probability, records.label)
        derivatives_of_all: np.ndarray = records.deviation + derivatives * records.look_up(self._factors)
        return derivatives_of_all

    def _take_dual_step(self, k: int, sums: np.ndarray) -> None:
        """Move multipliers and centres of model k by noisy sums of h - m_i; cells' steps are as their shares d_i / p_i.

        That share makes the noise of a step the same for every cell, however small. Centring by the latest noisy mean
        leaves the error of the sizes d_i on the violation alone, not on h.
        """
        method, counts, people = self.setting.methods[k], self.arrays["noisy_counts"][k], self._people(k)
        population = self._alike @ sums / people
        violations = population - sums / counts
        self.arrays["violations"][k] = violations
        self.arrays["multipliers"][k] = move_multipliers(
            self.arrays["multipliers"][k],
            violations,
            among=self._cells.label,
            shares=counts / people,
            method=method,
        )
        self.arrays["centres"][k] = (self.arrays["centres"][k] + population).clip(0.0, dual_bound(method))

    def _people(self, k: int) -> np.ndarray:
        """Return the sizes p_i of the cells' populations (cells,)."""
        return np.where(self._cells.label == NO_CELL, self.setting.n, self._alike @ self.arrays["noisy_counts"][k])

    def _set_factors(self) -> None:
        """Derive each (group, label)'s factor of dh from multipliers and counts, both released.

        Where h is the loss, a factor stays above -1: below it training would seek a group's errors, without end.
        """
        rows = []
        for k, multipliers in enumerate(self.arrays["multipliers"]):
            per_cell = self._alike @ (multipliers / self._people(k)) - multipliers / self.arrays["noisy_counts"][k]
            rows.append(self.setting.n * np.append(per_cell, 0.0)[self._cells.of].reshape(-1))  # NO_CELL takes the 0
        lowest = -1.0 if self.setting.target == "loss" else -np.inf
        self._factors = np.stack(rows).clip(min=lowest).astype(np.float32)


def release_deviations(
    setting: Setting[Any], k: int, *, centres: np.ndarray, epoch: int, kernel: Kernel, feed: Feed
) -> np.ndarray:
    """Release the cells' sums of h - m_i of model k, (cells,), h clipped to C_d and m_i the public `centres`.

    With a gap aimed at, h is the decision, 0 or 1, and 1 takes the place of C_d.
    A record that is absent adds nothing; one that is present at most max(m_i, C_d - m_i), to one cell.
    """
    method, cells = setting.methods[k], setting.cells
    bound = dual_bound(method)
    cell = cells.of.reshape(-1)[feed.columns[k].codes]
    inside = (cell != NO_CELL) & feed.columns[k].present
    values = outputs(k, h=measured(method), target=setting.target, kernel=kernel, feed=feed)[inside]
    deviations = finite(values.clip(bound * MARGIN, bound * (1.0 - MARGIN)) - centres[cell[inside]])
    sums = np.bincount(cell[inside], weights=on_grid(deviations, bound), minlength=cells.count)
    return setting.release(k, "dual", sums, sensitivity=_largest_move(centres, bound), index=epoch)


def _largest_move(centres: np.ndarray, bound: float) -> float:
    """Return how far one record moves the sums of h in [0, `bound`] about public `centres`."""
    return float(np.maximum(centres, bound - centres).max())
