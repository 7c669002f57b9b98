"""Presets of certified FairDP: the bounds of Table III, and one network for every method that is compared."""

from __future__ import annotations

from fairpriv_core.papers.fairdp_certified import FIGURE_3, FIGURE_7, TABLE_3
from fairpriv_core.papers.preset import ACCURACY, GAP, Compare, Part, Plot, Quantity
from fairpriv_core.report.differences import list_differences
from fairpriv_core.report.paper_values import choose
from fairpriv_core.runs.paper_runs import list_configs
from tests.papers.records import make_runs


def test_table_iii_has_the_printed_bounds_for_both_variants_and_data_sets() -> None:
    configs = list_configs(TABLE_3.versions["small"].sweeps).values()
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
    methods = [config.to_json()["method"] for config in list_configs(FIGURE_3.versions["full"].sweeps).values()]
    assert {(method["hidden_layers"], method["width"]) for method in methods} == {(1, 32)}
    assert len({method["name"] for method in methods}) == 7


def test_figure_7_goes_over_ratios_above_each_data_sets_own() -> None:
    for size, (adult, credit) in {"small": (3, 3), "full": (6, 4)}.items():
        configs = list(list_configs(FIGURE_7.versions[size].sweeps).values())
        thinned = {(config.data.dataset, config.data.group_ratio) for config in configs if config.data.group_ratio}
        ratios = {name: {ratio for data, ratio in thinned if data == name} for name in ("adult", "credit_default")}
        assert (len(ratios["adult"]), len(ratios["credit_default"])) == (adult, credit)
        assert min(ratios["adult"]) > 0.49 and min(ratios["credit_default"]) > 0.67
        clean = {config.to_json()["method"]["name"] for config in configs if config.data.group_ratio is None}
        assert clean == {"none"}


def test_every_figure_of_figure_7_has_runs_of_both_versions_beside_the_level_line() -> None:
    assert isinstance(FIGURE_7.drawing, Plot)
    for version in FIGURE_7.versions.values():
        runs = [{"config": config.to_json()} for config in list_configs(version.sweeps).values()]
        for column in FIGURE_7.drawing.columns:
            assert all(choose(runs, column.where, part.where) for part in FIGURE_7.drawing.series)


def test_a_check_of_two_numbers_of_one_run_is_made_at_every_run() -> None:
    runs = make_runs()
    where = {"config/method/name": "pf_ld"}
    same = Compare(Quantity("A", ACCURACY, where), Quantity("G", GAP, where), low=0.0, every=True)
    assert len(list_differences(runs, same)) == 6  # two budgets, three seeds
    other = Part("M", {"config/method/name": "randomized_response"})
    apart = Compare(Quantity("A", GAP, where), Quantity("M", GAP, other.where), high=0.0, every=True)
    assert len(list_differences(runs, apart)) == 3
