"""Reports of runs whose data were encoded plainly or thinned: it stands with the data, and in the model card."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fairpriv_core.documents.document import AUDIENCES, Audience
from fairpriv_core.documents.forms import open_report
from fairpriv_core.facts import wording
from tests.documents.made_up import ADULT, Told, make_data, tell_run
from tests.documents.test_policy import read_form

THINNED = "training rows of larger groups, drawn at random, until the smallest group's size over theirs was at least"
#: what is asked of the data, what a report says of it, how its card does, and what no report of other runs says
ASKED = [
    ({"encoding": "plain"}, wording.encoding_text("plain"), "Encoding {}.", "without bins"),
    ({"group_ratio": 0.8}, f"{THINNED} about 0.8", "Left out were {}.", "larger groups"),
]


def tell(key: str, **asked: Any) -> Told:
    return tell_run(key, data={**ADULT, **asked})


@pytest.mark.parametrize("audience", AUDIENCES)
@pytest.mark.parametrize(("asked", "said", "told", "unsaid"), ASKED)
def test_a_report_says_what_was_asked_of_the_data(
    asked: dict[str, Any], said: str, told: str, unsaid: str, audience: Audience
) -> None:
    report = open_report(make_data(tell("a" * 16, **asked)), audience)
    page = read_form(report, "html").replace("&#x27;", "'")
    assert said in page and told.format(said) in read_form(report, "md").replace("\\", "")
    usual = open_report(make_data(tell("a" * 16)), audience)
    assert all(unsaid not in read_form(usual, form) for form in ("html", "md"))


def test_the_same_data_asked_for_otherwise_is_described_on_its_own() -> None:
    runs = [tell("a" * 16), *(tell(key * 16, **asked) for key, (asked, *_) in zip("bc", ASKED, strict=True))]
    assert read_form(open_report(make_data(*runs), "analyst"), "html").count("to train on and") == 3


def test_an_epsilon_on_thinned_rows_says_what_it_takes_as_given() -> None:
    thinned, whole = tell("a" * 16, group_ratio=0.8).epsilon, tell("a" * 16).epsilon
    assert thinned.line.endswith(f". {wording.THINNED}") and thinned.line.startswith(whole.line)
    assert wording.THINNED not in replace(thinned, threat_model=None).line
