"""Fair decisions from a public score and one release: which price of deciding 1 each group's members have.

With multipliers lambda of the notion's cells, the best decision is 1 where

    2 eta(x) - 1 > sum_c lambda_c z_c(x),    z_c(x) = sum over (a, y) in c of s_y P(y | x) p(a | x, y) / p(c),

s_y being 1 where shares of decisions are compared, and 1 - 2 y where errors are (Menon and Williamson, 2018, The cost
of fairness in binary classification). Multipliers are found by proximal ascent
(multipliers.py) on the training rows: v is the estimated mean of hard decisions in each cell, decided on the scores of
models that have not seen the row. Of all rounds that keep the gap, the one whose decisions are most often right is
taken: features and labels are public, the gap is post-processing of the release.

The gap aimed at is the target less one standard error of the gap that was found without it, or 0.

*Where a bound is aimed at* (gap_bound.py), a price that is the same for everybody stands beside those of the cells. It
moves decisions towards the more frequent label, and with rates nearer 0 or 1 both gaps and their errors shrink. Prices
are tried from 0 on. Each is given the multipliers that keep the target less what the bound exceeded the gap by at the
price before. The one is taken that is most often right, less what its bound exceeds the target by, at twice the rate at
which drawing lots between the unmoved score and one answer for all trades accuracy for gap. So wherever the bound ends
above twice the target, accuracy is at least that of such lots with a gap as large as the bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.corrected import Corrected, correct, estimate_shares
from fairpriv_core.engine.training import Fitted, Snapshot, Training
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.base import MethodInfo
from fairpriv_core.methods.fields import check_labels
from fairpriv_core.methods.shared.gap_bound import bound_gap
from fairpriv_core.methods.shared.group_estimate import Estimate, Reading, name_by_metric, read_groups
from fairpriv_core.methods.shared.group_statistic import Releases
from fairpriv_core.methods.shared.multipliers import ascend
from fairpriv_core.methods.shared.public_score import PublicScore
from fairpriv_core.notions.catalog import notions_of_means
from fairpriv_core.notions.cells import NO_CELL, Cells, build_cells
from fairpriv_core.notions.notion import Notion
from fairpriv_core.plain import freeze
from fairpriv_core.privacy.event import Events

_ROUNDS = 240
_HALVED = 60  # rounds after which a step is half as long
_PRICES = np.linspace(0.0, 1.0, 11)  # of a decision 1 that everybody has; at 1, without multipliers, nobody is given it
_EXCESS = 2.0  # so many times the mixing line's rate does a bound beyond the target cost
_INSIDE = 0.001  # by which the ascent aims below the gap: rounds then end within it


class Corrects(Protocol):
    """The hyper-parameters of a corrected score."""

    info: ClassVar[MethodInfo]

    @property
    def gap_target(self) -> float: ...
    @property
    def multiplier_max(self) -> float: ...
    def event(self, n_train: int) -> Events:
        """Return the one release."""


class CorrectsByStatistic(Corrects, Releases, Protocol):
    """The hyper-parameters of a score whose groups are estimated from a statistic, and which may aim at a bound."""

    @property
    def aims_at_bound(self) -> bool: ...


def fit_corrected(method: CorrectsByStatistic, train: Dataset, training: Training, score: PublicScore) -> Fitted:
    """Return the score, its decisions moved; RunFailed where a group has too few estimated rows.

    BadInput for images: the estimate is of thumbnails, and the model would be given pixels.
    """
    check_labels(method.info, train)
    if train.image is not None:
        raise BadInput("learner must be network where rows are images.", field="learner")
    reading = read_groups(method, train, training, score.held_out)
    return move_decisions(method, train, training, score, reading=reading, to_bound=method.aims_at_bound)


def move_decisions(
    method: Corrects,
    train: Dataset,
    training: Training,
    score: PublicScore,
    *,
    reading: Reading,
    to_bound: bool = False,
) -> Fitted:
    """Return the score, its decisions moved by what was read of the groups: post-processing."""
    mechanism = training.mechanism
    checkpoint = {**reading.estimate.kept(), **mechanism.state()}
    training.observer.commit(step=1, events=mechanism.events, checkpoint=checkpoint)
    cells = build_cells(training.notion, train.group_names)
    weights = reading.weights.astype(np.float32).astype(np.float64)  # as they are stored
    search = _Search.of(
        score.held_out, estimate_shares(weights, reading.features.rows), reading.estimate, cells, training
    )
    aim = (search.aim_bound if to_bound else search.aim)(method, training.notion)
    prices = search.price(aim)
    decided = correct(score.held_out, search.chances, prices) > 0.5
    features, (groups, wide) = reading.features, weights.shape[1:]
    network = Corrected(score.network, len(features.edges) + 1, wide, groups, features.bound, freeze(prices.tolist()))
    after = np.concatenate([features.edges, weights.ravel()]).astype(np.float32)
    parameters = np.concatenate([score.parameters, after])
    notes = {
        "multipliers": dict(zip(cells.names, aim.multipliers.tolist(), strict=True)),
        "gap_aimed_at": aim.aimed,
        **({} if aim.bound is None else {"released_gap_bounds": {training.notion.metric: aim.bound}}),
        "released_gaps": name_by_metric(reading.estimate.gaps(decided)),
        "released_gap_errors": name_by_metric(reading.estimate.gap_errors(decided)),
        **reading.estimate.notes(method.event(train.n)),
    }
    training.observer.show(Snapshot(1, 1, network, parameters, cells.name_curves(multiplier=aim.multipliers), {}))
    return Fitted(network, parameters, mechanism.events, 1, notes)


@dataclass(frozen=True)
class _Found:
    """Multipliers (cells,), the gap that they were to keep, a price for everybody, and the gap's bound if aimed at."""

    multipliers: np.ndarray
    aimed: float
    common: float = 0.0
    bound: float | None = None


@dataclass(frozen=True)
class _Search:
    """What multipliers are searched on: n rows' scores, p(a | x, y) (2, n, k), costs z (n, cells) and cells' weights.

    `shares` (cells,) are the estimated shares of all rows; `signs` (2,) s_y of each label.
    """

    score: np.ndarray
    chances: np.ndarray
    estimate: Estimate
    cells: Cells
    costs: np.ndarray
    weights: np.ndarray
    shares: np.ndarray
    signs: np.ndarray

    @classmethod
    def of(
        cls, score: np.ndarray, chances: np.ndarray, estimate: Estimate, cells: Cells, training: Training
    ) -> _Search:
        """Return the search of a notion's multipliers."""
        signs = np.array([1.0, -1.0 if training.notion.target == "loss" else 1.0])
        sizes, shares = estimate.sizes() / len(score), np.zeros(cells.count)
        costs = np.zeros((len(score), cells.count))
        for group, of_label in enumerate(cells.of):
            for label, cell in enumerate(of_label):
                if cell != NO_CELL:
                    joint = (score if label else 1.0 - score) * chances[label, :, group]
                    shares[cell] += sizes[group, label]
                    costs[:, cell] += signs[label] * joint
        return cls(score, chances, estimate, cells, costs / shares, estimate.cell_weights(cells), shares, signs)

    def price(self, aim: _Found) -> np.ndarray:
        """Return the prices (k, 2) of a decision 1 by group and label."""
        of_cell = np.append(aim.multipliers / self.shares, 0.0)  # NO_CELL is the last one
        prices: np.ndarray = of_cell[self.cells.of] * self.signs + aim.common
        return prices

    def aim(self, method: Corrects, notion: Notion) -> _Found:
        """Return what keeps the target less one standard error, as far as the estimate tells."""
        first = self._find(method.gap_target, method.multiplier_max)
        errors = self.estimate.gap_errors(self._decide(first))
        error = float(errors[list(notions_of_means()).index(notion.name)])
        aimed = max(method.gap_target - error, 0.0) if np.isfinite(error) else method.gap_target
        return _Found(self._find(aimed, method.multiplier_max), aimed)

    def aim_bound(self, method: Corrects, notion: Notion) -> _Found:
        """Return what is most often right, less what its bound exceeds the target by."""
        target, aimed, labels = method.gap_target, method.gap_target, self.estimate.y == 1
        rarer, rate = (1.0 if labels.mean() <= 0.5 else -1.0), _EXCESS * self._mixing_rate()
        one_answer = np.zeros(self.cells.count)
        # where the noise may hide a whole group there is no bound (NaN): it beats none, and 1 stands for it
        best, aim = -np.inf, _Found(one_answer, target, rarer, bound=1.0)
        # one answer for all at first; then 0 twice, since the first tells by how much a bound exceeds its gap
        for place, price in enumerate((1.0, 0.0, *_PRICES.tolist())):
            multipliers = self._find(aimed, method.multiplier_max, rarer * price) if place else one_answer
            decided = self._decide(multipliers, rarer * price)
            bound = bound_gap(self.estimate, notion, decided)
            value = float((decided == labels).mean()) - rate * max(bound - target, 0.0)
            if value > best:
                best, aim = value, _Found(multipliers, aimed, rarer * price, bound)
            aimed = max(0.0, target - (bound - self._spread(self._mean(decided))))  # in this order NaN gives 0
        return aim

    def _mixing_rate(self) -> float:
        """Return the accuracy that lots between the unmoved score and one answer for all pay for each unit of gap."""
        unmoved, labels = self._decide(np.zeros(self.cells.count)), self.estimate.y == 1
        gained = float((unmoved == labels).mean()) - max(labels.mean(), 1.0 - labels.mean())
        return float(max(gained, 0.0) / max(self._spread(self._mean(unmoved)), _INSIDE))

    def _decide(self, multipliers: np.ndarray, common: float = 0.0) -> np.ndarray:
        decided: np.ndarray = 2.0 * self.score - 1.0 - common > self.costs @ multipliers
        return decided

    def _find(self, target: float, largest: float, common: float = 0.0) -> np.ndarray:
        """Return the multipliers of the round that is most often right within the target, or comes nearest to it."""
        best_multipliers = multipliers = np.zeros(self.cells.count)
        best = (-np.inf, -np.inf)
        for done in range(_ROUNDS):
            decided = self._decide(multipliers, common)
            right = decided == (self.estimate.y == 1)
            means = self._mean(decided)
            gap = self._spread(means)
            reached = (0.0 if gap <= target else target - gap, float(right.mean()))
            if reached > best:
                best, best_multipliers = reached, multipliers
            steps = self.shares / (1.0 + done / _HALVED)
            inside = max(target - _INSIDE, 0.0)
            multipliers = ascend(
                multipliers, means, among=self.cells.label, steps=steps, gap_target=inside, largest=largest
            )
        return best_multipliers

    def _mean(self, decided: np.ndarray) -> np.ndarray:
        """Return the estimated means (cells,) of decisions, or of errors where the notion compares these."""
        compared = decided if self.signs[1] > 0 else decided != (self.estimate.y == 1)
        means: np.ndarray = self.weights @ compared.astype(np.float64)
        return means

    def _spread(self, means: np.ndarray) -> float:
        return max(float(np.ptp(means[self.cells.label == people])) for people in np.unique(self.cells.label))
