"""Which run without privacy and fairness a run is held against."""

from __future__ import annotations

from fairpriv_core.records.stored import format_stored, read_stored_runs
from fairpriv_core.runs.plain_run import find_plain_run, train_plain_beside
from fairpriv_core.store.runs import RunStore
from tests.launched import config, finish


def test_it_is_the_newest_on_the_same_test_rows(store: RunStore) -> None:
    asked = config("pf_ld").to_json()
    assert find_plain_run(store, asked) is None
    for given in ({"seed": 1}, {"sensitive": "region"}, {"dataset": "adult", "sensitive": "sex"}):
        finish(store, config("none", **given), ())
    finish(store, config("f_ld"), ())
    assert find_plain_run(store, asked) is None
    finish(store, config("none"), ())
    newest = finish(store, config("none", notion="equalized_odds"), ())
    found = find_plain_run(store, asked)
    assert found is not None and found.key == newest
    thinned = {**asked, "data": {**asked["data"], "group_ratio": 0.9}}  # its test rows are the same
    assert (again := find_plain_run(store, thinned)) is not None and again.key == newest


def test_where_a_store_has_none_it_comes_with_this_software_and_says_so(store: RunStore) -> None:
    asked = config("pf_ld", dataset="adult", sensitive="sex", notion="equalized_odds", seed=3)
    kept = find_plain_run(store, asked.to_json())
    assert kept in read_stored_runs().records and "seed 3" in format_stored("It is", [kept] if kept else [])
    assert find_plain_run(store, config("pf_ld", dataset="adult", sensitive="race").to_json()) is None
    own = finish(store, config("none", dataset="adult", sensitive="sex", seed=3), ())
    found = find_plain_run(store, asked.to_json())
    assert found is not None and found.key == own == (kept.key if kept else "") and not format_stored("It is", [found])


def test_it_is_trained_beside_where_rows_are_published_and_none_is_there_or_on_its_way(
    store: RunStore,
) -> None:
    asked = config({"name": "pf_ld", "hidden_layers": 2, "width": 8}, private_evaluation=True)
    row = train_plain_beside(store, asked)
    assert row is not None and row.config["method"]["name"] == "none" and row.config["epsilon"] is None
    assert (row.config["method"]["hidden_layers"], row.config["method"]["width"]) == (2, 8)
    own = {"file": "/nowhere/people.csv", "label": "hired", "sensitive": "team"}
    for other in (asked, config("none"), config(dataset="adult", sensitive="sex"), config(data=own)):
        assert train_plain_beside(store, other) is None
    assert [each.key for each in store.rows()] == [row.key]
