"""The functional mechanism: what one record moves, against a search for worse rows; and the polynomial, written out."""

from __future__ import annotations

import dataclasses
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from fairpriv_core.data.dataset import Dataset, load_dataset
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.engine.predict import decisions, evaluate
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.base import Method
from fairpriv_core.methods.functional_mechanism import (
    Adfc,
    FunctionalMechanism,
    Pflr,
    Polynomial,
    pack,
    read_ranges,
    read_shares,
)
from fairpriv_core.privacy.accountants import epsilon
from tests.methods.harness import RecordingMechanism, make_data, train

QUIET: dict[str, Any] = {"noise_counts": 0.0, "noise_coefficients": 0.0}
KINDS = (Pflr(**QUIET), Adfc(noise_covariances=0.0, **QUIET))
NEXT_TO_NOTHING = 1e-3


def released(method: Method, data: Dataset) -> dict[str, tuple[np.ndarray, float]]:
    """Return what goes into each release, with its bound."""
    mechanism = RecordingMechanism()
    train(method, [data], [mechanism])
    return {one.index[0]: (one.value, one.bound) for one in mechanism.releases}


def few_rows(X: np.ndarray, y: np.ndarray, group: np.ndarray, groups: int = 2) -> Dataset:
    names = tuple(f"x{j}" for j in range(X.shape[1]))
    data = dataclasses.replace(make_data(n=len(y), groups=groups), X=X.astype(np.float32), feature_names=names)
    return dataclasses.replace(data, y=y.astype(np.int64), group=group.astype(np.int64))


def write_out(method: FunctionalMechanism, data: Dataset, shares: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Return the coefficients, record by record and monomial by monomial."""
    order, size = (1 if method.laplace else 2), data.d + 1
    total: Any = 0.0
    for features, label, group in zip(data.X, data.y, data.group, strict=True):
        x = np.append(features.astype(float), 1.0) * shares
        x = x * min(1.0, method.row_bound / np.linalg.norm(x, order))
        one_hot = [float(group == a) - means[a] for a in range(data.groups)]
        parts = [
            -(label - 0.5) * x,
            *(method.multiplier * a * x for a in (one_hot[1:] if data.groups == 2 else one_hot)),
        ]
        above = [x[i] * x[j] / 4.0 for i, j in combinations(range(size), 2)]  # the coefficient of w_i w_j
        second = [x**2 / 8.0, np.array(above) / 2.0 ** (1.0 - 1.0 / order)]
        total = total + np.concatenate(parts + second)
    return np.asarray(total)


@pytest.mark.parametrize("groups", [2, 3])
@pytest.mark.parametrize("method", KINDS, ids=["pflr", "adfc"])
def test_what_is_released_are_the_coefficients_of_the_polynomial(method: FunctionalMechanism, groups: int) -> None:
    data = make_data(n=50, groups=groups)
    found = released(method, data)
    means = np.bincount(data.group, minlength=groups) / data.n
    shares = np.ones(data.d + 1)
    if isinstance(method, Adfc):
        order = 1 if method.laplace else 2
        x = np.c_[data.X, np.ones(data.n)]
        x = x * np.minimum(1.0, method.row_bound / np.linalg.norm(x, order, axis=1))[:, None]
        of_group = (np.eye(groups)[data.group] - means)[:, 1 if groups == 2 else 0 :]
        sizes = np.linalg.norm(of_group.T @ x, axis=0)[:-1]
        shares[:-1] = 1.0 - (1.0 - method.least_share) * sizes / sizes.max()
        assert np.allclose(found["covariances"][0], (of_group.T @ x).ravel(), atol=1e-3)
    assert np.allclose(found["coefficients"][0], write_out(method, data, shares, means), atol=1e-3)


def search_rows(draw: np.random.Generator, d: int) -> np.ndarray:
    """Return a row that is hard on a bound: a corner, long or short, sparse or of all lengths."""
    signs = draw.choice([-1.0, 1.0], d) * (draw.random(d) < draw.choice([0.1, 0.6, 1.0]))
    row: np.ndarray = (
        signs * draw.choice([1.0, draw.exponential(), 1e-3, 60.0, 1e6]) * draw.choice([1.0, draw.random()])
    )
    return row


@pytest.mark.parametrize("multiplier", [0.0, 0.3, 50.0])
@pytest.mark.parametrize("d", [1, 5, 40])
@pytest.mark.parametrize("laplace", [True, False])
def test_no_row_that_is_found_moves_the_coefficients_further(laplace: bool, d: int, multiplier: float) -> None:
    """A record is removed, or replaced, which is two moves; the bound is reached."""
    own: dict[str, Any] = {**QUIET, "multiplier": multiplier, "group_share": 0.3}
    method = Adfc(distribution="laplace" if laplace else "gaussian", row_bound=3.0, least_share=1.0, **own)
    draw, order = np.random.default_rng(d), 1 if laplace else 2
    removed, replaced = [], []
    for _ in range(25):
        rows = np.stack([search_rows(draw, d) for _ in range(3)])
        data = few_rows(rows, draw.integers(0, 2, 3), draw.integers(0, 2, 3))
        without = dataclasses.replace(data, present=np.array([False, True, True]))
        turned, label, group = draw.integers(0, 2, 3)[:, None] * np.array([1, 0, 0])
        other = few_rows(np.where(turned[:, None], -rows, rows), data.y ^ label, data.group ^ group)
        (value, bound), *moved = (released(method, each)["coefficients"] for each in (data, without, other))
        assert all(told == bound for _, told in moved)
        removed.append(np.linalg.norm(value - moved[0][0], order) / bound)
        replaced.append(np.linalg.norm(value - moved[1][0], order) / bound)
    assert 0.99 <= max(removed) <= 1.0
    assert 1.0 < max(replaced) <= 2.0


@pytest.mark.parametrize("groups", [2, 4])
@pytest.mark.parametrize("laplace", [True, False])
def test_no_row_that_is_found_moves_counts_or_covariances_further(laplace: bool, groups: int) -> None:
    method = Adfc(distribution="laplace" if laplace else "gaussian", noise_covariances=0.0, **QUIET)
    draw, order = np.random.default_rng(groups), 1 if laplace else 2
    data = dataclasses.replace(
        make_data(n=200, groups=groups, d=6), X=np.stack([search_rows(draw, 6) for _ in range(200)])
    )
    data = dataclasses.replace(data, X=data.X.astype(np.float32), group=np.arange(200) % groups)
    held = dataclasses.replace(method, group_share=1.0 / groups)  # so that both have the same means
    whole, counted = released(held, data)["covariances"], released(method, data)["counts"]
    found = []
    for row in range(0, 200, 5):
        present = np.arange(200) != row
        without = dataclasses.replace(data, present=present)
        value, bound = released(held, without)["covariances"]
        found.append(np.linalg.norm(whole[0] - value, order) / bound)
        assert np.abs(counted[0] - released(method, without)["counts"][0]).sum() == counted[1] == 1.0
    assert 0.99 <= max(found) <= 1.0


@pytest.mark.parametrize("n", [8_193, 70_000])
def test_one_of_many_rows_moves_the_coefficients_within_the_bound(n: int) -> None:
    """Rows alike, so that sums are as large as they get, across the parts that they are added up in."""
    method = Pflr(row_bound=4.0, group_share=0.5, **QUIET)
    data = few_rows(np.full((n, 12), 7.0), np.ones(n), np.ones(n))
    value, bound = released(method, data)["coefficients"]
    for row in (0, n // 2, n - 1):
        other = released(method, dataclasses.replace(data, present=np.arange(n) != row))["coefficients"][0]
        assert 0.98 <= np.abs(value - other).sum() / bound <= 1.0


@pytest.mark.parametrize("penalties", [0, 1, 3])
def test_the_least_point_is_that_of_a_search(penalties: int) -> None:
    draw = np.random.default_rng(penalties)
    root = draw.normal(size=(6, 5))
    polynomial = Polynomial(draw.normal(size=5), draw.normal(size=(penalties, 5)), root.T @ root, 0.0)

    def value(w: np.ndarray) -> float:
        linear, hessian = polynomial.linear @ w, 0.5 * w @ polynomial.hessian @ w
        return float(linear + hessian + np.abs(polynomial.penalty @ w).sum())

    found = value(polynomial.minimise())
    tried = (minimize(value, draw.normal(size=5), method="Powell", options={"ftol": 1e-12}) for _ in range(5))
    assert found <= min(one.fun for one in tried) + 1e-6


def test_a_hessian_that_noise_made_indefinite_is_mended_by_what_was_released_alone() -> None:
    draw = np.random.default_rng(0)
    noise = draw.normal(size=(40, 40))
    polynomial = Polynomial(np.ones(40), np.zeros((0, 40)), noise + noise.T, np.sqrt(2.0))
    point = polynomial.minimise()
    floor = 2.0 * np.sqrt(2.0) * np.sqrt(40)
    assert np.linalg.norm(point) <= np.linalg.norm(polynomial.linear) / floor * 1.001


@pytest.mark.parametrize("order", [1, 2])
def test_packing_keeps_every_coefficient(order: int) -> None:
    draw = np.random.default_rng(order)
    square = draw.normal(size=(4, 4))
    square = square + square.T
    first = draw.normal(size=(3, 4))
    found = Polynomial.unpack(pack(np.vstack([first, square]), order), 4, order, 1.0)
    assert np.allclose(found.linear, first[0]) and np.allclose(found.penalty, first[1:])
    assert np.allclose(found.hessian, 2.0 * square)


@pytest.mark.parametrize("method", KINDS, ids=["pflr", "adfc"])
def test_without_noise_a_large_multiplier_leaves_no_covariance_and_none_the_second_order_fit(method: Any) -> None:
    data = make_data(n=4000)
    wide = dataclasses.replace(method, row_bound=1000.0, multiplier=0.0)
    if isinstance(method, Adfc):
        wide = dataclasses.replace(wide, least_share=1.0)
    (plain,) = train(wide, [data], [RecordingMechanism()])
    rows = np.c_[data.X, np.ones(data.n)].astype(float)
    assert np.allclose(plain.parameters, np.linalg.solve(rows.T @ rows / 4.0, rows.T @ (data.y - 0.5)), atol=1e-2)
    (fair,) = train(dataclasses.replace(wide, multiplier=20.0), [data], [RecordingMechanism()])
    covariance = (data.group - data.group.mean()) @ rows @ fair.parameters / data.n
    assert abs(covariance) < 1e-3 and abs(fair.notes["covariances"][0]) < 1e-3
    gaps = [evaluate(one.network, one.parameters, data)["demographic_parity_gap"] for one in (plain, fair)]
    assert gaps[1] < 0.5 * gaps[0]


def test_a_shortened_row_is_decided_as_before() -> None:
    data = make_data(n=300)
    (fitted,) = train(KINDS[0], [data], [RecordingMechanism()])
    point = fitted.parameters.astype(float)
    rows = np.c_[data.X, np.ones(data.n)]
    shortened = rows * (KINDS[0].row_bound / 10.0 / np.abs(rows).sum(axis=1))[:, None]
    assert ((shortened @ point > 0) == decisions(fitted.network, fitted.parameters, data)).all()


def test_features_lie_in_the_box_of_their_declared_ranges() -> None:
    data = load_dataset(DataSpec(dataset="adult", sensitive="sex"))
    ranges = read_ranges(data)
    assert ranges.shape == (data.d,) and ranges.max() > 3.0
    sizes = np.abs(data.X).max(axis=0) / ranges
    assert sizes.max() <= 1.0 + 1e-6
    assert (read_ranges(make_data()) == 1.0).all()


def test_features_that_go_with_the_group_get_the_least_share() -> None:
    data = make_data(n=3000)  # the group follows x1
    method = Adfc(noise_counts=NEXT_TO_NOTHING, noise_covariances=NEXT_TO_NOTHING, noise_coefficients=NEXT_TO_NOTHING)
    (fitted,) = train(method, [data], [RecordingMechanism()])
    shares = fitted.notes["feature_shares"]
    assert shares["x1"] == pytest.approx(method.least_share) and shares["x1"] == min(shares.values())
    declared = dataclasses.replace(method, declared_shares=("x1=0.2", " x0 = 0.4"))
    (fitted,) = train(declared, [data], [RecordingMechanism()])
    assert fitted.notes["feature_shares"] == {"x0": 0.4, "x1": 0.2, "x2": 1.0, "x3": 1.0}
    assert [one.name for one in declared.releases(100, 2) if one.made] == ["counts", "coefficients"]
    assert any("shares of the budget are declared" in sentence for sentence in declared.assumptions())


def test_wrong_shares_are_refused_in_a_sentence() -> None:
    assert read_shares(["hours-per-week=0.5"]) == {"hours-per-week": 0.5}
    with pytest.raises(BadInput, match=r"must be such as age=0\.5, got age"):
        Adfc(declared_shares=("age",))
    with pytest.raises(BadInput, match=r"declared_shares of age must lie in \(0, 1\]"):
        Adfc(declared_shares=("age=2",))
    with pytest.raises(BadInput, match="names 'age', of which there is no feature"):
        train(
            Adfc(declared_shares=("age=0.5",), noise_counts=1.0, noise_coefficients=1.0),
            [make_data()],
            [RecordingMechanism()],
        )
    with pytest.raises(BadInput, match="features must be a whole number from 0 to 2000, got 2001"):
        train(Pflr(noise_counts=1.0, noise_coefficients=1.0), [make_data(d=2001)], [RecordingMechanism()])


def test_laplace_noise_is_pure() -> None:
    """At any delta it costs what its scales add up to, or less."""
    method = Pflr().calibrated(epsilon=1.0, delta=1e-5, n_train=5000)
    pure = 1.0 / method.noise() + 1.0 / method.noise("noise_counts")
    assert 0.99 < epsilon(method.event(5000), 1e-5) <= 1.0
    assert epsilon(method.event(5000), 1e-12) == pytest.approx(pure, abs=1e-3)
    declared = Pflr(group_share=0.5).calibrated(epsilon=1.0, delta=1e-5, n_train=5000)
    assert len(declared.event(5000)) == 1
    assert any("share of the first group is declared" in sentence for sentence in declared.assumptions())


def test_the_papers_texts_are_not_at_hand_so_nothing_is_claimed_for_them() -> None:
    for kind in (Pflr, Adfc):
        method = kind().calibrated(epsilon=1.0, delta=1e-5, n_train=5000)
        assert method.published_epsilon(5000, 1e-5) is None and kind.info.variants == ("proved",)
        assert kind.info.citation.startswith("after ")
        assert "no fairness is pursued" in str(dataclasses.replace(method, multiplier=0.0).idle_reason())
