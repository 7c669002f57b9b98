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


def test_a_cost_that_is_worked_out_can_be_cancelled(store: RunStore) -> None:
    page = click(open_sweep(), "Show runs, time and ε cost")
    assert store.previews.claim() is not None
    click(page, "Cancel")
    assert not page.exception and store.previews.claim() is None
    click(page, "Show runs, time and ε cost")
    answer(store)
    assert "Launch 4 runs" in buttons(page.run())


def click(page: AppTest, label: str) -> AppTest:
    return next(button for button in page.button if button.label == label).click().run()


def buttons(page: AppTest) -> list[str]:
    return [button.label for button in page.button]


def test_the_cost_stands_before_the_launch(store: RunStore) -> None:
    page = open_sweep()
    assert buttons(page) == ["Show runs, time and ε cost"] and not store.rows()
    page.button("s_cost").click().run()
    assert "working out what this costs" in page.info[0].value
    answer(store)
    page.run()
    assert [metric.value for metric in page.metric][:2] == ["4", "4"]
    text = " ".join(item.value for item in page.markdown)
    assert "If all results are released" in text and "one run alone at most 3" in text and "1 in 100,000" in text
    assert "Launch 4 runs" in buttons(page) and not store.rows()


def test_a_sweep_is_launched_once_and_followed_to_its_end(store: RunStore) -> None:
    page = open_sweep().button("s_cost").click().run()
    answer(store)
    click(page.run(), "Launch 4 runs")
    assert "Being launched" in page.info[0].value
    answer(store)
    page.run()
    assert len(store.rows()) == 4 and not [label for label in buttons(page) if label.startswith("Launch")]
    assert "Cancel" in buttons(page)
    click(page, "Cancel")
    assert {row.status for row in store.rows()} == {"paused"} and "Resume" in buttons(page)
    click(page, "Resume")
    train(store)
    page.run()
    assert {row.status for row in store.rows()} == {"finished"}
    told = {metric.label: metric.value for metric in page.metric}
    assert (told["New"], told["Training time"]) == ("0", "none left")
    assert not {"Cancel", "Resume", "Launch 4 runs"} & set(buttons(page))
    assert buttons(open_sweep()) == ["Work it out again"]  # after a reload


def test_many_runs_are_confirmed_first(store: RunStore) -> None:
    page = open_sweep(sweep={"max_runs": 3}).button("s_cost").click().run()
    answer(store)
    page.run()
    assert next(button for button in page.button if button.label == "Launch 4 runs").disabled
    page.checkbox[0].check().run()
    click(page, "Launch 4 runs")
    answer(store)
    assert len(store.rows()) == 4


def test_a_mistake_is_a_sentence(store: RunStore) -> None:
    page = open_sweep(axes={"epsilom": [1]})
    assert "did you mean 'epsilon'" in page.error[0].value.replace("\\", "") and not page.button
    page = open_sweep(epsilon=-1, axes={"seed": [0]}).button("s_cost").click().run()
    answer(store)
    page.run()
    assert "no combination of the sweep can run" in page.error[0].value.lower() and not store.rows()
