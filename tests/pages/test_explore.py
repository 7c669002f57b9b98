"""Explore: moves rest, the newest one trains, its cost is said before, and a kept point says how it was chosen."""

from __future__ import annotations

import io
import math
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.runs import RunStore, open_store
from fairpriv_core.store.work import WorkStore
from pages.widgets.explore import explore
from tests.pages.shown import Open, charts, said, whole

ROWS = 6000  # of which no group of test rows is so small that noise on its size may end a choice


@pytest.fixture(autouse=True)
def nothing_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let sliders rest when a test says so: `rest`."""
    monkeypatch.setattr(explore, "_REST_SECONDS", math.inf)


def rest(page: AppTest) -> AppTest:
    """Draw the page again after the sliders have rested."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(explore, "_REST_SECONDS", 0.0)
        return page.run()


def train(store: RunStore) -> str:
    """Do what the explorer would, with the one run that waits; return its key."""
    work = WorkStore(store.database)
    claims = work.claim(exploring=True)
    assert len(claims) == 1
    work_on(work, claims)
    assert work.claim(exploring=True) == ()
    return claims[0].key


@pytest.fixture
def own_file(own_store: Path) -> str:
    """Return the reference of a file of one's own, with a label and two groups."""
    rng = np.random.default_rng(0)
    group, skill = rng.integers(0, 2, ROWS), rng.normal(size=ROWS)
    hired = skill + 0.8 * group + rng.normal(size=ROWS) > 0.4
    rows = [f"{'ab'[g]},{s:.3f},{'yes' if h else 'no'}" for g, s, h in zip(group, skill, hired, strict=True)]
    with open_store(str(own_store)) as store:
        made = store.uploads.put(io.BytesIO("\n".join(["sex,skill,hired", *rows]).encode()), "jobs.csv", store.payer)
    return f"file-{made.id[:12]}:sex?label=hired&positive=yes"


def test_on_public_data_a_move_that_rests_trains_and_the_newest_counts(own_store: Path, open_page: Open) -> None:
    page = whole(open_page("explore", p__epochs="2"))
    with open_store(str(own_store)) as store:
        assert store.explored(5) == [], "it has not rested"
        rest(page)
        [first] = store.explored(5)
        page.slider("gap").set_value(8.0).run()
        assert store.row(first.key).status == "queued", "the move may still go on"
        rest(page)
        newest, oldest = store.explored(5)
        assert (newest.status, oldest.status) == ("queued", "cancelled")
        assert newest.config["method"]["gap_target"] == pytest.approx(0.08)
        rest(page)
        assert len(store.explored(5)) == 2, "one that waits is not asked for twice"


def test_the_point_moves_leaves_its_trail_and_can_be_kept(own_store: Path, open_page: Open) -> None:
    page = open_page("explore", p__epochs="3")
    with open_store(str(own_store)) as store:
        rest(page)
        assert "on its way" in said(page, "info")
        first = train(store)
        page.run().run()
        assert not page.exception
        chart, groups = charts(page).values()
        assert "PF-LD, ε = 1: accuracy" in chart["alt"]
        assert "Of 100 people" in groups["figure"]["layout"]["title"]["text"]
        page.select_slider("epsilon").set_value(2).run()
        ghost = next(iter(charts(page).values()))["figure"]
        assert any("before: PF-LD, ε = 1" in note["text"] for note in ghost["layout"]["annotations"])
        assert page.button("explore_keep").disabled
        rest(page)
        second = train(store)
        page.run().run()
        chart = next(iter(charts(page).values()))
        assert "PF-LD, ε = 2" in chart["alt"]
        trail = next(trace for trace in chart["figure"]["data"] if trace["name"] == "before")
        assert len(trail["x"]) == 2 and store.rows() == []
        page.button("explore_keep").click().run()
        assert [row.key for row in store.rows()] == [second] and "in your list of runs" in said(page)
        assert store.record(second).epsilon is not None and [row.key for row in store.explored(5)] == [first]


def test_where_runs_ship_the_point_moves_at_once_and_is_confirmed_by_training(
    own_store: Path, data_at_first: str, open_page: Open
) -> None:
    page = rest(whole(open_page("explore", data=data_at_first)))
    chart, groups = charts(page).values()
    assert "PF-LD, ε = 1: accuracy 84." in chart["alt"] and "Expected · ε = 1.00" in said(page, "markdown")
    assert "95 % prediction interval of a further run" in said(page, "caption") and "Female" in groups["alt"]
    places = chart["glide"]["places"]
    assert chart["glide"]["name"] == "PF-LD, ε = 1" and places.keys() == {"epsilon", "gap", "p-clip_primal"}
    rest(page.select_slider("epsilon").set_value(3).run())
    moved, _ = charts(page).values()
    [newest] = [trace for trace in moved["figure"]["data"] if trace["name"] == "PF-LD, ε = 3"]
    stop = str(page.select_slider("epsilon").options.index("3"))
    assert places["epsilon"][stop][::3] == pytest.approx([newest["x"][0], newest["y"][0]]), "it had glided to there"
    with open_store(str(own_store)) as store:
        assert store.explored(5) == [], "a move trains nothing"
        page.button("explore_train").click().run()
        key = train(store)
        page.run().run()
        assert "Expected" not in said(page, "markdown") and "One seed" in said(page, "caption")
        assert page.button("explore_train").disabled and not page.button("explore_keep").disabled
        page.button("explore_keep").click().run()
        assert [row.key for row in store.rows()] == [key]


def test_on_own_data_nothing_trains_before_its_cost_is_seen(own_file: str, own_store: Path, open_page: Open) -> None:
    page = whole(open_page("explore", data=own_file, explore__automatic="True", p__epochs="3"))
    rest(rest(page))
    with open_store(str(own_store)) as store:
        assert store.explored(5) == [] and not page.toggle("explore.automatic").value, "no link trains"
        assert "sex: ε = 0.00 so far, **1.00** after this move" in said(page, "markdown", "caption", "info")
        assert page.button("explore_train").label == "Train this point: spends ε = 1.00"
        page.button("explore_train").click().run()
        first = train(store)
        page.run().run()
        page.slider("gap").set_value(10.0).run()
        rest(page)
        assert len(store.explored(5)) == 1 and "sex: ε = 1.00 so far, **1.47** after this move" in said(
            page, "markdown", "caption", "info"
        )
        page.toggle("explore.automatic").set_value(True).run()
        rest(page)
        second = train(store)
        page.run().run()
        assert "choose among 2 runs" in said(page, "warning"), "what it costs stands there before"
        assert {"keep_noisy", "keep_all", "keep_without"} <= {each.key for each in page.button}
        assert "explore_keep" not in {each.key for each in page.button} and store.rows() == []
        page.button("keep_without").click().run()
        kept = store.record(second)
        assert kept is not None and kept.epsilon is None and "chosen among 2 runs by raw" in str(kept.epsilon_reason)
        assert [row.key for row in store.rows()] == [second] and "in your list of runs" in said(page)
        assert store.record(first).epsilon is not None
        after = whole(open_page("explore", data=own_file, method="jagielski_post"))
        after.button("explore_train").click().run()
        third = train(store)
        after.run().run()
        assert "choose among 3 runs" in said(after, "warning"), "in a new session, with another method"
        after.button("keep_noisy").click().run()
        [among] = store.candidates([third])
        assert among.held is not None and set(among.held["candidates"]) == {first, second, third}
        assert among.held["request"]["by"] == "noisy" and among.held["selected"] in {row.key for row in store.rows()}


@pytest.mark.parametrize(("method", "errors"), [("one_release", 1), ("one_release_record", 2)])
def test_a_paid_release_makes_moves_free_and_its_numbers_have_errors(
    own_file: str, own_store: Path, open_page: Open, method: str, errors: int
) -> None:
    page = open_page("explore", data=own_file, method=method, p__epochs="3")
    page.button("explore_train").click().run()
    with open_store(str(own_store)) as store:
        paid = train(store)
        page.run().run()
        page.selectbox("reuse").set_value(paid).run()
        assert "Moves are free" in said(page, "markdown", "caption", "info") and "explore_train" not in [
            each.key for each in page.button
        ]
        page.slider("gap").set_value(10.0).run()
        rest(page)
        moved = train(store)
        page.run().run()
        record = store.record(moved)
        assert record is not None and record.config["reuse"] == paid
        assert (
            said(page, "markdown").count(" ± ") == errors
            and "standard error" in said(page, "markdown", "caption", "info")
            and "Raw" not in said(page, "markdown", "caption", "info")
        )
        assert len(charts(page)) == 1, "rates that were not released are not shown"
        assert not [each for each in store.candidates([moved]) if each.raw]
        page.button("explore_keep").click().run()
        kept = store.record(moved)
        assert kept is not None and kept.epsilon is not None and "among 2 by released" in kept.notes["choice"]
