"""Thresholds by group on a score that DP-SGD trained; predictions need the group (after Say, Denis and Pinot, 2025).

After training, noisy running counts of the score by group and label are released at once. From them follow the
thresholds of fewest errors whose gaps are at most the one aimed at (docs/methods/group_thresholds_record.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from fairpriv_core import checks
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.predict import THRESHOLDS_KIND, predict_proba
from fairpriv_core.engine.rows import Feed
from fairpriv_core.engine.training import Fitted, Snapshot, Training
from fairpriv_core.methods import fields
from fairpriv_core.methods.averaged_sums import AveragedSums, AveragedSumsRule
from fairpriv_core.methods.base import FitsMany, MethodInfo, Style
from fairpriv_core.methods.cell_counts import require_rows
from fairpriv_core.methods.cumulative import cumulative_sensitivity, release_cumulative
from fairpriv_core.methods.releases import Release
from fairpriv_core.methods.setting import Setting
from fairpriv_core.methods.thresholds import count_ones, place_thresholds
from fairpriv_core.notions.cells import LABELS
from fairpriv_core.privacy.accountants import rdp_epsilon

ALWAYS = -1.0  # below every score
PLACES = 100  # of the score, equally wide


@dataclass(frozen=True)
class GroupThresholdsRecord(AveragedSums, FitsMany):
    """Hyper-parameters. `share_counts` is of mu^2, mu the Gaussian mechanism with (epsilon, delta)."""

    info: ClassVar[MethodInfo] = MethodInfo(
        name="group_thresholds_record",
        title="Group thresholds for whole records",
        style=Style("orange", "solid", "pentagon", legend="Group thresholds, records"),
        summary="A threshold for each group on a score trained by DP-SGD, from noisy counts; needs the group at "
        "prediction; protects whole records.",
        citation="this project, after Say, Denis and Pinot (2025) and Hardt, Price and Srebro (2016)",
        threat_model="record",
        source="ours",
        pursued=("decisions", "errors"),
        variants=("proved",),
        calibrates="noise_primal",
        needs_group_at_prediction=True,
    )

    gap_target: float = fields.gap_aimed_at("thresholds of fewest errors within it, as far as the noisy counts show")
    share_counts: float = fields.share_of_budget(0.15, "counts", "the score's counts by group and label")
    noise_counts: float | None = fields.noise_multiplier("Count noise σ_c", "the running counts' shift")

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.unit(gap_target=self.gap_target)
        checks.shares(share_counts=self.share_counts)

    def releases(self, n_train: int, groups: int) -> tuple[Release, ...]:
        """The steps; and once the score's running counts (`cumulative.py` says how far one row moves them)."""
        counts = Release("counts", cumulative_sensitivity(PLACES), "noise_counts", share="share_counts")
        return (*super().releases(n_train, groups), counts)

    def count_deviation(self) -> float | None:
        """Sizes are sums of the running counts."""
        return 0.0

    def published_epsilon(self, n_train: int, delta: float) -> float | None:
        """Return the moments accountant's figure (RDP) for the same releases."""
        return rdp_epsilon(self.event(n_train), delta)

    def assumptions(self) -> tuple[str, ...]:
        """What epsilon takes as given, and what predicting takes."""
        return (*fields.RECORD_ASSUMED, fields.GROUP_NEEDED, fields.chosen_on("Adult"))

    @classmethod
    def fit_many(
        cls, methods: Sequence[Self], trains: Sequence[Dataset], trainings: Sequence[Training]
    ) -> list[Fitted]:
        """Train K models in one loop; RunFailed where a group has too few noisy rows or training diverges."""
        setting: Setting[Any] = Setting(methods, trains, trainings)
        rule = ThresholdsRule(setting)
        trained = setting.run(rule)
        return [rule.choose(k, fitted) for k, fitted in enumerate(trained)]


class ThresholdsRule(AveragedSumsRule):
    """DP-SGD; after the last step the score's running counts by group and label are released."""

    def __init__(self, setting: Setting[Any]) -> None:
        super().__init__(setting)
        kinds = LABELS * setting.trains[0].groups
        self.arrays["counts"] = np.zeros((len(setting.methods), kinds * PLACES))

    def end_epoch(self, epoch: int, kernel: Kernel, feed: Feed) -> None:
        super().end_epoch(epoch, kernel, feed)
        if epoch + 1 < self.setting.methods[0].epochs:
            return
        network = kernel.shape.to_json()
        for k, (method, train) in enumerate(zip(self.setting.methods, self.setting.trains, strict=True)):
            score = predict_proba(network, kernel.parameters[k], train.X)[:, 1]
            counts = release_cumulative(
                self.setting.trainings[k].mechanism,
                count_scores(score, train),
                noise_multiplier=method.noise("noise_counts"),
                purpose="counts",
            )
            self.arrays["counts"][k] = counts.ravel()

    def choose(self, model: int, fitted: Fitted) -> Fitted:
        """Return the trained model with thresholds by group; RunFailed where a cell has too few noisy rows."""
        setting = self.setting
        method, train, training = setting.methods[model], setting.trains[model], setting.trainings[model]
        below = self.arrays["counts"][model].reshape(train.groups, LABELS, PLACES)
        require_rows(count_ones(below)[1], training.notion, train.group_names)
        places = place_thresholds(below, training.notion, gap=method.gap_target)
        thresholds = np.where(places == 0, ALWAYS, places / PLACES).tolist()
        network = {"kind": THRESHOLDS_KIND, "score": dict(fitted.network), "thresholds": thresholds}
        training.observer.show(Snapshot(method.epochs + 1, fitted.steps, network, fitted.parameters, {}, {}))
        notes = {"thresholds": dict(zip(train.group_names, thresholds, strict=True)), "counts": below.ravel().tolist()}
        return replace(fitted, network=network, notes=notes)


def count_scores(score: np.ndarray, train: Dataset) -> np.ndarray:
    """Return the rows by (group, label) and place of the score (2k, PLACES).

    Place j has the scores above j / PLACES up to the next. A row without a score, group or label is not counted.
    """
    known = np.isfinite(score) if train.present is None else np.isfinite(score) & train.present
    place = np.clip(np.ceil(np.where(known, score, 0.0) * PLACES).astype(np.int64) - 1, 0, PLACES - 1)
    where = ((LABELS * train.group + train.y) * PLACES + place)[known]
    return np.bincount(where, minlength=LABELS * train.groups * PLACES).reshape(-1, PLACES).astype(np.float64)
