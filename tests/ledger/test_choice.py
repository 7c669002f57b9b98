"""An act of choice: which runs lose their epsilon when some that answer a question leave, and how they keep it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fairpriv_core.errors import BadInput
from fairpriv_core.ledger.choice import (
    closes_choice,
    foresee_choice,
    foresee_keeping,
    keep_run,
    refuse_choice,
    take_threshold,
    withdraw,
)
from fairpriv_core.ledger.selection import Criterion, select_run
from fairpriv_core.privacy.event import Gaussian
from fairpriv_core.privacy.ledger import compose
from fairpriv_core.store.claim import Ending, Progress
from fairpriv_core.store.runs import RunStore
from fairpriv_core.store.work import WorkStore
from tests.launched import config, draft, finish, measured, name
from tests.stores import ON_BOTH

GAP = "demographic_parity_gap"


def run(store: RunStore, method: str = "pf_ld", *, rates: tuple[float, float] = (0.2, 0.8), **given: Any) -> str:
    """Return the key of a finished run."""
    notes = given.pop("notes", {})
    return finish(store, config(method, **given), (Gaussian(9.0),), metrics=measured(rates), notes=notes)


def explore(store: RunStore, method: str = "one_release", *, released: bool = True, **given: Any) -> str:
    """Return the key of a finished run that was explored; `released`: by numbers that its release tells."""
    key, work = store.explore(config(method, **given)).key, WorkStore(store.database)
    (claim,) = work.claim(exploring=True)
    notes = {"released_gaps": {GAP: 0.1}, "released_gap_errors": {GAP: 0.01}} if released else {}
    begun = draft(claim, (Gaussian(9.0),), metrics=measured((0.2, 0.4)), notes=notes)
    work.finish([claim], [Ending(replace(begun, status="finished"), Progress(10, 1, 1.0))])
    return key


def lose(store: RunStore, *keys: str, decided: tuple[str, ...] = ()) -> list[str]:
    """Return the keys that would lose their epsilon if `keys` left."""
    return [key for each in foresee_choice(store, keys, decided=decided) for key in each.lose]


def epsilon(store: RunStore, key: str) -> float | None:
    record = store.record(key)
    assert record is not None
    return record.epsilon


@ON_BOTH
@pytest.mark.usefixtures("own_rows")
def test_a_run_alone_keeps_its_epsilon_and_one_of_several_does_not(store: RunStore) -> None:
    first = run(store)
    run(store, "none", epsilon=None)
    assert lose(store, first) == [], "a run without privacy could not be chosen for its ε"
    assert not closes_choice(store, first)
    second, third = run(store, "jagielski_post"), run(store, notion="equalized_odds", seed=4)
    assert lose(store, first) == [first] and lose(store, third, first) == [first, third]
    assert closes_choice(store, first), "what is deleted was seen, and noise can no longer choose among all"
    assert lose(store, first, second, third) == [], "nothing is chosen where all leave"
    assert lose(store, first, second, third, decided=(second,)) == [second], "unless one is said to be chosen"
    withdraw(store, foresee_choice(store, [first]))
    assert epsilon(store, first) is None and epsilon(store, second) == 1.0
    assert lose(store, first) == [] and lose(store, second) == [second], "the others are no less chosen for that"


@pytest.mark.usefixtures("own_rows")
def test_no_other_name_for_the_question_makes_a_run_alone(store: RunStore) -> None:
    first = run(store)
    run(store, data={"dataset": "synthetic", "sensitive": "group", "rows": 900, "positive": "yes"}, split="stratified")
    assert lose(store, first) == [first]
    other = run(store, data={"dataset": "synthetic", "sensitive": "region"})
    assert lose(store, other) == [], "of other groups another question is asked"


@pytest.mark.usefixtures("own_rows")
def test_a_deleted_run_stays_a_candidate(store: RunStore) -> None:
    chosen, other = run(store), run(store, epsilon=2)
    store.delete(other)
    assert lose(store, chosen) == [chosen]
    with pytest.raises(BadInput, match=f"run {other} answered the same question and was deleted"):
        select_run(store, [chosen, run(store, epsilon=3)], Criterion("noisy", epsilon=1.0))
    with pytest.raises(BadInput, match="--without-epsilon") as refused:
        refuse_choice(store, foresee_choice(store, [chosen]), all_leave=True)
    assert "--by noisy" not in str(refused.value) and "along" not in str(refused.value)


@pytest.mark.usefixtures("own_rows")
def test_a_refusal_names_the_ways_that_are_open(store: RunStore) -> None:
    first = run(store)
    for given, ways in (({"epsilon": 2}, ("--by noisy", "along", "--without")), ({"seed": 5}, ("along", "--without"))):
        run(store, **given)
        with pytest.raises(BadInput) as refused:
            refuse_choice(store, foresee_choice(store, [first]), all_leave=True)
        named = [way for way in ("--by released", "--by noisy", "along", "--without") if way in str(refused.value)]
        assert named == list(ways), "noise chooses among runs that are tested on the same people"


@pytest.mark.usefixtures("own_rows")
def test_runs_of_other_people_are_candidates_of_those_who_see_them(store: RunStore) -> None:
    ana, bo = (RunStore(store.database, name) for name in ("ana", "bo"))
    mine, hers = run(ana), run(bo)
    assert lose(ana, mine) == lose(bo, hers) == []
    assert lose(store, mine) == [mine], "the command line lists all"
    second = run(bo, epsilon=2)
    assert lose(ana, hers) == [hers] and lose(ana, mine) == [] and lose(bo, hers, second) == []


@pytest.mark.usefixtures("own_rows")
def test_a_noisy_choice_among_all_keeps_epsilon_whatever_comes_later(store: RunStore) -> None:
    keys = [run(store, epsilon=1 + k, rates=rates) for k, rates in enumerate(((0.2, 0.8), (0.5, 0.52), (0.2, 0.7)))]
    with pytest.raises(BadInput, match=f"are left out \\({keys[2]}\\)"):
        select_run(store, keys[:2], Criterion("noisy", epsilon=1.0))
    found = select_run(store, keys[:1], Criterion("noisy", epsilon=1.0))
    assert found["selected"] == keys[1] and sorted(found["candidates"]) == sorted(keys)
    assert lose(store, keys[1]) == [] and lose(store, keys[0]) == [keys[0]] and lose(store, *keys[:2]) == keys[:2]
    assert lose(store, *keys, decided=(keys[1],)) == []
    [lost] = foresee_choice(store, keys[:2])
    assert lost.alone == keys[1] and not lost.among.is_open and not closes_choice(store, keys[0])
    store.delete(keys[0])
    later = run(store, epsilon=9)
    assert lose(store, keys[1]) == [] and lose(store, later) == [later]
    withdraw(store, foresee_choice(store, [later]))
    assert epsilon(store, later) is None and epsilon(store, keys[1]) == 1.0


@pytest.mark.usefixtures("own_rows")
def test_a_point_is_kept_by_what_was_released_and_raw_numbers_take_its_epsilon(store: RunStore) -> None:
    points = [explore(store, seed=0, epsilon=1 + k) for k in range(9)]
    assert foresee_keeping(store, points[0]) is None
    keep_run(store, points[0])
    record = store.record(points[0])
    assert record is not None and record.epsilon == 1.0 and "chosen among 9 by released" in record.notes["choice"]
    assert lose(store, points[0]) == []
    kept = foresee_keeping(store, points[1])
    assert kept is not None and kept.lose == (points[1],), "the first one's raw numbers are in a list by now"


@pytest.mark.usefixtures("own_rows")
def test_a_point_beside_raw_ones_or_opened_by_its_key_is_chosen_by_raw_numbers(store: RunStore) -> None:
    first = explore(store, epsilon=1)
    assert foresee_keeping(store, first) is None, "one alone is no choice"
    second = explore(store, epsilon=2)
    assert foresee_keeping(store, second) is None
    assert store.glance(first).key == first
    assert foresee_keeping(store, second) is None, "a page's frame names it, and shows no number of it"
    store.row(first)
    seen = foresee_keeping(store, second)
    assert seen is not None and seen.lose == (second,) and seen.among.is_open
    store.delete(first)
    raw = explore(store, epsilon=3, released=False)
    lost = foresee_keeping(store, raw)
    assert lost is not None and lost.lose == (raw,)
    withdraw(store, [lost])
    keep_run(store, raw)
    assert epsilon(store, raw) is None and [row.key for row in store.rows()] == [raw]


@pytest.mark.usefixtures("own_rows")
def test_of_many_raw_points_of_two_methods_one_is_chosen_among_all(store: RunStore) -> None:
    first = explore(store, "jagielski_post", released=False)
    others = [explore(store, epsilon=1 + k, released=False) for k in range(9)]
    lost = foresee_keeping(store, first)
    assert lost is not None and lost.among.all == {first, *others}
    for key in others:
        store.delete(key)
    alone = foresee_keeping(store, first)
    assert alone is not None and not alone.can_take_all, "deleting the others makes no run the only one"


@pytest.mark.usefixtures("own_rows")
def test_the_last_point_that_is_kept_chooses_nothing(store: RunStore) -> None:
    listed, point = run(store), explore(store, epsilon=2, released=False)
    assert foresee_keeping(store, point) is None, "lists show all candidates then"
    keep_run(store, point)
    assert lose(store, point) == [point] and lose(store, point, listed) == []


def test_rows_that_everybody_has_are_exempt(store: RunStore) -> None:
    keys = [run(store), run(store, epsilon=2)]
    assert lose(store, keys[0]) == [] and store.candidates(keys) == []
    first, second = explore(store, released=False), explore(store, epsilon=2, released=False)
    assert foresee_keeping(store, first) is foresee_keeping(store, second) is None


@ON_BOTH
@pytest.mark.parametrize("method", ["pf_ld", "none"])
@pytest.mark.usefixtures("own_rows")
def test_a_threshold_that_is_taken_leaves_no_bound_and_the_run_its_own(store: RunStore, method: str) -> None:
    key = run(store, method, epsilon=None if method == "none" else 1)
    before = epsilon(store, key)
    for threshold in (0.3, 0.3, 0.4):
        assert "chosen by raw numbers" in (take_threshold(store, key, threshold) or "")
    lines = [line for line in store.ledger.lines(name()) if line.what == "selection"]
    assert len(lines) == 2, "what is taken once more is no further choice"
    for column in (None, "group"):
        assert compose([line.planned for line in lines], column).unbounded
    assert epsilon(store, key) == before and lose(store, key) == []
    with pytest.raises(BadInput, match="only its owner"):
        take_threshold(RunStore(store.database, "else"), key, 0.3)
    other = run(store, epsilon=2)
    take_threshold(store, other, 0.3)
    assert (epsilon(store, other) is None) == (method == "pf_ld"), "of several runs it was chosen as well"


def test_a_threshold_of_rows_that_everybody_has_costs_nothing(store: RunStore) -> None:
    assert take_threshold(store, run(store), 0.3) is None
    assert [line.what for line in store.ledger.lines(name())] == ["pf_ld"]
