"""Private evaluation on the pages: asked for with one toggle, and its numbers beside the raw ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update
from streamlit.testing.v1 import AppTest

from fairpriv_core.privacy.rdp import Cap
from fairpriv_core.records.config import build_config
from fairpriv_core.records.ledger_entry import identify_data
from fairpriv_core.records.record import CERTIFICATES_WITHDRAWN, RunRecord
from fairpriv_core.report import measured
from fairpriv_core.runs.preview import run_preview
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.runs import RunStore, open_store
from fairpriv_core.store.tables import run
from fairpriv_core.store.work import WorkStore
from pages.widgets.run import outcome, run_numbers
from pages.widgets.shared.sentences import plain
from tests.pages.conftest import RAW

Open = Callable[..., AppTest]


def test_the_toggle_is_for_private_methods_and_is_launched(open_page: Open) -> None:
    page = open_page("train", method="dp_sgd")
    toggle = page.toggle("private_evaluation")
    assert toggle.value is True and "the run's ε is the larger of the two" in toggle.help
    page.button("launch").click().run()
    assert open_store().rows()[0].config["private_evaluation"] is True
    page.toggle("private_evaluation").set_value(False).run()
    assert "False" in page.query_params["private_evaluation"] and not page.error
    page.button("launch").click().run()
    assert not open_store().rows()[0].config.get("private_evaluation")
    assert "private_evaluation" not in {toggle.key for toggle in open_page("train", method="none").toggle}


def test_an_evaluation_that_has_no_budget_is_refused_at_its_toggle(open_page: Open) -> None:
    noise = {"p__noise_primal": "0", "p__noise_dual": "30", "p__noise_counts": "20"}
    page = open_page("train", expert="True", private_evaluation="True", **noise)
    assert "takes its noise from a finite epsilon" in page.error[0].value
    assert page.button("launch").disabled


def test_the_run_page_shows_paid_numbers_beside_raw_ones(
    open_page: Open, own_store: Path, charts_of: Callable[[AppTest], list[dict[str, Any]]]
) -> None:
    with open_store(str(own_store)) as store:
        work = WorkStore(store.database)
        keys = []
        for asked in (True, False):
            raw = {**RAW, "method": {"name": "dp_sgd", "epochs": 2}, "epsilon": 1.0, "private_evaluation": asked}
            [claim] = work.claim(store.submit(build_config(raw)).key)
            work_on(work, [claim])
            keys.append(claim.key)
    page = open_page("run", run=keys[0])
    assert not page.exception
    said = " ".join(item.value for item in page.caption)
    assert "Synthetic is a public data set" in said and "noisy joint counts" in said
    intervals = [metric.delta for metric in page.metric if metric.delta]
    assert len(intervals) == 3 and all(" to " in text for text in intervals)
    paid = [chart for chart in charts_of(page) if "with noise" in str(chart["figure"])]
    assert len(paid) == 1 and "From noisy counts that ε covers" in said
    without = open_page("run", run=keys[1])
    told = " ".join(item.value for item in without.caption)
    assert "launched without private evaluation" in told and "with this evaluation" not in told
    with open_store(str(own_store)) as store:
        data = identify_data(store.row(keys[1]).config["data"], None)
        store.ledger.set_cap(data, "group", Cap(30.0, 1e-5), where="synthetic")
    without = open_page("run", run=keys[1])
    assert "with this evaluation" in " ".join(item.value for item in without.caption)
    assert without.button("do_evaluate").label == "Evaluate privately: ε = 1.00 of the test rows"
    without.button("do_evaluate").click().run()
    with open_store(str(own_store)) as store:
        key = store.previews.claim()
        assert key is not None
        run_preview(str(own_store), key)
    after = open_page("run", run=keys[1])
    assert not after.exception and len([metric for metric in after.metric if metric.delta]) == 3
    assert "do_evaluate" not in {button.key for button in after.button}


@pytest.mark.parametrize(("method", "public"), [("pf_ld", True), ("dp_sgd", False), ("none", False)])
def test_the_run_page_warns_of_an_accuracy_only_where_it_may_not_be_published(
    open_page: Open, own_store: Path, monkeypatch: pytest.MonkeyPatch, method: str, public: bool
) -> None:
    for module in (measured, outcome, run_numbers):
        monkeypatch.setattr(module, "is_published", lambda data: False)
    with open_store(str(own_store)) as store:
        raw = {**RAW, "method": {"name": method, "epochs": 2}, "epsilon": None if method == "none" else 1.0}
        work, row = WorkStore(store.database), store.submit(build_config(raw))
        work_on(work, work.claim(row.key))
        record = store.record(row.key)
    assert record is not None and ("Accuracy may be published" in record.metrics_note) is public
    page = open_page("run", run=row.key)
    said = next(item.value for item in page.caption if "Accuracy and fairness gap" in item.value)
    assert ("Accuracy may be published" in said) is public and "publish" in said
    assert any("Accuracy may be published" in item.value for item in page.markdown) is public


def _certified(store: RunStore) -> RunRecord:
    work = WorkStore(store.database)
    raw = {**RAW, "method": {"name": "fairdp_certified", "epochs": 1}, "epsilon": 1.0}
    [claim] = work.claim(store.submit(build_config(raw)).key)
    work_on(work, [claim])
    record = store.record(claim.key)
    assert record is not None
    return record


def test_the_run_page_shows_a_certificate_with_its_accuracy(open_page: Open, own_store: Path) -> None:
    train = open_page("train", method="fairdp_certified")
    assert any("its certificate needs it" in item.value for item in train.caption)
    with open_store(str(own_store)) as store:
        record = _certified(store)
    page = open_page("run", run=record.key)
    told = [item.value for item in page.markdown]
    assert not page.exception and any("demographic parity gap" in text for text in told)
    assert any("**accuracy** · at least" in text for text in told)


def test_the_run_page_says_that_an_old_certificate_was_withdrawn(open_page: Open, own_store: Path) -> None:
    with open_store(str(own_store)) as store:
        record = _certified(store)
        old = {**record.to_json(), "notes": {"certificates": {"proposition_3": {}, "failure": 0.1, "theorem_2": 0.126}}}
        with store.database.write() as connection:
            connection.execute(update(run).where(run.c.key == record.key).values(record=old))
    told = [item.value for item in open_page("run", run=record.key).markdown]
    assert any(plain(CERTIFICATES_WITHDRAWN) in text for text in told) and not any("12.6" in text for text in told)
