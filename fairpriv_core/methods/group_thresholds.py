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
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np

from fairpriv_core import checks
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.predict import THRESHOLDS_KIND
from fairpriv_core.engine.training import Fitted, Snapshot, Training
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import FitsAlone, MethodInfo, Style, parameter
from fairpriv_core.methods.group_estimate import Estimate, name_by_metric
from fairpriv_core.methods.group_statistic import statistic_sensitivity
from fairpriv_core.methods.public_score import BOOSTED, LINEAR, PublicScore, fit_score
from fairpriv_core.methods.releases import Private, Release, check_noises
from fairpriv_core.methods.score_histogram import count_groups
from fairpriv_core.notions.catalog import notions_of_means
from fairpriv_core.notions.cells import LABELS
from fairpriv_core.notions.notion import Notion

LEARNERS = (LINEAR, BOOSTED)
_TRIED = 400  # thresholds, at equally many rows from each other, beside one half and the constant answers
_NEVER, _ALWAYS = 1.0, -1.0  # a score is in [0, 1]
_OFFSETS = (0.0, 0.25, 0.5, 0.75, 1.0)  # where in its box a group lies
_LEAST_WIDTH = 0.002  # of a box: thresholds that are tried come no nearer


@dataclass(frozen=True)
class GroupThresholds(Private, FitsAlone):
    """Hyper-parameters of thresholds by group."""

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

    learner: str = parameter(
        BOOSTED,
        "Learner",
        "What the score is learned by from features and labels: logistic regression, or boosted trees.",
        choices=LEARNERS,
    )
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

    def assumptions(self) -> tuple[str, ...]:
        """What epsilon takes as given."""
        return (*fields.ATTRIBUTE_ASSUMED, fields.GROUP_NEEDED, fields.chosen_on("splits of Adult and COMPAS"))

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
    network = {"kind": THRESHOLDS_KIND, "score": dict(score.network), "thresholds": thresholds.tolist()}
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
    rates, errors = describe_thresholds(notion, estimate, score, tried)
    first = tried[choose_thresholds(rates, errors, method.gap_target)]
    error = float(estimate.gap_errors(score[:, None] > first)[list(notions_of_means()).index(notion.name)])
    aimed = max(method.gap_target - error, 0.0) if np.isfinite(error) else method.gap_target
    return tried[choose_thresholds(rates, errors, aimed)], aimed


def describe_thresholds(
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
    total, taken = errors[0, anchors].copy(), [anchors]
    for group in range(1, rates.shape[1]):
        inside = np.ones((lows.shape[1], rates.shape[2]), dtype=bool)
        for low, own in zip(lows, rates[:, group], strict=True):
            inside &= (own >= low[:, None] - 1e-12) & (own <= low[:, None] + width + 1e-12)
        costs = np.where(inside, errors[group], np.inf)
        taken.append(costs.argmin(axis=1))
        total += costs.min(axis=1)
    best = int(total.argmin())
    return np.array([own[best] for own in taken])
