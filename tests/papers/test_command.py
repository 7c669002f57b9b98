"""`fairpriv papers`: the list, a run at both its sizes' words, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairpriv_core import cli
from fairpriv_core.papers import catalog
from tests.papers import tiny


def command(
    *arguments: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> tuple[int, str, str]:
    """Return the exit code, standard output and standard error of a command."""
    monkeypatch.setattr("sys.argv", ["fairpriv", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    told = capsys.readouterr()
    return int(ended.value.code or 0), told.out, told.err


@pytest.fixture(autouse=True)
def only_tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "PAPERS", (tiny.PAPER,))


def test_papers_are_listed_with_what_they_wait_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, _ = command("papers", "--json", capsys=capsys, monkeypatch=monkeypatch)
    listed: dict[str, Any] = json.loads(out)["papers"][0]
    assert (code, listed["id"]) == (0, "tiny")
    assert [preset["waits_for"] for preset in listed["presets"]] == [None, None, None, "Waits for images."]
    assert all(preset["made"] is None for preset in listed["presets"])
    code, out, _ = command("papers", capsys=capsys, monkeypatch=monkeypatch)
    assert (
        code == 0
        and "tiny.figure1" in out
        and "no results yet; small: 2 seeds of 9" in out
        and "Waits for images." in out
    )


def test_a_figure_runs_once_and_is_judged(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ("papers", "run", "tiny.figure1", "--small", "--workers", "1", "--json")
    code, out, told = command(*asked, capsys=capsys, monkeypatch=monkeypatch)
    found = json.loads(out)
    assert code == 0 and "4 in 2 chunks: 4 new" in told
    assert len(found["keys"]) == 4 and found["version"] == "small"
    (verdict,) = found["verdicts"]
    assert verdict["standing"] in ("agrees", "disagrees", "open") and set(verdict["keys"]) == set(found["keys"])
    assert verdict["claim"] == "The paper says that PF-LD is fairer than N (Results). We take it as: by the gap."
    assert found["not_printed"].startswith("The paper prints no numbers")
    code, again, told = command(*asked[:-1], capsys=capsys, monkeypatch=monkeypatch)
    assert code == 0 and "nothing is left to run" in told
    assert verdict["sentence"] in again
    asked = ("papers", "run", "tiny.figure3", "--small", "--workers", "1", "--json")  # of the same runs
    code, out, told = command(*asked, capsys=capsys, monkeypatch=monkeypatch)
    assert code == 0 and "nothing is left to run" in told
    _judge_attacks(json.loads(out))


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


def test_what_waits_and_what_is_unknown_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, told = command("papers", "run", "tiny.figure2", capsys=capsys, monkeypatch=monkeypatch)
    assert (code, out) == (2, "") and "cannot run: Waits for images." in told
    code, out, told = command("papers", "run", "tiny.figure9", capsys=capsys, monkeypatch=monkeypatch)
    assert (code, out) == (2, "") and "choose from tiny.figure1" in told
