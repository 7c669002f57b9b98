"""Covariance constraints: the covariances written out, their convex bounds, and what the search ends in."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.predict import evaluate
from fairpriv_core.engine.training import Fitted
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.zafar import BoundaryCovariance, Tried, Zafar
from fairpriv_core.notions.catalog import notions
from tests.methods.harness import RecordingMechanism, make_data, train, with_group

CASES = list(itertools.product(Zafar.info.notions, (2, 3)))


def _data(groups: int, n: int = 900) -> Dataset:
    """Return data in which group and label depend on the features, so that every covariance is far from 0."""
    data = make_data(n=n, groups=groups)
    return with_group(data, np.clip((data.X[:, 0] + 0.7 * data.X[:, 1] + 1.0).astype(int), 0, groups - 1))


def _fit(data: Dataset, notion: str, factor: float) -> Fitted:
    (fitted,) = train(Zafar(covariance_factor=factor, gap_target=None), [data], [RecordingMechanism()], notion=notion)
    return fitted


def _distance(data: Dataset, parameters: np.ndarray) -> np.ndarray:
    return data.X.astype(float) @ parameters[:-1].astype(float) + float(parameters[-1])


def _written_out(data: Dataset, name: str, distance: np.ndarray) -> list[float]:
    notion, side, found = notions()[name], 2 * data.y - 1, []
    for label in notion.conditions:
        rows = [i for i in range(data.n) if label is None or data.y[i] == label]
        signed = name == "demographic_parity"
        values = {i: distance[i] if signed else min(0.0, side[i] * distance[i]) for i in rows}
        for group in range(data.groups):
            share = sum(data.group[i] == group for i in rows) / len(rows)
            found.append(sum(((data.group[i] == group) - share) * values[i] for i in rows) / data.n)
    return found


@pytest.mark.parametrize(("notion", "groups"), CASES)
def test_covariances_are_as_written_out(notion: str, groups: int) -> None:
    data, distance = _data(groups), np.random.default_rng(1).normal(size=900)
    measured = BoundaryCovariance(data, notions()[notion]).measure(distance)
    assert np.allclose(measured, _written_out(data, notion, distance), atol=1e-12)


@pytest.mark.parametrize(("notion", "groups"), CASES)
def test_the_convex_bound_is_convex_above_and_tight(notion: str, groups: int) -> None:
    data, draw = _data(groups), np.random.default_rng(2)
    covariance, here = BoundaryCovariance(data, notions()[notion]), draw.normal(size=900)
    bound = covariance.convexify(here)
    both = covariance.measure(here)
    assert np.allclose(bound.value(here), np.concatenate([both, -both]))
    assert (bound.value(np.zeros(900)) == 0).all()
    for _ in range(50):
        one, other = draw.normal(size=(2, 900))
        exact = covariance.measure(one)
        assert (bound.value(one) >= np.concatenate([exact, -exact]) - 1e-12).all()
        assert (bound.value((one + other) / 2) <= (bound.value(one) + bound.value(other)) / 2 + 1e-12).all()
    factors, step = draw.random(len(bound.value(here))), 1e-6 * draw.normal(size=900)
    difference = factors @ (bound.value(here + step) - bound.value(here - step)) / 2
    assert bound.derivative(here, factors) @ step == pytest.approx(difference, rel=1e-4)


@pytest.mark.parametrize("factor", [0.0, 0.4])
@pytest.mark.parametrize(("notion", "groups"), CASES)
def test_the_covariances_end_within_their_bounds(notion: str, groups: int, factor: float) -> None:
    data = _data(groups)
    covariance = BoundaryCovariance(data, notions()[notion])
    unconstrained, fitted = (_fit(data, notion, each) for each in (1.0, factor))
    before, after = (covariance.measure(_distance(data, each.parameters)) for each in (unconstrained, fitted))
    assert fitted.steps < 40
    assert (np.abs(after) <= factor * np.abs(before) + 2e-3 * np.abs(before).max()).all()
    assert list(fitted.notes["covariances"].values()) == pytest.approx(list(after), abs=1e-5)


def test_without_a_constraint_it_is_logistic_regression() -> None:
    data = _data(2)
    plain = LogisticRegression(tol=1e-8).fit(data.X, data.y)
    for notion in Zafar.info.notions:
        assert np.allclose(_fit(data, notion, 1.0).parameters, np.append(plain.coef_[0], plain.intercept_), atol=2e-3)


@pytest.mark.parametrize("factor", [0.0, 0.4])
def test_demographic_parity_is_the_convex_optimum(factor: float) -> None:
    """Against scipy's SLSQP on the constrained problem."""
    data = _data(2)
    rows = np.column_stack([data.X, np.ones(data.n)]).astype(float)
    slope = ((data.group == 1) - (data.group == 1).mean()) @ rows / data.n
    allowed = factor * abs(slope @ _fit(data, "demographic_parity", 1.0).parameters)

    def objective(theta: np.ndarray) -> float:
        distance = rows @ theta
        held_back = theta[:-1] @ theta[:-1] / (2 * data.n)
        return float((np.logaddexp(0, distance) - data.y * distance).mean() + held_back)

    sides = [{"type": "ineq", "fun": lambda theta, s=s: allowed - s * (slope @ theta)} for s in (1, -1)]
    best = minimize(objective, np.zeros(data.d + 1), method="SLSQP", constraints=sides, options={"ftol": 1e-12})
    parameters = _fit(data, "demographic_parity", factor).parameters
    assert objective(parameters) == pytest.approx(best.fun, rel=3e-4)  # a bound may be missed by 1e-3
    assert np.allclose(parameters, best.x, atol=0.02)


def _minority(n: int = 4000) -> Dataset:
    """Return data whose smaller group follows another feature, which costs it accuracy."""
    data, draw = make_data(n=n), np.random.default_rng(3)
    group = (draw.random(n) < 0.25).astype(np.int64)
    y = (np.where(group, data.X[:, 1], data.X[:, 0]) + 0.5 * draw.normal(size=n) > 0).astype(np.int64)
    return dataclasses.replace(with_group(data, group), y=y)


@pytest.mark.parametrize("notion", Zafar.info.notions)
def test_the_gap_of_the_notion_narrows(notion: str) -> None:
    data = _minority() if notion == "accuracy_parity" else _data(2, n=4000)
    gaps = []
    for factor in (1.0, 0.0):
        fitted = _fit(data, notion, factor)
        gaps.append(evaluate(fitted.network, fitted.parameters, data)[notions()[notion].metric])
    assert gaps[1] < 0.8 * gaps[0], gaps


def test_a_search_that_is_cut_short_says_so_by_its_steps() -> None:
    (fitted,) = train(Zafar(iterations=1, gap_target=None), [_data(2)], [RecordingMechanism()])
    assert fitted.steps == 1
    assert np.allclose(fitted.parameters, _fit(_data(2), "demographic_parity", 1.0).parameters, atol=1e-4)


@pytest.mark.parametrize("notion", ["demographic_parity", "equalized_odds"])
def test_with_a_gap_aimed_at_the_share_that_meets_it_is_found(notion: str) -> None:
    """On the training rows, closer than shares in quarters are; a target that is met already changes nothing."""
    data, metric = _data(2, n=4000), notions()[notion].metric
    plain = _fit(data, notion, 1.0)
    target = 0.6 * evaluate(plain.network, plain.parameters, data)[metric]
    (aimed,) = train(Zafar(gap_target=target), [data], [RecordingMechanism()], notion=notion)
    assert 0.85 * target <= evaluate(aimed.network, aimed.parameters, data)[metric] <= target
    share = aimed.notes["covariance_factor"]
    assert isinstance(share, float) and 0 < share < 1
    alone = _fit(data, notion, share)
    assert np.allclose(aimed.parameters, alone.parameters, atol=0.02)
    (free,) = train(Zafar(gap_target=1.0), [data], [RecordingMechanism()], notion=notion)
    assert free.steps == 1 and free.notes["covariance_factor"] == 1.0


def test_where_no_share_meets_the_gap_the_smallest_is_taken() -> None:
    data = _minority()
    (fitted,) = train(Zafar(gap_target=0.0, iterations=10), [data], [RecordingMechanism()], notion="accuracy_parity")
    gaps = {}
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        (one,) = train(
            Zafar(covariance_factor=share, iterations=11, gap_target=None),
            [data],
            [RecordingMechanism()],
            notion="accuracy_parity",
        )
        gaps[share] = evaluate(one.network, one.parameters, data)["accuracy_parity_gap"]
    found = evaluate(fitted.network, fitted.parameters, data)["accuracy_parity_gap"]
    assert found == pytest.approx(min(gaps.values()), abs=0.005) and found < gaps[1.0] - 0.02


def test_shares_are_tried_in_turn_and_the_best_is_chosen() -> None:
    gaps = {1.0: 0.2, 0.0: 0.01, 0.5: 0.09, 0.25: 0.03, 0.75: 0.1, 0.375: 0.06, 0.3125: 0.04, 0.34375: 0.05}
    tried, order = Tried(np.zeros((0, 3)), np.zeros((0, 2))), []
    while (share := tried.next(0.04)) is not None:
        order.append(share)
        tried = tried.add((share, gaps[share], 0.7 + share / 10), np.full(2, share))
    assert order == list(gaps)
    assert tried.models[tried.best(0.04)].tolist() == [0.3125, 0.3125]
    assert tried.table[tried.best(0.005), 0] == 0.0


def test_a_factor_that_is_no_share_is_refused() -> None:
    with pytest.raises(BadInput, match=r"covariance_factor must lie in \[0, 1\], got 1\.5\."):
        Zafar(covariance_factor=1.5, gap_target=None)
    with pytest.raises(BadInput, match=r"iterations must be a whole number from 1 to 1000, got 0\."):
        Zafar(iterations=0, gap_target=None)
