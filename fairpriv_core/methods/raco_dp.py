"""RaCO-DP: DP-SGD on a Lagrangian whose multipliers follow a noisy histogram of each step's own sample.

Each step releases one vector: the clipped gradients of loss and constraints, and beside them how many rows of the
sample fall in each cell with each decision. Both are of one Poisson sample, so they are one Gaussian. From the noisy
histograms follow the cells' sizes, the violations, and by a step of dual ascent the multipliers of the next step.
docs/methods/raco_dp.md has algorithm and argument.

Notation. d_i is the estimated size of cell i, p_i that of its population: everyone, or everyone with its label. To the
gradient of its loss a record of cell i adds -n lambda_i / d_i dh, h the chance of the decision 1 (where the notion
compares errors, the chance to be wrong). Both are multiples of one gradient of the logit and are clipped as one.

Where the notion compares labels among those who are decided 1, cell i is a group's such rows, and the histogram counts
group, label and decision. A cell's size then moves with each decision: with r_i its share of label 1, the mean of y
among them has the derivative (y - r_i) / d_i dh. d_i and r_i are of the recent histograms, since those of earlier steps
were of other decisions.

False negatives are bounded by themselves where that is asked: cell i is group i's rows of label 1, and lambda_i >= 0
follows the share of them that is decided 0, less the bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairpriv_core import checks
from fairpriv_core.engine.loop import Rule, Sampled
from fairpriv_core.engine.rows import Records
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import MethodInfo, Style, parameter
from fairpriv_core.methods.shared.averaged_sums import AveragedSums, AveragedSumsRule
from fairpriv_core.methods.shared.multipliers import REACH, ascend, spread_steps
from fairpriv_core.methods.shared.noisy_sums import running_mean
from fairpriv_core.methods.shared.releases import Release
from fairpriv_core.methods.shared.setting import Setting, TrainsByRule
from fairpriv_core.notions.cells import LABELS, NO_CELL, Cells, build_decided_cells, build_positive_cells
from fairpriv_core.notions.surrogates import decided, derivative
from fairpriv_core.privacy.accountants import rdp_epsilon

CONSTRAINTS = ("notion", "false_negatives")
_LEAST = 30.0  # rows that a cell is taken to have, so that one which noise empties does not take over


@dataclass(frozen=True)
class RacoDp(AveragedSums, TrainsByRule):
    """Hyper-parameters.

    `share_counts` is the histogram's share of a step's budget: with sigma the multiplier of the whole release,
    gradients have sigma / sqrt(1 - share) over C and the histogram sigma / sqrt(share) over 1.
    """

    info: ClassVar[MethodInfo] = MethodInfo(
        name="raco_dp",
        title="RaCO-DP",
        style=Style("blue", "dot", "hexagon"),
        summary="Pursues the chosen notion by multipliers that follow a noisy histogram of each step's sample; "
        "protects whole records.",
        citation="Yaghini, Cebere, Menart, Bellet and Papernot (2026), Private rate-constrained optimization",
        threat_model="record",
        pursued=("decisions", "errors", "labels"),
        variants=("proved",),
        calibrates="noise_primal",
    )
    FOUND_ON: ClassVar[str] = "Adult"

    network: str = fields.shared("network")
    constraint: str = parameter(
        "notion",
        "Constraint",
        "notion: the gap of the chosen notion. false_negatives: the share of positives missed in every group.",
        choices=CONSTRAINTS,
        expert=True,
    )
    gap_target: float = fields.gap_aimed_at("multipliers grow above it, up to λ_max, and shrink below")
    false_negative_bound: float = parameter(
        0.3,
        "Bound on false negatives",
        "Largest share of a group's positives that may be decided 0, where false negatives are the constraint.",
        low=0.0,
        high=1.0,
        expert=True,
    )
    multiplier_max: float = fields.shared("multiplier_max")
    share_counts: float = parameter(
        0.15,
        "Budget share, histogram",
        "Share of each step's budget for the histogram of cells and decisions.",
        low=0.001,
        high=0.9,
        expert=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of(CONSTRAINTS, constraint=self.constraint)
        checks.unit(gap_target=self.gap_target, false_negative_bound=self.false_negative_bound)
        checks.not_negative(multiplier_max=self.multiplier_max)
        checks.open_unit(share_counts=self.share_counts)

    def idle_reason(self) -> str | None:
        """Why multipliers stay 0, or follow no gap; None where they do."""
        if self.constraint == "false_negatives":
            still = fields.format_idle({"multiplier_max": self.multiplier_max})
            return still or "False negatives are held down in every group; the gap of the chosen notion is not pursued."
        return fields.format_idle({"multiplier_max": self.multiplier_max})

    def releases(self, n_train: int, groups: int) -> tuple[Release, ...]:
        """A step's gradients and histogram together: a record adds at most C to one, in L2 at most 1 to the other."""
        return (self.step_sum(n_train, counts=1.0),)

    def published_epsilon(self, n_train: int, delta: float) -> float | None:
        """Return the moments accountant's figure (RDP) for the same releases."""
        return rdp_epsilon(self.event(n_train), delta)

    @classmethod
    def rule(cls, setting: Setting[Any]) -> Rule:
        if setting.methods[0].constraint == "false_negatives":
            return MissesRule(setting)
        compares = setting.trainings[0].notion.compares
        return (DecidedRule if compares == "labels" else RacoDpRule)(setting)


class RacoDpRule(AveragedSumsRule):
    """Gradients and histogram in one release; multipliers follow the histograms that were released before."""

    def __init__(self, setting: Setting[Any]) -> None:
        super().__init__(setting)
        self._cells, self._counted = self.list_cells()
        self._alike = (self._cells.label[:, None] == self._cells.label).astype(np.float64)
        models, cells, self._places = len(setting.methods), self._cells.count, 2 * (int(self._counted.max()) + 1)
        self.arrays["multipliers"], self.arrays["violations"] = np.zeros((models, cells)), np.zeros((models, cells))
        self.arrays["counted"] = np.zeros((models, self._places))  # the sum of all histograms, as shares of the rows
        self.arrays["recent"] = np.full((models, self._places), np.nan)  # their running mean
        self._set_factors()

    @property
    def of_errors(self) -> bool:
        """Whether h is the chance to be wrong, and not that of the decision 1."""
        return self.setting.trainings[0].notion.compares == "errors"

    def list_cells(self) -> tuple[Cells, np.ndarray]:
        """Return the cells whose means are compared, and for each (group, label) the cell that counts its rows."""
        cells = self.setting.cells
        return cells, cells.of.reshape(-1)

    def secret_update(self, sampled: Sampled) -> np.ndarray:
        update = super().secret_update(sampled)
        self._set_factors()
        return update

    def statistics(self, records: Records) -> np.ndarray | None:
        """Count the sample's rows by cell and decision (K, places): a row is in one place; without output, in none."""
        cell = self._counted[records.code]
        what = decided("loss" if self.of_errors else "score", records.logits, records.label)
        mask = (records.present > 0) & (cell != NO_CELL) & np.isfinite(what)
        place = np.where(mask, cell * 2 + np.nan_to_num(what).astype(np.int64), 0)
        models = zip(place, mask, strict=True)
        return np.stack([np.bincount(places, rows, self._places) for places, rows in models])

    def learn(self, model: int, statistics: np.ndarray, gradient: np.ndarray) -> None:
        shares = statistics / self.divisor(model)
        self.arrays["counted"][model] += shares
        self.arrays["recent"][model] = running_mean(self.arrays["recent"][model], shares)
        self._take_dual_step(model, self.setting.methods[model])

    def scalars(self, model: int) -> dict[str, float]:
        arrays = self.arrays
        return self._cells.name_curves(multiplier=arrays["multipliers"][model], violation=arrays["violations"][model])

    def notes(self, model: int) -> dict[str, object]:
        notes = {"multipliers": self.arrays["multipliers"][model], "noisy_counts": self._sizes(model)}
        return {name: dict(zip(self._cells.names, values.tolist(), strict=True)) for name, values in notes.items()}

    def prepare(self) -> None:
        self._set_factors()

    def derivatives(self, records: Records) -> np.ndarray:
        """Return each record's derivative of its share of the Lagrangian with respect to the logit (K, B)."""
        slopes = derivative("score", records.probability, records.label)
        if self.of_errors:  # the chance to be wrong falls with that of a 1 where the label is 1
            slopes = slopes * (1.0 - 2.0 * records.label)
        derivatives: np.ndarray = records.deviation + slopes * records.look_up(self._factors)
        return derivatives

    def _read_recent(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return how many rows of each cell have h = 0, and h = 1, by the recent histograms, each (cells,)."""
        zeros, ones = self.setting.n * self.arrays["recent"][k].reshape(-1, 2).T
        return zeros, ones

    def _sizes(self, k: int) -> np.ndarray:
        """Return the cells' sizes (cells,) by all histograms so far."""
        mean = self.arrays["counted"][k].reshape(-1, 2).sum(axis=1) / max(self.arrays["steps"][k], 1.0)
        sizes: np.ndarray = np.maximum(self.setting.n * mean, _LEAST)
        return sizes

    def _people(self, sizes: np.ndarray) -> np.ndarray:
        """Return the sizes of the cells' populations (cells,)."""
        people: np.ndarray = np.where(self._cells.label == NO_CELL, self.setting.n, self._alike @ sizes)
        return people

    def _take_dual_step(self, k: int, method: RacoDp) -> None:
        """Move multipliers by v_i = mean(P_i) - mean(G_i); both are taken about the population's recent mean.

        That leaves the error of the sizes d_i on the violation alone, and no more noise than a decision's own.
        """
        sizes = self._sizes(k)
        people = self._people(sizes)
        zeros, ones = self._read_recent(k)
        everyone = np.maximum(self._alike @ (zeros + ones), 1.0)
        mean = ((self._alike @ ones) / everyone).clip(0.0, 1.0)
        violations = ((mean * zeros - (1.0 - mean) * ones) / sizes).clip(-1.0, 1.0)
        self.arrays["violations"][k] = violations
        among, step = self._cells.label, REACH / method.steps(self.setting.n)
        self.arrays["multipliers"][k] = ascend(
            self.arrays["multipliers"][k],
            violations,
            among=among,
            steps=spread_steps(step, among=among, shares=sizes / people),
            gap_target=method.gap_target,
            largest=method.multiplier_max,
        )

    def _set_factors(self) -> None:
        """Derive each (group, label)'s factor of dh from multipliers and sizes, both released."""
        rows = []
        for k, multipliers in enumerate(self.arrays["multipliers"]):
            per_cell = -self.setting.n * multipliers / self._sizes(k)
            rows.append(np.append(per_cell, 0.0)[self._cells.of].reshape(-1))  # NO_CELL takes the 0
        self._factors = np.stack(rows).astype(np.float32)


class DecidedRule(RacoDpRule):
    """Of labels among those who are decided 1: cells are groups, and the histogram counts group, label and decision."""

    def list_cells(self) -> tuple[Cells, np.ndarray]:
        names = self.setting.trains[0].group_names
        return build_decided_cells(names), np.arange(len(names) * LABELS)

    def _read_recent(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        counts = np.nan_to_num(self.setting.n * self.arrays["recent"][k])  # nothing is released before the first step
        zeros, ones = counts.reshape(-1, LABELS, 2)[:, :, 1].T
        return zeros, ones

    def _sizes(self, k: int) -> np.ndarray:
        """Return how many rows of each group are decided 1 (cells,), by the recent histograms."""
        sizes: np.ndarray = np.maximum(np.add(*self._read_recent(k)), _LEAST)
        return sizes

    def _people(self, sizes: np.ndarray) -> np.ndarray:
        people: np.ndarray = self._alike @ sizes
        return people

    def _set_factors(self) -> None:
        labels = np.arange(LABELS)
        factors = []
        for k, multipliers in enumerate(self.arrays["multipliers"]):
            sizes, (_, ones) = self._sizes(k), self._read_recent(k)
            shares = (ones / sizes).clip(0.0, 1.0)
            per_cell = -self.setting.n * multipliers / sizes
            factors.append((per_cell[:, None] * (labels - shares[:, None])).reshape(-1))
        self._factors = np.stack(factors).astype(np.float32)


class MissesRule(RacoDpRule):
    """Of false negatives: cells are groups' rows of label 1, each with a multiplier >= 0 of its own."""

    @property
    def of_errors(self) -> bool:
        return False

    def list_cells(self) -> tuple[Cells, np.ndarray]:
        cells = build_positive_cells(self.setting.trains[0].group_names)
        return cells, cells.of.reshape(-1)

    def _take_dual_step(self, k: int, method: RacoDp) -> None:
        """Move multipliers by the share of false negatives less the bound."""
        sizes, bound = self._sizes(k), method.false_negative_bound
        zeros, ones = self._read_recent(k)
        violations = (((1.0 - bound) * zeros - bound * ones) / sizes).clip(-1.0, 1.0)
        self.arrays["violations"][k] = violations
        step, shares = REACH / method.steps(self.setting.n), sizes / self._people(sizes)
        steps = spread_steps(step, among=self._cells.label, shares=shares)
        raised = self.arrays["multipliers"][k] + steps * violations
        self.arrays["multipliers"][k] = raised.clip(0.0, method.multiplier_max)
