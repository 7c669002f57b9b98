"""Fair decisions from a public score and one release: which price of deciding 1 each group's members have.

With multipliers lambda of the notion's cells, the best decision is 1 where

    2 eta(x) - 1 > sum_c lambda_c z_c(x),    z_c(x) = sum over (a, y) in c of s_y P(y | x) p(a | x, y) / p(c),

s_y being 1 where shares of decisions are compared, and 1 - 2 y where errors are (Menon and Williamson, 2018, The cost
of fairness in binary classification). Multipliers are found by proximal ascent
(multipliers.py) on the training rows: v is the estimated mean of hard decisions in each cell, decided on the scores of
models that have not seen the row. Of all rounds that keep the gap, the one whose decisions are most often right is
taken: features and labels are public, the gap is post-processing of the release.

The gap aimed at is the target less one standard error of the gap that was found without it, or 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.corrected import Corrected, correct, tell_groups
from fairpriv_core.engine.predict import freeze
from fairpriv_core.engine.training import Fitted, Snapshot, Training
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.base import MethodInfo
from fairpriv_core.methods.fields import check_labels
from fairpriv_core.methods.shared.group_estimate import Estimate, Reading, name_by_metric, read_groups
from fairpriv_core.methods.shared.group_statistic import Releases
from fairpriv_core.methods.shared.multipliers import ascend
from fairpriv_core.methods.shared.public_score import PublicScore
from fairpriv_core.notions.catalog import notions_of_means
from fairpriv_core.notions.cells import NO_CELL, Cells, build_cells
from fairpriv_core.notions.notion import Notion
from fairpriv_core.privacy.event import Events

_ROUNDS = 240
_HALVED = 60  # rounds after which a step is half as long
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
    """Those of one whose groups are estimated from a statistic."""


def fit_corrected(method: CorrectsByStatistic, train: Dataset, training: Training, score: PublicScore) -> Fitted:
    """Return the score, its decisions moved; RunFailed where a group has too few estimated rows.

    BadInput for images: the estimate is of thumbnails, and the model would be given pixels.
    """
    check_labels(method.info, train)
    if train.image is not None:
        raise BadInput("learner must be network where rows are images.", field="learner")
    return move_decisions(method, train, training, score, reading=read_groups(method, train, training, score.held_out))


def move_decisions(
    method: Corrects, train: Dataset, training: Training, score: PublicScore, *, reading: Reading
) -> Fitted:
    """Return the score, its decisions moved by what was read of the groups: post-processing."""
    mechanism = training.mechanism
    checkpoint = {**reading.estimate.kept(), **mechanism.state()}
    training.observer.commit(step=1, events=mechanism.events, checkpoint=checkpoint)
    cells = build_cells(training.notion, train.group_names)
    weights = reading.weights.astype(np.float32).astype(np.float64)  # as they are stored
    search = _Search.of(score.held_out, tell_groups(weights, reading.features.rows), reading.estimate, cells, training)
    multipliers, aimed = search.aim(method, training.notion)
    prices = search.price(multipliers)
    decided = correct(score.held_out, search.chances, prices) > 0.5
    features, (groups, wide) = reading.features, weights.shape[1:]
    network = Corrected(score.network, len(features.edges) + 1, wide, groups, features.bound, freeze(prices.tolist()))
    after = np.concatenate([features.edges, weights.ravel()]).astype(np.float32)
    parameters = np.concatenate([score.parameters, after])
    notes = {
        "multipliers": dict(zip(cells.names, multipliers.tolist(), strict=True)),
        "gap_aimed_at": aimed,
        "released_gaps": name_by_metric(reading.estimate.gaps(decided)),
        "released_gap_errors": name_by_metric(reading.estimate.gap_errors(decided)),
        **reading.estimate.notes(method.event(train.n)),
    }
    training.observer.show(Snapshot(1, 1, network, parameters, cells.name_curves(multiplier=multipliers), {}))
    return Fitted(network, parameters, mechanism.events, 1, notes)


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
                    told = (score if label else 1.0 - score) * chances[label, :, group]
                    shares[cell] += sizes[group, label]
                    costs[:, cell] += signs[label] * told
        return cls(score, chances, estimate, cells, costs / shares, estimate.cell_weights(cells), shares, signs)

    def price(self, multipliers: np.ndarray) -> np.ndarray:
        """Return the prices (k, 2) of a decision 1 by group and label."""
        of_cell = np.append(multipliers / self.shares, 0.0)  # NO_CELL is the last one
        prices: np.ndarray = of_cell[self.cells.of] * self.signs
        return prices

    def aim(self, method: Corrects, notion: Notion) -> tuple[np.ndarray, float]:
        """Return the multipliers (cells,), and the gap that they were to keep: the target less one standard error."""
        first = self._find(method.gap_target, method.multiplier_max)
        errors = self.estimate.gap_errors(self._decide(first))
        error = float(errors[list(notions_of_means()).index(notion.name)])
        aimed = max(method.gap_target - error, 0.0) if np.isfinite(error) else method.gap_target
        return self._find(aimed, method.multiplier_max), aimed

    def _decide(self, multipliers: np.ndarray) -> np.ndarray:
        decided: np.ndarray = 2.0 * self.score - 1.0 > self.costs @ multipliers
        return decided

    def _find(self, target: float, largest: float) -> np.ndarray:
        """Return the multipliers of the round that is most often right within the target, or comes nearest to it."""
        found = multipliers = np.zeros(self.cells.count)
        best = (-np.inf, -np.inf)
        for done in range(_ROUNDS):
            decided = self._decide(multipliers)
            right = decided == (self.estimate.y == 1)
            means = self.weights @ (decided if self.signs[1] > 0 else ~right).astype(np.float64)
            gap = max(float(np.ptp(means[self.cells.label == people])) for people in np.unique(self.cells.label))
            reached = (0.0 if gap <= target else target - gap, float(right.mean()))
            if reached > best:
                best, found = reached, multipliers
            steps = self.shares / (1.0 + done / _HALVED)
            inside = max(target - _INSIDE, 0.0)
            multipliers = ascend(
                multipliers, means, among=self.cells.label, steps=steps, gap_target=inside, largest=largest
            )
        return found
