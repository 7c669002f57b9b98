"""The reduction against fairlearn's own constraints, and what it promises on the training rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from fairlearn.reductions import (
    DemographicParity,
    EqualizedOdds,
    ErrorRateParity,
    ExponentiatedGradient,
    FalsePositiveRateParity,
    TruePositiveRateParity,
    UtilityParity,
)
from sklearn.linear_model import LogisticRegression

from fairpriv_core.engine.predict import predict_proba
from fairpriv_core.engine.training import Fitted
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.reductions import Reductions
from fairpriv_core.methods.shared.exponentiated_gradient import Answers, Learner, NotionMoment, PairMoment
from fairpriv_core.notions.catalog import notions
from tests.methods.harness import RecordingMechanism, make_data, train
from tests.methods.spread import spread

FAIRLEARN: dict[str, Callable[..., Any]] = {
    "demographic_parity": DemographicParity,
    "equalized_odds": EqualizedOdds,
    "equal_opportunity": TruePositiveRateParity,
    "predictive_equality": FalsePositiveRateParity,
    "accuracy_parity": ErrorRateParity,
}


ROUNDS = 6


def _fit(data: Any, notion: str, bound: float) -> Fitted:
    (fitted,) = train(
        Reductions(difference_bound=bound, iterations=ROUNDS, gap_target=None),
        [data],
        [RecordingMechanism()],
        notion=notion,
    )
    return fitted


class Unwatched(Answers):
    """The learner's answers without a run around them."""

    def __init__(self) -> None:
        self._known, self.count = [], 0

    def _report(self) -> None:
        return None


@pytest.mark.parametrize("notion", list(FAIRLEARN))
def test_it_is_fairlearns_reduction(notion: str) -> None:
    data = make_data(n=400, groups=3)
    own = _fit(data, notion, 0.02)
    theirs = ExponentiatedGradient(Learner(Unwatched()), FAIRLEARN[notion](difference_bound=0.02), max_iter=ROUNDS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        theirs.fit(data.X, data.y, sensitive_features=data.group)
    expected = theirs._pmf_predict(data.X)[:, 1]  # fairlearn's only reader of the chances
    probabilities = predict_proba(own.network, own.parameters, data.X)[:, 1]
    assert np.allclose(probabilities, expected, atol=1e-6)
    assert spread(notions()[notion], probabilities, data) <= 2 * 0.02 + 0.02


@pytest.mark.filterwarnings("ignore::DeprecationWarning:fairlearn")
@pytest.mark.parametrize("notion", Reductions.info.notions)
def test_multipliers_are_projected_as_fairlearn_projects_them(notion: str) -> None:
    data, draw = make_data(n=400, groups=3), np.random.default_rng(5)
    moment = NotionMoment(notions()[notion], 0.1)
    moment.load_data(data.X, data.y, sensitive_features=data.group)
    for _ in range(5):
        multipliers = pd.Series(draw.random(len(moment.index)) * draw.integers(0, 2, len(moment.index)), moment.index)
        pd.testing.assert_series_equal(
            moment.project_lambda(multipliers), UtilityParity.project_lambda(moment, multipliers)
        )


def test_a_bound_of_one_is_logistic_regression() -> None:
    data = make_data(n=600)
    fitted = _fit(data, "equalized_odds", 1.0)
    plain = LogisticRegression().fit(data.X, data.y).predict(data.X)
    assert (predict_proba(fitted.network, fitted.parameters, data.X)[:, 1] == plain).mean() > 0.99


def test_a_bound_that_is_no_share_is_refused() -> None:
    with pytest.raises(BadInput, match=r"difference_bound must lie in \[0, 1\], got -0\.1\."):
        Reductions(difference_bound=-0.1, gap_target=None)


@pytest.mark.parametrize(("notion", "groups"), list(zip(Reductions.info.notions, cycle((3, 2)))))
def test_the_gap_aimed_at_bounds_every_two_groups(notion: str, groups: int) -> None:
    """It is met on the training rows, and costs no more than bounds on groups that would guarantee it."""
    data = make_data(n=500, groups=groups)
    errors = []
    for method in (Reductions(gap_target=0.06), Reductions(difference_bound=0.03, gap_target=None)):
        (fitted,) = train(method, [data], [RecordingMechanism()], notion=notion)
        probabilities = predict_proba(fitted.network, fitted.parameters, data.X)[:, 1]
        assert spread(notions()[notion], probabilities, data) <= 0.06 + 0.01
        errors.append(np.abs(probabilities - data.y).mean())
    assert errors[0] <= errors[1] + 0.01


@pytest.mark.filterwarnings("ignore::DeprecationWarning:fairlearn")
@pytest.mark.parametrize("notion", Reductions.info.notions)
def test_a_pairs_constraint_is_the_difference_of_two_groups(notion: str) -> None:
    data, draw = make_data(n=300, groups=3), np.random.default_rng(5)
    moment = PairMoment(notions()[notion], 0.1)
    moment.load_data(data.X, data.y, sensitive_features=data.group)
    one, other = draw.integers(0, 2, (2, data.n)).astype(float)
    differences = moment.gamma(lambda _: one)
    assert differences.max() == pytest.approx(spread(notions()[notion], one, data))
    multipliers = differences.abs() + draw.random(len(differences))
    moved = multipliers @ (differences - moment.gamma(lambda _: other))
    assert moved == pytest.approx(-(moment.signed_weights(multipliers) @ (one - other)) / data.n)
    fewer = moment.project_lambda(multipliers)
    assert fewer @ differences == pytest.approx(multipliers @ differences) and fewer.sum() < multipliers.sum()


def test_without_a_gap_aimed_at_groups_are_compared_with_everyone() -> None:
    data = make_data(n=400, groups=3)
    bounded, aimed = (
        train(Reductions(difference_bound=0.05, iterations=ROUNDS, gap_target=gap), [data], [RecordingMechanism()])[0]
        for gap in (None, 0.05)
    )
    assert not np.array_equal(bounded.parameters, aimed.parameters)
    assert np.array_equal(bounded.parameters, _fit(data, "demographic_parity", 0.05).parameters)
