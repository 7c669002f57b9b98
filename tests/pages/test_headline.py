"""Run, Compare and Trade-offs say the result in one sentence before anything else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from streamlit.testing.v1 import AppTest

from fairpriv_core.store.runs import RunStore, open_store
from tests.launched import begin, config, finish, measured

Open = Callable[..., AppTest]


def read_headline(page: AppTest) -> str:
    """Return the sentence, which is the page's first large text."""
    assert not page.exception
    return next(str(item.value).replace("\\", "") for item in page.markdown if str(item.value).startswith("## "))


def list_keys(store: Path) -> list[str]:
    with open_store(str(store)) as opened:
        return [row.key for row in opened.rows()]


def add_runs(store: RunStore) -> list[str]:
    """Store a fair run and one without privacy and fairness."""
    fair = finish(store, config("pf_ld"), (), metrics=measured((0.50, 0.48)))
    return [fair, finish(store, config("none"), (), metrics=measured((0.75, 0.25)))]


def test_a_finished_run_begins_with_what_changed_and_others_have_none(open_page: Open) -> None:
    with open_store() as store:
        key, _ = add_runs(store)
        _, claim, _ = begin(store, config("pf_ld", seed=5), ())
    said = read_headline(open_page("run", run=key))
    assert said.startswith("## At ε = 1 the gap between A and B falls from") and "accuracy" in said
    assert not any(str(item.value).startswith("## ") for item in open_page("run", run=claim.key).markdown)


def test_two_runs_compared_are_before_and_after(open_page: Open) -> None:
    with open_store() as store:
        keys = add_runs(store)
    said = read_headline(open_page("compare", runs=keys))
    assert said.startswith("## At ε = 1 the gap between A and B falls from")


def test_trade_offs_say_what_is_picked_else_the_range_of_all(open_page: Open) -> None:
    with open_store() as store:
        key, _ = add_runs(store)
        finish(store, config("pf_ld", epsilon=4), (), metrics=measured((0.60, 0.40)))
    assert read_headline(open_page("tradeoffs")).startswith("## 2 settings at ε = 1 to 4: the gap between A and B rang")
    said = read_headline(open_page("tradeoffs", points=[key]))
    assert said.startswith("## At ε = 1 the gap between A and B")


def test_runs_on_different_questions_have_no_common_headline(open_page: Open) -> None:
    with open_store() as store:
        keys = add_runs(store)
        keys.append(finish(store, config("pf_ld", notion="equal_opportunity"), (), metrics=measured((0.6, 0.4))))
    page = open_page("compare", runs=[keys[0], keys[2]])
    assert not page.exception and not any(str(item.value).startswith("## ") for item in page.markdown)
