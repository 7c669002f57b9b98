"""fairlearn's exponentiated gradient with what it asks of us: a learner, and a notion's constraints.

fairlearn loads pandas and the whole of scikit-learn, which takes a second: the methods that need it load this module
when they are trained.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Any, Self

import numpy as np
import pandas as pd
from fairlearn.reductions import ClassificationMoment, ErrorRate, ExponentiatedGradient, UtilityParity
from sklearn.linear_model import LogisticRegression

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.models import mix
from fairpriv_core.engine.predict import Network
from fairpriv_core.engine.training import Fitted, Snapshot, Training
from fairpriv_core.notions.notion import Notion

_CONSTANT_LOGIT = 10.0  # of a member that fairlearn makes for a question with one label alone
_TOLERANCE = 1e-3  # of the gradient of the mean loss: decisions no longer change, and a fit takes 0.1 s on 34,000 rows
_MOST_STEPS = 1000
_EVERYONE = "all"


@dataclass(frozen=True)
class Reduced:
    """The randomised classifier that a reduction ends in, and how it got there (JSON)."""

    network: Network
    parameters: np.ndarray
    notes: dict[str, float]


def reduce(
    train: Dataset, group: np.ndarray, moment: NotionMoment | PairMoment, *, iterations: int, answers: Answers
) -> Reduced:
    """Return the classifier of least error among those that keep `moment`'s constraints between the groups (n,)."""
    reduction = ExponentiatedGradient(Learner(answers), moment, max_iter=iterations)
    with warnings.catch_warnings():
        # fairlearn writes Series in a way that pandas 3 deprecates, by a class that pandas 2 does not have
        warnings.simplefilter("ignore", DeprecationWarning)
        reduction.fit(train.X, train.y, sensitive_features=group)
    weights = reduction.weights_.sort_index()
    members = [_parameters(reduction.predictors_[index], train.d) for index in weights.index]
    network, parameters = mix(members, weights.to_numpy())
    gap = float(reduction.best_gap_)
    return Reduced(network, parameters, {"rounds": int(reduction.last_iter_) + 1, "duality_gap": gap})


def _parameters(predictor: Any, features: int) -> np.ndarray:
    """Return a member's parameters; fairlearn answers a question with one label by a constant of its own."""
    if isinstance(predictor, Learner):
        return predictor.parameters
    return np.append(np.zeros(features), _CONSTANT_LOGIT * (2 * float(predictor.constant) - 1))


class Answers:
    """The learner's answers in the order in which they were asked for, and the run that watches them come.

    The reduction asks the same questions again after a resume; those that a checkpoint holds the answers to are not
    solved again. `arrays` is what else a checkpoint has to hold.
    """

    def __init__(self, training: Training, arrays: Mapping[str, np.ndarray]) -> None:
        checkpoint = training.checkpoint or {}
        self._training, self._arrays = training, arrays
        self._known: list[np.ndarray] = list(checkpoint["answers"]) if "answers" in checkpoint else []
        self.count = 0

    def next(self, rows: np.ndarray, labels: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return the parameters (d + 1,) of the weighted problem, its rows (n, d), 0/1 labels and weights (n,)."""
        self.count += 1
        if self.count > len(self._known):
            self._known.append(_solve(rows, labels, weight))
            self._report()
        return self._known[self.count - 1]

    def finish(self, network: Network, parameters: np.ndarray, notes: Mapping[str, object]) -> Fitted:
        """Show what the answers came to, as one more step, and return it."""
        steps = self.count + 1
        self._training.observer.show(Snapshot(steps, steps, network, parameters, {}, {}))
        return Fitted(network, parameters, self._training.mechanism.events, steps, notes)

    def commit(self) -> None:
        """Store what is known by now, in a transaction of the run."""
        mechanism = self._training.mechanism
        answers = {"answers": np.stack(self._known)} if self._known else {}
        checkpoint = {**self._arrays, **answers, **mechanism.state()}
        self._training.observer.commit(step=self.count, events=mechanism.events, checkpoint=checkpoint)

    def _report(self) -> None:
        """Show the mixture of all answers so far, each as likely, which is what the algorithm averages; commit."""
        network, parameters = mix(self._known, np.ones(len(self._known)))
        self._training.observer.show(Snapshot(self.count, self.count, network, parameters, {}, {}))
        if self._training.observer.due():
            self.commit()


class Learner:
    """What fairlearn calls an estimator: `fit` with sample weights, `predict` hard decisions."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self.parameters = np.zeros(0)

    def __sklearn_clone__(self) -> Learner:
        return Learner(self._answers)

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray) -> Self:
        """Take the next answer."""
        self.parameters = self._answers.next(X, np.asarray(y), np.asarray(sample_weight))
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return decisions (n,), 0 or 1."""
        decided: np.ndarray = (X @ self.parameters[:-1] + self.parameters[-1] > 0).astype(np.int64)
        return decided


def _solve(rows: np.ndarray, labels: np.ndarray, weight: np.ndarray) -> np.ndarray:
    solved = LogisticRegression(tol=_TOLERANCE, max_iter=_MOST_STEPS).fit(rows, labels, sample_weight=weight)
    return np.concatenate([solved.coef_[0], solved.intercept_])


class NotionMoment(UtilityParity):  # type: ignore[misc]  # fairlearn has no types
    """|mean of u in a group - mean of u in the population| <= bound, in each of the notion's populations.

    u is the decision, or for a notion on the loss the 0/1 error. With `misreport` > 0 the groups are answers of k-ary
    randomised response and `misreport` is the chance of each answer that is not the truth: what is bounded by
    `difference_bound` is then the gap of the groups themselves (see `bound`).
    """

    def __init__(self, notion: Notion, difference_bound: float, misreport: float = 0.0) -> None:
        super().__init__(difference_bound=difference_bound)
        self.notion, self.misreport = notion, misreport

    def load_data(self, X: np.ndarray, y: np.ndarray, *, sensitive_features: np.ndarray) -> None:
        """Take the features (n, d), labels (n,) and groups (n,)."""
        labels = pd.Series(np.asarray(y))
        conditions = self.notion.conditions
        populations = {value: _EVERYONE if None in conditions else f"label={value}" for value in (0, 1)}
        inside = labels.isin(conditions) | (None in conditions)
        errors = np.column_stack([labels, 1 - labels]).astype(np.float64)
        super().load_data(
            X,
            labels,
            event=labels.map(populations).where(inside),
            utilities=errors if self.notion.target == "loss" else None,
            sensitive_features=pd.Series(np.asarray(sensitive_features)),
        )
        share = self.prob_group_event.div(self.prob_event, level=self.prob_event.index.name)
        self._bound, population = self._find_bound(share), share.index.codes[0]
        self._shares = [(population == code, share.to_numpy()[population == code]) for code in np.unique(population)]

    def bound(self) -> pd.Series:
        """Return the bound of each constraint, in the index's order; fairlearn asks for it all the time."""
        return self._bound

    def _find_bound(self, share: pd.Series) -> pd.Series:
        """Return the bound of each constraint; `share` is each group's of its population.

        Let g_a be the gap of group a, P_a its share of the population, Z the answer, kept with chance p and each other
        one with chance m. Sum_a P_a g_a = 0, so P(Z=z) g_z = sum_a P(Z=z | a) P_a g_a = (p - m) P_z g_z(true), and
        (p - m) P_z = P(Z=z) - m since p + (k - 1) m = 1. So |g(true)| <= b is |g| <= b (P(Z=z) - m) / P(Z=z): the
        correction of Mozannar et al. (2020), who invert the response's matrix, without an inverse.
        """
        limits = self.eps * (share - self.misreport).clip(lower=0.0) / share
        bounds: pd.Series = pd.concat([limits, limits], keys=["+", "-"], names=self.index.names).reindex(self.index)
        return bounds

    def project_lambda(self, lambda_vec: pd.Series) -> Any:
        """Return multipliers that are no worse: fairlearn's projection, which needs bounds that are all equal.

        In each population sum_a P_a g_a = 0, so that P_a times anything may be taken off: what leaves least is the
        weighted median. This is fairlearn's own, in NumPy: in pandas it took a quarter of a fit on few rows.
        """
        if self.misreport:
            return lambda_vec
        signed = lambda_vec["+"].to_numpy(dtype=np.float64) - lambda_vec["-"].to_numpy(dtype=np.float64)
        for inside, share in self._shares:
            normalised = signed[inside] / share
            order = np.argsort(normalised, kind="stable")
            median = np.searchsorted(share[order].cumsum(), share.sum() / 2)
            signed[inside] -= share * normalised[order[median]]
        return pd.Series(np.concatenate([signed, -signed]).clip(min=0.0), self.index)


class PairMoment(ClassificationMoment):  # type: ignore[misc]  # fairlearn has no types
    """Mean of u in one group - mean of u in another <= a gap, for each ordered pair in each population of the notion.

    u is NotionMoment's. Everyone's mean cancels, so a pair's multiplier is one of its first group less one of its
    second, and what fairlearn's constraints on groups make of these is used as it is.
    """

    def __init__(self, notion: Notion, gap: float) -> None:
        super().__init__()
        self._groups, self._gap = NotionMoment(notion, 0.0), gap

    def load_data(self, X: np.ndarray, y: np.ndarray, *, sensitive_features: np.ndarray) -> None:
        """Take the features (n, d), labels (n,) and groups (n,)."""
        super().load_data(X, pd.Series(np.asarray(y)), sensitive_features=pd.Series(np.asarray(sensitive_features)))
        self._groups.load_data(X, y, sensitive_features=sensitive_features)
        cells = list(self._groups.prob_group_event.index)
        self._pairs = [(i, j) for i, j in permutations(range(len(cells)), 2) if cells[i][0] == cells[j][0]]
        unit = np.eye(len(cells))
        self._differences = np.array([unit[i] - unit[j] for i, j in self._pairs]).reshape(-1, len(cells))

    @property
    def index(self) -> pd.Index:
        """The constraints' names: numbers."""
        return pd.RangeIndex(len(self._pairs))

    def default_objective(self) -> Any:
        """Return the share of wrong decisions."""
        return ErrorRate()

    def gamma(self, predictor: Any) -> pd.Series:
        """Return each pair's difference of means under the decisions of `predictor`."""
        return pd.Series(self._differences @ self._groups.gamma(predictor)["+"].to_numpy(), self.index)

    def bound(self) -> pd.Series:
        """Return the bound of each constraint."""
        return pd.Series(self._gap, self.index)

    def project_lambda(self, lambda_vec: pd.Series) -> pd.Series:
        """Return multipliers that are no worse: of a pair and its reverse only one is at work."""
        reverse = [self._pairs.index((j, i)) for i, j in self._pairs]
        fewer: pd.Series = (lambda_vec - lambda_vec.to_numpy()[reverse]).clip(lower=0.0)
        return fewer

    def signed_weights(self, lambda_vec: pd.Series) -> pd.Series:
        """Return what a decision 1 in place of 0 costs each row under the pairs' multipliers."""
        of_groups = pd.Series(0.0, self._groups.index)
        of_groups["+"] = self._differences.T @ lambda_vec.to_numpy()
        weights: pd.Series = self._groups.signed_weights(of_groups)
        return weights
