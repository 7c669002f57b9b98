"""Drawings: one template, methods told apart by more than colour, readable text, zoom that stays."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from fairpriv_core.figures import live
from fairpriv_core.figures.draw import draw
from fairpriv_core.figures.figure import FigureData
from fairpriv_core.figures.layout import log_ticks, rich
from fairpriv_core.figures.styles import (
    COLORS,
    DASHES,
    MARKERS,
    THEMES,
    ThemeName,
    color_on,
    fill,
    method_style,
    style_of,
)
from fairpriv_core.methods.catalog import methods
from tests.figures import samples
from tests.figures.contrast import contrast

FIGURES = samples.every_figure()
THEME_NAMES: tuple[ThemeName, ...] = ("light", "dark")
METHODS = list(methods())


def plain(figure: FigureData, theme: ThemeName = "light", **options: Any) -> dict[str, Any]:
    return draw(figure, theme=theme, **options)


def test_every_method_has_one_look_that_survives_greyscale() -> None:
    looks = [method_style(method) for method in METHODS]
    assert len({(look.dash, look.marker) for look in looks}) == len(METHODS)
    assert len({look.title for look in looks}) == len(METHODS)
    assert all(look.color in COLORS and look.dash in DASHES and look.marker in MARKERS for look in looks)
    assert method_style("xy").title == "xy (not installed)"


@pytest.mark.parametrize("theme", THEME_NAMES)
def test_contrast(theme: ThemeName) -> None:
    colors = THEMES[theme]
    assert contrast(colors.text, colors.background) >= 7
    assert contrast(colors.muted, colors.background) >= 4.5
    for method in METHODS:
        for variation in range(4):
            assert contrast(color_on(method_style(method), colors, variation), colors.background) >= 3, method


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#2E79B0", "#FFFFFF") == pytest.approx(4.7, abs=0.05)


def test_groups_never_have_a_methods_colour() -> None:
    hues = {name for name in COLORS if name not in ("ink", "grey")}
    assert not {style_of(f"group {index}").color for index in range(20)} & hues


def test_a_number_that_is_not_finite_is_null() -> None:
    [series, *_] = FIGURES["trade_off"].series
    odd = replace(series, y=(math.nan, math.inf, *series.y[2:]))
    drawn = draw(replace(FIGURES["trade_off"], series=(odd,)))
    assert [trace["y"][:2] for trace in drawn["data"] if trace["name"] == odd.name][-1] == [None, None]


def test_axes_have_titles_with_units() -> None:
    layout = plain(FIGURES["trade_off"])["layout"]
    assert layout["yaxis"]["title"]["text"] == "Accuracy (%)"
    assert layout["yaxis2"]["title"]["text"] == "Gap (percentage points)"
    assert layout["xaxis2"]["title"]["text"] == "Privacy budget ε"
    assert layout["xaxis2"]["matches"] == "x"
    assert layout["yaxis"]["domain"][0] > layout["yaxis2"]["domain"][1]


def test_a_band_has_its_lines_colour_and_no_markers() -> None:
    traces = plain(FIGURES["trade_off"])["data"]
    index, lower = next((i, trace) for i, trace in enumerate(traces) if trace.get("fill") == "tonexty")
    line = traces[index + 1]
    assert lower["fillcolor"] == fill(line["line"]["color"], 0.18)
    assert lower["mode"] == traces[index - 1]["mode"] == "lines"
    assert not lower["showlegend"]


def test_a_line_of_one_point_has_a_marker_until_there_is_a_second() -> None:
    first = live.live_epsilon({"epsilon": ([54], [0.5])}, budget=1.0, delta=1e-5, protects="each row", steps=216)
    second = live.live_epsilon({"epsilon": ([54, 108], [0.5, 0.7])}, budget=1.0, delta=1e-5, protects="each row")
    assert [plain(each)["data"][0]["mode"] for each in (first, second)] == ["lines+markers", "lines"]


def test_a_method_is_colour_dash_and_marker() -> None:
    line = next(trace for trace in plain(FIGURES["overlay_accuracy"])["data"] if trace["name"] == "C: DP-SGD")
    look = method_style("dp_sgd")
    assert line["line"]["color"] == line["marker"]["color"] == COLORS[look.color][0]
    assert (line["line"]["dash"], line["marker"]["symbol"]) == (look.dash, look.marker)
    assert line["mode"] == "lines+markers" and line["marker"]["maxdisplayed"] < 20


def test_two_runs_of_one_method_differ() -> None:
    first, second = (trace for trace in plain(FIGURES["overlay_accuracy"])["data"] if "PF-LD" in trace["name"])
    assert first["marker"]["symbol"] != second["marker"]["symbol"]
    assert first["line"]["color"] != second["line"]["color"]


def test_a_name_is_in_the_legend_once() -> None:
    shown = [trace["name"] for trace in plain(FIGURES["trade_off"])["data"] if trace.get("showlegend", True)]
    assert len(shown) == len(set(shown)) == 3


def test_labels_of_lines_on_a_logarithmic_axis_stand_at_the_line() -> None:
    layout = plain(FIGURES["trade_off"])["layout"]
    assert layout["shapes"][0]["x0"] == layout["shapes"][0]["x1"] == 1.0
    label = next(note for note in layout["annotations"] if note["text"] == "ε = 1.00")
    assert label["x"] == math.log10(1.0) and label["xref"] == "x"
    curve = plain(FIGURES["bias_variance_c_p"])["layout"]
    chosen = next(note for note in curve["annotations"] if "chosen" in note["text"])
    assert chosen["x"] == pytest.approx(math.log10(2.0))
    assert curve["shapes"][1]["x0"] == 2.0
    least = next(note for note in curve["annotations"] if "minimum" in note["text"])
    assert (chosen["xanchor"], least["xanchor"]) == ("right", "left"), "each points away from the other's line"


@pytest.mark.parametrize(("low", "high"), [(0.1, 9), (0.05, 100), (1e-6, 1e6), (3, 3), (0.004, 0.006)])
def test_logarithmic_ticks_are_few_and_inside(low: float, high: float) -> None:
    ticks = log_ticks(low, high)
    assert len(ticks) <= 8
    assert all(low * 0.999 <= tick <= high * 1.001 for tick in ticks)


def test_names_at_the_ends_of_lines_do_not_overlap() -> None:
    figure = samples.every_figure("a", "b", "c", "d", "e")["live_groups_positive_rate"]
    drawn = plain(figure)
    assert len(drawn["layout"]["annotations"]) == 5 and not drawn["layout"]["showlegend"]
    level = tuple(replace(series, y=(20.0,) * len(series.y), low=(), high=()) for series in figure.series)
    same = plain(replace(figure, series=level))
    assert not same["layout"].get("annotations") and same["layout"]["showlegend"]
    assert [trace["name"] for trace in same["data"] if trace.get("showlegend")] == ["a", "b", "c", "d", "e"]
    assert same["layout"]["height"] == drawn["layout"]["height"], "a live chart does not jump when its lines meet"


def test_markup_is_escaped_and_a_subscript_is_set() -> None:
    assert rich("<b> & C_p") == "&lt;b&gt; &amp; C<sub>p</sub>"


def test_with_caption_there_is_room_for_it() -> None:
    bare, captioned = (plain(FIGURES["overlay_accuracy"], caption=caption)["layout"] for caption in (False, True))
    assert captioned["height"] > bare["height"]
    assert "for the analyst" in captioned["annotations"][-1]["text"]
