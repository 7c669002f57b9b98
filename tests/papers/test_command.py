"""`fairpriv papers`: the list, a run at both its sizes' words, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from fairpriv_core.papers import catalog
from tests.cli.commands import Call
from tests.papers import tiny


@pytest.fixture(autouse=True)
def only_tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "PAPERS", (tiny.PAPER,))


def test_papers_are_listed_with_what_they_wait_for(call: Call) -> None:
    said = call("papers", "--json")
    listed: dict[str, Any] = said.json["papers"][0]
    assert (said.code, listed["id"]) == (0, "tiny")
    assert [preset["waits_for"] for preset in listed["presets"]] == [None, None, None, "Waits for images."]
    assert all(preset["made"] is None for preset in listed["presets"])
    said = call("papers")
    assert (
        said.code == 0
        and "tiny.figure1" in said.out
        and "no results yet; small: 2 seeds of 9" in said.out
        and "Waits for images." in said.out
    )


def test_a_figure_runs_once_and_is_judged(call: Call) -> None:
    asked = ("papers", "run", "tiny.figure1", "--small", "--workers", "1", "--json")
    said = call(*asked)
    found = said.json
    assert said.code == 0 and "4 in 2 chunks: 4 new" in said.err
    assert len(found["keys"]) == 4 and found["version"] == "small"
    (verdict,) = found["verdicts"]
    assert verdict["standing"] in ("agrees", "disagrees", "open") and set(verdict["keys"]) == set(found["keys"])
    assert verdict["claim"] == "The paper says that PF-LD is fairer than N (Results). We take it as: by the gap."
    assert found["not_printed"].startswith("The paper prints no numbers")
    said = call(*asked[:-1])
    assert said.code == 0 and "nothing is left to run" in said.err
    assert verdict["sentence"] in said.out
    asked = ("papers", "run", "tiny.figure3", "--small", "--workers", "1", "--json")  # of the same runs
    said = call(*asked)
    assert said.code == 0 and "nothing is left to run" in said.err
    _judge_attacks(said.json)


def _judge_attacks(found: dict[str, Any]) -> None:
    """Assert that what is measured at finished models has a bar for each attacker, and that a run counts once."""
    assert len(found["keys"]) == len(set(found["keys"])) == 4
    assert [(line["series"], line["at"]) for line in found["lines"]] == [
        ("N", "Regression"),
        ("N", "Forest"),
        ("PF-LD, proved", "Regression"),
        ("PF-LD, proved", "Forest"),
    ]
    assert all(0.0 < float(line["mean"]) < 100.0 for line in found["lines"])
    (verdict,) = found["verdicts"]
    assert "Regression: " in verdict["sentence"] and "Forest: " in verdict["sentence"] and len(verdict["keys"]) == 4
    assert "of 2 cases" in verdict["sentence"] and "without runs" not in verdict["sentence"]


def test_what_waits_and_what_is_unknown_is_refused(call: Call) -> None:
    said = call("papers", "run", "tiny.figure2")
    assert (said.code, said.out) == (2, "") and "cannot run: Waits for images." in said.err
    said = call("papers", "run", "tiny.figure9")
    assert (said.code, said.out) == (2, "") and "choose from tiny.figure1" in said.err
