"""Every preset holds together: its runs can be, and each thing that it draws, prints beside or claims has some."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from examples.make_papers_results import FOLDER, render_documents
from examples.paper_pages import count_made
from fairpriv_core.errors import BadInput
from fairpriv_core.figures.paper_figures import draw_preset, list_cells
from fairpriv_core.methods.catalog import methods
from fairpriv_core.papers import scoreboard
from fairpriv_core.papers.catalog import find_preset, papers, presets
from fairpriv_core.papers.paper_run import PaperRun
from fairpriv_core.papers.preset import GAP, Compare, PaperClaim, Plot, Preset, Quantity
from fairpriv_core.papers.printed import set_beside
from fairpriv_core.papers.results import FOLDER as KEPT
from fairpriv_core.papers.results import Made
from fairpriv_core.papers.runs import join_sweeps, list_configs
from fairpriv_core.papers.scoreboard import format_figure_verdict, list_claims
from fairpriv_core.papers.status import LOST_RULE, Status
from fairpriv_core.papers.values import choose, list_paths
from fairpriv_core.papers.verdicts import Finding, Verdict, judge, judge_all
from fairpriv_core.records.config import name_config
from fairpriv_core.sweeps.spec import build_sweep, expand
from tests.papers.records import cut, name_settings, read_kept

READY = [preset for preset in presets().values() if not preset.waits_for]
LARGEST = 600_000  # bytes, some 20 for each run and seed
LARGEST_PAGE = 6_000  # bytes that a person reads: a row a figure


@cache
def pretend(preset_id: str, version: str) -> list[PaperRun]:
    """Return a run for each config of a version at two seeds, every gap one half."""
    preset = find_preset(preset_id)
    paths = [name for name in list_paths(preset) if name not in ("gap", "seconds_per_epoch")]
    found = []
    for key, asked in name_settings([cut(raw, 2) for raw in preset.versions[version].sweeps]).items():
        numbers = dict.fromkeys(paths, 0.5)
        numbers |= {f"metrics/{asked['notion']}_gap": 0.5, "metrics/accuracy": 0.99}  # above any level to be reached
        threat = methods()[asked["method"]["name"]].info.threat_model
        stated = {"threat_model": threat, "variant": asked["method"].get("variant"), "seconds": 1.0}
        setting = name_config({**asked, "seed": 0})
        found.append(PaperRun(key, asked, setting=setting, numbers=numbers, **stated))
    return found


@pytest.mark.parametrize("preset", READY, ids=lambda preset: preset.id)
def test_a_preset_can_run_is_filled_and_told(preset: Preset) -> None:
    pretend.cache_clear()
    assert_runs(preset)
    assert_one_sweep(preset)
    assert_filled(preset)
    assert_told(preset)


def assert_runs(preset: Preset) -> None:
    """All combinations of the small version can run, at three seeds or more; what is kept is of these settings.

    A preset that is made from others has their sweeps.
    """
    if preset.made_from:
        for size, version in preset.versions.items():
            theirs = [raw for name in preset.made_from for raw in find_preset(name).versions[size].sweeps]
            assert list(version.sweeps) == theirs
        return
    small = preset.versions["small"].sweeps
    sweeps = [build_sweep(cut(raw, 1)) for raw in small]
    cells = [(each.invalid, cell) for each in sweeps for cell in expand(each)]
    assert not [cell.reason for invalid, cell in cells if invalid == "refuse" and cell.reason]
    assert len({seed for raw in small for seed in raw["axes"]["seed"]}) >= 3
    made = read_kept().get(preset.id)
    if made is not None:
        assert_kept(preset, made)


def assert_kept(preset: Preset, made: Made) -> None:
    settings = name_settings(preset.versions[made.version].sweeps)
    assert {run.key.partition("-")[0] for run in made.runs} | set(made.failed) == set(settings)
    assert not {run.key.partition("-")[0] for run in made.runs} & set(made.failed)
    assert all(settings[run.key.partition("-")[0]] == run.config for run in made.runs)
    paths = list_paths(preset)
    assert not [path for run in made.runs for path in paths if has_by_nature(run, path) and run.read(path) is None]


def assert_one_sweep(preset: Preset) -> None:
    """The sweeps of a figure are one, with a seed each."""
    for version in preset.versions.values():
        sweeps = [cut(raw, 1) for raw in version.sweeps]
        assert list_configs([join_sweeps(sweeps)]).keys() == list_configs(sweeps).keys()
        assert len({json.dumps(raw.get("sweep", {})) for raw in sweeps}) == 1


def test_sweeps_that_differ_in_anything_are_one() -> None:
    data = {"dataset": "synthetic", "sensitive": "group"}
    one = {"data": data, "notion": "equalized_odds", "axes": {"method": ["none", "pf_ld"], "epsilon": [1], "seed": [0]}}
    other = {"data": {**data, "sensitive": "region"}, "axes": {"method": ["pf_ld"], "epsilon": [2, 3], "seed": [1]}}
    sweeps = [one, {**other, "notion": "demographic_parity"}, {**one, "axes": {**one["axes"], "seed": [5]}}]
    for chosen in (sweeps, sweeps[:1], sweeps[::2]):
        assert list_configs([join_sweeps(chosen)]).keys() == list_configs(chosen).keys()
    assert len(list_configs(sweeps)) == 6


def assert_filled(preset: Preset) -> None:
    """The small version fills all that is shown."""
    runs = pretend(preset.id, "small")
    figures, cells = draw_preset(preset, runs), list_cells(preset, runs)
    assert bool(figures) != bool(cells)
    assert all(series.x and all(y is not None for y in series.y) for figure in figures for series in figure.series)
    assert all(figure.alt and figure.caption for figure in figures)
    assert not [line for line in cells if "–" in line.values()]
    assert not [one.label for one in set_beside(preset, runs) if one.ours == "–"]
    judged = judge_all(preset, runs)
    assert all(one.words and one.runs for verdict in judged for one in (*verdict.cases, *verdict.own))
    if isinstance(preset.drawing, Plot):
        nowhere = [part.name for part in preset.drawing.series if not choose(pretend(preset.id, "full"), part.where)]
        assert not nowhere


def assert_told(preset: Preset) -> None:
    """A claim is told in our words, and the paper is judged without our variants."""
    runs = pretend(preset.id, "small")
    for claim in preset.claims:
        assert not claim.says.endswith(".") and "(we" not in claim.says and claim.reading[-1:] != "."
        alone = judge(replace(claim, ours=None), [run for run in runs if run.variant != "proved"])
        used = [run for one in alone.cases for run in one.runs]
        assert used, f"{claim.says}: nothing that the paper had is judged"
        assert not claim.ours or all(run.variant != "proved" for run in used)


def test_how_many_have_results_is_counted() -> None:
    ready = next(preset for preset in READY if preset.id in read_kept())
    left = Preset("pf_ld.figure0", "Figure 0: a dream", "Nothing.", waits_for="Waits for what is not built yet.")
    paper = replace(papers()["pf_ld"], presets=(ready, left, replace(ready, id="pf_ld.figure9")))
    assert count_made({"pf_ld": paper}, {ready.id: read_kept()[ready.id]}) == (
        "1 of the 3 figures and tables of the papers have results here; 1 waits for what is not built yet; 1 can run "
        "and has no results yet."
    )
    done = replace(paper, presets=(ready,))
    assert count_made({"pf_ld": done}, {ready.id: read_kept()[ready.id]}) == (
        "1 of the 1 figures and tables of the papers have results here."
    )


def test_ids_name_their_paper_and_exist_once() -> None:
    ids = [preset.id for paper in papers().values() for preset in paper.presets]
    assert len(ids) == len(set(ids))
    assert all(preset.id.startswith(f"{paper.id}.") for paper in papers().values() for preset in paper.presets)


def test_an_unknown_preset_is_refused_with_the_known_ones() -> None:
    with pytest.raises(BadInput, match=r"pf_ld\.figure1"):
        find_preset("figure9")


def test_a_preset_that_can_run_must_say_what_was_printed() -> None:
    known = find_preset("pf_ld.figure1")
    with pytest.raises(BadInput, match="printed numbers"):
        Preset("a.b", "t", "s", full=known.full, small=known.small, drawing=known.drawing)
    with pytest.raises(BadInput, match="waits for"):
        Preset("a.b", "t", "s")


def has_by_nature(run: PaperRun, path: str) -> bool:
    """Return whether a run has a number: no mean of log 0; certificates of methods that certify, and proved ones only
    where no person has several rows."""
    if path == "metrics/accuracy" and run.read("bias_variance/tau") is not None:
        return False  # Figure 1b's were made before it was kept; no digit is more than 14 of 100 answers
    if path == "metrics/mean_log_deviation":
        return bool(run.read("metrics/atkinson") < 1.0)  # at 1, a group has no right answer
    if not path.startswith("notes/certificates/"):
        return True
    several = run.config["data"]["dataset"] == "utkface"  # some faces are in it twice or more
    certifies = methods()[run.config["method"]["name"]].info.certifies
    return certifies and not (several and run.variant == "proved")


def test_runs_that_came_to_no_model_are_told_of() -> None:
    assert Made("2026-01-01", "small", ()).format_failed_runs() == ""
    failed = {
        "a": "training diverged in epoch 12: lower it.",
        "b": "training diverged in epoch 9: lower it.",
        "c": "no",
    }
    assert Made("2026-01-01", "small", ({"key": "d"},), failed).format_failed_runs() == (
        "3 of 4 runs came to no model and are in no number (2 × training diverged in epoch …; 1 × no). "
    )


def remember(work: Callable[[Preset, Any], Any]) -> Callable[[Preset, Any], Any]:
    """Return `work` that is done once for each preset and runs, which the documents ask for several times."""
    known: dict[tuple[str, int], Any] = {}

    def once(preset: Preset, runs: Any) -> Any:
        key = preset.id, id(runs)
        if key not in known:
            known[key] = runs, work(preset, runs)
        return known[key][1]

    return once


def test_the_documentation_is_what_the_results_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("examples.make_papers_results.read_made", read_kept)
    for name, work in (("judge_all", remember(judge_all)), ("set_beside", remember(set_beside))):
        monkeypatch.setattr(scoreboard, name, work)
    documents = render_documents()
    assert set(FOLDER.iterdir()) == {path for path in documents if path.parent == FOLDER}
    unlike = [path.name for path, text in documents.items() if path.read_text(encoding="utf-8") != text]
    assert not unlike, "run: python -m examples.make_papers_results"


def test_a_page_is_short_and_has_a_row_for_each_figure() -> None:
    for paper in papers().values():
        page = (FOLDER / f"{paper.id}.md").read_text(encoding="utf-8")
        made = [preset for preset in paper.presets if preset.id in read_kept()]
        assert LOST_RULE in page
        figures = {preset.title.partition(":")[0] for preset in made}
        assert len(page.encode()) < LARGEST_PAGE and page.count("\n| ") == 2 + len(figures)
        rows = [line for line in page.splitlines() if line.startswith("| ")]
        named = [name for row in rows for name in re.findall(r"`([\w.]+)`", row.split(" | ")[0])]
        assert sorted(named) == sorted(preset.id for preset in made)


@pytest.mark.parametrize(
    ("statuses", "answer"),
    [
        (("agrees", "agrees", "agrees"), "yes"),
        (("differs", "differs", "agrees"), "no at ε ≤ 1, yes at ε = 3"),
        (("agrees", "open", "open"), "yes at ε = 0.5, open at ε ≥ 1"),
        (("not_tested",) * 3, "not tested"),
    ],
)
def test_a_figure_is_told_in_a_readers_sentence(
    statuses: Sequence[Status], answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = PaperClaim("it is fair", "a section", Compare(Quantity("A", GAP), 1.0))
    found = [Finding(f"ε = {value:g}", status, seeds=3) for value, status in zip((0.5, 1, 3), statuses, strict=True)]
    other = Verdict(replace(claim, says="it is quick"), "", (Finding("", "open", seeds=3),), ())
    monkeypatch.setattr(scoreboard, "judge_all", lambda *_: [Verdict(claim, "", tuple(found), ()), other])
    assert (
        format_figure_verdict(READY[0], list_claims(READY[0], []), [])
        == f"“It is fair”: {answer}. Other statements: 1 open"
    )


@pytest.mark.parametrize(
    ("cases", "against", "where"),
    [
        (("ε = 0.5", "ε = 1", "ε = 3"), (0, 1), " at ε ≤ 1"),
        (("ε = 0.5", "ε = 1", "ε = 3"), (0, 1, 2), ""),
        (("Adult", "Bank"), (1,), " for Bank"),
        (("Adult, ε = 0.5, the first half", "Adult, ε = 0.5, the second half", "Bank"), (0, 2), " in 2 of 3 cases"),
    ],
)
def test_a_sentence_says_where_our_runs_came_out_against_what_stays_open(
    cases: Sequence[str], against: Sequence[int], where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = PaperClaim("it is fair", "a section", Compare(Quantity("A", GAP), 1.0), lost="the settings")
    verdicts = [
        Verdict(claim, "", tuple(Finding(case, "open", against=at in told) for at, case in enumerate(cases)), ())
        for told in (against[-1:], against[:-1])
    ]
    monkeypatch.setattr(scoreboard, "judge_all", lambda *_: verdicts)
    told = format_figure_verdict(READY[0], list_claims(READY[0], []), [])
    assert told.endswith(f"; our runs came out against it{where}")


def test_committed_results_stay_small() -> None:
    files = list(KEPT.glob("*.parquet"))
    assert files and max(path.stat().st_size for path in files) < LARGEST
