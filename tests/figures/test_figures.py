"""What figures say, before they are drawn."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

from fairpriv_core.facts.tables import Outcome, fold_outcomes
from fairpriv_core.figures import figures, live
from fairpriv_core.figures.figure import MAX_POINTS, FigureData, decimate, line
from fairpriv_core.figures.over_epsilon import trade_off
from tests.figures import samples

FIGURES = samples.every_figure()


@given(st.lists(st.one_of(st.none(), st.floats(-1e6, 1e6)), min_size=1, max_size=400), st.integers(4, 100))
def test_decimation_keeps_ends_extremes_and_order(values: list[float | None], limit: int) -> None:
    x, (y,) = decimate(list(range(len(values))), values, limit=limit)
    assert len(x) <= max(limit, 4)
    assert (x[0], x[-1]) == (0, len(values) - 1)
    assert list(x) == sorted(set(x))
    assert all(values[int(place)] == value for place, value in zip(x, y, strict=True))
    known = [value for value in values if value is not None]
    if known:
        kept = [value for value in y if value is not None]
        assert (min(kept), max(kept)) == (min(known), max(known))


def test_decimation_keeps_a_single_spike_and_its_band() -> None:
    values: list[float | None] = [0.0] * 20_000
    values[12_345] = 1.0
    drawn = line("a", range(20_000), values, low=values, high=values)
    assert len(drawn.x) <= MAX_POINTS
    at = drawn.x.index(12_345)
    assert drawn.y[at] == drawn.low[at] == drawn.high[at] == 1.0


def test_numbers_that_are_not_finite_become_gaps() -> None:
    assert line("a", [1, 2, 3], [math.nan, math.inf, 1.0], scale=100).y == (None, None, 100.0)


def test_trade_off_has_the_mean_and_the_t_interval_over_seeds() -> None:
    figure = FIGURES["trade_off"]
    accuracy = next(s for s in figure.series if s.style == "pf_ld" and s.panel == 0)
    assert accuracy.x == samples.EPSILONS
    assert accuracy.y[2] == pytest.approx(83.2)
    half = t.ppf(0.975, 2) * 0.2 / math.sqrt(3)
    assert (accuracy.low[2], accuracy.high[2]) == pytest.approx((83.2 - half, 83.2 + half))
    level = next(s for s in figure.series if s.style == "none" and s.panel == 1)
    assert level.x == (0.1, 9.0), "a method without ε is a level line"
    assert level.y == pytest.approx((18.0, 18.0))
    assert "protects the attribute" in accuracy.name
    assert "cannot be compared" in figure.caption, "two threat models are in one chart"
    assert [(mark.value, mark.label) for mark in figure.references] == [(1.0, "ε = 1.00")]


def test_one_seed_has_no_band_and_says_so() -> None:
    figure = trade_off(samples.rows(seeds=1), dataset="Adult", notion="Demographic parity")
    assert all(series.low == () for series in figure.series)
    assert "One seed" in figure.caption


def test_an_interval_stays_within_the_possible() -> None:
    wild = [Outcome("pf_ld", "demographic_parity", "a", "s", i, 0.99 + 0.01 * i, 0.2 * i, 1.0) for i in range(2)]
    figure = trade_off(fold_outcomes(wild, {}), dataset="a", notion="Demographic parity")
    assert figure.series[0].high == (100.0,)
    assert figure.series[1].low == (0.0,)


def test_no_results_yet_is_a_figure_too() -> None:
    figure = trade_off([], dataset="Adult", notion="Demographic parity")
    assert figure.series == ()
    assert "No finished run yet." in figure.caption


def test_published_runs_are_a_series_of_their_own() -> None:
    rows = [
        Outcome(
            "pf_ld",
            "demographic_parity",
            "a",
            "s",
            0,
            0.8,
            0.1,
            1.0,
            "attribute",
            v,
            setting=json.dumps({"variant": v}),
        )
        for v in ("proved", "published")
    ]
    names = {
        series.name: series.variation for series in trade_off(fold_outcomes(rows, {}), dataset="a", notion="x").series
    }
    assert names == {"PF-LD (protects the attribute)": 0, "PF-LD, as published (protects the attribute)": 1}


def test_the_minimiser_is_marked() -> None:
    clips = [1.0, 2.0, 4.0, 8.0]
    figure = figures.bias_variance(
        clips, [8, 4, 1, 0.5], [0.1, 0.4, 2, 8], best=3.9, symbol="C_d", current=0.0015, source="At x."
    )
    assert [mark.label for mark in figure.references] == ["minimum: 3.9", "chosen: 0.0015"]
    assert [mark.value for mark in figure.references] == [3.9, 0.0015] and "C_d = 3.9" in figure.alt
    assert next(s for s in figure.series if s.style == "total").y == pytest.approx((8.1, 4.4, 3.0, 8.5))
    assert figure.x.log and "Theorem 5" in figure.caption and "At x." in figure.caption and not figure.raw
    rising = figures.bias_variance(clips, [1, 0.5, 0, 0], [1, 2, 4, 8], best=None)
    assert not rising.references and "no minimum" in rising.alt


def test_runs_without_numbers_of_epochs_are_named_and_not_drawn() -> None:
    curves = [
        live.RunCurve("A: PF-LD", "pf_ld", [1.0, 2.0], [0.7, 0.8]),
        live.RunCurve("B: PF-LD, ε = 2", "pf_ld", [], []),
    ]
    figure = live.overlay(curves, metric="accuracy")
    assert [series.name for series in figure.series] == ["A: PF-LD"]
    assert "Not drawn, since it keeps no numbers of single epochs: B: PF-LD, ε = 2." in figure.caption
    assert "Not drawn" in figure.alt and "Not drawn" not in live.overlay(curves[:1], metric="accuracy").caption
    assert live.has_epochs({"test/accuracy": ([1.0], [0.7])}) and not live.has_epochs({"epsilon": ([1.0], [0.7])})


def test_group_bars_place_groups_and_tell_runs_of_one_method_apart() -> None:
    figure = FIGURES["groups_positive_rate"]
    assert figure.horizontal
    assert figure.series[0].x == ("Female (n = 100)", "Male (n = 200)")
    assert [(s.style, s.variation) for s in figure.series] == [("pf_ld", 0), ("pf_ld", 1), ("dp_sgd", 0)]
    assert (figure.series[0].low, figure.series[0].high) == ((10.0, 10.0), (50.0, 50.0))


def test_a_group_without_a_rate_has_no_bar() -> None:
    groups = [{"name": "Other", "size": 0, "positive_rate": None, "positive_rate_interval": None}]
    series = figures.group_bars([figures.GroupRates("A", "pf_ld", groups)]).series[0]
    assert (series.y, series.low) == ((None,), (None,))


def test_sizes_that_differ_between_runs_are_left_out() -> None:
    runs = [
        figures.GroupRates("A", "pf_ld", samples.group_list("a", "b")),
        figures.GroupRates("B", "none", samples.group_list("b")),
    ]
    assert [series.x for series in figures.group_bars(runs).series] == [("a (n = 100)", "b"), ("b",)]


@pytest.mark.parametrize(("epsilon", "sure"), [(0.0, 50), (1.0, 74), (20.0, 100)])
def test_a_hundred_dots(epsilon: float, sure: int) -> None:
    figure = figures.epsilon_dots(epsilon, sure)
    dots = [place for series in figure.series for place in zip(series.x, series.y, strict=True)]
    assert len(dots) == len(set(dots)) == 100
    filled = [series for series in figure.series if series.style != "dot rest"]
    assert sum(len(series.x) for series in filled) == sure


def test_collected_rows_keep_the_last_value_of_a_step() -> None:
    rows = [(2, "a", 1.0), (1, "a", 5.0), (2, "a", 3.0), (1, "b", None)]
    assert live.collect(rows) == {"a": ([1.0, 2.0], [5.0, 3.0]), "b": ([1.0], [None])}


def test_live_gaps_put_the_trained_notion_in_the_methods_look() -> None:
    looks = {series.name: series.style for series in FIGURES["live_gaps"].series}
    assert looks == {"Demographic parity": "pf_ld", "Equalized odds": "group 1"}


def test_accuracy_and_gap_stand_beside_plain_training_one_answer_and_what_is_aimed_at() -> None:
    marks = [{mark.label: mark.value for mark in FIGURES[name].references} for name in ("live_accuracy", "live_gap")]
    assert marks[0] == pytest.approx({"one answer for all 75.5": 75.55, "plain training 86.0": 86.0})
    assert marks[1] == pytest.approx({"aimed at 4.0": 4.0, "plain training 20.0": 20.0})


def test_a_curve_goes_along_steps_epochs_or_epsilon_as_far_as_is_planned() -> None:
    history = {"test/accuracy": ([10, 20, 30], [0.5, 0.6, 0.7]), "epsilon": ([10, 30], [0.4, 0.8])}
    reach = {"steps": 40.0, "epochs": 4.0, "epsilon": 1.0}
    expected = {"steps": [10, 20, 30], "epochs": [1, 2, 3], "epsilon": [0.4, 0.8]}
    for along, xs in expected.items():
        curves, axis = live.rescale(history, along, reach)
        assert list(curves["test/accuracy"][0]) == xs and axis.range == (0.0, reach[along])
    assert curves["test/accuracy"][1] == [0.5, 0.7], "nothing is told at a step without an ε"
    assert live.rescale({}, "epochs", dict.fromkeys(reach))[1].range is None


def test_live_groups_have_bands_and_no_method_colour() -> None:
    figure = samples.every_figure("a/b", "Male")["live_groups_positive_rate"]
    assert [series.name for series in figure.series] == ["a/b", "Male"]
    assert all(series.style.startswith("group ") and series.labelled for series in figure.series)
    assert figure.series[1].low[0] == pytest.approx(23.0)
    bare = {name: value for name, value in samples.history("a").items() if not name.endswith(("_low", "_high"))}
    assert live.live_groups(bare).series[0].low == ()


def test_multiplier_limit_is_drawn_only_when_near() -> None:
    seen = samples.history("a", "b")
    assert [mark.value for mark in live.live_multipliers(seen, limit=1.0).references] == [1.0, -1.0]
    assert live.live_multipliers(seen, limit=50.0).references == ()


def test_clipping_shows_the_most_clipped_groups_and_counts_the_rest() -> None:
    figure = live.clipping_histogram(samples.histogram(*"abcdefgh"), quantity="gradient_norm")
    assert len(figure.panels) == len(figure.series) == live.MAX_GROUPS
    assert [panel.title[0] for panel in figure.panels] == list("cdefgh")  # the most clipped, in their own order
    assert figure.panels[-1].title == "h: 31.48 % clipped"
    assert "2 more groups" in figure.caption
    assert figure.references[0].label == "C_p = 1.00"
    assert sum(value or 0 for value in figure.series[0].y) == pytest.approx(100)


def test_a_bound_of_a_groups_own_stands_in_its_panel_alone() -> None:
    unlike = replace(samples.histogram("a", "b"), bounds={"a": (0.5,), "b": (0.5, 1.0)})
    figure = live.clipping_histogram(unlike, quantity="gradient_norm", symbol="C")
    assert [(each.panel, each.label) for each in figure.references] == [
        (0, "C = 0.50"),
        (1, "C = 0.50"),
        (1, "C = 1.00"),
    ]


def test_rows_that_nothing_clips_are_not_called_clipped() -> None:
    free = replace(samples.histogram("a", "b"), bound=None, clipped={})
    figure = live.clipping_histogram(free, quantity="gradient_norm")
    assert [panel.title for panel in figure.panels] == ["a", "b"]
    assert "clipped" not in figure.caption + figure.alt
    assert figure.references == ()


def test_a_group_of_few_rows_says_how_few() -> None:
    few = replace(samples.histogram("a", "b"), counts={"a": [20, 20, 0, 0], "b": [0, 0, 2, 3]})
    figure = live.clipping_histogram(few, quantity="gradient_norm")
    assert [panel.title.partition(":")[0] for panel in figure.panels] == ["a", "b (5 rows)"]


def test_of_many_groups_it_is_told_that_some_are_not_drawn() -> None:
    assert "Of 10 groups the 6 largest of each panel." in live.live_clipping(samples.history(*"abcdefghij")).caption
    assert "Of " not in live.live_clipping(samples.history("a", "b")).caption


def test_an_empty_history_draws_nothing_and_breaks_nothing() -> None:
    empty: live.History = {}
    for figure in (
        live.live_accuracy(empty, method="pf_ld"),
        live.live_gap(empty, method="pf_ld", notion="demographic_parity"),
        live.live_gaps(empty, method="pf_ld", notion="demographic_parity"),
        live.live_groups(empty),
        live.live_multipliers(empty),
        live.live_epsilon(empty, budget=None, delta=1e-5, protects="nothing"),
    ):
        assert isinstance(figure, FigureData)
