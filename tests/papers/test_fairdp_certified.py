"""Presets of certified FairDP: the bounds of Table III, and one network for every method that is compared."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

from fairpriv_core.data.image_benchmarks import OLDER_AGE
from fairpriv_core.papers.differences import list_differences
from fairpriv_core.papers.fairdp_certified.faces import FACES
from fairpriv_core.papers.fairdp_certified.figures import FIGURE_3, FIGURE_7, TABLE_3
from fairpriv_core.papers.fairdp_certified.steps import ADAM, THEOREM_6
from fairpriv_core.papers.paper_run import PaperRun
from fairpriv_core.papers.preset import ACCURACY, GAP, Compare, Part, Plot, Quantity
from fairpriv_core.papers.values import choose
from tests.papers.records import make_runs, read_configs, read_settings


def test_table_iii_has_the_printed_bounds_for_both_variants_and_data_sets() -> None:
    configs = read_configs(TABLE_3.id, "small").values()
    methods = [(config.data.dataset, config.to_json()["method"]) for config in configs]
    found = {(data, method["variant"], method["weight_bound"]) for data, method in methods}
    expected = {
        (data, variant, bound)
        for data in ("adult", "credit_default")
        for variant in ("published", "proved")
        for bound in (0.25, 0.5, 0.75, 1.0)
    }
    assert found == expected


def test_all_methods_of_the_trade_offs_have_the_same_network() -> None:
    methods = [one["method"] for one in read_settings(FIGURE_3.id, "full")]
    assert {(method["hidden_layers"], method["width"]) for method in methods} == {(1, 32)}
    assert len({method["name"] for method in methods}) == 7


def test_figure_7_goes_over_ratios_above_each_data_sets_own() -> None:
    for size, (adult, credit) in {"small": (3, 3), "full": (6, 4)}.items():
        configs = list(read_configs(FIGURE_7.id, size).values())
        thinned = {(config.data.dataset, config.data.group_ratio) for config in configs if config.data.group_ratio}
        ratios = {name: {ratio for data, ratio in thinned if data == name} for name in ("adult", "credit_default")}
        assert (len(ratios["adult"]), len(ratios["credit_default"])) == (adult, credit)
        assert min(ratios["adult"]) > 0.49 and min(ratios["credit_default"]) > 0.67
        clean = {config.to_json()["method"]["name"] for config in configs if config.data.group_ratio is None}
        assert clean == {"none"}


def test_every_figure_of_figure_7_has_runs_of_both_versions_beside_the_level_line() -> None:
    assert isinstance(FIGURE_7.drawing, Plot)
    for size in FIGURE_7.versions:
        runs = [PaperRun("", config) for config in read_settings(FIGURE_7.id, size)]
        for column in FIGURE_7.drawing.columns:
            assert all(choose(runs, column.where, part.where) for part in FIGURE_7.drawing.series)


def test_faces_are_judged_by_race_with_the_label_that_table_i_counts(real_data: Path) -> None:
    with gzip.open(real_data / "utkface" / "utkface_index.csv.gz", "rt") as index:
        ages = [int(row["age"]) for row in csv.DictReader(index) if row["race"]]
    assert len(ages) == 23_705 and sum(age >= OLDER_AGE for age in ages) == 8_598
    away = {years: abs(sum(age >= years for age in ages) - 8_608) for years in range(117)}
    assert min(away, key=away.__getitem__) == OLDER_AGE == 36
    for preset in FACES:
        for size in preset.versions:
            found = read_settings(preset.id, size)
            assert {(one["data"]["label"], one["data"]["sensitive"]) for one in found} == {("age_36", "race")}
            assert {(one["method"]["network"], one["method"]["epochs"]) for one in found} == {("cnn_small", 10)}


def test_every_baseline_of_the_paper_is_in_the_full_version_on_faces() -> None:
    methods = [one["method"]["name"] for one in read_settings(FACES[0].id, "full")]
    assert set(methods) == {
        *("none", "fairsmooth", "dp_sgd", "dpsgd_smooth", "dpsgd_f", "dp_is_sgd", "fairdp_certified"),
    }


def test_a_check_of_two_numbers_of_one_run_is_made_at_every_run() -> None:
    runs = make_runs()
    where = {"config/method/name": "pf_ld"}
    same = Compare(Quantity("A", ACCURACY, where), Quantity("G", GAP, where), low=0.0, failing=0.1)
    assert len(list_differences(runs, same)) == 6  # two budgets, three seeds
    other = Part("M", {"config/method/name": "randomized_response"})
    apart = Compare(Quantity("A", GAP, where), Quantity("M", GAP, other.where), high=0.0, failing=0.1)
    assert len(list_differences(runs, apart)) == 3


def test_adam_has_the_settings_of_plain_steps_but_for_the_steps() -> None:
    configs = list(read_configs(ADAM.id, "small").values())
    methods = [config.to_json()["method"] for config in configs if config.method.info.name == "fairdp_certified"]
    adam, plain = ([one for one in methods if one["optimizer"] == name] for name in ("adam", "sgd"))
    assert {(one["learning_rate"], one["schedule"]) for one in adam} == {(0.05, "halved")}
    assert {(one["learning_rate"], one["schedule"]) for one in plain} == {(0.5, "constant")}
    steps = ("optimizer", "learning_rate", "schedule")
    first, second = ([{k: v for k, v in one.items() if k not in steps} for one in own] for own in (adam, plain))
    assert first == second and len(first) == 2 * 2 * 3 * 32
    others = {config.seed for config in read_configs(FIGURE_3.id, "small").values()}
    assert not {config.seed for config in configs} & others  # a key has one run


def test_theorem_6_has_the_same_noise_at_every_number_of_epochs() -> None:
    methods = [one["method"] for one in read_settings(THEOREM_6.id, "small")]
    assert {one["epochs"] for one in methods} == {5, 10, 20, 40, 80}
    assert len({tuple(sorted((k, str(v)) for k, v in one.items() if k != "epochs")) for one in methods}) == 1
