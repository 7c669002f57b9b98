"""Every figure and every table of a report is in a registry; each is drawn in both themes and exported in each form.

The registry of figures is `samples.every_sample`: add a builder's sample there.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any, get_args

import plotly.graph_objects as go
import pytest

from fairpriv_core.documents.html import read_library
from fairpriv_core.figures.draw import draw
from fairpriv_core.figures.export import to_html, to_image
from fairpriv_core.figures.figure import MAX_POINTS, Axis, FigureData, Kind, Series, write_csv
from fairpriv_core.figures.layout import rich
from fairpriv_core.figures.origin import find_origin
from fairpriv_core.figures.styles import THEMES
from fairpriv_core.records.record import RAW, RAW_BUT_ACCURACY
from tests.figures import samples
from tests.figures.contrast import contrast
from tests.figures.makers import list_builders, list_makers, note_makers

FIGURES = samples.every_figure()
LIBRARY = read_library()
NASTY = ("</script><b>x</b>", "=1+1", '<img src=x onerror="alert(1)">')
EVIL = samples.every_figure(*NASTY[:2], about=NASTY[2])
#: what may not be published says so in one of these
MARKS = (RAW, RAW_BUT_ACCURACY)
#: drawn without axes
SCHEMES = ("dots", "box", "arrow")


class Page(HTMLParser):
    """What a page holds: its tags by their number, the cells of each row, and what readers of the screen hear."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: dict[str, int] = {}
        self.rows: list[list[str]] = []
        self.spoken: list[str] = []
        self.texts: dict[str, str] = {}
        self._open = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self._open = tag
        self.spoken += [text or "" for name, text in attrs if name == "aria-label"]
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open in ("td", "th"):
            self.rows[-1][-1] += data
        self.texts[self._open] = self.texts.get(self._open, "") + data


def test_every_builder_of_a_figure_has_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new one fails here until `samples.every_sample` draws it."""
    made = note_makers(FigureData, monkeypatch)
    sampled = samples.every_sample()
    assert set(sampled) == list_builders() and all(sampled.values())
    assert made - {"dataclasses.replace"} == list_makers(FigureData), "a figure is made where no sample comes"
    assert {series.kind for figure in FIGURES.values() for series in figure.series} == set(get_args(Kind))


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_told_drawn_and_exported(name: str) -> None:
    figure = FIGURES[name]
    assert_told(figure)
    assert_drawn(figure)
    assert_csv(figure)
    assert_text(EVIL[name], assert_html(figure).tags)


def assert_told(figure: FigureData) -> None:
    """It says what it is, in which units, and whether it may be published; its numbers can be drawn."""
    assert figure.title and figure.caption.endswith(".") and figure.alt.endswith(".")
    assert any(mark in figure.text for mark in MARKS) == figure.raw and "Do not publish" not in figure.caption
    public = replace(figure, origin=find_origin([{"dataset": "adult"}]))
    assert not public.raw and not any(mark in form for mark in MARKS for form in (public.text, write_csv(public)))
    kinds = {series.kind for series in figure.series}
    if not kinds & set(SCHEMES):
        assert any(character.isdigit() for character in figure.alt)
        axes = [figure.x, *(panel.y for panel in figure.panels), *([figure.z] if figure.z else [])]
        assert all(axis.title for axis in axes) or figure.horizontal
        assert [axis.label for axis in axes if not has_unit(axis)] == []
    if kinds <= {"line", "bar", "points"} and any(one.low or one.x_low for one in figure.series):
        assert re.search(r"95 %|standard error", figure.caption), "what the interval is"
    for series in figure.series:
        assert_values(series, len(figure.panels))


def has_unit(axis: Axis) -> bool:
    """Return whether a share has its unit."""
    words = axis.title.lower()
    if re.search(r"\bgap\b|fairness violation|advantage", words):
        return axis.unit in ("percentage points", "pp")
    return bool(axis.unit) or not re.search(r"accuracy|rate|rows|share|parity|positive|rightly|error$", words)


def assert_values(series: Series, panels: int) -> None:
    count = len(series.y)
    assert 0 <= series.panel < panels and len(series.x) == count + (series.kind == "histogram")
    assert series.kind != "line" or count <= MAX_POINTS
    for others in (series.low, series.high, series.x_low, series.x_high, series.z, series.text, series.hover):
        assert len(others) in (0, count)
    assert len(series.low) == len(series.high) and len(series.x_low) == len(series.x_high)
    numbers = [value for value in (*series.x, *series.y, *series.z, *series.low, *series.high) if value is not None]
    assert all(math.isfinite(value) for value in numbers if not isinstance(value, str))
    for values, low, high in ((series.y, series.low, series.high), (series.x, series.x_low, series.x_high)):
        for value, bottom, top in zip(values, low, high, strict=False):
            assert None in (value, bottom, top) or bottom <= value <= top, series.name


def assert_drawn(figure: FigureData) -> None:
    """One template in both themes, with every value and every unit; plain JSON that Plotly's own class takes as it is.

    Zoom stays over redraws.
    """
    for theme, colors in THEMES.items():
        drawn = draw(figure, theme=theme, caption=True)
        layout, template = drawn["layout"], drawn["layout"]["template"]["layout"]
        assert template["paper_bgcolor"] == template["plot_bgcolor"] == colors.background
        assert template["font"]["color"] == colors.text
        assert template["legend"]["traceorder"] == "normal" and template["legend"]["orientation"] == "h"
        assert layout["legend"]["y"] < 0, "the legend stands below the plot"
        assert layout["uirevision"] == figure.name and layout["meta"]["alt"] == figure.alt
        for note in layout.get("annotations", []):
            assert contrast(note["font"].get("color", colors.text), colors.background) >= 4.5
        told = json.loads(json.dumps(drawn, allow_nan=False))
        assert told == drawn, "plain JSON"
    taken = json.loads(go.Figure(drawn).to_json())
    for each in (taken, told):  # Plotly spells out a scale that is named
        each["layout"].get("coloraxis", {}).pop("colorscale", None)
    assert taken == told
    texts = unbroken(json.dumps(drawn, ensure_ascii=False))
    assert figure.horizontal or all(rich(panel.y.label) in texts for panel in figure.panels)
    assert rich(figure.x.label) in texts and all(rich(mark.label) in texts for mark in figure.references)
    assert all(rich(word) in texts for word in (figure.title, figure.text))
    for series in figure.series:
        assert any(holds(trace, series) for trace in drawn["data"]), series.name
        if series.kind == "line" and None not in (*series.low, *series.high):
            edges = [trace["y"] for trace in drawn["data"] if trace.get("hoverinfo") == "skip"]
            assert not series.low or {list(series.low) in edges, list(series.high) in edges} == {True}


def unbroken(text: str) -> str:
    return text.replace("<br>", " ")


def holds(trace: dict[str, Any], series: Series) -> bool:
    """Return whether a trace bears the series' name and has its values, and its whiskers where it has some."""
    if unbroken(trace["name"]) != rich(series.name):
        return False
    if series.kind in ("box", "histogram", "heatmap"):
        return series.kind != "histogram" or trace["y"] == list(series.y)
    up = trace["x" if series.kind == "bar" else "y"] if series.y else []
    if series.low and series.kind in ("bar", "points"):
        whiskers = trace["error_x" if series.kind == "bar" else "error_y"]["array"]
        ends = zip(series.y, series.high, whiskers, strict=True)
        if not all(None in (value, high) or more == pytest.approx(high - value) for value, high, more in ends):
            return False
    return up == list(series.y) and (series.kind == "bar" or trace.get("x", []) == list(series.x))


def assert_csv(figure: FigureData) -> None:
    """A row for each value with its interval, series, units and mark; no cell is a formula."""
    rows = list(csv.DictReader(io.StringIO(write_csv(figure))))
    values = [
        (series.name, value, *ends)
        for series in figure.series
        for value, *ends in zip(series.y, series.low or series.y, series.high or series.y, strict=True)
    ]
    assert len(rows) == len(values)
    for row, (name, value, low, high) in zip(rows, values, strict=True):
        assert row["series"].removeprefix("'") == name and row["figure"] == figure.name
        assert number(row["y"]) == value and row["note"] == (figure.origin.mark if figure.raw else "")
        assert (row["low"] == "" and low == value) or (number(row["low"]), number(row["high"])) == (low, high)
    if not figure.horizontal:
        assert {row["x_axis"] for row in rows} == {figure.x.label}
        assert {row["y_axis"] for row in rows} == {panel.y.label for panel in figure.panels}
    else:
        assert {row["y_axis"] for row in rows} == {figure.x.label}
    assert figure.z is None or [number(row["z"]) for row in rows] == [z for one in figure.series for z in one.z]


def number(cell: str) -> float | None:
    return None if cell == "" else float(cell)


def write_bare(figure: FigureData) -> str:
    """Return the HTML file without the drawing library."""
    page = to_html(figure, theme="dark")
    assert LIBRARY in page
    return page.replace(LIBRARY, "")


def assert_html(figure: FigureData) -> Page:
    """One file without a network: the drawing, what it says in words, and its numbers as a table."""
    text = write_bare(figure)
    page = Page(text)
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=[\"']?(https?:)?//", text)
    assert page.texts["figcaption"] == figure.text and figure.alt in page.spoken and "Plotly.newPlot(" in text
    head, *rows = page.rows
    values = [(one.name, value) for one in figure.series for value in one.y]
    at = head.index("series"), head.index("y")
    assert [(row[at[0]], row[at[1]]) for row in rows] == [
        (name, "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value))
        for name, value in values
    ]
    return page


def assert_text(nasty: FigureData, tags: dict[str, int]) -> None:
    """What a person named stays text: drawn, in a CSV and on a page, which has the `tags` of one with plain names."""
    drawing = draw(nasty, caption=True)
    drawing["layout"].pop("meta")  # the text alternative: never drawn
    assert not re.search(r"<b>x|<img", json.dumps(drawing))
    cells = [cell for row in csv.reader(io.StringIO(write_csv(nasty))) for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "@"))]
    assert Page(write_bare(nasty)).tags == tags


def test_the_nasty_names_come_to_figures() -> None:
    told = "".join(map(repr, EVIL.values()))
    assert all(told.count(repr(text)[1:-1]) > 20 for text in NASTY)


def test_an_image_of_every_kind_of_drawing(chromium: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROWSER_PATH", chromium)
    kinds = {series.kind: figure for figure in reversed(FIGURES.values()) for series in figure.series}
    for figure in {figure.name: figure for figure in kinds.values()}.values():
        text = " ".join(re.sub(r"<[^>]*>", " ", to_image(figure, "svg").decode()).split())
        assert all(word in text for word in figure.title.split()), figure.name
        assert ("Do not publish." in text) == figure.raw
