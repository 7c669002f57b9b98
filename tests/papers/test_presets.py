"""Every preset holds together: its runs can be, and each thing that it draws, prints beside or claims has some."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fairpriv_core.errors import BadInput
from fairpriv_core.papers.catalog import find_preset, papers, presets
from fairpriv_core.papers.preset import Plot, Preset
from fairpriv_core.papers.results import PATH, Made, read_made
from fairpriv_core.report.paper_prose import render_papers
from fairpriv_core.report.paper_values import choose, list_paths, read_path
from fairpriv_core.report.papers import draw_preset, list_cells, set_beside
from fairpriv_core.report.verdicts import judge
from fairpriv_core.runs.paper_runs import list_configs
from fairpriv_core.runs.sweep_cells import expand
from fairpriv_core.runs.sweep_spec import build_sweep

READY = [preset for preset in presets().values() if not preset.waits_for]
LARGEST = 1_500_000


def pretend(preset: Preset, version: str) -> list[dict[str, Any]]:
    """Return a record for each config of a version at two seeds, every gap one half."""
    found = []
    for key, config in list_configs([cut(raw) for raw in preset.versions[version].sweeps]).items():
        numbers = {name: 0.5 for name in list_paths(preset) if name not in ("gap", "seconds_per_epoch")}
        numbers |= {f"metrics/{config.notion}_gap": 0.5, "metrics/accuracy": 0.99}  # above any level to be reached
        threat = config.method.info.threat_model
        stated = {"threat_model": threat, "variant": getattr(config.method, "variant", None), "seconds": 1.0}
        found.append({"key": key, "config": config.to_json(), "numbers": numbers, **stated})
    return found


def cut(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return a sweep with its first two seeds."""
    return {**raw, "axes": {**raw["axes"], "seed": raw["axes"]["seed"][:2]}}


@pytest.mark.parametrize("preset", READY, ids=lambda preset: preset.id)
def test_all_combinations_of_the_small_version_can_run(preset: Preset) -> None:
    sweeps = [build_sweep(raw) for raw in preset.versions["small"].sweeps]
    wrong = [cell.reason for each in sweeps if each.invalid == "refuse" for cell in expand(each) if cell.reason]
    assert not wrong
    seeds = {config.seed for config in list_configs(preset.versions["small"].sweeps).values()}
    assert len(seeds) >= 3


@pytest.mark.parametrize("preset", READY, ids=lambda preset: preset.id)
def test_the_small_version_fills_all_that_is_shown(preset: Preset) -> None:
    runs = pretend(preset, "small")
    figures, cells = draw_preset(preset, runs), list_cells(preset, runs)
    assert bool(figures) != bool(cells)
    assert all(series.x and all(y is not None for y in series.y) for figure in figures for series in figure.series)
    assert all(figure.alt and figure.caption for figure in figures)
    assert not [line for line in cells if "–" in line.values()]
    assert not [one.label for one in set_beside(preset, runs) if one.ours == "–"]
    assert not [claim.says for claim in preset.claims if judge(claim, runs).standing == "open"]
    if isinstance(preset.drawing, Plot):
        nowhere = [part.name for part in preset.drawing.series if not choose(pretend(preset, "full"), part.where)]
        assert not nowhere


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


@pytest.mark.parametrize("name", sorted(read_made()))
def test_committed_results_are_those_of_todays_settings(name: str) -> None:
    made: Made = read_made()[name]
    preset = find_preset(name)
    keys = list_configs(preset.versions[made.version].sweeps)
    assert {run["key"].partition("-")[0] for run in made.runs} == set(keys)
    assert all(keys[run["key"].partition("-")[0]].to_json() == run["config"] for run in made.runs)
    paths = list_paths(preset)
    assert not [path for run in made.runs for path in paths if read_path(run, path) is None]


def test_the_documentation_is_what_the_results_say() -> None:
    page = Path(__file__).parents[2] / "docs" / "papers.md"
    assert page.read_text(encoding="utf-8") == render_papers(papers(), read_made())


def test_committed_results_stay_small() -> None:
    assert not PATH.exists() or PATH.stat().st_size < LARGEST
