"""The Report page: runs and audience chosen, a preview that shows what the file will hold, and every form offered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from fairpriv_core.report import chosen, measured
from fairpriv_core.report.document import NOTICES
from fairpriv_core.report.forms import NO_BROWSER
from fairpriv_core.store.runs import open_store

Open = Callable[..., AppTest]
Charts = Callable[[AppTest], list[dict[str, Any]]]


def read(page: AppTest) -> str:
    """Return every text of the page."""
    tables = [each.proto.body for each in page.get("html")]
    return "\n".join([*(str(item.value) for item in [*page.markdown, *page.caption, *page.header]), *tables])


def list_keys(store: Path) -> list[str]:
    with open_store(str(store)) as opened:
        return [row.key for row in opened.rows()]


def test_without_a_run_it_says_where_runs_come_from(open_page: Open) -> None:
    page = open_page("report")
    assert not page.exception and "No finished run yet" in page.info[0].value


def test_the_analyst_sees_exact_numbers_and_whose_they_are(with_runs: Path, open_page: Open, charts_of: Charts) -> None:
    page = open_page("report", runs=list_keys(with_runs))
    assert not page.exception
    text = read(page)
    assert "For the analyst. Synthetic is public." in text and "Do not publish" not in text
    assert "What came out" in text and "Model card of Run 1" in text
    assert {"chosen_trade_off", "overlay_accuracy"} <= {
        chart["figure"]["layout"]["uirevision"] for chart in charts_of(page)
    }
    offered = {button.proto.label for button in page.get("download_button")}
    assert {"Report (HTML, one file)", "Notebook that repeats the runs", "Model card (Markdown)"} <= offered


def test_policy_sees_the_headline_first_and_the_rest_on_request(with_runs: Path, open_page: Open) -> None:
    page = open_page("report", runs=list_keys(with_runs), audience="policy")
    assert not page.exception
    text = read(page).replace("\\", "")
    assert (
        "At ε = 1 the gap between A and B does not clearly change" in text and "Synthetic is a public data set" in text
    )
    [details] = [each for each in page.expander if each.label == "Details"]
    assert "What is left out, and why" in "".join(item.value for item in details.markdown)
    assert "What was asked" not in text.partition("What is not promised")[0]


def test_policy_sees_no_raw_number_of_data_that_are_not_public(
    with_runs: Path, open_page: Open, charts_of: Charts, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (chosen, measured):
        monkeypatch.setattr(module, "is_published", lambda data: False)
    keys = list_keys(with_runs)
    page = open_page("report", runs=keys, audience="policy")
    assert not page.exception
    text, drawn = read(page), charts_of(page)
    assert NOTICES["policy"] in text and "What is left out, and why" in text
    with open_store(str(with_runs)) as store:
        metrics = [record.metrics or {} for record in store.records(keys).values()]
    for found in metrics:
        raw = [found["demographic_parity_gap"], *(group["positive_rate"] for group in found["groups"])]
        assert not any(f"{100 * value:.2f}" in text for value in raw)
        assert not any(str(value) in str(drawn) or str(100 * value) in str(drawn) for value in raw)
    assert not {"overlay_accuracy", "groups_positive_rate"} & {each["figure"]["layout"]["uirevision"] for each in drawn}


def test_runs_and_audience_stand_in_the_address(with_runs: Path, open_page: Open) -> None:
    page = open_page("report")
    assert page.query_params["audience"] == "analyst" and page.query_params["runs"] in list_keys(with_runs)
    page.segmented_control("audience").set_value("policy").run()
    assert page.query_params["audience"] == "policy"
    page.multiselect("runs").set_value([]).run()
    assert "Choose 1 to 6" in page.info[0].value


def test_the_newest_run_is_offered_where_another_is_chosen(with_runs: Path, open_page: Open) -> None:
    keys = list_keys(with_runs)
    page = open_page("report")
    newest = page.multiselect("runs").value[0]
    assert "report_newest" not in {button.key for button in page.button}
    other = next(key for key in keys if key not in open_page("report", runs=newest).multiselect("runs").value)
    page = open_page("report", runs=keys[-1] if keys[-1] != newest else other)
    before = page.multiselect("runs").value
    page.button("report_newest").click().run()
    assert page.multiselect("runs").value == [*before, newest]
    assert "report_newest" not in {button.key for button in page.button}


def test_without_a_browser_it_says_what_to_do(
    with_runs: Path, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROWSER_PATH", "")
    monkeypatch.setenv("PATH", "")
    page = open_page("report")
    assert NO_BROWSER in read(page)
    assert not [button for button in page.button if "PDF" in button.label]
    assert "Everything (ZIP)" in {button.proto.label for button in page.get("download_button")}


def test_the_pdf_is_made_on_a_click_and_kept_while_the_report_is_the_same(
    with_runs: Path, open_page: Open, chromium: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROWSER_PATH", chromium)
    page = open_page("report")
    page.button("report_pdf").click().run()
    assert not page.exception and not page.error
    assert "Save: Report (PDF)" in {button.proto.label for button in page.get("download_button")}
    page.segmented_control("audience").set_value("policy").run()
    assert "Save: Report (PDF)" not in {button.proto.label for button in page.get("download_button")}
