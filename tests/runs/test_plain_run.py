"""Which run without privacy and fairness a run is held against."""

from __future__ import annotations

from fairpriv_core.runs.plain_run import find_plain_run
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
