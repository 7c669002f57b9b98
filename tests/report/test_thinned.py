"""Reports of runs whose training rows were thinned: the ratio stands with the data and in the model card."""

from __future__ import annotations

import pytest

from fairpriv_core.report import wording
from fairpriv_core.report.document import AUDIENCES, Audience
from fairpriv_core.report.forms import open_report
from fairpriv_core.report.report_data import ReportRun
from tests.report.made_up import make_data, tell_run
from tests.report.test_policy import read_form

SAID = "training rows of larger groups, drawn at random, until the smallest group's size over theirs was at least"
SAID += " about 0.8"


def tell(key: str, ratio: float | None, seed: int = 0) -> ReportRun:
    data = {"dataset": "adult", "file": None, "label": None, "positive": None, "sensitive": "sex"}
    return tell_run(key, seed=seed, data=data if ratio is None else {**data, "group_ratio": ratio})


@pytest.mark.parametrize("audience", AUDIENCES)
def test_a_report_says_what_was_left_out(audience: Audience) -> None:
    report = open_report(make_data(tell("a" * 16, 0.8)), audience)
    page = read_form(report, "html").replace("&#x27;", "'").replace("&#39;", "'")
    assert SAID in page and f"Left out were {SAID}." in read_form(report, "md").replace("\\", "")
    whole = open_report(make_data(tell("a" * 16, None)), audience)
    assert all("larger groups" not in read_form(whole, form) for form in ("html", "md"))


def test_an_epsilon_on_thinned_rows_says_what_it_takes_as_given() -> None:
    thinned, whole = (tell("a" * 16, ratio).record for ratio in (0.8, None))
    assert wording.epsilon_line(thinned).endswith(f". {wording.THINNED}")
    assert wording.epsilon_line(thinned).startswith(wording.epsilon_line(whole))
    assert wording.THINNED not in wording.epsilon_line({**thinned, "threat_model": None})


def test_the_same_data_thinned_otherwise_is_described_on_its_own() -> None:
    report = open_report(make_data(tell("a" * 16, None), tell("b" * 16, 0.8)), "analyst")
    assert read_form(report, "html").count("to train on and") == 2
