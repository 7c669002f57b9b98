"""The full version of each figure of DP-FERMI keeps to what Appendix F.2.1 prints of its settings."""

from __future__ import annotations

import pytest

from fairpriv_core.papers.dp_fermi import FIGURE_3, PAPER
from fairpriv_core.papers.preset import Preset
from fairpriv_core.runs.paper_runs import list_configs

READY = [preset for preset in PAPER.presets if preset.full]
BUDGETS = {"dp_fermi.figure3": {1.0, 3.0}, "dp_fermi.figure8": {0.5, 9.0}}
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
    assert {one["epsilon"] for one in ours} == BUDGETS.get(preset.id, OF_NOTION[ours[0]["notion"]])


def test_data_that_are_split_by_people_have_a_sweep_for_each_seed() -> None:
    parts = [sweep["axes"]["seed"] for sweep in FIGURE_3.versions["small"].sweeps]
    assert parts == [[0], [1], [2]]
