"""Settings beside each other: whiskers both ways, groups as means over seeds, indices with their source."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fairpriv_core.facts.compare import INDICES, Compared, fold_groups, fold_indices
from fairpriv_core.facts.tables import run_table, varied_settings
from fairpriv_core.figures.comparison import compare_groups, compare_points
from fairpriv_core.figures.draw import draw
from fairpriv_core.stats import mean_interval
from tests.facts.told import tell
from tests.figures.samples import record

RATES = ((0.20, 0.30), (0.24, 0.30), (0.22, None))


def seeded(seed: int, **config: Any) -> dict[str, Any]:
    one = record(seed)
    groups = [
        {"name": name, "size": 100 + seed, "positive_rate": rate, "positive_rate_interval": [0.1, 0.5]}
        for name, rate in zip(("Female", "Male"), RATES[seed], strict=True)
    ]
    metrics = {
        "accuracy": 0.80 + 0.01 * seed,
        "demographic_parity_gap": 0.04 + 0.02 * seed,
        "groups": groups,
        "gini": 0.1 * seed,
    }
    return {**one, "key": f"{seed}{config}", "config": {**one["config"], **config}, "metrics": metrics}


def compared(seeds: int, letter: str = "A", **config: Any) -> Compared:
    records = [seeded(seed, **config) for seed in range(seeds)]
    [row] = run_table(records)
    return Compared(f"{letter}: PF-LD", row, [tell(each) for each in records])


def test_points_have_whiskers_both_ways() -> None:
    figure = compare_points([compared(3), compared(1, "B", epsilon=3.0)])
    one, single = figure.series
    accuracy, gap = mean_interval([0.80, 0.81, 0.82]), mean_interval([0.04, 0.06, 0.08])
    assert [one.x[0], one.y[0]] == pytest.approx([6.0, 81.0])
    assert [one.low[0], one.high[0]] == pytest.approx([100 * (accuracy.low or 0), 100 * (accuracy.high or 0)])
    assert [one.x_low[0], one.x_high[0]] == pytest.approx([100 * (gap.low or 0), 100 * (gap.high or 0)])
    assert (single.low, single.x_low) == ((), ())
    drawn, left = draw(figure)["data"], draw(figure)["layout"]["xaxis"]["range"][0]
    assert left < 0 < one.x_low[0], "a gap of 0 is in sight"
    assert drawn[0]["error_x"]["array"][0] == pytest.approx(100 * ((gap.high or 0) - 0.06))
    assert "error_x" not in drawn[1] or drawn[1]["error_x"] is None
    assert "percentage points" in figure.x.label and not figure.raw, "the rows are everybody's"


def test_the_mixing_line_stands_beside_the_points() -> None:
    plain = replace(compared(1).row, method="none", constant=0.6)
    *_, line = compare_points([compared(1), compared(1, "B", epsilon=3.0)], plain).series
    assert (line.name, line.x, line.y) == ("mixing line", (0.0, pytest.approx(4.0)), (60.0, 80.0))
    assert "mixing" not in compare_points([compared(1), compared(1, "B", epsilon=3.0)]).caption


def test_intervals_stay_within_what_a_share_can_be() -> None:
    records = [
        {**seeded(seed), "metrics": {"accuracy": value, "demographic_parity_gap": 1 - value}}
        for seed, value in enumerate((0.9, 1.0))
    ]
    [row] = run_table(records)
    [series] = compare_points([Compared("A: x", row, [tell(each) for each in records])]).series
    assert series.high[0] == 100.0 and series.x_low[0] == 0.0


def test_groups_are_means_over_seeds_with_the_interval_of_the_mean() -> None:
    female, male = fold_groups([tell(seeded(seed)) for seed in range(3)], "positive_rate")
    expected = mean_interval([0.20, 0.24, 0.22])
    assert (female["positive_rate"], female["size"]) == (pytest.approx(0.22), 101)
    assert list(female["positive_rate_interval"]) == pytest.approx([expected.low, expected.high])
    assert male["positive_rate"] == pytest.approx(0.30), "a seed without the rate is left out"


def test_groups_of_one_seed_keep_their_wilson_interval_and_its_caption() -> None:
    [female, _] = fold_groups([tell(seeded(0))], "positive_rate")
    assert female["positive_rate_interval"] == [0.1, 0.5]
    assert "Wilson interval of each group" in compare_groups([compared(1)], rate="positive_rate").caption
    assert "mean over seeds" in compare_groups([compared(3)], rate="positive_rate").caption
    own = compared(3, data={"dataset": None, "file": "own.csv", "label": "y", "sensitive": "sex"})
    assert [compare_groups([each], rate="positive_rate").raw for each in (compared(3), own)] == [False, True]


def test_beside_bars_by_answers_exact_ones_are_not_called_estimates() -> None:
    one, exact = compared(3), compared(3, "B", epsilon=2.0)
    answered = replace(one, row=replace(one.row, gap=replace(one.row.gap, kind="released")))
    mixed, alone = (compare_groups(each, rate="positive_rate") for each in ([answered, exact], [answered]))
    assert mixed.caption.startswith("Bars: mean over seeds; ") and "Wilson" not in alone.caption
    for figure in (mixed, alone):
        assert "Bars of runs on randomised answers are estimates" in figure.caption
        assert figure.name == "groups_positive_rate" and "noise" not in f"{figure.title}{figure.caption}"
        assert figure.origin.kind == "released"


def test_every_index_has_formula_source_and_means() -> None:
    first, second = (fold_indices(one.runs) for one in (compared(3), compared(1, "B", epsilon=2.0)))
    assert set(first) == set(second) == set(INDICES) and all(all(words) for words in INDICES.values())
    assert [means["gini"].mean for means in (first, second)] == pytest.approx([0.1, 0.0])
    assert first["theil"].mean is None


def test_only_settings_that_vary_within_a_method_are_told() -> None:
    methods = [{"name": "pf_ld", "clip": clip, "epochs": 50} for clip in (1, 2)] + [{"name": "dp_sgd", "clip": 5}]
    rows = run_table(seeded(0, method=method, epsilon=epsilon) for method in methods for epsilon in (1.0, 2.0))
    told = [list(varied_settings(rows)[row.keys[0]].items()) for row in rows]
    assert told == [[("method.clip", 1)]] * 2 + [[("method.clip", 2)]] * 2 + [[]] * 2
