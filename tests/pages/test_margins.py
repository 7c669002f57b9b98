"""Run and Compare hold a run against one answer for everybody and against drawing lots."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from fairpriv_core.facts import measures, run_facts
from fairpriv_core.facts.run_facts import read_facts
from fairpriv_core.figures import origin
from fairpriv_core.store.runs import open_store
from pages.widgets.shared.margins import list_margins
from pages.widgets.train import launch
from tests.facts.test_mixing import FAIRER, PLAIN, of
from tests.launched import config, finish

Open = Callable[..., AppTest]
SAME = np.array([[[0, 400], [0, 600]], [[0, 500], [0, 500]]])


def read_captions(page: AppTest) -> str:
    return " ".join(item.value.replace("\\", "") for item in page.caption)


@pytest.mark.parametrize("published", [True, False])
def test_a_run_is_held_against_drawing_lots_once_there_is_plain_training(
    open_page: Open, monkeypatch: pytest.MonkeyPatch, published: bool
) -> None:
    for module in (measures, origin, run_facts):
        monkeypatch.setattr(module, "is_published", lambda data: published)
    with open_store() as store:
        key = finish(store, config("pf_ld"), (), metrics=of(FAIRER).found)
        other = finish(store, config("pf_ld", epsilon=3), (), metrics=of(SAME).found)
        assert "mixing line" not in read_captions(open_page("run", run=key))
        assert "100 % of the test rows the same answer" in read_captions(open_page("run", run=other))
        finish(store, config("none"), (), metrics=of(PLAIN).found)
    shown = open_page("compare", runs=[key, other])
    assert not shown.exception
    said = read_captions(shown)
    assert "A: The model is" in said and "than mixing at the same gap (95 % interval" in said
    assert ("Raw, for the analyst" in said) is not published


def test_a_store_is_not_answered_for_by_another_one_with_the_same_keys(tmp_path: Path) -> None:
    said = []
    for name, own in (("first", FAIRER), ("second", PLAIN)):
        with open_store(str(tmp_path / f"{name}.db")) as store:
            finish(store, config("none"), (), metrics=of(PLAIN).found)
            record = store.record(finish(store, config("pf_ld"), (), metrics=of(own).found))
            assert record is not None
            said.append(list_margins(store, read_facts(record)))
    assert said[0] != said[1]


@pytest.mark.parametrize("published", [True, False])
def test_train_and_run_say_where_there_is_no_gap_to_close(
    open_page: Open, monkeypatch: pytest.MonkeyPatch, published: bool
) -> None:
    monkeypatch.setattr(launch, "is_published", lambda data: published)
    with open_store() as store:
        fair = finish(store, config({"name": "pf_ld", "gap_target": None}), (), metrics=of(FAIRER).found)
        finish(store, config("none"), (), metrics=of(SAME).found)
    asked = {"method": "pf_ld", "notion": "demographic_parity", "gap": "4"}
    page = open_page("train", data="synthetic:group", **asked)
    assert not page.exception
    said = " ".join(item.value for item in page.info).replace("\\", "")
    assert "There is no gap to close here: plain training has a gap of 0.00" in said
    assert ("Raw, for the analyst" in read_captions(page)) is not published
    other = open_page("train", data="synthetic:region", **asked)
    assert "no gap to close" not in " ".join(item.value for item in other.info)
    assert "There may be no gap to close here" in read_captions(open_page("run", run=fair))
