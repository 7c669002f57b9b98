"""Private evaluation on the pages: asked for with one toggle, and its numbers beside the raw ones."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from sqlalchemy import update

from fairpriv_core.facts import measures, run_facts
from fairpriv_core.privacy.rdp import Cap
from fairpriv_core.records.config import build_config
from fairpriv_core.records.ledger_entry import identify_data
from fairpriv_core.records.record import CERTIFICATE_OF_CHOSEN, withdrawn_record
from fairpriv_core.runs.preview import run_preview
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.checksum import seal_document
from fairpriv_core.store.runs import open_store
from fairpriv_core.store.tables import run
from fairpriv_core.store.work import WorkStore
from pages.widgets.run import run_numbers
from tests.pages.conftest import RAW
from tests.pages.shown import Open, charts, find_key, said, whole

METHODS = {"paid": "dp_sgd", "unpaid": "dp_sgd", "certified": "fairdp_certified"}


@pytest.fixture(scope="module")
def made_more(made_store: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """Return a store's folder with more finished runs, and their keys: two of DP-SGD, one paid, and a certified one."""
    folder = tmp_path_factory.mktemp("more")
    shutil.copytree(made_store, folder, dirs_exist_ok=True)
    keys = {}
    with open_store(str(folder / "runs.db")) as store:
        work = WorkStore(store.database)
        for name, method in METHODS.items():
            asked = {"method": {"name": method, "epochs": 2}, "epsilon": 1.0, "private_evaluation": name != "unpaid"}
            keys[name] = store.submit(build_config({**RAW, **asked})).key
            work_on(work, work.claim(keys[name]))
        keys |= {method: find_key(store, method) for method in ("pf_ld", "none")}
    return folder, keys


@pytest.fixture
def keys(made_more: tuple[Path, dict[str, str]], own_store: Path) -> dict[str, str]:
    """Put a copy of these runs where this test's store is; return their keys."""
    shutil.copytree(made_more[0], own_store.parent, dirs_exist_ok=True)
    return made_more[1]


def test_the_toggle_is_for_private_methods_and_is_launched(open_page: Open) -> None:
    page = open_page("train", method="dp_sgd")
    assert page.toggle("private_evaluation").value is True
    page.button("launch").click().run()
    assert open_store().rows()[0].config["private_evaluation"] is True
    page.toggle("private_evaluation").set_value(False).run()
    assert "False" in page.query_params["private_evaluation"] and not page.error
    page.button("launch").click().run()
    assert not open_store().rows()[0].config.get("private_evaluation")
    assert "private_evaluation" not in {toggle.key for toggle in open_page("train", method="none").toggle}
    noise = {"p__noise_primal": "0", "p__noise_dual": "30", "p__noise_counts": "20"}
    page = open_page("train", expert="True", private_evaluation="True", **noise)
    assert "takes its noise from a finite epsilon" in said(page, "error"), "there is no budget"
    assert page.button("launch").disabled


def test_the_run_page_shows_paid_numbers_beside_raw_ones(
    keys: dict[str, str], own_store: Path, open_page: Open
) -> None:
    page = whole(open_page("run", run=keys["paid"]))
    assert "Synthetic is public data" in said(page, "caption") and "noisy joint counts" in said(page, "caption")
    intervals = [metric.delta for metric in page.metric if metric.delta]
    assert len(intervals) == 3 and all(" to " in text for text in intervals)
    assert len([chart for chart in charts(page).values() if "with noise" in str(chart["figure"])]) == 1
    assert "From noisy counts that ε covers" in said(page, "caption")
    without = open_page("run", run=keys["unpaid"])
    assert "launched without private evaluation" in said(without, "caption")
    assert "with this evaluation" not in said(without, "caption"), "no cap is set"
    with open_store(str(own_store)) as store:
        data = identify_data(store.row(keys["unpaid"]).config["data"]["dataset"], None)
        store.ledger.set_cap(data, "group", Cap(30.0, 1e-5), where="synthetic")
    without = open_page("run", run=keys["unpaid"])
    assert "with this evaluation" in said(without, "caption")
    assert without.button("do_evaluate").label == "Evaluate privately: ε = 1.00 of the test rows"
    without.button("do_evaluate").click().run()
    with open_store(str(own_store)) as store:
        run_preview(str(own_store), str(store.previews.claim()))
    after = whole(open_page("run", run=keys["unpaid"]))
    assert len([metric for metric in after.metric if metric.delta]) == 3
    assert "do_evaluate" not in {button.key for button in after.button}


def test_the_run_page_warns_of_an_accuracy_only_where_it_may_not_be_published(
    keys: dict[str, str], open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (measures, run_facts, run_numbers):
        monkeypatch.setattr(module, "is_published", lambda data: False)
    for name in ("pf_ld", "unpaid", "none"):
        public = name == "pf_ld"
        with open_store() as store:
            record = store.record(keys[name])
        assert record is not None and ("Accuracy may be published" in record.metrics_note) is public
        page = open_page("run", run=keys[name])
        told = next(item.value for item in page.caption if "Accuracy and fairness gap" in item.value)
        assert ("Accuracy may be published" in told) is public and "publish" in told, name
        assert ("Accuracy may be published" in said(page, "markdown")) is public, name


def test_the_run_page_shows_a_certificate_with_its_accuracy_or_that_it_was_withdrawn(
    keys: dict[str, str], own_store: Path, open_page: Open
) -> None:
    assert "its certificate needs it" in said(open_page("train", method="fairdp_certified"), "caption")
    page = open_page("run", run=keys["certified"])
    assert not page.exception and "demographic parity gap" in said(page, "markdown")
    assert "**accuracy** · at least" in said(page, "markdown")
    with open_store(str(own_store)) as store:
        record = store.record(keys["certified"])
        assert record is not None
        chosen = seal_document(withdrawn_record(record, "Chosen by raw numbers.").to_json())
        with store.database.write() as connection:
            connection.execute(update(run).where(run.c.key == record.key).values(record=chosen))
    page = open_page("run", run=keys["certified"])
    shown = said(page, "markdown")
    assert CERTIFICATE_OF_CHOSEN in shown and "**accuracy** · at least" not in shown
