"""The Run page: which run, its state and brakes, its figures; a run that is gone gives a sentence."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from fairpriv_core.cli.runs import answer_prediction
from fairpriv_core.facts import measures, run_facts
from fairpriv_core.figures import origin
from fairpriv_core.ledger.launch import foresee_launch, read_page
from fairpriv_core.privacy.event import Gaussian
from fairpriv_core.records.config import build_config
from fairpriv_core.records.ledger_entry import identify_data
from fairpriv_core.records.stored import read_stored_runs
from fairpriv_core.runs.plain_run import train_plain_beside
from fairpriv_core.runs.preview import run_preview
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.runs import open_store
from fairpriv_core.store.sweeps import SweepStore
from fairpriv_core.store.work import WorkStore
from fairpriv_core.text import epsilon_text
from pages.widgets.run.outcome import offer_files
from pages.widgets.shared import charts as shared_charts
from pages.widgets.shared import margins
from pages.widgets.train import launch
from tests.launched import config, finish, measured
from tests.launched import name as ledger_name
from tests.pages.shown import Open, address_of, charts, find_key, make_csv, said, unfold, upload, whole

RAW = {"data": {"dataset": "synthetic", "sensitive": "group"}, "notion": "demographic_parity", "delta": 1e-5}
FILES = ["Record (JSON)", "Config (TOML)"]
MODEL = ["Model (model.safetensors)", "Model (model.json)"]


def downloads(page: AppTest) -> list[str]:
    return [each.proto.label for each in page.get("download_button")]


def submit(epsilon: float, epochs: int = 20) -> str:
    config = build_config({**RAW, "method": {"name": "pf_ld", "epochs": epochs}, "epsilon": epsilon})
    return open_store().submit(config).key


def test_a_finished_run_shows_numbers_figures_its_log_and_its_gap_beside_that_without_privacy(
    with_runs: Path, open_page: Open
) -> None:
    with open_store() as store:
        key, plain = find_key(store, "pf_ld"), find_key(store, "none")
        gap = (store.record(plain).metrics or {})["demographic_parity_gap"]  # type: ignore[union-attr]
    page = whole(open_page("run", run=key))
    assert {item.label for item in page.metric} >= {"Accuracy", "Fairness gap"}
    assert any("ε spent" in item.proto.text for item in page.get("progress"))
    drawn = charts(page)
    assert len(drawn) >= 6 and all(chart["alt"] for chart in drawn.values())
    assert any("clipped" in chart["alt"] for chart in drawn.values())
    over_time = next(chart for chart in drawn.values() if "Share of all gradients" in chart["alt"])
    shares = [trace["y"] for trace in over_time["figure"]["data"] if trace["yaxis"] == "y2" and trace.get("y")]
    assert len(shares) >= 2
    assert "Finished at step" in said(page, "markdown") and "paper's accounting" in said(page, "caption")
    assert "0 is ideal, and one answer for everybody gives 0" in said(page, "caption")
    assert f"Without privacy and fairness it is {100 * gap:.2f} percentage points" in said(page, "caption")
    assert "Without privacy" not in said(open_page("run", run=plain), "caption")


def test_a_runs_figures_leave_as_panels_of_one_image_with_what_to_cite(
    with_runs: Path, open_page: Open, chromium: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROWSER_PATH", chromium)
    with open_store() as store:
        keys = find_key(store, "pf_ld"), find_key(store, "none")
    named = ("run_accuracy_steps", "run_gaps", "run_accuracy_steps_set", "run_gaps_set", "run_group_bars")
    page, plain = (unfold(open_page("run", run=key), *named) for key in keys)
    offered = {str(each.key) for each in page.get("download_button")}
    assert {f"run_{first}_set_pdf" for first in ("accuracy_steps", "gaps")} <= offered
    cited = [[code.value for code in each.code if "@misc{fairpriv," in code.value] for each in (page, plain)]
    assert [{text.count("@") for text in each} for each in cited] == [{2}, {1}], (
        "the plain reference is nobody's, and the made-up rows are this software's"
    )


@pytest.mark.parametrize("published", [True, False])
def test_raw_numbers_are_marked_for_the_analyst_where_not_everybody_has_them(
    with_runs: Path, open_page: Open, monkeypatch: pytest.MonkeyPatch, published: bool
) -> None:
    """So is whether the gap was reached that was accepted."""
    for module in (measures, origin, run_facts, shared_charts):
        monkeypatch.setattr(module, "is_published", lambda data: published)
    assert ("raw: for the analyst" in said(open_page("run"), "markdown")) is not published
    told = {}
    for target in (0.0, 1.0):
        asked = config({"name": "f_ld", "gap_target": target}, epsilon=None)
        with open_store(str(with_runs)) as store:
            key = finish(store, asked, (), metrics=measured((0.3, 0.6)))
        page = open_page("run", run=key)
        told[target] = page.warning[0].value if page.warning else page.info[0].value
        assert ("Raw, for the analyst" in said(page, "caption")) is not published
    assert "at most 100 points" in told[1.0] and told[1.0].endswith("apart\\: reached.")
    assert "at most 0 points" in told[0.0] and told[0.0].endswith("apart\\: not reached.")


def test_an_estimated_bound_is_told_as_no_certificate(with_runs: Path, open_page: Open) -> None:
    bounds = {"released_gap_bounds": {"demographic_parity_gap": 0.0521}}
    with open_store(str(with_runs)) as store:
        asked = config({"name": "one_release", "learner": "linear", "aim": "bound"}, epsilon=1.0)
        key = finish(store, asked, (), metrics=measured((0.3, 0.35)), notes=bounds)
    page = whole(open_page("run", run=key))
    told = next(each for each in page.expander if "at most 5.21 percentage points" in said(each, "markdown"))
    assert told.label == "Estimated bound of its gap"
    assert not any("certifies" in each.label for each in page.expander)


def test_a_made_up_person_is_decided_on_at_once_and_no_row_is_read(with_runs: Path, open_page: Open) -> None:
    with open_store() as store:
        key = find_key(store, "pf_ld")
    page = open_page("run", run=key)
    assert "made-up person" not in said(page), "until it is opened"
    page.session_state["what_if"] = True
    page.run()
    decided = [item.value for item in page.markdown if item.value.startswith("Decides **")]
    assert len(decided) == 1 and "made-up person: no row is read." in said(page, "caption")
    for slider in page.slider:
        if slider.key.startswith("what_if."):
            slider.set_value(slider.max)
    page.run()
    assert [item.value for item in page.markdown if item.value.startswith("Decides **")] != decided


@pytest.mark.parametrize("published", [True, False])
def test_another_threshold_shows_each_groups_decisions_and_is_raw_on_rows_of_ones_own(
    with_runs: Path, open_page: Open, monkeypatch: pytest.MonkeyPatch, published: bool
) -> None:
    for module in (origin, run_facts, shared_charts):
        monkeypatch.setattr(module, "is_published", lambda data: published)
    with open_store() as store:
        key = find_key(store, "pf_ld")
        metrics = store.record(key).metrics or {}  # type: ignore[union-attr]
    page = open_page("run", run=key)
    page.session_state["threshold"] = True
    page.run()
    table = page.dataframe[-1].value
    assert f"**{100 * metrics['accuracy']:.1f} %** of all test rows" in said(page, "markdown"), "as the run has it"
    rates = table.filter(regex="decided yes").iloc[:, 0].tolist()
    assert rates == pytest.approx([100 * each["positive_rate"] for each in metrics["groups"]], abs=0.06)
    marks = sum("raw: for the analyst" in item.value for item in page.markdown)
    assert marks == (0 if published else 2)
    page.slider("threshold_at").set_value(1.0).run()
    assert set(page.dataframe[-1].value["true positives"]) == {0}


@pytest.mark.usefixtures("own_rows")
def test_a_threshold_of_ones_own_rows_is_taken_without_an_epsilon(with_runs: Path, open_page: Open) -> None:
    store = open_store(str(with_runs))
    key = find_key(store, "pf_ld")
    page = open_page("run", run=key)
    page.session_state["threshold"] = True
    page.run()
    assert "take_threshold" not in [button.key for button in page.button], "0.5 is the run's own"
    page.slider("threshold_at").set_value(0.4).run()
    assert "no proved ε" in said(page, "warning") and "Model with this threshold" not in downloads(page)
    page.button("take_threshold").click().run()
    assert "chosen by raw numbers" in said(whole(page), "caption") and "Model with this threshold" in downloads(page)
    assert store.ledger.lines(ledger_name())[-1].what == "selection"
    page.slider("threshold_at").set_value(0.3).run()
    assert "take_threshold" in [button.key for button in page.button], "another one is another choice"


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
    shown = next(item.value for item in page.metric if item.label == "Guaranteed")
    assert shown == f"ε ≤ {epsilon_text(record.epsilon)}"
    assert f"Released so far: ε = {epsilon_text(min(row.epsilon, record.epsilon))}." in said(page, "caption")
    assert any(item.value.startswith("You stopped this run after ") for item in page.warning)
    assert "The ledger counts what the run released" in said(page, "caption")


def test_the_newest_run_is_shown_where_the_address_names_none(with_runs: Path, open_page: Open) -> None:
    """But for plain training, which others are held against."""
    store = open_store()
    newest, other = (row.key for row in store.rows() if row.config["method"]["name"] != "none")
    page = open_page("run")
    assert page.selectbox("run").value == newest == address_of(page, "run")
    page = open_page("run", run="0123456789abcdef")
    assert not page.exception and "0123456789abcdef" in said(page, "error") and not page.metric, "no other is shown"
    page = open_page("run", run=newest)
    store.delete(newest)
    page.run()
    assert not page.exception and newest in said(page, "error") and not page.metric
    page.selectbox("run_instead").set_value(other).run()
    assert page.selectbox("run").value == other == address_of(page, "run") and not page.error


def test_what_a_run_is_held_against_is_trained_beside_it_or_comes_with_this_software(
    open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "train_plain_beside", train_plain_beside)
    page = open_page("train")
    page.button("launch").click().run()
    assert [row.config["method"]["name"] for row in open_store().rows()] == ["none", "pf_ld"]
    kept = next(record for record in read_stored_runs().records if record.threat_model is not None)
    store = open_store()
    asked = build_config({**kept.config, "notion": "equalized_odds"})
    key = finish(store, asked, (Gaussian(10.0),), metrics=kept.metrics, data=kept.data)
    told = said(whole(open_page("run", run=key)))
    assert "instead of plain training" in told and "Plain training is stored with this software" in told


def test_the_last_run_deleted_elsewhere_leaves_a_way_on(open_page: Open) -> None:
    key = submit(1.0)
    page = open_page("run", run=key)
    open_store().delete(key)
    page.run()
    assert not page.exception and key in said(page, "error") and "Train page" in said(page, "info")


def test_a_queued_run_shows_its_budget_and_can_be_paused_resumed_and_stopped(open_page: Open) -> None:
    key = submit(2.0)
    page = open_page("run", run=key)
    gauge = next(item.proto.text for item in page.get("progress") if "ε spent" in item.proto.text)
    assert all(part in gauge for part in ("of 2", "1 in 100,000", "sensitive attribute"))
    for button, status in (("do_pause", "paused"), ("do_resume", "queued"), ("do_stop", "cancelled")):
        other = {"do_pause": "do_resume", "do_resume": "do_pause"}.get(button)
        assert not page.button(button).disabled and (other is None or page.button(other).disabled), "all have a place"
        page.button(button).click().run()
        assert open_store().row(key).status == status
    assert not {"do_pause", "do_resume", "do_stop"} & {each.key for each in page.button}


def test_a_lost_run_offers_resume(open_page: Open) -> None:
    key = submit(1.0)
    store = open_store()
    assert WorkStore(store.database).claim(key)
    with store.database.write() as connection:
        connection.exec_driver_sql("update run set worker = 'nowhere:1:1', lease_expires = 1, heartbeat = 1")
    page = open_page("run", run=key)
    assert not page.exception
    assert page.get("progress")[0].proto.text.startswith("lost")
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


def test_a_run_of_a_sweep_shows_its_curves_alone_and_overlaid(open_page: Open) -> None:
    configs = [build_config({**RAW, "method": {"name": "pf_ld", "epochs": 2}, "epsilon": 1 + at}) for at in range(2)]
    with open_store() as store:
        SweepStore(store).submit([(config, "c" * 16) for config in configs])
        work = WorkStore(store.database)
        page = open_page("run", run=configs[0].key)
        assert not page.exception, "waiting"
        work_on(work, work.claim())
    page = open_page("run", run=configs[0].key)
    assert not page.exception and not page.error
    assert {item.label for item in page.metric} >= {"Accuracy", "Fairness gap"}
    assert any("ε spent" in item.proto.text for item in page.get("progress"))
    names = charts(page)
    assert {"groups_positive_rate", "live_accuracy", "live_gaps", "live_groups_positive_rate"} <= set(names)
    assert not [name for name in names if "clip" in name]
    assert "keep at most 10 points of a curve" in said(page, "caption")
    compared = open_page("compare")
    assert not compared.exception and len(compared.multiselect("runs").value) == 2
    assert len([name for name in charts(compared) if "overlay" in name]) == 2
    assert not open_page("start").exception


def test_a_replayed_run_states_no_epsilon(open_page: Open) -> None:
    config = build_config({**RAW, "method": "pf_ld", "epsilon": 9.0, "replay_noise": 3})
    page = open_page("run", run=open_store().submit(config).key)
    assert "replayed noise" in page.selectbox("run").options[0]
    assert "ε = 9" not in page.selectbox("run").options[0]


@pytest.mark.parametrize(
    ("dataset", "offered"),
    [("adult", FILES + MODEL), ("mnist_unbalanced", FILES + MODEL), ("utkface", FILES), ("utkface_128", FILES)],
)
def test_a_model_of_faces_is_not_handed_out(dataset: str, offered: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(st, "download_button", lambda label, *_, **__: seen.append(label))
    config = {"data": {"dataset": dataset, "sensitive": "race"}}
    record: Any = SimpleNamespace(to_text=lambda: "")
    store: Any = SimpleNamespace(artifact=lambda key, name: b"weights", candidates=lambda keys: [])
    run: Any = SimpleNamespace(key="0123456789abcdef", config=config, toml="")
    offer_files(store, record, run)
    assert seen == offered


def test_a_new_file_is_decided_on_taken_away_and_deleted(own_store: Path, open_page: Open, tmp_path: Path) -> None:
    """By a worker, as the command does; a file that cannot be used says why, and another replaces it."""
    file = tmp_path / "people.csv"
    file.write_bytes(make_csv())
    data = {"file": str(file), "label": "income", "positive": "granted", "sensitive": "sex"}
    asked = {"data": data, "notion": "demographic_parity", "method": {"name": "none", "epochs": 2}}
    with open_store() as store:
        work, row = WorkStore(store.database), store.submit(build_config(asked))
        work_on(work, work.claim(row.key))

    def give(page: AppTest, content: bytes) -> AppTest:
        page = upload(page, content, "next.csv")
        assert "worker reads" in said(page, "info") and page.button("decide_done").label == "Done"
        with open_store() as store:
            run_preview(str(own_store), str(store.previews.claim()))
        return page.run()

    page = open_page("run", run=row.key)
    assert not page.get("file_uploader"), "no session is let in before the place for files is open"
    page.session_state["run_decide"] = True
    page = give(page.run(), b"age,city\nold,X\nyoung,Y\n")
    refused = said(page, "error")
    taken = "Download decisions (CSV)"
    assert taken not in {each.proto.label for each in page.get("download_button")}
    assert "olumn 'age' of next.csv" in refused and "old" in refused
    page = whole(give(page, b"age,city\n20,x\n70,Y\n,Z\n"))
    with open_store() as store:
        decided = store.decisions.decisions(store.decisions.asked())
    file.write_bytes(b"age,city\n20,x\n70,Y\n,Z\n")
    answer_prediction(row.key, str(file), str(tmp_path / "out.csv"))
    assert decided == (tmp_path / "out.csv").read_bytes()
    table = page.dataframe[-1].value
    assert (
        list(table["city"]) == ["X", "Y", ""]
        and list(table["Decision"]) == decided.decode().replace("\n", ",").split(",")[5:-1:3]
    )
    assert "**3 rows**" in said(page, "markdown") and "olumn 'city'" in said(page, "markdown")
    assert "Raw, for the analyst" in said(page, "caption")
    assert taken in {each.proto.label for each in page.get("download_button")}
    again = whole(open_page("run", run=row.key))
    assert again.button("decide_done") and list(again.dataframe[-1].value["age"]) == ["20", "70", ""]
    again = give(again, "age;city\n20,5;X\n70,5;Y\n".encode("utf-16"))
    assert list(again.dataframe[-1].value["age"]) == ["20.5", "70.5"]
    for sign in (".", ","):  # how it is written is stated, and it is read again
        again.selectbox("next.decimal").set_value(sign).run()
        with open_store() as store:
            assert store.decisions.asked().stated == {"decimal": sign}
            run_preview(str(own_store), str(store.previews.claim()))
        assert ("olumn 'age' of next.csv" in said(again.run(), "error")) == (sign == ".")
    later = whole(open_page("run", run=row.key))
    assert later.selectbox("next.decimal").value == "," and list(later.dataframe[-1].value["age"]) == ["20.5", "70.5"]
    again.button("decide_done").click().run()
    assert not list((own_store.parent / "decisions").glob("*/*")) and "next.csv" not in said(whole(again))


def test_on_rows_of_ones_own_plain_training_is_done_when_it_is_asked_for(
    own_store: Path, open_page: Open, tmp_path: Path
) -> None:
    file = tmp_path / "people.csv"
    file.write_bytes(make_csv())
    data = {"file": str(file), "label": "income", "positive": "granted", "sensitive": "sex"}
    asked = {"data": data, "notion": "demographic_parity", "method": {"name": "pf_ld", "epochs": 2}, "epsilon": 2.0}
    with open_store() as store:
        work, row = WorkStore(store.database), store.submit(build_config(asked))
        work_on(work, work.claim(row.key))
        page = whole(open_page("run", run=row.key))
        assert "counts it for whole records, without an ε" in said(page, "caption")
        whole(page.button("train_plain").click().run())
        assert "train_plain" not in {each.key for each in page.button}, "one is enough"
        [plain] = [each for each in store.rows() if each.config["method"]["name"] == "none"]
        assert plain.config["data"] == row.config["data"] and plain.config["split"] == row.config["split"]
        work_on(work, work.claim(plain.key))
        margins._find_plain.clear()
        page = whole(open_page("run", run=row.key))
        assert "plain training" in charts(page)["live_accuracy"]["alt"]
        ledger = read_page(store, identify_data(row.config["data"]["dataset"], row.config["file_id"]))
        told = {effect.column: effect for effect in foresee_launch(ledger, None, delta=1e-5)}
        assert told[None].runs == 2 and told[None].spent == math.inf and told["sex"].runs == 1, (
            "it never sees the column"
        )
