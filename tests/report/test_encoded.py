"""Reports of runs under the plain encoding: it stands with the data, in the model card."""

from __future__ import annotations

import pytest

from fairpriv_core.report import wording
from fairpriv_core.report.document import AUDIENCES, Audience
from fairpriv_core.report.forms import open_report
from fairpriv_core.report.report_data import ReportRun
from tests.report.made_up import make_data, tell_run
from tests.report.test_policy import read_form

SAID = wording.encoding_text("plain")


def tell(key: str, encoding: str | None) -> ReportRun:
    data = {"dataset": "adult", "file": None, "label": None, "positive": None, "sensitive": "sex"}
    return tell_run(key, data=data if encoding is None else {**data, "encoding": encoding})


@pytest.mark.parametrize("audience", AUDIENCES)
def test_a_report_says_the_encoding(audience: Audience) -> None:
    report = open_report(make_data(tell("a" * 16, "plain")), audience)
    assert SAID in read_form(report, "html") and f"Encoding {SAID}." in read_form(report, "md").replace("\\", "")
    usual = open_report(make_data(tell("a" * 16, None)), audience)
    assert all("without bins" not in read_form(usual, form) for form in ("html", "md"))


def test_the_same_data_encoded_otherwise_is_described_on_its_own() -> None:
    report = open_report(make_data(tell("a" * 16, None), tell("b" * 16, "plain")), "analyst")
    assert read_form(report, "html").count("to train on and") == 2
