"""Images for a paper's column and a slide: their size, the size of their text, caption and ground."""

from __future__ import annotations

import io
import re
import zlib
from dataclasses import replace
from functools import cache
from itertools import cycle
from typing import Any

import pytest
from PIL import Image

from fairpriv_core.errors import BadInput
from fairpriv_core.figures.draw import draw, least_height, list_places
from fairpriv_core.figures.export import ImageFormat, find_heights, fit_sheet, to_image, to_sheet
from fairpriv_core.figures.figure import FigureData, Reference
from fairpriv_core.figures.origin import PUBLIC
from fairpriv_core.figures.sheet import LEAST_POINTS, SHEETS, TEXT_PIXELS, Sheet
from fairpriv_core.records.record import RAW
from tests.figures import samples

FIGURES = samples.every_figure()
PAPER, SLIDE = SHEETS["paper"], SHEETS["slide"]


@pytest.fixture
def own_browser(chromium: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROWSER_PATH", chromium)


@cache
def paint(name: str, image_format: ImageFormat, sheet: Sheet) -> bytes:
    """Return a sample on a sheet; drawn once, and read by several tests."""
    return to_image(FIGURES[name], image_format, sheet=sheet)


def read_points(svg: str) -> list[float]:
    """Return the size of each text of an SVG, in points of what is printed."""
    width, inner = (re.search(pattern, svg) for pattern in (r'<svg[^>]* width="([\d.]+)"', r'viewBox="0 0 ([\d.]+) '))
    assert width is not None and inner is not None
    zoom = float(width.group(1)) / float(inner.group(1))
    return [float(size) * zoom * 72 / 96 for size in re.findall(r"font-size: ([\d.]+)px", svg)]


def read_inches(pdf: bytes) -> tuple[float, float]:
    """Return width and height of a PDF's first page in inches."""
    found = re.search(rb"/MediaBox \[\s*0 0 ([\d.]+) ([\d.]+)\s*\]", pdf)
    assert found is not None
    return float(found.group(1)) / 72, float(found.group(2)) / 72


def read_zoom(pdf: bytes) -> float:
    """Return how many points a pixel of the drawing takes on a PDF's first page: the product of its first scales."""
    packed = re.search(rb"stream\r?\n(.*?)endstream", pdf, re.DOTALL)
    assert packed is not None
    of_page, _, of_drawing, *_ = re.findall(rb"([\d.]+) 0 0 -?[\d.]+ 0 [\d.]+ cm", zlib.decompress(packed.group(1)))
    return float(of_page) * float(of_drawing)


@pytest.mark.usefixtures("own_browser")
@pytest.mark.parametrize("sheet", [PAPER, SLIDE])
def test_a_picture_says_how_wide_it_is(sheet: Any) -> None:
    """A slide or a document takes a picture that does not at 72 dots an inch: almost three times as wide as a slide."""
    assert (PAPER.width, PAPER.dots, round(SLIDE.width, 2)) == (3.3, 300, 13.33)
    picture = Image.open(io.BytesIO(paint("trade_off", "png", sheet)))
    across, up = picture.info["dpi"]
    assert across == up == pytest.approx(sheet.dots, abs=0.1)
    assert picture.width / across == pytest.approx(sheet.width, abs=0.02)
    picture.load()


@pytest.mark.usefixtures("own_browser")
@pytest.mark.parametrize("sheet", [PAPER, SLIDE])
@pytest.mark.parametrize("name", ["trade_off", "groups_positive_rate", "clipping_gradient_norm"])
def test_no_text_is_too_small_to_read(name: str, sheet: Any) -> None:
    wanted = fit_sheet(FIGURES[name], sheet).points
    points = read_points(paint(name, "svg", sheet).decode())
    assert points and min(points) >= wanted - 0.1 and wanted >= LEAST_POINTS


@pytest.mark.usefixtures("own_browser")
@pytest.mark.parametrize("sheet", SHEETS.values(), ids=SHEETS)
def test_text_is_as_large_in_print_as_the_sheet_says(sheet: Any) -> None:
    """A printer's margins would shrink the drawing, and its text below what can be read."""
    pdf = paint("trade_off", "pdf", sheet)
    assert b"Kaleido" not in pdf and b"Mozilla" not in pdf and b"Date" not in pdf
    width, height = read_inches(pdf)
    assert width == pytest.approx(sheet.width, abs=0.01) and height > 2
    assert sheet != SLIDE or width / height == pytest.approx(16 / 9, abs=0.01), "it is filled"
    assert TEXT_PIXELS * read_zoom(pdf) == pytest.approx(fit_sheet(FIGURES["trade_off"], sheet).points, rel=0.005)


@pytest.mark.usefixtures("own_browser")
def test_larger_text_is_larger_on_the_same_width() -> None:
    usual, large = (paint("trade_off", "svg", replace(PAPER, points=p)).decode() for p in (8, 11))
    assert min(read_points(large)) / min(read_points(usual)) == pytest.approx(11 / 8, abs=0.02)
    assert re.search(r' width="31[67]', usual) and re.search(r' width="31[67]', large)


@pytest.mark.usefixtures("own_browser")
def test_a_transparent_picture_has_no_ground() -> None:
    drawn = {
        clear: Image.open(io.BytesIO(paint("trade_off", "png", replace(PAPER, transparent=clear))))
        for clear in (True, False)
    }
    alphas = {clear: picture.convert("RGBA").getchannel("A") for clear, picture in drawn.items()}
    assert alphas[True].getpixel((2, 2)) == 0 and alphas[True].getextrema() == (0, 255)
    assert alphas[False].getextrema() == (255, 255)


@pytest.mark.usefixtures("own_browser")
def test_a_caption_stands_in_the_picture_where_it_is_wanted_and_raw_numbers_are_always_marked() -> None:
    figure, opening = FIGURES["trade_off"], FIGURES["trade_off"].caption.split()[0]
    assert figure.raw

    def read(one: FigureData, *, caption: bool) -> str:
        svg = to_image(one, "svg", sheet=replace(PAPER, caption=caption)).decode()
        return " ".join(re.sub(r"<[^>]*>", " ", svg).split())

    ending = RAW.split(". ")[-1].split()
    assert opening in read(figure, caption=True)
    assert all(word in read(figure, caption=False) for word in ending), "raw numbers say so"
    public = replace(figure, origin=PUBLIC, caption="Nothing of it is raw.")
    assert "publish" not in read(public, caption=False) and "Nothing of" not in read(public, caption=False)


def test_two_panels_stand_beside_each_other_on_a_slide_and_below_each_other_in_a_column() -> None:
    figure = FIGURES["trade_off"]
    assert len(figure.panels) == 2
    width, height = SLIDE.pixels
    wide, tall = (draw(figure, width=width, height=height, across=across)["layout"] for across in (SLIDE.across, False))
    assert wide["xaxis"]["domain"][1] < wide["xaxis2"]["domain"][0] and "domain" not in wide["yaxis"]
    assert wide["xaxis"]["title"]["text"] == wide["xaxis2"]["title"]["text"] and wide["xaxis"]["showticklabels"]
    assert tall["yaxis2"]["domain"][1] < tall["yaxis"]["domain"][0] and "domain" not in tall["xaxis"]
    assert not PAPER.across and not SHEETS["screen"].across
    caption = replace(figure, caption="")
    assert least_height(caption, caption=True, width=720, across=True) < least_height(caption, caption=True, width=720)
    bars = FIGURES["groups_positive_rate"]
    assert draw(bars, across=True) == draw(bars), "bars of one panel stay as they are"


def test_what_is_too_tall_for_a_slide_gets_smaller_text_and_what_cannot_be_read_is_refused() -> None:
    bars = FIGURES["groups_positive_rate"]
    [first, *_] = bars.series

    def stack(count: int) -> FigureData:
        each = tuple(f"group {number}" for number in range(count))
        ends = {"low": (), "high": ()}
        return replace(bars, series=(replace(first, x=each, y=(50.0,) * count, **ends),))

    assert fit_sheet(stack(5), SLIDE) == SLIDE
    tall, smaller = stack(20), fit_sheet(stack(20), SLIDE)
    assert LEAST_POINTS <= smaller.points < SLIDE.points
    assert find_heights(tall, SLIDE) == find_heights(tall, smaller), "heights are of the smaller text"
    with pytest.raises(BadInput, match=r"too tall for 'Slide 16:9'.*such as 'As on screen'"):
        fit_sheet(stack(200), SLIDE)
    assert fit_sheet(stack(200), PAPER) == PAPER, "a column is as tall as the figure"


def test_long_names_are_broken_where_a_drawing_is_narrow() -> None:
    name = "PF-LD at ε = 1 with a primal clipping bound of one half and fifty epochs"
    figure = FIGURES["trade_off"]
    long = replace(figure, series=tuple(replace(each, name=f"{name} {at}") for at, each in enumerate(figure.series)))
    width, _ = PAPER.pixels
    narrow, wide = draw(long, width=width), draw(long)
    longest = {id(each): max(map(len, each["name"].split("<br>"))) for each in narrow["data"]}
    assert max(longest.values()) * 7 < width and not any("<br>" in each["name"] for each in wide["data"])
    assert narrow["layout"]["margin"]["b"] > wide["layout"]["margin"]["b"]
    assert least_height(long, caption=False, width=width) > least_height(figure, caption=False, width=width)


def test_a_drawing_takes_the_height_that_it_is_given() -> None:
    figure = replace(FIGURES["trade_off"], references=(Reference(1.0, "ε = 1"),))
    assert draw(figure, height=700)["layout"]["height"] == 700
    assert draw(figure, height=10)["layout"]["height"] == least_height(figure, caption=False, width=900)


def test_a_legend_takes_no_more_room_than_its_names_need() -> None:
    """Every name counted as many lines as the longest one: six of seven short names left a band of a third of it."""
    figure = FIGURES["trade_off"]
    long = "Tran et al. 2021a, for whole records, as published"
    names = (long, *"abcdef")
    lines = tuple(replace(figure.series[0], name=name) for name in names)
    width, _ = PAPER.pixels
    drawing = draw(replace(figure, series=lines), width=width)
    rows = [name.count("<br>") + 1 for name in {trace["name"] for trace in drawing["data"]}]
    assert sorted(rows) == [1] * 6 + [2]
    assert sum(rows) * 17 <= drawing["layout"]["margin"]["b"] - 54 <= sum(rows) * 21 + 10


def test_a_legend_stands_where_it_is_asked_for() -> None:
    figure = FIGURES["costs"]
    width, _ = PAPER.pixels
    below, right = (draw(figure, width=width, legend=place)["layout"] for place in ("below", "right"))
    assert right["legend"]["orientation"] == "v" and right["legend"]["x"] > 1
    assert right["margin"]["r"] > below["margin"]["r"] + 60 and right["margin"]["b"] < below["margin"]["b"]
    assert list_places(figure, width) == ("ends", "below", "right"), "first as on screen"
    figure = replace(figure, series=tuple(replace(each, labelled=False) for each in figure.series))
    assert list_places(figure, width) == ("below", "right", "ends")
    assert list_places(FIGURES["groups_positive_rate"], width) == ()
    assert list_places(FIGURES["live_epsilon"], width) == (), "one line"
    long = replace(figure, series=tuple(replace(each, name=5 * each.name) for each in figure.series))
    assert list_places(long, width) == ("below", "right"), "names would leave the lines no room"
    first, *_, last = (each for each in figure.series if each.panel == 0)
    apart = replace(figure, panels=figure.panels[:1], series=(first, last))
    ended, named = (draw(apart, width=width, legend=place) for place in ("ends", "below"))
    assert named["layout"]["showlegend"] and not ended["layout"]["showlegend"]
    assert draw(replace(apart, series=tuple(replace(each, labelled=True) for each in apart.series))) == draw(
        apart, legend="ends"
    )
    assert {first.name, last.name} <= {each["text"] for each in ended["layout"]["annotations"]}


@pytest.mark.parametrize(("name", "sheet"), list(zip(FIGURES, cycle((PAPER, SLIDE)))), ids=FIGURES)
def test_a_height_is_offered_from_the_least_that_fits(name: str, sheet: Sheet) -> None:
    figure = FIGURES[name]
    least, usual = find_heights(figure, sheet)
    assert 0 < least <= usual <= max(2 * least, sheet.height or 0)
    for height in (least, usual, 2 * least):
        chosen = replace(fit_sheet(figure, sheet), height=height)
        assert fit_sheet(figure, chosen) == chosen, "its text stays as large"


@pytest.mark.usefixtures("own_browser")
def test_several_figures_are_panels_of_one_image() -> None:
    figures = [FIGURES[name] for name in ("live_accuracy", "live_gap", "costs")]
    svg, png, pdf = (to_sheet(figures, form, columns=2, sheet=PAPER) for form in ("svg", "png", "pdf"))
    heights = [max(find_heights(figure, PAPER)[1] for figure in row) for row in (figures[:2], figures[2:])]
    assert read_inches(pdf) == pytest.approx((6.6, sum(heights)), abs=0.02)
    assert b"/Font" in pdf and b"/Subtype /Image" not in pdf, "its text is text"
    picture = Image.open(io.BytesIO(png))
    assert picture.width / picture.info["dpi"][0] == pytest.approx(6.6, abs=0.02)
    panels = svg.decode().split("<svg ")[2:]
    titles = [re.sub(r"<[^>]*>", "", re.findall(r'class="gtitle".*?</text>', panel)[0]) for panel in panels]
    assert [title.split(">")[-1][:5] for title in titles] == ["a   A", "b   D", "c   W"]
    assert [float(each) for panel in panels for each in re.findall(r'^x="([\d.]+)"', panel)] == [0, 3.3 * 96, 0]
    assert min(read_points("<svg " + panels[0])) >= PAPER.points - 0.1
    assert [figure.raw for figure in figures] == ["not publish" in panel for panel in panels] == [True, True, False]
    edge = picture.convert("L").crop((0, 0, 20, 20)).getextrema()
    assert edge == (255, 255) and picture.convert("L").getextrema()[0] < 100, "every panel is drawn"
