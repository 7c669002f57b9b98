"""The Run page: which run, its state and brakes, its figures; a run that is gone gives a sentence."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from fairpriv_core.records.config import build_config
from fairpriv_core.report import public
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.runs import open_store
from fairpriv_core.store.sweeps import SweepStore
from fairpriv_core.store.work import WorkStore
from fairpriv_core.text import epsilon_text
from pages.widgets.shared import charts

Open = Callable[..., AppTest]
Charts = Callable[[AppTest], list[dict[str, Any]]]
RAW = {"data": {"dataset": "synthetic", "sensitive": "group"}, "notion": "demographic_parity", "delta": 1e-5}


OLD = Path(__file__).parents[1] / "store" / "store_v4.db.gz"
OLD_KEY = "55a1b43fe88df304"


def submit(epsilon: float, epochs: int = 20) -> str:
    config = build_config({**RAW, "method": {"name": "pf_ld", "epochs": epochs}, "epsilon": epsilon})
    return open_store().submit(config).key


def test_a_finished_run_shows_numbers_figures_and_files(with_runs: Path, open_page: Open, charts_of: Charts) -> None:
    key = next(row.key for row in open_store().rows() if row.config["method"]["name"] == "pf_ld")
    page = open_page("run", run=key)
    assert not page.exception and not page.error
    assert {item.label for item in page.metric} >= {"Accuracy", "Fairness gap", "ε spent"}
    alternatives = [chart["alt"] for chart in charts_of(page)]
    assert len(alternatives) >= 6 and all(alternatives)
    assert any("clipped" in alt for alt in alternatives)
    assert any("paper's accounting" in item.value for item in page.caption)


@pytest.mark.parametrize("published", [True, False])
def test_a_run_says_whether_it_reached_the_gap_that_was_accepted(
    with_runs: Path, open_page: Open, monkeypatch: pytest.MonkeyPatch, published: bool
) -> None:
    monkeypatch.setattr(public, "is_published", lambda data: published)
    store = open_store()
    work = WorkStore(store.database)
    said = {}
    for target in (0.0, 1.0):
        method = {"name": "f_ld", "epochs": 2, "gap_target": target, "multiplier_max": 0.0}
        key = store.submit(build_config({**RAW, "method": method})).key
        work_on(work, work.claim(key))
        page = open_page("run", run=key)
        [said[target]] = [
            item.value.replace("\\", "") for item in (*page.info, *page.warning) if item.value.startswith("Gap ")
        ]
    assert said[1.0].startswith("Gap reached: ") and "at most 100 were asked for" in said[1.0]
    assert said[0.0].startswith("Gap not reached: ") and ("Raw, for the analyst" in said[0.0]) is not published


@pytest.mark.parametrize("published", [True, False])
def test_raw_numbers_are_marked_for_the_analyst_where_not_everybody_has_them(
    with_runs: Path, open_page: Open, monkeypatch: pytest.MonkeyPatch, published: bool
) -> None:
    monkeypatch.setattr(charts, "is_published", lambda data: published)
    badges = " ".join(item.value for item in open_page("run").markdown)
    assert ("raw: for the analyst" in badges) is not published


def test_a_stopped_run_shows_the_epsilon_of_its_planned_length(open_page: Open) -> None:
    """It is what holds, as the record says; what left until then is the ledger's to count."""
    key = submit(1.0, epochs=400)
    with open_store() as store:
        work = WorkStore(store.database)
        work_on(work, work.claim(key), on_commit=lambda progress: store.request(key, "stop"))
        row, record = store.row(key), store.record(key)
    assert row.status == "cancelled" and record is not None and record.epsilon is not None
    assert row.epsilon is not None and row.epsilon < record.epsilon
    page = open_page("run", run=key)
    shown = next(item.value for item in page.metric if item.label == "ε planned")
    assert shown == epsilon_text(record.epsilon)
    assert any("The ledger counts what the run released" in item.value for item in page.caption)


def test_the_newest_run_is_shown_where_the_address_names_none(with_runs: Path, open_page: Open) -> None:
    newest = open_store().rows()[0].key
    page = open_page("run")
    assert page.selectbox("run").value == newest
    assert page.query_params["run"] == newest


def test_an_unknown_run_gives_a_sentence_and_shows_another(with_runs: Path, open_page: Open) -> None:
    page = open_page("run", run="0123456789abcdef")
    assert not page.exception
    assert "no run '0123456789abcdef'" in page.error[0].value.lower()


def test_a_run_deleted_elsewhere_gives_a_sentence_and_the_page_goes_on(with_runs: Path, open_page: Open) -> None:
    store = open_store()
    gone, other = (row.key for row in store.rows()[:2])
    page = open_page("run", run=gone)
    store.delete(gone)
    page.run()
    assert not page.exception
    assert f"no run '{gone}'" in page.error[0].value.lower()
    assert "deleted" in page.caption[0].value
    assert page.selectbox("run").value == other


def test_the_last_run_deleted_elsewhere_leaves_a_way_on(open_page: Open) -> None:
    key = submit(1.0)
    page = open_page("run", run=key)
    open_store().delete(key)
    page.run()
    assert not page.exception
    assert key in page.error[0].value and "Train page" in page.info[0].value


def test_the_budget_stands_with_delta_and_what_is_protected_while_the_run_goes_on(open_page: Open) -> None:
    page = open_page("run", run=submit(2.0))
    gauge = next(item.proto.text for item in page.get("progress") if "ε spent" in item.proto.text)
    assert "of 2" in gauge and "1 in 100,000" in gauge and "sensitive attribute" in gauge


def test_the_log_and_the_clipping_over_time_are_shown(with_runs: Path, open_page: Open, charts_of: Charts) -> None:
    key = next(row.key for row in open_store().rows() if row.config["method"]["name"] == "pf_ld")
    page = open_page("run", run=key)
    assert any("Finished at step" in item.value for item in page.markdown)
    over_time = next(chart for chart in charts_of(page) if "Share of all gradients" in chart["alt"])
    shares = [trace["y"] for trace in over_time["figure"]["data"] if trace["yaxis"] == "y3" and trace.get("y")]
    assert len(shares) >= 2


def test_a_queued_run_can_be_paused_resumed_and_stopped(open_page: Open) -> None:
    key = submit(1.0)
    page = open_page("run", run=key)
    page.button("do_pause").click().run()
    assert open_store().row(key).status == "paused"
    page.button("do_resume").click().run()
    assert open_store().row(key).status == "queued"
    page.button("do_stop").click().run()
    assert open_store().row(key).status == "cancelled"
    assert page.button("do_stop").disabled


def test_a_lost_run_offers_resume(open_page: Open) -> None:
    key = submit(1.0)
    store = open_store()
    assert WorkStore(store.database).claim(key)
    with store.database.write() as connection:
        connection.exec_driver_sql("update run set worker = 'nowhere:1:1', lease_expires = 1, heartbeat = 1")
    page = open_page("run", run=key)
    assert not page.exception
    assert any(item.value.startswith("lost") or "lost" in item.value for item in page.markdown)
    assert not page.button("do_resume").disabled
    page.button("do_resume").click().run()
    assert open_store().row(key).status == "queued"


def test_a_failed_run_says_why(open_page: Open) -> None:
    key = submit(1.0)
    store = open_store()
    with store.database.write() as connection:
        connection.exec_driver_sql("update run set status = 'failed', error = 'Group <b>A</b> has 12 noisy records.'")
    page = open_page("run", run=key)
    assert "has 12 noisy records" in page.error[0].value
    assert "\\<b\\>" in page.error[0].value
    assert not any("first numbers" in item.value for item in page.caption)


def test_a_run_of_a_sweep_shows_its_curves_alone_and_overlaid(open_page: Open, charts_of: Charts) -> None:
    configs = [build_config({**RAW, "method": {"name": "pf_ld", "epochs": 2}, "epsilon": 1 + at}) for at in range(2)]
    with open_store() as store:
        SweepStore(store).submit([(config, "c" * 16) for config in configs])
        work = WorkStore(store.database)
        page = open_page("run", run=configs[0].key)
        assert not page.exception, "waiting"
        work_on(work, work.claim())
    page = open_page("run", run=configs[0].key)
    assert not page.exception and not page.error
    assert {item.label for item in page.metric} >= {"Accuracy", "Fairness gap", "ε spent"}
    names = [chart["figure"]["layout"]["uirevision"] for chart in charts_of(page)]
    assert {"groups_positive_rate", "live_quality", "live_groups_positive_rate"} <= set(names)
    assert not [name for name in names if "clip" in name]
    assert any("keep at most 10 points of a curve" in item.value for item in page.caption)
    compared = open_page("compare")
    names = [chart["figure"]["layout"]["uirevision"] for chart in charts_of(compared)]
    assert len(compared.multiselect("runs").value) == 2
    assert len([name for name in names if "overlay" in name]) == 2
    assert not open_page("compare").exception and not open_page("start").exception


def test_the_gap_stands_beside_that_without_privacy_and_fairness(with_runs: Path, open_page: Open) -> None:
    rows = {row.config["method"]["name"]: row for row in open_store().rows()}
    gap = open_store().record(rows["none"].key).metrics["demographic_parity_gap"]
    said = " ".join(item.value for item in open_page("run", run=rows["pf_ld"].key).caption).replace("\\", "")
    assert "0 is ideal, and one answer for everybody has 0" in said
    assert f"Without privacy and fairness it is {100 * gap:.2f} percentage points" in said
    assert "Without privacy" not in " ".join(item.value for item in open_page("run", run=rows["none"].key).caption)


def test_a_replayed_run_states_no_epsilon(open_page: Open) -> None:
    config = build_config({**RAW, "method": "pf_ld", "epsilon": 9.0, "replay_noise": 3})
    page = open_page("run", run=open_store().submit(config).key)
    assert "replayed noise" in page.selectbox("run").options[0]
    assert "ε = 9" not in page.selectbox("run").options[0]


@pytest.mark.parametrize("name", ["run", "audit"])
def test_a_link_of_an_earlier_version_finds_its_run(name: str, own_store: Path, open_page: Open) -> None:
    own_store.parent.mkdir()
    own_store.write_bytes(gzip.decompress(OLD.read_bytes()))
    key = open_store().row(OLD_KEY).key
    page = open_page(name, run=OLD_KEY)
    assert not page.exception and not page.error and not page.warning
    assert page.selectbox("run").value == key != OLD_KEY
    assert page.query_params["run"] == key
