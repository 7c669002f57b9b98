"""Multipliers that follow a gap aimed at: the dual step's maximum, where it rests, and what training comes to."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from _pytest.mark import ParameterSet
from hypothesis import given
from hypothesis import strategies as st

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.predict import evaluate
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.base import Method
from fairpriv_core.methods.dp_fermi import DpFermi
from fairpriv_core.methods.dp_fermi_record import DpFermiRecord
from fairpriv_core.methods.f_ld import FLd
from fairpriv_core.methods.jagielski_in import JagielskiIn
from fairpriv_core.methods.none import Plain
from fairpriv_core.methods.pf_ld import PfLd
from fairpriv_core.methods.pf_ld_record import PfLdRecord
from fairpriv_core.methods.reductions import Reductions
from fairpriv_core.methods.shared.multipliers import REACH, move_multipliers
from fairpriv_core.methods.zafar import Zafar
from fairpriv_core.notions.surrogates import decided
from fairpriv_core.privacy.event import merge
from tests.methods.harness import RecordingMechanism, make_data, train

AIM = FLd(epochs=20, gap_target=0.04, multiplier_max=2.0)
STEP = REACH / 20
numbers = st.floats(-1.0, 1.0)
cases = st.integers(1, 6).flatmap(
    lambda cells: st.tuples(
        st.lists(numbers, min_size=cells, max_size=cells),
        st.lists(numbers, min_size=cells, max_size=cells),
        st.lists(st.floats(0.01, 1.0), min_size=cells, max_size=cells),
        st.floats(0.0, 1.0),
    )
)


def _move(
    multipliers: Any, violations: Any, *, shares: Any = None, among: Any = None, method: Method = AIM
) -> np.ndarray:
    old, seen = np.array(multipliers, dtype=float), np.array(violations, dtype=float)
    people = np.full(len(old), -1) if among is None else np.array(among)
    each = np.ones(len(old)) if shares is None else np.array(shares)
    return move_multipliers(old, seen, among=people, shares=each, method=method)  # type: ignore[arg-type]


@given(cases, st.integers(0, 2**32 - 1))
def test_a_step_is_the_maximum_that_its_docstring_states(case: tuple[Any, ...], seed: int) -> None:
    """Against other multipliers that add up to 0 within the same limits: near ones and far ones."""
    multipliers, violations, shares, gap = case
    old = np.array(multipliers) - np.mean(multipliers)
    method = dataclasses.replace(AIM, gap_target=gap, multiplier_max=1.5)
    moved = _move(old, violations, shares=shares, method=method)
    assert abs(moved.sum()) <= 1e-9 and np.abs(moved).max() <= 1.5 + 1e-12
    steps = STEP * np.array(shares) / np.mean(shares)

    def objective(values: np.ndarray) -> float:
        return float((values * violations - gap / 2 * np.abs(values) - (values - old) ** 2 / (2 * steps)).sum())

    draw, best = np.random.default_rng(seed), objective(moved)
    for size in (1e-4, 1e-2, 1.0):
        for _ in range(20):
            other = moved + size * draw.normal(size=len(old))
            other -= other.mean()
            other *= min(1.0, 1.5 / max(np.abs(other).max(), 1e-300))
            assert objective(other) <= best + 1e-9 * (1.0 + abs(best))


def test_two_groups_grow_above_the_gap_and_shrink_below_it() -> None:
    """The first one is ahead by `difference`; the gap aimed at is 0.04."""
    for multiplier, difference, expected in [
        (0.0, 0.14, 0.05 * STEP),  # half the excess times the step
        (0.3, 0.14, 0.3 + 0.05 * STEP),
        (0.3, -0.06, 0.3 - 0.05 * STEP),
        (0.3, 0.02, 0.3 - 0.01 * STEP),  # shrinks while they differ by less, whoever is ahead
        (0.01, 0.0, 0.0),  # and no further than 0
        (0.0, 0.03, 0.0),
        (0.0, -0.14, -0.05 * STEP),
        (1.98, 0.14, 2.0),  # as far as it may go
    ]:
        assert _move([multiplier, -multiplier], [difference, 0.0]) == pytest.approx([expected, -expected], abs=1e-12)


def test_it_rests_where_all_groups_lie_in_a_band_and_the_pursued_at_its_edges() -> None:
    for multipliers, violations in [
        ([0.0, 0.0, 0.0], [0.01, -0.02, 0.0]),  # all within a band of 0.04
        ([0.5, -0.5, 0.0], [0.03, -0.01, 0.02]),  # two at the edges, one within
        ([0.5, 0.2, -0.7], [0.03, 0.03, -0.01]),  # all at the edges
        ([2.0, -2.0, 0.0], [0.20, -0.01, 0.01]),  # as far as they may go
    ]:
        assert _move(multipliers, violations) == pytest.approx(multipliers, abs=1e-12)


def test_it_rests_nowhere_else() -> None:
    for violations in ([0.03, -0.02, 0.0], [0.01, -0.01, 0.0]):  # beyond the band, within it
        assert not np.allclose(_move([0.5, -0.5, 0.0], violations), [0.5, -0.5, 0.0])
    assert _move([0.5, -0.7, 0.2], [0.03, -0.01, 0.01])[2] < 0.2  # a group in the middle is pursued no more


def test_people_of_each_label_are_apart() -> None:
    together = _move([0.0] * 4, [0.3, 0.0, 0.0, 0.0], among=[0, 0, 1, 1])
    assert together.tolist() == [*_move([0.0, 0.0], [0.3, 0.0]).tolist(), 0.0, 0.0]


def test_equality_is_as_in_the_paper() -> None:
    method = FLd(dual_step=0.5, multiplier_max=0.4, gap_target=None)
    assert _move([0.1, -0.3], [0.2, -0.6], method=method).tolist() == pytest.approx([0.2, -0.4])


def test_what_is_decided() -> None:
    logits, labels = np.array([2.0, -1.0, 0.0, np.inf, np.nan]), np.array([1, 1, 0, 0, 1])
    assert decided("score", logits, labels)[:4].tolist() == [1.0, 0.0, 0.0, 1.0]
    assert decided("loss", logits, labels)[:4].tolist() == [0.0, 1.0, 0.0, 1.0]
    assert np.isnan(decided("score", logits, labels)[4]) and np.isnan(decided("loss", logits, labels)[4])


def test_a_gap_that_is_none_is_refused() -> None:
    for kind in [FLd, PfLd, PfLdRecord, Reductions, JagielskiIn, Zafar]:
        with pytest.raises(BadInput, match=r"gap_target must lie in \[0, 1\], got 1.2\."):
            kind(gap_target=1.2)


def test_the_published_variant_aims_at_no_gap() -> None:
    with pytest.raises(
        BadInput, match=r"gap_target must be none for the published variant, .* got 0\.04; take the pro"
    ):
        PfLd(variant="published", gap_target=0.04)


QUIET: dict[str, Any] = {"noise_primal": 0.01, "noise_dual": 0.01, "noise_counts": 0.01}
LONG: dict[str, Any] = {"epochs": 40, "learning_rate": 0.01, "multiplier_max": 5.0}
FERMI: dict[str, Any] = {"epochs": 40, "batch_size": 100, "noise_primal": 0.01, "noise_counts": 0.01, "noise_gap": 0.01}
PLAIN = Plain(epochs=40, batch_size=100, learning_rate=0.01)
METHODS: dict[str, Any] = {
    "f_ld": FLd(**LONG, batch_size=100, gap_target=None),
    "pf_ld": PfLd(**LONG, batch_size=100, sampling_rate=0.05, **QUIET, gap_target=None),
    "pf_ld_record": PfLdRecord(**LONG, **QUIET, gap_target=None),
    "reductions": Reductions(gap_target=None),
    "jagielski_in": JagielskiIn(dual_step=5.0, **QUIET, gap_target=None),
    "dp_fermi": DpFermi(**FERMI, gap_target=None),
    "dp_fermi_record": DpFermiRecord(**FERMI, gap_target=None),
}


def list_aims() -> Iterator[ParameterSet]:
    """Yield each method with each notion and its target; those that are not its turn are long."""
    for turn, name in enumerate(METHODS):
        for place, (notion, target) in enumerate((("demographic_parity", 0.1), ("equalized_odds", 0.14))):
            marks = () if place == turn % 2 else pytest.mark.long
            yield pytest.param(name, notion, target, id=f"{name}-{notion}", marks=marks)


@pytest.mark.parametrize(("name", "notion", "target"), list(list_aims()))
def test_the_gap_of_decisions_comes_to_what_is_aimed_at(name: str, notion: str, target: float) -> None:
    """On the rows that were trained on; the plain model's is larger, and a target above that changes nothing."""
    plain = _measure(PLAIN, notion)
    assert plain > target + 0.04
    assert _measure(dataclasses.replace(METHODS[name], gap_target=target), notion) == pytest.approx(target, abs=0.02)
    assert _measure(dataclasses.replace(METHODS[name], gap_target=1.0), notion) == pytest.approx(plain, abs=0.02)


@cache
def _measure(method: Method, notion: str) -> float:
    data = _make_biased()
    (fitted,) = train(method, [data], [RecordingMechanism(seed=0)], notion=notion)
    return float(evaluate(fitted.network, fitted.parameters, data)[f"{notion}_gap"])


@cache
def _make_biased() -> Dataset:
    """Return rows of three groups, whose label follows what tells the groups apart; the last one's is noisier."""
    data, draw = make_data(n=3000, groups=3), np.random.default_rng(2)
    pushed = data.X[:, 0] + 0.5 * data.X[:, 1] + 0.5 * draw.normal(size=data.n) > 0.3
    group = np.digitize(data.X[:, 1] + draw.normal(size=data.n), [-0.7, 0.7])
    y = pushed ^ ((group == 2) & (draw.random(data.n) < 0.15))
    return dataclasses.replace(data, y=y.astype(np.int64), group=group)


def test_steps_whose_multipliers_are_back_at_0_are_counted() -> None:
    """What a run says that it cost must not follow from what was released; such steps move nothing."""
    noises = {"noise_primal": 0.3, "noise_dual": 0.01, "noise_counts": 0.02}
    method = PfLd(epochs=5, batch_size=25, sampling_rate=0.2, gap_target=1.0, **noises)
    data = make_data()
    (fitted,) = train(method, [data], [RecordingMechanism()])
    assert set(fitted.notes["multipliers"].values()) == {0.0}  # type: ignore[attr-defined]
    assert set(merge(fitted.events)) == set(merge(method.event(data.n)))
    (plain,) = train(Plain(epochs=5, batch_size=25), [data], [RecordingMechanism()])
    assert np.array_equal(fitted.parameters, plain.parameters)
