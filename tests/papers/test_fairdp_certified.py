"""Presets of certified FairDP: the bounds of Table III, and one network for every method that is compared."""

from __future__ import annotations

from fairpriv_core.papers.fairdp_certified import FIGURE_3, TABLE_3
from fairpriv_core.runs.paper_runs import list_configs


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
