"""The full version of each figure of DP-FERMI keeps to what Appendices F.2.1 and F.3 print of its settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairpriv_core.data.dataset import load_dataset
from fairpriv_core.data.image_benchmarks import AGES
from fairpriv_core.papers.dp_fermi import FIGURE_2, FIGURE_3, FIGURE_3_PEOPLE, PAPER
from fairpriv_core.papers.dp_fermi_faces import FIGURE_5, FIGURE_5_AGES
from fairpriv_core.papers.preset import Plot, Preset, Table
from fairpriv_core.papers.runs import list_configs

READY = [preset for preset in PAPER.presets if preset not in (FIGURE_5, FIGURE_5_AGES)]
BUDGETS = {"dp_fermi.figure3": {1.0, 3.0}, "dp_fermi.figure8": {0.5, 9.0}, "dp_fermi.iterate": {1.0, 3.0}}
OF_NOTION = {"demographic_parity": {0.5, 1.0, 3.0, 9.0}, "equalized_odds": {0.5, 1.0, 3.0}}


@pytest.mark.parametrize("preset", READY, ids=lambda preset: preset.id)
def test_settings_lie_in_the_printed_ranges(preset: Preset) -> None:
    configs = [config.to_json() for config in list_configs(preset.versions["full"].sweeps).values()]
    ours = [one for one in configs if one["method"]["name"] == "dp_fermi" and one["method"]["variant"] == "published"]
    methods = [one["method"] for one in ours]
    most = 2.0 if ours[0]["notion"] == "equalized_odds" else 5.0
    assert {(method["epochs"], method["batch_size"], method["hidden_layers"]) for method in methods} == {(200, 1024, 0)}
    assert all(0.0 <= method["multiplier"] <= 2.5 for method in methods)
    assert all(0.005 <= method[name] <= 0.01 for method in methods for name in ("learning_rate", "dual_step"))
    assert all(1.0 <= method[name] <= most for method in methods for name in ("dual_norm", "clip_primal"))
    assert {one["seed"] for one in ours} == set(range(15))
    assert {one["epsilon"] for one in ours} == BUDGETS.get(
        preset.id.removesuffix("_people"), OF_NOTION[ours[0]["notion"]]
    )


def test_data_that_are_split_by_people_have_a_sweep_for_each_seed() -> None:
    parts = [sweep["axes"]["seed"] for sweep in FIGURE_3_PEOPLE.versions["small"].sweeps]
    assert parts == [[seed] for seed in range(15)]
    assert {sweep["split"] for sweep in FIGURE_3_PEOPLE.versions["small"].sweeps} == {"people"}
    assert [sweep["split"] for sweep in FIGURE_3.versions["full"].sweeps] == ["rows"]


def test_parkinsons_has_the_papers_19_features(real_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRPRIV_DATA", str(real_data))
    (config,) = {config.data for config in list_configs(FIGURE_3.versions["full"].sweeps).values()}
    assert load_dataset(config).d == 19
    (own,) = {config.data for config in list_configs(FIGURE_3_PEOPLE.versions["full"].sweeps).values()}
    assert load_dataset(own).d == 18, "new people are judged without a part of the label's score"


def test_the_authors_points_stand_in_their_figures() -> None:
    budgets = {preset.id: len({each.column for each in preset.released}) for preset in PAPER.presets if preset.released}
    four, two, three = (f"dp_fermi.figure{number}" for number in ("2", "3", "4"))
    assert (budgets[four], budgets[two], budgets[three]) == (4, 2, 3)
    named = {each.name for each in FIGURE_3.released}
    assert named == {"PF-LD, authors' data", "Tran2021a, authors' data"} and "seems" in FIGURE_3.caution
    (point,) = (each.points for each in FIGURE_3.released if (each.column, each.name[:5]) == ("ε = 1", "PF-LD"))
    assert point == (pytest.approx((5.731, 8.101)),)
    for preset in PAPER.presets:
        assert isinstance(preset.drawing, Plot) or not preset.released
        columns = {column.name for column in preset.drawing.columns} if isinstance(preset.drawing, Plot) else set()
        drawn = {each.column for each in preset.released}
        assert drawn <= columns or preset.id == "dp_fermi.figure6", f"{preset.id}: no column for {drawn - columns}"


def test_what_authors_call_tran_2021a_is_more_than_one_method() -> None:
    """A λ stands there twice at one budget, with unlike points."""
    (points,) = (each.points for each in FIGURE_2.released if each.column == "ε = 0.5" and "Tran" in each.name)
    near = [point for point in points if 18.0 < point[1] < 21.0]
    assert max(x for x, _ in near) > 2 * min(x for x, _ in near)


def test_the_full_version_on_faces_is_as_appendix_f3_has_it() -> None:
    configs = [config.to_json() for config in list_configs(FIGURE_5.versions["full"].sweeps).values()]
    ours = [one["method"] for one in configs if one["method"]["variant"] == "published"]
    assert {(one["network"], one["epochs"], one["batch_size"]) for one in ours} == {("vgg9", 150, 64)}
    assert {(one["learning_rate"], one["dual_step"]) for one in ours} == {(0.001, 0.005)}
    assert all(1.0 <= one[name] <= 2.0 for one in ours for name in ("dual_norm", "clip_primal"))
    assert {min(one["multiplier"] for one in ours), max(one["multiplier"] for one in ours)} == {0.0, 500.0}
    assert {one["epsilon"] for one in configs} == {10.0, 25.0, 50.0, 100.0, 200.0}
    assert {one["seed"] for one in configs} == set(range(5))
    assert {(one["data"]["dataset"], one["data"]["sensitive"]) for one in configs} == {("utkface_128", "race")}


def test_the_smaller_version_on_faces_is_of_the_stated_size() -> None:
    configs = [config.to_json() for config in list_configs(FIGURE_5.versions["small"].sweeps).values()]
    assert {one["data"]["rows"] for one in configs} == {5000} and {one["seed"] for one in configs} == {0, 1, 2}
    assert {one["method"]["epochs"] for one in configs} == {10}
    for variant in ("published", "proved"):
        chosen = [one["method"]["multiplier"] for one in configs if one["method"]["variant"] == variant]
        assert len(set(chosen)) == 4 and len(chosen) == 12
    assert FIGURE_5_AGES.versions == FIGURE_5.versions


def test_every_age_that_is_told_apart_has_its_column() -> None:
    assert isinstance(FIGURE_5_AGES.drawing, Table)
    paths = [value.path for _, value in FIGURE_5_AGES.drawing.columns]
    assert [path for path in paths if "classes" in path] == [f"metrics/classes/{age}/decided" for age in AGES]
