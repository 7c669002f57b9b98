"""A threshold for each group on one public score, set by a noisy histogram (after Say, Denis and Pinot, 2025).

The best fair classifier that may see the group decides by a threshold for each group on the chance of label 1 (Hardt,
Price and Srebro, 2016; Say, Denis and Pinot, arXiv 2511.18876, who release histograms of the score by group). Features
and labels are public here, so the score costs nothing, and only the counts by group, label and bin do. Every threshold,
for any notion and target, follows from them.

*The search.* Under the estimate each threshold gives a group its rates and its number of errors. Rates are within the
gap exactly if they lie in one box of that width. Boxes around every point of the first group are tried; in each, every
group takes the threshold with the fewest errors.

*What thresholds cannot.* Equalized odds asks for one true-positive and one false-positive rate in every group. Where
the groups' ROC curves do not come near each other, only thresholds that give nearly everyone one answer keep the gap.

*For whole records* the score is trained by DP-SGD. After training, noisy running counts of it by group and label are
released at once. From them follow the thresholds of fewest errors whose gaps are at most the one aimed at
(docs/methods/group_thresholds_record.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np

from fairpriv_core import checks
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.models import Thresholds
from fairpriv_core.engine.predict import predict_proba
from fairpriv_core.engine.rows import Feed
from fairpriv_core.engine.training import Fitted, Snapshot, Training
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import FitsAlone, FitsMany, MethodInfo, Style, parameter
from fairpriv_core.methods.cell_counts import require_rows
from fairpriv_core.methods.shared.averaged_sums import AveragedSums, AveragedSumsRule
from fairpriv_core.methods.shared.cumulative import cumulative_sensitivity, release_cumulative
from fairpriv_core.methods.shared.group_estimate import Estimate, name_by_metric
from fairpriv_core.methods.shared.group_statistic import statistic_sensitivity
from fairpriv_core.methods.shared.public_score import (
    BOOSTED,
    LEARNERS,
    PublicScore,
    fit_score,
    learner_parameter,
)
from fairpriv_core.methods.shared.releases import Private, Release, check_noises
from fairpriv_core.methods.shared.score_histogram import count_groups
from fairpriv_core.methods.shared.setting import Setting
from fairpriv_core.notions.catalog import notions_of_means
from fairpriv_core.notions.cells import LABELS
from fairpriv_core.notions.notion import Notion
from fairpriv_core.privacy.accountants import rdp_epsilon

_TRIED = 400  # thresholds, at equally many rows from each other, beside one half and the constant answers
_NEVER, _ALWAYS = 1.0, -1.0  # a score is in [0, 1]
_OFFSETS = (0.0, 0.25, 0.5, 0.75, 1.0)  # where in its box a group lies
_LEAST_WIDTH = 0.002  # of a box: thresholds that are tried come no nearer
PLACES = 100  # of a score trained by DP-SGD, equally wide
_ROUNDING = 1e-9
_WIDER = 0.005  # by what the gap is widened where no thresholds keep it


@dataclass(frozen=True)
class GroupThresholds(Private, FitsAlone):
    """Hyper-parameters of thresholds by group. The paper makes no claim of them: it protects whole records."""

    info: ClassVar[MethodInfo] = MethodInfo(
        name="group_thresholds",
        title="Group thresholds",
        style=Style("orange", "dash", "star"),
        summary="Sets a threshold for each group from noisy counts along a score; needs the group at prediction.",
        citation="this project, after Say, Denis and Pinot (2025), arXiv 2511.18876",
        threat_model="attribute",
        source="ours",
        pursued=("decisions", "errors"),
        variants=("proved",),
        calibrates="noise_histogram",
        needs_group_at_prediction=True,
        reuses=("learner", "score_bins", "noise_histogram"),
    )
    FOUND_ON: ClassVar[str] = "splits of Adult and COMPAS"

    learner: str = learner_parameter(BOOSTED)
    gap_target: float = parameter(
        0.04,
        "Gap aimed at",
        "Largest difference between any two groups, on the training rows as far as the counts show.",
        low=0.0,
        high=1.0,
        log=True,
        fairer="less",
    )
    score_bins: int = parameter(
        10,
        "Bins of the score",
        "Groups are counted within this many equally full bins of the score.",
        low=2,
        high=200,
        expert=True,
    )
    noise_histogram: float | None = fields.noise_multiplier("Noise of the counts", "the counts' shift")

    def __post_init__(self) -> None:
        checks.one_of(LEARNERS, learner=self.learner)
        checks.unit(gap_target=self.gap_target)
        checks.whole(low=2, high=200, score_bins=self.score_bins)
        check_noises(self)

    @property
    def clip(self) -> float | None:
        """One-hot rows need no clipping."""
        return None

    def steps(self, n_train: int) -> int:
        """Return 1: the counts."""
        return 1

    def releases(self, n_train: int, groups: int) -> tuple[Release, ...]:
        """The one release of the counts, a statistic whose features are one-hot."""
        return (Release("counts", statistic_sensitivity(groups), "noise_histogram", purpose="statistic"),)

    def count_deviation(self) -> float | None:
        """Sizes are estimated from the statistic."""
        return 0.0

    def fit(self, train: Dataset, training: Training) -> Fitted:
        """Train one model; RunFailed where a group has too few estimated rows."""
        fields.check_labels(self.info, train)
        self.noise()  # what is missing is said before a score is trained
        score = fit_score(self.learner, train, seed=training.seed)
        estimate = count_groups(self, train, training, score.held_out)
        return set_thresholds(self, train, training, score, estimate=estimate)


def set_thresholds(
    method: GroupThresholds, train: Dataset, training: Training, score: PublicScore, *, estimate: Estimate
) -> Fitted:
    """Return the score with a threshold for each group by what was counted: post-processing."""
    mechanism = training.mechanism
    checkpoint = {"statistic": estimate.statistic, **mechanism.state()}
    training.observer.commit(step=1, events=mechanism.events, checkpoint=checkpoint)
    tried = list_thresholds(score.held_out)
    thresholds, aimed = aim_thresholds(method, training.notion, estimate, score.held_out, tried)
    decided = score.held_out[:, None] > thresholds
    network = Thresholds(score.network, tuple(thresholds.tolist()))
    notes = {
        "thresholds": dict(zip(train.group_names, thresholds.tolist(), strict=True)),
        "gap_aimed_at": aimed,
        "released_gaps": name_by_metric(estimate.gaps(decided)),
        "released_gap_errors": name_by_metric(estimate.gap_errors(decided)),
        **estimate.notes(method.event(train.n)),
    }
    training.observer.show(Snapshot(1, 1, network, score.parameters, {}, {}))
    return Fitted(network, score.parameters.copy(), mechanism.events, 1, notes)


def list_thresholds(score: np.ndarray) -> np.ndarray:
    """Return the thresholds (G,) that are tried, ascending: public, as the score is."""
    inner = np.quantile(score, np.arange(1, _TRIED) / _TRIED)
    return np.unique(np.concatenate([[_ALWAYS, 0.5, _NEVER], inner]))


def aim_thresholds(
    method: GroupThresholds, notion: Notion, estimate: Estimate, score: np.ndarray, tried: np.ndarray
) -> tuple[np.ndarray, float]:
    """Return each group's threshold (k,), and the gap that they were to keep: the target less one standard error."""
    rates, errors = measure_thresholds(notion, estimate, score, tried)
    first = tried[choose_thresholds(rates, errors, method.gap_target)]
    error = float(estimate.gap_errors(score[:, None] > first)[list(notions_of_means()).index(notion.name)])
    aimed = max(method.gap_target - error, 0.0) if np.isfinite(error) else method.gap_target
    return tried[choose_thresholds(rates, errors, aimed)], aimed


def measure_thresholds(
    notion: Notion, estimate: Estimate, score: np.ndarray, tried: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the notion's rates (R, k, G) and the expected errors (k, G) of each group under each threshold."""
    groups, size = estimate.probabilities.shape[1], len(tried)
    below = np.searchsorted(tried, score)  # how many of the thresholds the score exceeds
    positive = np.empty((LABELS, groups, size))
    for label, group in product(range(LABELS), range(groups)):
        inside = estimate.y == label
        chances = estimate.probabilities[inside, group]
        exceeded = np.bincount(below[inside], weights=chances, minlength=size + 1)
        positive[label, group] = exceeded[::-1].cumsum()[::-1][1:]
    sizes = estimate.sizes().T[:, :, None]
    errors = positive[0] + sizes[1] - positive[1]
    if notion.target == "loss":
        return (errors / sizes.sum(axis=0))[None], errors
    among = [list(labels) for labels in notion.populations]
    rates = np.stack([positive[labels].sum(axis=0) / sizes[labels].sum(axis=0) for labels in among])
    return rates, errors


def choose_thresholds(rates: np.ndarray, errors: np.ndarray, gap: float) -> np.ndarray:
    """Return which threshold (k,) each group takes: the fewest errors among those whose rates are within the gap.

    `rates` are (R, k, G), `errors` (k, G). The constant answers are always among them.
    """
    width = max(gap, _LEAST_WIDTH)
    offsets = np.array(list(product(_OFFSETS, repeat=len(rates))))
    lows = rates[:, 0, :, None] - width * offsets.T[:, None]
    lows, anchors = lows.reshape(len(rates), -1), np.repeat(np.arange(rates.shape[2]), len(offsets))
    total, places = errors[0, anchors].copy(), [anchors]
    for group in range(1, rates.shape[1]):
        inside = np.ones((lows.shape[1], rates.shape[2]), dtype=bool)
        for low, own in zip(lows, rates[:, group], strict=True):
            inside &= (own >= low[:, None] - 1e-12) & (own <= low[:, None] + width + 1e-12)
        costs = np.where(inside, errors[group], np.inf)
        places.append(costs.argmin(axis=1))
        total += costs.min(axis=1)
    best = int(total.argmin())
    return np.array([own[best] for own in places])


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
    FOUND_ON: ClassVar[str] = "Adult"

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

    @classmethod
    def fit_many(
        cls, methods: Sequence[Self], trains: Sequence[Dataset], trainings: Sequence[Training]
    ) -> list[Fitted]:
        """Train K models in one loop; RunFailed where a group has too few noisy rows or training diverges."""
        setting: Setting[Any] = Setting(methods, trains, trainings)
        rule = ThresholdsRule(setting)
        trained = setting.run(rule)
        return [rule.choose(k, model) for k, model in enumerate(trained)]


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
        network = kernel.shape
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
        thresholds = np.where(places == 0, _ALWAYS, places / PLACES).tolist()
        network = Thresholds(fitted.network, tuple(thresholds))
        training.observer.show(Snapshot(method.epochs + 1, fitted.steps, network, fitted.parameters, {}, {}))
        notes = {"thresholds": dict(zip(train.group_names, thresholds, strict=True)), "counts": below.ravel().tolist()}
        return replace(fitted, network=network, notes=notes)


def count_scores(score: np.ndarray, train: Dataset) -> np.ndarray:
    """Return the rows by (group, label) and place of the score (2k, PLACES).

    Place j has the scores above j / PLACES up to the next. A row without a score, group or label is not counted.
    """
    mask = np.isfinite(score) if train.present is None else np.isfinite(score) & train.present
    place = np.clip(np.ceil(np.where(mask, score, 0.0) * PLACES).astype(np.int64) - 1, 0, PLACES - 1)
    where = ((LABELS * train.group + train.y) * PLACES + place)[mask]
    return np.bincount(where, minlength=LABELS * train.groups * PLACES).reshape(-1, PLACES).astype(np.float64)


def place_thresholds(below: np.ndarray, notion: Notion, *, gap: float) -> np.ndarray:
    """Return each group's place (k,), in 0..m: rows from that place on are given 1.

    `below` (k, 2, m) are (estimated) numbers of rows by group and label whose score is at or below each of m places.
    Groups' means of h (the decision, or whether it is wrong) differ by at most `gap` among the people of each
    condition, as far as the counts tell; by the least that is possible, in steps of 0.005, where no places do that.
    """
    ones, totals = count_ones(below)
    errors = ones[:, 0] + totals[:, 1, None] - ones[:, 1]  # (k, m + 1)
    means, groups, width = _means(ones, totals, notion), np.arange(len(below)), gap
    while True:
        places = choose_thresholds(means, errors, width)
        if width >= 1.0 or np.ptp(means[:, groups, places], axis=1).max() <= width + _WIDER + _ROUNDING:
            return places
        width += _WIDER


def count_ones(below: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how many rows of each group and label are given 1 from each place on (k, 2, m + 1), and in all (k, 2).

    Noisy counts are made to rise, from 0 on, by isotonic regression (Barlow et al., 1972).
    """
    from scipy.optimize import isotonic_regression

    curves = [isotonic_regression(row).x for row in below.reshape(-1, below.shape[2])]
    rising = np.maximum(np.reshape(curves, below.shape), 0.0)
    totals = np.maximum(rising[..., -1], 1.0)
    under = np.concatenate([np.zeros_like(totals)[..., None], np.minimum(rising, totals[..., None])], axis=2)
    ones: np.ndarray = totals[..., None] - under
    return ones, totals


def _means(ones: np.ndarray, totals: np.ndarray, notion: Notion) -> np.ndarray:
    """Return the mean of h for each population, group and place: (populations, k, m + 1)."""
    h = ones.copy()
    if notion.target == "loss":
        h[:, 1] = totals[:, 1, None] - ones[:, 1]
    means: Any = [
        h[:, list(labels)].sum(axis=1) / totals[:, list(labels)].sum(axis=1)[:, None] for labels in notion.populations
    ]
    return np.stack(means)
