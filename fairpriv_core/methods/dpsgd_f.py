"""DPSGD-F: groups whose gradients are clipped more often get larger bounds (Xu, Du and Wu, 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairpriv_core.engine.loop import Rule, Sampled
from fairpriv_core.engine.rows import Records
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import MethodInfo, Style
from fairpriv_core.methods.none import loss_gradient_norms
from fairpriv_core.methods.shared.noisy_sums import (
    ExportedCurvesRule,
    SumsWithCounts,
    count_by,
    running_mean,
)
from fairpriv_core.methods.shared.setting import Setting


@dataclass(frozen=True)
class DpsgdF(SumsWithCounts):
    """C_k = C (1 + r_k / mean r), r_k the noisy share of group k with norms above C; noise sigma max_k C_k.

    The published variant counts the step's own sample with noise 10 sigma, first; the proved one counts beside the
    gradients, and a running mean of the noisy counts sets the next step's bounds.
    """

    info: ClassVar[MethodInfo] = MethodInfo(
        name="dpsgd_f",
        title="DPSGD-F",
        style=Style("sky", "dash", "triangle-up"),
        summary="DP-SGD with a clipping bound for each group, so that none is clipped more; protects whole records.",
        citation="Xu, Du and Wu (2021), Removing disparate impact on model accuracy in DP-SGD",
        threat_model="record",
        variants=fields.VARIANTS,
        calibrates="noise_primal",
        max_labels=None,
    )
    COUNT_NOISE: ClassVar[float | None] = 10.0
    UNPROVED: ClassVar[str] = (
        "The published accounting does not hold: counts and gradients are taken from one sample but counted as if each "
        "had a sample of its own."
    )

    network: str = fields.shared("network")

    def largest_bound(self, groups: int) -> float:
        """Return the largest bound that a group can have: C (1 + groups), as no share is more than their sum."""
        return self.clip_primal * (1.0 + groups)

    @classmethod
    def rule(cls, setting: Setting[Any]) -> Rule:
        return DpsgdFRule(setting) if setting.methods[0].proved else DpsgdFPublishedRule(setting)


class DpsgdFRule(ExportedCurvesRule):
    """Proved: counts (group, above C or not) beside the gradients; their running mean sets the next step's bounds."""

    def __init__(self, setting: Setting[DpsgdF]) -> None:
        super().__init__(setting)
        groups = setting.trains[0].groups
        start = np.array([[2.0 * method.clip_primal] for method in setting.methods])  # equal shares
        self.arrays["clip_groups"] = np.repeat(start, groups, axis=1)
        self.arrays["counts"] = np.full((len(setting.methods), 2 * groups), np.nan)

    def bounds(self) -> np.ndarray:
        largest: np.ndarray = self.arrays["clip_groups"].max(axis=1)
        return largest

    def record_bounds(self, records: Records) -> np.ndarray:
        return records.look_up(np.repeat(self.arrays["clip_groups"], records.labels, axis=1))

    def statistics(self, records: Records) -> np.ndarray | None:
        above = loss_gradient_norms(records) > self.setting.column("clip_primal")
        kinds = records.code // records.labels * 2 + above
        return count_by(kinds, records.present > 0, self.arrays["counts"].shape[1])

    def learn(self, model: int, statistics: np.ndarray, gradient: np.ndarray) -> None:
        self.arrays["counts"][model] = running_mean(self.arrays["counts"][model], statistics)
        self._set_bounds(model, self.arrays["counts"][model])

    def _set_bounds(self, model: int, counts: np.ndarray) -> None:
        below, above = counts.clip(min=0.0).reshape(-1, 2).T
        people = below + above
        shares = np.where(people > 0, above / np.where(people > 0, people, 1.0), 1.0)  # 0 / 0 = 1
        ratios = shares / shares.mean() if shares.any() else np.ones_like(shares)
        self.arrays["clip_groups"][model] = self.setting.methods[model].clip_primal * (1.0 + ratios)

    def scalars(self, model: int) -> dict[str, float]:
        names = self.setting.trains[model].group_names
        return {f"clip/{name}": float(c) for name, c in zip(names, self.arrays["clip_groups"][model], strict=True)}


class DpsgdFPublishedRule(DpsgdFRule):
    """Published: noisy counts of the very sample set the step's bounds, truncated at 0."""

    def read_sample(self, sampled: Sampled) -> None:
        counts = super().statistics(sampled.records)
        assert counts is not None
        for k, own in enumerate(counts):
            self._set_bounds(k, self.setting.release(k, "counts", own, index=sampled.step))

    def statistics(self, records: Records) -> np.ndarray | None:
        return None
