"""Seeds that no kept result has reverse no verdict, as far as they were run."""

from __future__ import annotations

import pytest

from benchmarks.repeat_papers import SETTLED, list_kept, list_reversed, read_results
from fairpriv_core.papers.scoreboard import list_claims

RESULTS, KEPT = read_results(), list_kept()


def test_no_verdict_is_reversed() -> None:
    assert list_reversed(RESULTS) == []


@pytest.mark.parametrize("name", RESULTS)
def test_what_was_repeated_is_what_is_kept_today(name: str) -> None:
    preset, made = KEPT[name]
    kept = [(each.text, each.status) for each in list_claims(preset, made.runs)]
    assert [(each["claim"], each["kept"]) for each in RESULTS[name]] == kept


def test_reversed_is_what_was_settled_and_is_settled_otherwise() -> None:
    agrees, differs = SETTLED
    turned = {"claim": "it is fair", "kept": agrees, "repeated": differs}
    calm = [{**turned, "repeated": one} for one in (agrees, "open", "not_tested")] + [{**turned, "kept": "open"}]
    assert list_reversed({"made.figure1": [turned, *calm]}) == [("made.figure1", "it is fair")]
