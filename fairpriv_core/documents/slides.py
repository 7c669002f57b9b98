"""A story as slides for PowerPoint and its relatives: five at 16:9, with native shapes and presenter's notes.

It needs python-pptx, which the extra "slides" brings.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from fairpriv_core.documents.story import Bars, CostCurve, Crowd, Line, Lists, Odds, Picture, Step, Story
from fairpriv_core.figures.styles import THEMES, color_on, style_of

MIME = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
NO_SLIDES = "slides need python-pptx, which is not installed: pip install 'fairpriv[slides]'."
_WIDTH, _HEIGHT = 13.333, 7.5  # inches
_LEFT, _MIDDLE, _TOP, _MARGIN = 0.6, 6.4, 1.0, 0.6
_US = "fairpriv"
_ACROSS, _EVEN, _BLANK = 10, 50, 6
_THEME = THEMES["light"]


def can_write_slides() -> bool:
    """Return whether python-pptx is installed."""
    return find_spec("pptx") is not None


def write_slides(story: Story) -> bytes:
    """Return the story as a .pptx file; needs `can_write_slides`."""
    from pptx import Presentation
    from pptx.util import Inches

    slides = Presentation()
    slides.slide_width, slides.slide_height = Inches(_WIDTH), Inches(_HEIGHT)
    for step in story.steps:
        slide = slides.slides.add_slide(slides.slide_layouts[_BLANK])
        _write_step(slide, step)
        _write(slide, story.source, (_LEFT, _HEIGHT - 0.6, _WIDTH - 2 * _LEFT), 11, _THEME.muted)
        slide.notes_slide.notes_text_frame.text = "\n".join(step.notes)
    _sign(slides, story.title)
    buffer = io.BytesIO()
    slides.save(buffer)
    return buffer.getvalue()


def _sign(slides: Any, title: str) -> None:
    """Say the title and this project, where python-pptx's template says its author, its dates and its system."""
    about, package = slides.core_properties, slides.part.package
    for node in list(about._element):
        about._element.remove(node)
    about.title, about.author = title, _US
    for link, part in [(link, node.target_part) for link, node in package._rels.items()]:
        if part.partname in ("/docProps/app.xml", "/docProps/thumbnail.jpeg"):
            package.drop_rel(link)


def _write_step(slide: Any, step: Step) -> None:
    width = _MIDDLE - _LEFT - 0.4
    _write(slide, step.title, (_LEFT, _TOP, width), 28, _THEME.text, bold=True)
    _write(slide, step.number, (_LEFT, _TOP + 1.1, width), 60, _THEME.text, bold=True)
    _write(slide, step.unit, (_LEFT, _TOP + 2.2, width), 18, _THEME.muted)
    _write(slide, step.sentence, (_LEFT, _TOP + 2.8, width), 20, _THEME.text)
    _draw(slide, step.picture)


def _draw(slide: Any, picture: Picture) -> None:
    if isinstance(picture, Odds):
        kinds = ["even"] * _EVEN + ["lit"] * (picture.sure - _EVEN) + ["rest"] * (_ACROSS**2 - picture.sure)
        _draw_dots(slide, kinds, (_MIDDLE + 1.0, _TOP), 4.6)
        _write(slide, "Grey: even odds. Colour: what ε adds at most. Empty: still unsure.", (_MIDDLE, 5.8, 6.3), 14)
    elif isinstance(picture, CostCurve):
        _draw_curve(slide, picture)
    elif isinstance(picture, Lists):
        lines = [line for head, items in picture.lists for line in (head, *(f"• {item}" for item in items), "")]
        _write(slide, "\n".join(lines), (_MIDDLE, _TOP, 6.3), 20, _THEME.text)
    elif isinstance(picture, Bars):
        _draw_bars(slide, picture)
    else:
        for crowd, (left, top), size in _place(picture):
            _draw_dots(slide, ["lit"] * crowd.filled + ["rest"] * (_ACROSS**2 - crowd.filled), (left, top), size)
            _write(slide, crowd.label, (left, top + size, size + 0.3), 14, _THEME.text)


def _place(crowds: tuple[Crowd, ...]) -> Iterator[tuple[Crowd, tuple[float, float], float]]:
    """Yield each crowd with its corner and size, in rows of two or, beyond four, of three."""
    across = 2 if len(crowds) <= 4 else 3
    rows = -(-len(crowds) // across)
    size = min((_WIDTH - _MIDDLE - _MARGIN) / across - 0.4, 5.4 / rows - 0.8)
    for index, crowd in enumerate(crowds):
        yield crowd, (_MIDDLE + (index % across) * (size + 0.4), _TOP + (index // across) * (size + 0.9)), size


def _draw_dots(slide: Any, kinds: list[str], corner: tuple[float, float], size: float) -> None:
    from pptx.enum.shapes import MSO_SHAPE
    from pptx.util import Inches

    step, fills = size / _ACROSS, {"lit": color_on(style_of("budget"), _THEME), "even": _THEME.muted}
    for index, kind in enumerate(kinds):
        at = corner[0] + step * (index % _ACROSS), corner[1] + step * (index // _ACROSS)
        dot = slide.shapes.add_shape(MSO_SHAPE.OVAL, *map(Inches, (*at, 0.7 * step, 0.7 * step)))
        dot.shadow.inherit = False
        dot.line.color.rgb = _color(fills.get(kind, _THEME.muted))
        if kind in fills:
            dot.fill.solid()
            dot.fill.fore_color.rgb = _color(fills[kind])
        else:
            dot.fill.background()


def _draw_bars(slide: Any, picture: Bars) -> None:
    """Draw shares as bars of 100 places, each below what it says."""
    from pptx.enum.shapes import MSO_SHAPE
    from pptx.util import Inches

    width, pitch = _WIDTH - _MIDDLE - _MARGIN, min(1.4, 4.6 / len(picture.bars))
    for index, bar in enumerate(picture.bars):
        top = _TOP + index * pitch
        _write(slide, f"{bar.share:.0f} of 100: {bar.label}", (_MIDDLE, top, width), 16, _THEME.text)
        for share, color in ((100.0, _THEME.grid), (bar.share, color_on(style_of("budget"), _THEME))):
            at = (_MIDDLE, top + 0.6 * pitch, max(0.01, width * share / 100), 0.3 * pitch)
            shape = slide.shapes.add_shape(MSO_SHAPE.RECTANGLE, *map(Inches, at))
            shape.shadow.inherit = False
            shape.line.fill.background()
            shape.fill.solid()
            shape.fill.fore_color.rgb = _color(color)
    _write(slide, picture.caption, (_MIDDLE, _TOP + len(picture.bars) * pitch + 0.1, width), 14)


def _draw_curve(slide: Any, curve: CostCurve) -> None:
    """Draw accuracy over gap as a chart of PowerPoint's own: a line from where it began to each setting."""
    from pptx.chart.data import XyChartData
    from pptx.enum.chart import XL_CHART_TYPE, XL_LEGEND_POSITION
    from pptx.util import Inches, Pt

    data = XyChartData()
    for line in curve.lines:
        series = data.add_series(line.name)
        for point in (*([curve.before] if curve.before else []), line):
            series.add_data_point(point.gap[0], point.accuracy[0])
    place = map(Inches, (_MIDDLE, _TOP - 0.3, _WIDTH - _MIDDLE - _MARGIN, 4.1))
    chart = slide.shapes.add_chart(XL_CHART_TYPE.XY_SCATTER_LINES, *place, data).chart
    chart.has_legend, chart.font.size = True, Pt(12)
    chart.legend.position, chart.legend.include_in_layout = XL_LEGEND_POSITION.BOTTOM, False
    for axis, title in ((chart.category_axis, "Gap (percentage points)"), (chart.value_axis, "Accuracy (%)")):
        axis.has_title = True
        axis.axis_title.text_frame.text = title
    chart.category_axis.minimum_scale = 0
    lowest = min(line.accuracy[1] for line in (*curve.lines, *([curve.before] if curve.before else [])))
    chart.value_axis.minimum_scale = max(0, int(lowest) - 1)
    for series, line in zip(chart.plots[0].series, curve.lines, strict=True):
        _style(series, line)
    sentences = [line.sentence for line in curve.lines]
    _write(slide, "\n".join(sentences), (_MIDDLE, _TOP + 3.9, _WIDTH - _MIDDLE - _MARGIN), 12, _THEME.text)


def _style(series: Any, line: Line) -> None:
    own = _color(color_on(style_of(line.style), _THEME))
    series.format.line.color.rgb = own
    series.marker.format.fill.solid()
    series.marker.format.fill.fore_color.rgb = own
    series.smooth = False


def _write(
    slide: Any,
    text: str,
    place: tuple[float, float, float],
    size: int,
    color: str = _THEME.muted,
    *,
    bold: bool = False,
) -> None:
    """Write `text` at `place`: left, top and width in inches."""
    from pptx.util import Inches, Pt

    left, top, width = place
    frame = slide.shapes.add_textbox(Inches(left), Inches(top), Inches(width), Inches(0.5)).text_frame
    frame.word_wrap, frame.text = True, text
    for paragraph in frame.paragraphs:
        paragraph.font.size, paragraph.font.bold, paragraph.font.name = Pt(size), bold, "Arial"
        paragraph.font.color.rgb = _color(color)


def _color(code: str) -> Any:
    from pptx.dml.color import RGBColor

    return RGBColor.from_string(code.removeprefix("#"))
