"""Epsilon on the way: never below the proved number, close to it, and cheap."""

import pytest

from fairpriv_core.privacy import curve
from fairpriv_core.privacy.accountants import epsilon
from fairpriv_core.privacy.curve import LiveEpsilon, epsilon_over
from fairpriv_core.privacy.event import Events, Gaussian, Laplace, Parallel, Relation, SampledGaussian

DELTA = 1e-5


def at_step(step: int, relation: Relation, *, epochs: int = 20, per_epoch: int = 100) -> Events:
    """What a run has released: counts at its start, a sum a step, violations at each end of an epoch."""
    assert step <= epochs * per_epoch
    released = (Gaussian(30.0), Gaussian(25.0, step // per_epoch), SampledGaussian(9.0, 0.05, step, relation))
    return tuple(event for event in released if event.count)


@pytest.fixture(scope="module", params=["replace", "add_remove"])
def relation(request: pytest.FixtureRequest) -> Relation:
    chosen: Relation = request.param
    return chosen


def test_the_live_number_is_never_below_the_proved_one(relation: Relation) -> None:
    live = LiveEpsilon(at_step(2000, relation), DELTA)
    total = epsilon(at_step(2000, relation), DELTA)
    shown = []
    for step in (0, 1, 7, 99, 100, 101, 640, 1300, 1999, 2000):
        proved = epsilon(at_step(step, relation), DELTA)
        shown.append(live.epsilon_at(at_step(step, relation)))
        assert proved <= shown[-1] <= proved + 0.09 * total
    assert shown == sorted(shown)
    assert shown[-1] == pytest.approx(total, rel=0.01)


def test_nothing_released_shows_nothing() -> None:
    assert LiveEpsilon(at_step(2000, "replace"), DELTA).epsilon_at(()) == 0.0
    assert LiveEpsilon((), DELTA).epsilon_at(()) == 0.0


def test_the_grid_answers_without_accounting(monkeypatch: pytest.MonkeyPatch) -> None:
    live = LiveEpsilon(at_step(2000, "replace"), DELTA)
    monkeypatch.setattr(curve, "coarse_epsilon", None)
    assert live.epsilon_at(at_step(777, "replace")) > 0


def test_what_the_plan_does_not_cover_is_accounted_in_full() -> None:
    live = LiveEpsilon(at_step(1000, "replace"), DELTA)
    for events in (
        at_step(2000, "replace"),
        (*at_step(500, "replace"), Laplace(1.0)),
        (Gaussian(30.0, 2),),
        (Gaussian(0.5),),
    ):
        assert live.epsilon_at(events) >= epsilon(events, DELTA)


def test_shares_of_a_plan(relation: Relation) -> None:
    planned = at_step(2000, relation)
    values = epsilon_over(planned, [0.0, 0.25, 0.5, 1.0], DELTA)
    assert values[0] <= epsilon((Gaussian(30.0),), DELTA) + 1e-3 or values[0] == 0.0
    for step, value in ((500, values[1]), (1000, values[2]), (2000, values[3])):
        proved = epsilon(at_step(step, relation), DELTA)
        assert proved <= value <= 1.02 * proved + 1e-3


def test_replacement_does_not_show_the_cheaper_number() -> None:
    replaced, added = (
        epsilon_over(at_step(2000, relation), [0.5, 1.0], DELTA) for relation in ("replace", "add_remove")
    )
    assert all(high > 1.3 * low for high, low in zip(replaced, added, strict=True))


def test_parts_of_the_data_that_release_in_step_grow_with_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    def at(step: int) -> Events:
        sums = SampledGaussian(3.0, 0.03, step, "add_remove")
        return (Gaussian(26.0), *([Parallel(((sums,),))] if step else []))

    live = LiveEpsilon(at(600), DELTA)
    shares = epsilon_over(at(600), [0.0, 0.25, 1.0], DELTA)
    assert shares[0] == 0.0
    assert shares[1:] == pytest.approx([epsilon(at(step), DELTA) for step in (150, 600)], rel=0.01)
    monkeypatch.setattr(curve, "coarse_epsilon", None)
    assert epsilon(at(100), DELTA) <= live.epsilon_at(at(100)) < 0.7 * shares[2]


def test_parts_that_are_not_in_step_are_accounted_in_full() -> None:
    def sums(step: int) -> SampledGaussian:
        return SampledGaussian(3.0, 0.03, step, "add_remove")

    apart = (Parallel(((sums(600),), (sums(5),))),)
    assert LiveEpsilon((Parallel(((sums(600),),)),), DELTA).epsilon_at(apart) >= epsilon(apart, DELTA)
