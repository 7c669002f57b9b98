"""What is printed in FairDP's tables: Table 2 follows from Table 1, and Dutch's two sexes are exchanged."""

from __future__ import annotations

import math
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pytest
from scipy.stats import kstwobign

from fairpriv_core.audit.inference import attackers, guessed_advantage
from fairpriv_core.data.dataset import load_dataset
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.papers.fairdp_adaptive import images
from fairpriv_core.papers.fairdp_adaptive.figures import ATTACKERS, BY_CHANCE, EFFECTS, FIGURE_3_DIGITS
from fairpriv_core.papers.fairdp_adaptive.readings import READINGS
from fairpriv_core.papers.fairdp_adaptive.tables import INDICES, LOSSES
from fairpriv_core.papers.preset import Plot, Preset
from fairpriv_core.store.curves import is_swept_point
from tests.papers.records import read_settings

DIGITS_TOO = [FIGURE_3_DIGITS, *(preset for preset in EFFECTS if preset.id.endswith("_mnist"))]
VARIED = {
    "fairdp_adaptive.figure3_mnist": set(),
    "fairdp_adaptive.figure4_mnist": {"learning_rate"},
    "fairdp_adaptive.figure5_mnist": {"batch_size"},
    "fairdp_adaptive.figure6_mnist": {"noise_primal"},
}
TEST_ROWS = {"adult": (10147, 4913), "dutch": (6012, 6072)}  # men, women, by the code books
TWOS, EIGHTS, DIGITS = 1032, 974, 10000  # of MNIST's test images


def weighted_indices(men: float, women: float, rows: tuple[int, int]) -> dict[str, float]:
    """Return the Census Bureau's indices of two accuracies, each weighted by its share of rows."""
    share = rows[0] / sum(rows)
    mean = share * men + (1.0 - share) * women
    logs = share * math.log(men / mean), (1.0 - share) * math.log(women / mean)
    return {
        "Atkinson": 1.0 - math.exp(sum(logs)),
        "Gini": share * (1.0 - share) * abs(men - women) / mean,
        "MLD": -sum(logs),
        "Theil": men / mean * logs[0] + women / mean * logs[1],
    }


@pytest.mark.parametrize(("name", "tolerance"), [("adult", 0.015), ("dutch", 0.04)])
@pytest.mark.parametrize("row", range(len(READINGS[0].rows)))
def test_table_2_is_ten_times_the_weighted_indices_of_table_1(name: str, tolerance: float, row: int) -> None:
    base = {people: numbers[0] for people, numbers in LOSSES[name].items()}
    change = {people: numbers[row] if row else 0.0 for people, numbers in LOSSES[name].items()}
    expected = weighted_indices(base["men"] + change["men"], base["women"] + change["women"], TEST_ROWS[name])
    for index, numbers in INDICES[name].items():
        assert numbers[row] == pytest.approx(10.0 * expected[index], rel=tolerance)


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_the_total_is_the_weighted_mean_of_the_two_sexes(name: str) -> None:
    men, women = TEST_ROWS[name]
    for column in range(len(READINGS[0].rows)):
        parts = {people: numbers[column] for people, numbers in LOSSES[name].items()}
        assert parts["all"] == pytest.approx((men * parts["men"] + women * parts["women"]) / (men + women), abs=0.02)


@pytest.mark.parametrize("row", range(len(READINGS[0].rows)))
def test_table_2_is_ten_times_the_indices_on_mnist_too(row: int) -> None:
    """Atkinson's index is 1 - exp(-MLD); no MLD is below that of the accuracies where the unprinted eight are equal."""
    tenth = {name: numbers[row] / 10.0 for name, numbers in images.INDICES.items()}
    assert tenth["Atkinson"] == pytest.approx(1.0 - math.exp(-tenth["MLD"]), rel=0.01, abs=1e-5)
    people = {name: numbers[0] + (numbers[row] if row else 0.0) for name, numbers in images.LOSSES.items()}
    rest = (DIGITS * people["all"] - TWOS * people["twos"] - EIGHTS * people["eights"]) / (DIGITS - TWOS - EIGHTS)
    parts = ((TWOS, people["twos"]), (EIGHTS, people["eights"]), (DIGITS - TWOS - EIGHTS, rest))
    least = -sum(size / DIGITS * math.log(accuracy / people["all"]) for size, accuracy in parts)
    assert least - 1e-5 <= tenth["MLD"] <= 1.5 * least + 7e-5


def test_the_images_settings_are_the_papers_where_it_prints_them() -> None:
    found = read_settings(images.TABLE_1.id, "full")
    private = [one["method"] for one in found if one["method"]["name"] != "none"]
    assert {(one["clip_primal"], one["noise_primal"]) for one in private} == {(1.0, 1.0)}
    assert {one["method"]["network"] for one in found} == {"cnn_small"}
    assert {one["delta"] for one in found} == {1e-5} and {one["seed"] for one in found} == set(range(10))
    read = {
        (one["variant"], one["bound_of_noise"], one["lipschitz"], one["learning_rate"])
        for one in private
        if "lipschitz" in one
    }
    assert read == {
        ("published", "adaptive", 1.0, 0.1),
        ("published", "set", 1e-4, 0.1),
        ("proved", "adaptive", 1e-4, 0.02),
    }


@pytest.mark.parametrize("preset", DIGITS_TOO, ids=lambda preset: preset.id)
def test_figures_on_digits_start_from_the_tables_settings(preset: Preset) -> None:
    table = [one["method"] for one in read_settings(images.TABLE_1.id, "small")]
    for size in preset.versions:
        found = read_settings(preset.id, size)
        assert {one["data"]["dataset"] for one in found} == {"mnist_unbalanced"}
        varied = {name for name in ("learning_rate", "batch_size", "noise_primal") if len({*_values(found, name)}) > 1}
        assert varied == VARIED[preset.id]
        assert any(one["method"] in table for one in found), f"{preset.id}, {size}: none of the runs is the tables'"


@pytest.mark.parametrize("preset", EFFECTS, ids=lambda preset: preset.id)
def test_curves_are_drawn_at_the_epochs_that_runs_of_a_sweep_keep(preset: Preset) -> None:
    assert isinstance(preset.drawing, Plot)
    for size in preset.versions:
        (epochs,) = {one["method"]["epochs"] for one in read_settings(preset.id, size)}
        assert preset.drawing.steps == tuple(e for e in range(1, epochs + 1) if is_swept_point(e, epochs))


def _values(found: list[dict[str, Any]], name: str) -> list[Any]:
    return [one["method"].get(name) for one in found if one["method"]["name"] == "dp_sgd"]


def test_dutchs_printed_male_rows_are_as_many_as_the_files_women(
    real_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRPRIV_DATA", str(real_data))
    data = load_dataset(DataSpec(dataset="dutch_census", sensitive="sex"))
    rows = {name: int((data.group == group).sum()) for group, name in enumerate(data.group_names)}
    assert rows == {"female": 24201 + 6072, "male": 24135 + 6012}  # printed as Male and as Female


def test_similar_is_what_guessing_alone_is_above_its_average_in_one_of_20_attacks() -> None:
    judged = 2000  # of each kind, as the preset's settings say
    auc = NormalDist().inv_cdf(0.95) * math.sqrt((2 * judged + 1) / (12 * judged**2))
    advantage = float(kstwobign.ppf(0.95)) * math.sqrt(2 / judged) - guessed_advantage(judged)
    assert 100 * auc == pytest.approx(BY_CHANCE, abs=0.1) and 100 * advantage == pytest.approx(BY_CHANCE, abs=0.1)


def test_figure_3_shows_the_attackers_that_there_are() -> None:
    assert [part.step for part in ATTACKERS] == list(attackers(0))
