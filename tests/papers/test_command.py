"""`fairpriv papers`: the list, a run at both its sizes' words, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from fairpriv_core.cli import papers
from fairpriv_core.papers import catalog
from fairpriv_core.papers.status import TITLES
from fairpriv_core.runs.supervisor import run_here
from fairpriv_core.store.runs import open_store
from fairpriv_core.store.work import WorkStore
from tests.cli.commands import Call
from tests.papers import tiny
from tests.sweeps.here import Here


@pytest.fixture(autouse=True)
def only_tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no paper but one that takes no time, whose runs are trained in this process."""
    monkeypatch.setattr(catalog, "PAPERS", (tiny.PAPER,))
    monkeypatch.setattr(papers, "run_here", Here())


def test_papers_are_listed_with_what_they_wait_for(call: Call) -> None:
    said = call("papers", "--json")
    listed: dict[str, Any] = said.json["papers"][0]
    assert (said.code, listed["id"]) == (0, "tiny")
    assert [preset["waits_for"] for preset in listed["presets"]] == [None, None, None, "Waits for images."]
    assert all(preset["made"] is None for preset in listed["presets"])
    none = {"text": "PF-LD is fairer than N (by the gap)", "status": "open", "seeds": 0, "seeds_needed": None}
    assert listed["presets"][0]["claims"] == [none]
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
    (claim,), (case,) = found["claims"], found["cases"]
    assert claim["status"] in ("agrees", "differs", "open", "not_tested") and claim["seeds"] == 2
    assert claim["text"] == "PF-LD is fairer than N (by the gap)"
    assert set(claim["keys"]) == set(found["keys"]) and found["seeds"] == [0, 1]
    assert claim["source"] == "Results" and case["ours"] == claim["found"]
    assert found["not_printed"].startswith("The paper prints no numbers")
    said = call(*asked[:-1])
    assert said.code == 0 and "nothing is left to run" in said.err
    assert case["ours"] in said.out and found["sentence"] in said.out
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
    assert all(claim["found"] and len(claim["keys"]) == 4 for claim in found["claims"])
    assert [claim["text"].rpartition(": ")[2] for claim in found["claims"]] == ["Regression", "Forest"]


def test_runs_that_another_process_holds_are_told(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(papers, "run_here", lambda *_, workers: None)
    said = call("papers", "run", "tiny.figure1", "--small", "--workers", "1", "--json")
    assert said.code == 1 and said.json["keys"] == []
    assert "4 of 4 runs have not ended: fairpriv papers run tiny.figure1 --small goes on with them." in said.err


def test_a_run_that_cannot_go_on_is_named_with_the_way_to_start_it_anew(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(place: str | None, chunks: Sequence[str], _: object, *, workers: int) -> None:
        with open_store(place) as store:
            work = WorkStore(store.database)
            for claim in work.claim(chunk=chunks):
                work.hand_back([claim], "paused", f"run {claim.key} cannot go on. It is paused.")

    asked = ("papers", "run", "tiny.figure1", "--small", "--workers", "1", "--json")
    with monkeypatch.context() as earlier:
        earlier.setattr(papers, "run_here", refuse)
        said = call(*asked)
    assert said.code == 1
    key = said.err.rpartition("runs delete ")[2].partition(",")[0]
    assert f"and 2 cannot: run {key} cannot go on. It is paused. After fairpriv runs delete {key}, " in said.err
    assert call("runs", "delete", key).code == 0
    assert key in call(*asked).json["keys"]


def test_other_seeds_and_settings_are_run_by_processes_and_named(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(papers, "run_here", run_here)
    asked = ("papers", "run", "tiny.figure1", "--workers", "1", "--seeds", "7..8", "--set", "epochs=1")
    said = call(*asked, "--json")
    assert said.code == 0 and said.json["seeds"] == [7, 8]
    assert said.json["asked"] == ["--seeds 7..8", "--set epochs=1"]
    with open_store() as store:
        ran = [store.row(key).config for key in said.json["keys"]]
    assert {(config["seed"], config["method"]["epochs"]) for config in ran} == {(7, 1), (8, 1)}
    assert "with --seeds 7..8 --set epochs=1" in call(*asked).out


def test_a_figure_of_several_sweeps_tells_one_cost(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "PAPERS", (replace(tiny.PAPER, presets=(tiny.SEVERAL,)),))
    said = call("papers", "run", "tiny.figure1", "--workers", "1", "--json")
    assert said.code == 0 and said.json["seeds"] == [0] and len(said.json["keys"]) == 4
    assert said.err.count("4 in 4 chunks: 4 new") == said.err.count("new") == 1


@pytest.mark.parametrize("seeds", ["2..1", "a..b", "-1..3", "0..1000", "1.5", ""])
def test_seeds_that_are_none_are_refused(call: Call, seeds: str) -> None:
    said = call("papers", "run", "tiny.figure1", f"--seeds={seeds}")
    assert said.code == 2 and f"got '{seeds}'" in said.err


def test_a_setting_that_no_method_has_is_refused(call: Call) -> None:
    said = call("papers", "run", "tiny.figure1", "--set", "nonsense=1")
    assert said.code == 2 and "none of its methods has a hyper-parameter 'nonsense'" in said.err


def test_results_made_earlier_are_shown_without_training(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    said = call("papers", "show", "tiny.figure1")
    assert said.code == 2 and "fairpriv papers run tiny.figure1" in said.err
    monkeypatch.undo()
    said = call("papers", "show", "dp_fermi.figure10", "--json")
    found = said.json
    assert said.code == 0 and found["id"] == "dp_fermi.figure10"
    assert len(found["claims"]) == 6 and {claim["status"] for claim in found["claims"]} <= set(TITLES)


def test_what_waits_and_what_is_unknown_is_refused(call: Call) -> None:
    said = call("papers", "run", "tiny.figure2")
    assert (said.code, said.out) == (2, "") and "cannot run: Waits for images." in said.err
    said = call("papers", "run", "tiny.figure9")
    assert (said.code, said.out) == (2, "") and "choose from tiny.figure1" in said.err
