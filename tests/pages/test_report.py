"""Report and Present: runs and audience chosen, a preview of what the file will hold, a story, and all forms."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from fairpriv_core.documents.document import NOTICES
from fairpriv_core.documents.forms import NO_BROWSER
from fairpriv_core.facts import measures, run_facts
from fairpriv_core.figures import origin
from fairpriv_core.records.config import build_config
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.runs import open_store
from fairpriv_core.store.work import WorkStore
from tests.pages.conftest import FEW, RAW
from tests.pages.shown import Open, address_of, charts, find_key, said, whole

PDF = "Save: Report (PDF)"
STORED = "stored with this software"


def read(page: AppTest) -> str:
    """Return every text of the page, tables too."""
    tables: list[Any] = [each.proto for each in page.get("html")]
    return "\n".join([said(page), *(each.body for each in tables)])


def list_keys(store: Path) -> list[str]:
    with open_store(str(store)) as opened:
        return [row.key for row in opened.rows()]


def list_forms(page: AppTest) -> set[str]:
    buttons: list[Any] = [each.proto for each in page.get("download_button")]
    return {each.label for each in buttons}


def test_the_analyst_sees_exact_numbers_and_policy_the_headline_first(with_runs: Path, open_page: Open) -> None:
    page = open_page("report", runs=list_keys(with_runs))
    assert not page.exception and page.query_params["audience"] == "analyst"
    assert "For the analyst. Synthetic is public." in read(page) and "Do not publish" not in read(page)
    assert "What came out" in read(page) and "Model card of Run 1" in read(page)
    assert {"chosen_trade_off", "overlay_accuracy"} <= set(charts(page))
    offered = {"Report (HTML, one file)", "Notebook that repeats the runs", "Model card (Markdown)"}
    assert offered <= list_forms(page)
    page.segmented_control("audience").set_value("policy").run()
    assert not page.exception and page.query_params["audience"] == "policy"
    assert "instead of plain training: the gap between A and B" in read(page)
    assert "Synthetic is public data" in read(page)
    [details] = [each for each in page.expander if each.label == "Details"]
    assert "What is left out, and why" in "".join(item.value for item in details.markdown)
    assert "What was asked" not in read(page).partition("What is not promised")[0]
    page.multiselect("runs").set_value([]).run()
    assert "PF-LD at ε = 1 instead of plain training" in read(page) and STORED in read(page)


def test_policy_sees_no_raw_number_of_data_that_are_not_public(
    with_runs: Path, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (measures, origin, run_facts):
        monkeypatch.setattr(module, "is_published", lambda data: False)
    keys = list_keys(with_runs)
    page = open_page("report", runs=keys, audience="policy")
    assert not page.exception
    text, drawn = read(page), charts(page)
    assert NOTICES["policy"] in text and "What is left out, and why" in text
    with open_store(str(with_runs)) as store:
        metrics = [record.metrics or {} for record in store.records(keys).values()]
    for found in metrics:
        raw = [found["demographic_parity_gap"], *(group["positive_rate"] for group in found["groups"])]
        assert not any(f"{100 * value:.2f}" in text for value in raw)
        assert not any(str(value) in str(drawn) or str(100 * value) in str(drawn) for value in raw)
    assert not {"overlay_accuracy", "groups_positive_rate"} & set(drawn)


def test_the_newest_private_run_is_shown_and_offered_where_another_is_chosen(with_runs: Path, open_page: Open) -> None:
    with open_store(str(with_runs)) as store:
        newest, plain = find_key(store, "pf_ld"), find_key(store, "none")
    page = open_page("report")
    assert address_of(page, "runs") == newest and page.multiselect("runs").value == [newest]
    assert "instead of plain training" in read(page) and f"key {plain}" in read(page), "with its reference"
    assert "report_newest" not in {button.key for button in page.button}
    page = open_page("report", runs=plain)
    page.button("report_newest").click().run()
    assert page.multiselect("runs").value == [plain, newest]
    assert "report_newest" not in {button.key for button in page.button}


def test_a_pdf_needs_a_browser_and_is_kept_while_the_report_is_the_same(
    with_runs: Path, open_page: Open, chromium: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("BROWSER_PATH", "")
        patch.setenv("PATH", "")
        page = open_page("report")
        assert NO_BROWSER in read(page) and "Everything (ZIP)" in list_forms(page)
        assert not [button for button in page.button if "PDF" in button.label]
    monkeypatch.setenv("BROWSER_PATH", chromium)
    page = open_page("report")
    page.button("report_pdf").click().run()
    assert PDF in list_forms(whole(page))
    page.segmented_control("audience").set_value("policy").run()
    assert PDF not in list_forms(page)


def test_present_tells_of_the_fair_run_until_another_is_chosen(with_runs: Path, open_page: Open) -> None:
    page = open_page("present", runs=list_keys(with_runs))
    story = read_story(page)
    assert "What we chose: PF-LD, ε = 1" in story and "The gap today" in story
    plain = next(key for key in page.selectbox("decided").options if key.startswith("No privacy"))
    page.selectbox("decided").select(plain).run()
    assert "What we chose: No privacy, no fairness" in read_story(page) and "decided" in page.query_params
    page = open_page("present")
    assert not page.exception and not page.selectbox, "one run alone is presented without a question"
    offered = list_forms(page)
    assert "Presentation (HTML, arrow keys)" in offered and "Report (HTML, one file)" not in offered
    page.multiselect("runs").set_value([]).run()
    assert STORED in read_story(page)
    page = open_page("present", runs=["0123456789abcdef"])
    assert "not among the finished runs" in said(page, "warning") and not page.get("iframe")


def read_story(page: AppTest) -> str:
    """Return the document that the page shows."""
    assert not page.exception
    [frame] = page.get("iframe")
    proto: Any = frame.proto
    return str(proto.srcdoc)


@pytest.mark.usefixtures("own_rows")
def test_what_leaves_of_own_data_was_not_chosen_by_raw_numbers(
    own_store: Path, open_page: Open, call: Callable[..., Any]
) -> None:
    """Report, Present, the Run page and the command line each ask before one of three runs leaves."""
    with open_store(str(own_store)) as store:
        work = WorkStore(store.database)
        for epsilon, notion in ((1.0, "demographic_parity"), (2.0, "demographic_parity"), (4.0, "equal_opportunity")):
            raw = {**RAW, "method": {"name": "pf_ld", **FEW}, "epsilon": epsilon, "notion": notion}
            work_on(work, work.claim(store.submit(build_config(raw)).key))
        first, *others = [row.key for row in store.rows()]
        page = open_page("report", runs=[first], audience="policy")
        assert "choose among 3 runs" in said(whole(page), "warning") and not page.get("iframe")
        assert page.button("leave_without").label == "Go on without ε" and "Model card" not in str(list_forms(page))
        page.segmented_control("audience").set_value("analyst").run()
        assert "Report (HTML, one file)" in list_forms(page)
        assert not {"Model card (Markdown)", "Everything (ZIP)"} & list_forms(page)
        page.segmented_control("audience").set_value("policy").run()
        page.button("leave_all").click().run()
        assert set(page.multiselect("runs").value) == {first, *others} and "Model card (Markdown)" in list_forms(page)
        assert "choose among" not in said(whole(page))
        told = open_page("present", runs=[first, *others], decided=first)
        assert "choose among 3 runs" in said(whole(told), "warning") and not told.get("iframe")
        assert "leave_all" not in {each.key for each in told.button}, "the story says which one was chosen"
        told.button("leave_noisy").click().run()
        [among] = store.candidates([first])
        assert among.held is not None
        held = among.held["selected"]
        assert told.multiselect("runs").value == [held] and told.get("iframe")
        left = next(key for key in (first, *others) if key != held)
        assert "ε" in call("export", held, "--format", "md", "--audience", "policy").out
        place = own_store.with_name("left")
        for options in (["md"], ["html", "--audience", "policy"], ["hf"], ["onnx"], ["story"], ["zip"]):
            refused = call("export", left, "--format", *options, "--out", str(place))
            assert refused.code == 2 and not place.exists(), options
            assert "go on without an epsilon (--without-epsilon)" in refused.err
        forms = {each.proto.label for each in open_page("run", run=held).get("download_button")}
        assert any("model.safetensors" in label for label in forms)
        run = whole(open_page("run", run=left))
        assert not any("Model" in each.proto.label for each in run.get("download_button"))
        assert "choose among 3 runs" in said(run, "warning")
        run.button("model_without").click().run()
        assert any("Model" in each.proto.label for each in run.get("download_button"))
        assert store.row(left).epsilon is None, "the strip says so too"
        epsilons = {key: record.epsilon for key, record in store.records([first, *others]).items()}
        assert epsilons.pop(left) is None and None not in epsilons.values()
        assert call("export", left, "--format", "md").code == 0
