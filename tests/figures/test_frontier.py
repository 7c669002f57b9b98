"""Dominance, frontiers and maps: no claim is mixed with another, nothing that is worth having is hidden."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairpriv_core.facts.measures import fold
from fairpriv_core.facts.tables import TableRow
from fairpriv_core.figures.draw import draw
from fairpriv_core.figures.figure import write_csv
from fairpriv_core.figures.frontier import (
    MOST_DOMINATED,
    EpsilonClaim,
    Wanted,
    find_best,
    frontier,
    group_by_claim,
)
from fairpriv_core.figures.heatmap import Setting, find_varying, heat_map, read_settings
from fairpriv_core.figures.over_epsilon import trade_off

ABOUT: Any = {"dataset": "adult", "notion": "Demographic parity"}


def row(
    epsilon: float | None,
    accuracy: float,
    gap: float,
    *,
    key: str = "",
    method: str = "pf_ld",
    threat: str | None = "attribute",
    variant: str | None = "proved",
    seeds: int = 1,
) -> TableRow:
    threat = None if epsilon is None else threat
    accuracies = fold((accuracy + 0.001 * seed for seed in range(seeds)), "raw")
    gaps = fold((gap + 0.001 * seed for seed in range(seeds)), "raw")
    name = key or f"{method}-{epsilon}-{accuracy}-{gap}-{threat}-{variant}"
    keys = tuple(f"{name}-{seed}" if seed else name for seed in range(seeds))
    where = ("demographic_parity", "adult", "sex", threat, variant, epsilon)
    return TableRow(method, *where, tuple(range(seeds)), keys, accuracies, gaps, "", 1e-5)


FEW = st.floats(0, 1).map(lambda value: round(value, 1))
ROWS = st.lists(st.tuples(st.sampled_from([0.5, 1.0, 3.0, None]), FEW, FEW), max_size=40)


def beats(one: TableRow, other: TableRow) -> bool:
    def read(each: TableRow) -> tuple[float, float, float]:
        return (each.epsilon or float("inf"), -(each.accuracy.mean or 0.0), each.gap.mean or 0.0)

    pairs = list(zip(read(one), read(other), strict=True))
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


@given(ROWS)
def test_the_frontier_is_what_no_other_row_beats(values: list[tuple[float | None, float, float]]) -> None:
    rows = [row(*value, key=str(index)) for index, value in enumerate(values)]
    expected = [each for each in rows if not any(beats(other, each) for other in rows)]
    assert find_best(rows) == expected


def test_claims_are_never_mixed_and_what_claims_nothing_is_left_out() -> None:
    rows = [
        row(1, 0.8, 0.1),
        row(None, 0.85, 0.2, method="none", variant=None),
        row(1, 0.7, 0.3, threat="record", method="dp_sgd"),
        row(1, 0.9, 0.0, variant="published"),
        row(None, 0.9, 0.0, variant="replayed"),
    ]
    groups = group_by_claim(rows)
    assert [(claim.threat_model, claim.variant, len(own)) for claim, own in groups.items()] == [
        ("attribute", "proved", 1),
        ("record", "proved", 1),
        ("attribute", "published", 1),
        (None, None, 1),
    ]
    figure = frontier(groups, **ABOUT, details={}, numbers={})
    titles = [panel.title for panel in figure.panels]
    assert titles == [claim.short for claim in groups if claim.threat_model]
    assert "not proved" in titles[2] and "δ = 1 in 100,000" in titles[0]
    drawn = {(series.panel, series.style) for series in figure.series}
    assert drawn == {(0, "pf_ld"), (1, "dp_sgd"), (2, "pf_ld"), (0, "none"), (1, "none"), (2, "none")}


def test_a_line_joins_one_method_at_one_epsilon_and_dominated_settings_are_open() -> None:
    rows = [row(1, 0.80, 0.10, seeds=3), row(1, 0.78, 0.05, seeds=3), row(3, 0.84, 0.10, seeds=3), row(3, 0.7, 0.2)]
    groups = group_by_claim(rows)
    figure = frontier(groups, **ABOUT, details={rows[0].keys[0]: "λ = 0.5"}, numbers={}, dominated=False)
    assert [(one.kind, len(one.x), one.text) for one in figure.series] == [
        ("points", 2, ("ε = 1", "")),
        ("points", 1, ("ε = 3",)),
    ]
    first = figure.series[0]
    assert first.keys == (rows[1].keys[0], rows[0].keys[0]) and "λ = 0.5" in first.hover[1]
    assert first.x_low and first.low and "1 of 4 settings is hidden" in figure.caption and figure.raw
    shown = frontier(groups, **ABOUT, details={}, numbers={}, dominated=True)
    trace = next(trace for trace in draw(shown)["data"] if rows[3].keys[0] in trace["customdata"])
    assert list(trace["customdata"]) == [rows[2].keys[0], rows[3].keys[0]]
    assert [symbol.endswith("-open") for symbol in trace["marker"]["symbol"]] == [False, True]


def test_whiskers_stay_within_what_accuracy_and_gap_can_be() -> None:
    figure = frontier(group_by_claim([row(1, 0.999, 0.001, seeds=2)]), **ABOUT, details={}, numbers={})
    [one] = figure.series
    assert one.x_low == (0.0,) and one.high == (100.0,)
    assert one.low[0] < 99.9 and one.x_high[0] > 0.1


def test_a_map_leaves_empty_what_was_not_run_and_names_it() -> None:
    rows = [row(e, 0.7 + 0.01 * e, 0.1, key=f"{e}-{c}") for e in (1, 3) for c in (0.1, 0.5) if (e, c) != (3, 0.5)]
    settings = {each.keys[0]: {"epsilon": each.epsilon or 0, "method.c": float(each.keys[0][2:])} for each in rows}
    axes = (Setting("epsilon", "ε"), Setting("method.c", "C_p"))
    assert find_varying(settings.values()) == ["epsilon", "method.c"]
    figure = heat_map(rows, settings, axes, quantity="accuracy", about="PF-LD on adult")
    assert "1 of 4 combinations have no finished run and are left empty: ε = 3, C_p = 0.5." in figure.caption
    [trace] = draw(figure)["data"]
    assert [list(line) for line in trace["z"]] == [[pytest.approx(71), pytest.approx(73)], [pytest.approx(71), None]]
    assert list(trace["x"]) == ["1", "3"] and trace["customdata"][0][1] == "3-0.1"
    twice = [*rows, row(1, 0.9, 0.1, key="again")]
    settings["again"] = settings["1-0.1"]
    figure = heat_map(twice, settings, axes, quantity="accuracy", about="")
    assert figure.series[0].z[0] == pytest.approx(80.5) and "Up to 2 settings" in figure.caption


def test_settings_are_the_numbers_of_a_config() -> None:
    config = {"epsilon": 1, "delta": 1e-5, "seed": 3, "method": {"name": "pf_ld", "epochs": 5, "clip": None, "x": True}}
    assert read_settings(config) == {"epsilon": 1, "delta": 1e-5, "method.epochs": 5}


def test_of_five_thousand_settings_some_are_drawn_and_quickly() -> None:
    numbers = [(i * 7919 % 5003) / 5003 for i in range(5000)]
    rows = [row(0.1 + i % 50, numbers[i], numbers[-i], key=str(i)) for i in range(5000)]
    begun = time.process_time()
    figure = frontier(group_by_claim(rows), **ABOUT, details={}, numbers={}, dominated=True)
    json.dumps(draw(figure), allow_nan=False)
    assert time.process_time() - begun < 6  # one where nothing else runs; each against each takes far longer
    assert sum(len(one.x) for one in figure.series if one.kind == "cloud") == MOST_DOMINATED


def test_a_claim_without_a_delta_has_a_title() -> None:
    assert EpsilonClaim("record", "published", None).title == "Protects the whole record · published, not proved"


def test_private_evaluation_is_no_other_setting_that_a_line_joins() -> None:
    rows = [replace(row(1.0, 0.8 + at / 10, 0.1 + at / 10, key=f"{at}"), setting=setting(at == 1)) for at in range(3)]
    figure = frontier(group_by_claim(rows), **ABOUT, details={}, numbers={})
    assert sorted(series.keys for series in figure.series) == [("0", "2"), ("1",)]
    assert {text for series in figure.series for text in series.text} == {"", "ε = 1", "ε = 1, evaluated"}
    alike = frontier(group_by_claim(rows[1:2]), **ABOUT, details={}, numbers={})
    assert {text for series in alike.series for text in series.text} == {"ε = 1"}, "there is nothing to tell it from"


def test_settings_of_one_seed_are_counted() -> None:
    rows = [row(1.0, 0.8, 0.1, key="a"), row(1.0, 0.9, 0.2, key="b", seeds=3)]
    figure = frontier(group_by_claim(rows), **ABOUT, details={}, numbers={})
    assert "1 of the settings have 1 seed and no interval" in figure.caption
    assert any("1 seed" in told for series in figure.series for told in series.hover)


def setting(evaluated: bool) -> str:
    return json.dumps({"private_evaluation": evaluated})


def test_each_panel_has_the_mixing_line_from_the_constant_answer_to_plain_training() -> None:
    plain = [replace(row(None, accuracy, 0.2, method="none", variant=None), constant=0.6) for accuracy in (0.85, 0.83)]
    rows = [row(1, 0.8, 0.1), row(1, 0.7, 0.05, threat="record", method="dp_sgd"), *plain]
    figure = frontier(group_by_claim(rows), **ABOUT, details={}, numbers={})
    lines = [series for series in figure.series if series.name == "mixing line"]
    assert [(line.panel, line.x, line.y) for line in lines] == [(panel, (0, 20), (60, 85)) for panel in (0, 1)]
    assert "dotted mixing line" in figure.caption
    drawn = {trace["name"]: trace for trace in draw(figure)["data"] if trace.get("showlegend")}
    assert drawn["mixing line"]["mode"] == "lines", "in the legend it has no marker, as no method has none"
    assert not {"one answer for all", "no privacy, no fairness"} & set(drawn), "these stand beside their points"
    notes = [note["text"] for note in draw(figure)["layout"]["annotations"]]
    assert notes.count("one answer for all") == notes.count("no privacy, no fairness") == 2
    assert "mixing line" in write_csv(figure)


def test_what_is_shaded_is_said_and_can_be_left_out() -> None:
    rows, wanted = [row(1, 0.8, 0.1), row(3, 0.9, 0.2)], Wanted(0.805, 0.05)
    shaded = frontier(group_by_claim(rows), **ABOUT, details={}, numbers={}, wanted=wanted)
    over = trade_off(rows, dataset="Adult", notion="Parity", wanted=wanted)
    for figure in (shaded, over):
        assert "Shaded: accuracy of at least 80.5 % and a gap of at most 5 percentage points. " in figure.text
        bare = figure.without_regions()
        assert not draw(bare)["layout"].get("shapes") and "Shaded" not in bare.text and "  " not in bare.text


@pytest.mark.parametrize("constant", [None, 0.9])
def test_without_a_gain_over_the_constant_answer_there_is_no_mixing_line(constant: float | None) -> None:
    plain = replace(row(None, 0.85, 0.2, method="none", variant=None), constant=constant)
    figure = frontier(group_by_claim([row(1, 0.8, 0.1), plain]), **ABOUT, details={}, numbers={})
    assert "mixing line" not in {series.name for series in figure.series} and "mixing" not in figure.caption
