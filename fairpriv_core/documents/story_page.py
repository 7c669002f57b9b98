"""A story as one HTML file that asks no server for anything: five full screens, moved by the arrow keys.

Printed, the same file is a summary on one page of A4. The page Present shows this very file.
"""

from __future__ import annotations

import html
import math

from fairpriv_core.documents.html import read_beside
from fairpriv_core.documents.story import Bar, Bars, CostCurve, Crowd, Line, Lists, Odds, Picture, Step, Story
from fairpriv_core.figures.styles import THEMES, ThemeName, color_on, style_of
from fairpriv_core.text import epsilon_text, hold_numbers

_RULE = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"
_PAGE = """<!doctype html>
<html lang="en"{theme}>
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{rule}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ {light} }}
@media screen and (prefers-color-scheme: dark) {{ :root:not([data-theme="light"]) {{ {dark} }} }}
@media screen {{ :root[data-theme="dark"] {{ {dark} }} }}
{style}</style>
</head>
<body>
<header><h1>{title}</h1><p class="headline">{headline}</p>
<nav aria-label="Steps">
<button id="back" aria-label="Back" title="Back (←)">←</button>
<span id="place" aria-live="polite"></span>
<button id="on" aria-label="On" title="On (→)">→</button>
<button id="notes" aria-pressed="false" title="Notes (N)">Notes</button>
<button id="full" title="Full screen (F)">Full screen</button>
</nav>
</header>
<main>
{steps}
</main>
<aside class="source">{source}</aside>
<script>{script}</script>
</body>
</html>
"""
_STEP = """<section class="step" aria-label="{title}"{hidden}>
<div class="said">
<h2>{title}</h2>
{number}
<p class="sentence">{sentence}</p>
</div>
<div class="picture">{picture}</div>
<aside class="notes" hidden><h3>Notes</h3><ul>{notes}</ul></aside>
</section>"""
_ACROSS, _DOT = 10, 20
_EVEN = 50
_WIDE, _HIGH, _LEFT, _BELOW = 640, 400, 64, 52


def write_story(story: Story, *, theme: ThemeName | None = None) -> str:
    """Return the file. Without a `theme` it follows the one of whoever opens it."""
    steps = "\n".join(_write_step(step, hidden=index > 0) for index, step in enumerate(story.steps))
    return _PAGE.format(
        theme="" if theme is None else f' data-theme="{theme}"',
        rule=_RULE,
        title=html.escape(story.title),
        headline=html.escape(story.headline),
        source=html.escape(story.source),
        light=_name_colors("light"),
        dark=_name_colors("dark"),
        style=read_beside("story.css"),
        script=read_beside("story.js"),
        steps=steps,
    )


def _name_colors(name: ThemeName) -> str:
    theme = THEMES[name]
    lit = color_on(style_of("budget"), theme)
    return (
        f"--background: {theme.background}; --text: {theme.text}; --muted: {theme.muted}; --grid: {theme.grid}; "
        f"--lit: {lit}; --dark: {int(name == 'dark')};"
    )


def _write_step(step: Step, *, hidden: bool) -> str:
    number = f'<p class="number"><b>{html.escape(step.number)}</b> <span>{html.escape(step.unit)}</span></p>'
    return _STEP.format(
        title=html.escape(step.title),
        number=number if step.number else "",
        sentence=html.escape(hold_numbers(step.sentence)),
        picture=_draw(step.picture),
        notes="".join(f"<li>{html.escape(note)}</li>" for note in step.notes),
        hidden=" hidden" if hidden else "",
    )


def _draw(picture: Picture) -> str:
    if isinstance(picture, Odds):
        return _draw_odds(picture)
    if isinstance(picture, CostCurve):
        return _draw_curve(picture)
    if isinstance(picture, Lists):
        return "".join(
            f"<h3>{html.escape(head)}</h3><ul>{''.join(f'<li>{html.escape(item)}</li>' for item in items)}</ul>"
            for head, items in picture.lists
        )
    if isinstance(picture, Bars):
        bars = "".join(map(_draw_bar, picture.bars))
        return f'<figure class="bars">{bars}<figcaption>{html.escape(picture.caption)}</figcaption></figure>'
    return f'<div class="crowds">{"".join(map(_draw_crowd, picture))}</div>'


def _draw_crowd(crowd: Crowd) -> str:
    dots = _draw_dots(["lit"] * crowd.filled + ["rest"] * (_ACROSS**2 - crowd.filled))
    label = html.escape(crowd.label)
    drawing = f'<svg viewBox="0 0 200 200" role="img" aria-label="{label}">{dots}</svg>'
    return f"<figure>{drawing}<figcaption>{label}</figcaption></figure>"


def _draw_bar(bar: Bar) -> str:
    """Return a bar of 100 places with its interval as a thin line; what it says stands above it."""
    share = min(max(bar.share, 0.0), 100.0)
    low, high = (min(max(end, 0.0), 100.0) for end in bar.ends or (share, share))
    whisker = f'<path class="whisker" d="M{low:.2f} 6H{high:.2f}"/>' if bar.ends else ""
    label = f"<b>{bar.share:.0f}</b> of 100: {html.escape(bar.label)}"
    return (
        f'<p>{label}</p><svg viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">'
        f'<path class="track" d="M0 0H100V12H0Z"/><path class="bar" d="M0 0H{share:.2f}V12H0Z"/>{whisker}</svg>'
    )


def _draw_odds(odds: Odds) -> str:
    """Return the dots of one ε with a slider that moves them; the slider is over the logarithm to base 10."""
    kinds = ["even"] * _EVEN + ["lit"] * (odds.sure - _EVEN) + ["rest"] * (_ACROSS**2 - odds.sure)
    at = 1.0 if odds.epsilon is None else min(max(math.log10(odds.epsilon), -2.0), 1.0)
    text = "no limit" if odds.epsilon is None else epsilon_text(odds.epsilon)
    return (
        f'<figure><svg id="odds" viewBox="0 0 200 200" role="img" aria-label="{odds.sure} of 100 dots">'
        f"{_draw_dots(kinds)}</svg>"
        "<figcaption>Grey: even odds. Colour: what ε adds at most. Empty: still unsure.</figcaption></figure>"
        f'<label class="slide">Privacy budget ε = <output id="epsilon">{text}</output>, at most '
        f'<output id="sure">{odds.sure}</output> % certain'
        f'<input id="slider" type="range" min="-2" max="1" step="0.01" value="{at:.2f}"></label>'
    )


def _draw_dots(kinds: list[str]) -> str:
    return "".join(
        f'<circle class="{kind}" cx="{_DOT * (index % _ACROSS) + 10}" cy="{_DOT * (index // _ACROSS) + 10}" r="7"/>'
        for index, kind in enumerate(kinds)
    )


def _draw_curve(curve: CostCurve) -> str:
    """Return accuracy over gap: whiskers, a line from where it began, and below it one sentence a setting."""
    points = [*curve.lines, *([curve.before] if curve.before else [])]
    right = 1.08 * max(point.gap[2] for point in points)
    low, high = min(point.accuracy[1] for point in points), max(point.accuracy[2] for point in points)
    low = low if curve.constant is None else min(low, curve.constant)
    low, high = low - 0.1 * (high - low) - 0.1, min(100.0, high + 0.1 * (high - low) + 0.1)
    scale = _Scale(right or 1.0, low, high)
    start = "" if curve.before is None else _draw_point(curve.before, scale, "before", "0")
    lines = "".join(
        f'<g class="line" style="{_color(line)}">{scale.join(curve.before, line)}'
        f"{_draw_point(line, scale, '', str(index))}</g>"
        for index, line in enumerate(curve.lines, 1)
    )
    items = "".join(
        f'<li class="line" value="{index}">{html.escape(line.sentence)}</li>'
        for index, line in enumerate(curve.lines, 1)
    )
    base = "" if curve.before is None else _write_start(curve.before)
    alt = html.escape(" ".join(line.sentence for line in curve.lines))
    return (
        f'<figure><svg viewBox="0 0 {_WIDE} {_HIGH}" role="img" aria-label="Accuracy over gap. {alt}">'
        f'{scale.draw()}{scale.level(curve.constant)}{start}{lines}</svg></figure>{base}<ol class="lines">{items}</ol>'
    )


def _write_start(before: Line) -> str:
    sentence = f"{before.name}: gap {before.gap[0]:.1f} points, accuracy {before.accuracy[0]:.1f} %."
    return f'<p class="base">0: {html.escape(sentence)}</p>'


def _color(line: Line) -> str:
    look = style_of(line.style)
    return f"--own-light: {color_on(look, THEMES['light'])}; --own-dark: {color_on(look, THEMES['dark'])}"


class _Scale:
    """Places of gaps in [0, right] and accuracies in [low, high] in the drawing."""

    def __init__(self, right: float, low: float, high: float) -> None:
        self.right, self.low, self.high = right, low, high

    def x(self, gap: float) -> float:
        return round(_LEFT + (_WIDE - _LEFT - 12) * gap / self.right, 1)

    def y(self, accuracy: float) -> float:
        return round(_HIGH - _BELOW - (_HIGH - _BELOW - 12) * (accuracy - self.low) / (self.high - self.low), 1)

    def join(self, before: Line | None, line: Line) -> str:
        """Return the stroke from where it began."""
        if before is None:
            return ""
        ends = (self.x(before.gap[0]), self.y(before.accuracy[0])), (self.x(line.gap[0]), self.y(line.accuracy[0]))
        (x1, y1), (x2, y2) = ends
        return f'<path class="way" d="M{x1} {y1}L{x2} {y2}"/>'

    def level(self, constant: float | None) -> str:
        """Return the line of one answer for everybody; "" without it."""
        if constant is None:
            return ""
        y = self.y(constant)
        return (
            f'<path class="level" d="M{_LEFT} {y}H{_WIDE - 12}"/>'
            f'<text x="{_WIDE - 14}" y="{y - 6}" text-anchor="end">one answer for everybody: {constant:.1f}</text>'
        )

    def draw(self) -> str:
        """Return axes, ticks and titles."""
        bottom = _HIGH - _BELOW
        across = "".join(
            f'<path class="grid" d="M{self.x(at)} 12V{bottom}"/><text x="{self.x(at)}" y="{bottom + 20}" '
            f'text-anchor="middle">{at:g}</text>'
            for at in _ticks(0.0, self.right)
        )
        up = "".join(
            f'<path class="grid" d="M{_LEFT} {self.y(at)}H{_WIDE - 12}"/><text x="{_LEFT - 8}" y="{self.y(at) + 5}" '
            f'text-anchor="end">{at:g}</text>'
            for at in _ticks(self.low, self.high)
        )
        middle = (bottom + 12) / 2
        return (
            f'{across}{up}<text x="{(_WIDE + _LEFT) / 2}" y="{_HIGH - 8}" text-anchor="middle">Gap (percentage points)'
            f'</text><text x="16" y="{middle}" text-anchor="middle" transform="rotate(-90 16 {middle})">'
            "Accuracy (%)</text>"
        )


def _ticks(low: float, high: float) -> list[float]:
    """Return two to six round values from `low` to `high`."""
    rough = (high - low) / 5
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough)
    first = math.ceil(low / step)
    return [round(step * index, 6) for index in range(first, math.floor(high / step) + 1)]


def _draw_point(line: Line, scale: _Scale, kind: str, mark: str) -> str:
    (gap, left, right), (accuracy, low, high) = line.gap, line.accuracy
    x, y = scale.x(gap), scale.y(accuracy)
    return (
        f'<g class="point {kind}"><path class="whisker" d="M{scale.x(max(left, 0.0))} {y}H{scale.x(right)}M{x} '
        f'{scale.y(low)}V{scale.y(min(high, 100.0))}"/><circle cx="{x}" cy="{y}" r="11"/>'
        f'<text class="mark" x="{x}" y="{y + 5}" text-anchor="middle">{mark}</text></g>'
    )
