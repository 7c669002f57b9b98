"""A sweep on a page: its cost before anything starts, one launch, progress, cancel, resume; errors as sentences."""

from __future__ import annotations

import json
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from fairpriv_core.runs.preview import run_preview
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.runs import RunStore, open_store
from fairpriv_core.store.work import WorkStore
from tests.pages.shown import buttons, click, said

COST, LAUNCH = "Show runs, time and ε cost", "Launch 4 runs"
RAW = {
    "data": {"dataset": "synthetic", "sensitive": "group"},
    "notion": "demographic_parity",
    "method": {"name": "pf_ld", "epochs": 2},
    "axes": {"epsilon": [1, 3], "seed": [0, 1]},
}
SCRIPT = """
import json
import streamlit as st
from pages.widgets.shared.session import find_store
from pages.widgets.shared.sweeper import offer_sweep
offer_sweep(find_store(), json.loads({text!r}), key="s")
"""


@pytest.fixture
def store(own_store: Any) -> Any:
    with open_store(str(own_store)) as opened:
        yield opened


def open_sweep(**changes: Any) -> AppTest:
    return AppTest.from_string(SCRIPT.format(text=json.dumps({**RAW, **changes})), default_timeout=60).run()


def answer(store: RunStore) -> None:
    """Do what a worker would: every preview that waits."""
    while (key := store.previews.claim()) is not None:
        run_preview(str(store.database.path), key)


def train(store: RunStore, *, chunks: int = 99) -> None:
    work = WorkStore(store.database)
    for _ in range(chunks):
        if claims := work.claim():
            work_on(work, claims)


def test_a_sweep_is_launched_once_its_cost_is_seen_and_followed_to_its_end(store: RunStore) -> None:
    page = open_sweep()
    assert list(buttons(page).values()) == [COST] and not store.rows()
    click(page, COST)
    assert "estimating the cost" in said(page, "info") and store.previews.claim() is not None
    click(page, "Cancel")
    assert store.previews.claim() is None
    click(page, COST)
    answer(store)
    page.run()
    assert [metric.value for metric in page.metric][:2] == ["4", "4"]
    text = said(page, "markdown")
    assert "If all results are released" in text and "one run alone at most 3" in text and "1 in 100,000" in text
    assert not store.rows()
    click(page, LAUNCH)
    assert "Being launched" in said(page, "info")
    answer(store)
    page.run()
    assert len(store.rows()) == 4 and LAUNCH not in buttons(page).values()
    click(page, "Cancel")
    assert {row.status for row in store.rows()} == {"paused"}
    click(page, "Resume")
    train(store)
    page.run()
    assert {row.status for row in store.rows()} == {"finished"}
    told = {metric.label: metric.value for metric in page.metric}
    assert (told["New"], told["Training time, nothing else running"]) == ("0", "none left")
    assert not {"Cancel", "Resume", LAUNCH} & set(buttons(page).values())
    assert list(buttons(open_sweep()).values()) == ["Estimate again"]  # after a reload


def test_many_runs_are_confirmed_first(store: RunStore) -> None:
    page = open_sweep(sweep={"max_runs": 3}).button("s_cost").click().run()
    answer(store)
    page.run()
    assert LAUNCH not in buttons(page).values()
    page.checkbox[0].check().run()
    click(page, LAUNCH)
    answer(store)
    assert len(store.rows()) == 4


def test_a_mistake_is_a_sentence(store: RunStore) -> None:
    page = open_sweep(axes={"epsilom": [1]})
    assert "did you mean 'epsilon'" in said(page, "error") and not page.button
    page = open_sweep(epsilon=-1, axes={"seed": [0]}).button("s_cost").click().run()
    answer(store)
    page.run()
    assert "no combination of the sweep can run" in said(page, "error").lower() and not store.rows()
