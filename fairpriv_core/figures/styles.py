"""What colours, dashes and markers there are, and how a method of the catalogue, a role and a theme look.

Colours are Okabe and Ito's (2008), darkened on light ground where a thin line would have a contrast below 3:1. No two
methods share dash and marker, so they differ in greyscale too; methods of one family share a colour.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fairpriv_core.methods.base import DASHES, MARKERS
from fairpriv_core.methods.catalog import methods

ThemeName = Literal["light", "dark"]

# name: (on light ground, on dark ground)
COLORS = {
    "blue": ("#0072B2", "#56B4E9"),
    "sky": ("#2E79B0", "#8CCBF0"),
    "vermilion": ("#D55E00", "#E8783A"),
    "green": ("#009E73", "#1FBF92"),
    "purple": ("#B85F92", "#CC79A7"),
    "orange": ("#A86F00", "#E69F00"),
    "yellow": ("#857A00", "#F0E442"),
    "grey": ("#666D74", "#9AA3AB"),
    "ink": ("#1F2328", "#ECEFF1"),
    # a sequence after viridis, for the values of one setting
    "viridis 0": ("#440154", "#C9A0E8"),
    "viridis 1": ("#443983", "#9C9CE8"),
    "viridis 2": ("#31688E", "#6FB1DC"),
    "viridis 3": ("#1B807B", "#3FC4BC"),
    "viridis 4": ("#24855A", "#5DD58A"),
    "viridis 5": ("#55811C", "#A5DB5A"),
    "viridis 6": ("#857A00", "#F0E442"),
}


@dataclass(frozen=True)
class LineStyle:
    """How a series looks: a name of COLORS, a dash and a marker, and a short title for the legend."""

    title: str
    color: str
    dash: str
    marker: str
    width: float = 2.0


@dataclass(frozen=True)
class Theme:
    """The colours of a screen or a page: text has a contrast of at least 4.5:1 on the background."""

    name: ThemeName
    background: str
    text: str
    muted: str
    grid: str


THEMES = {
    "light": Theme("light", "#FFFFFF", "#1F2328", "#565E66", "#E3E7EA"),
    "dark": Theme("dark", "#14171A", "#ECEFF1", "#AEB6BD", "#2E353B"),
}

_ROLES = {
    "ink": LineStyle("", "ink", "solid", "circle"),
    "muted": LineStyle("", "grey", "dot", "circle", 1.5),
    "total": LineStyle("", "ink", "solid", "circle", 2.5),
    "bias": LineStyle("", "purple", "dash", "square"),
    "variance": LineStyle("", "orange", "dot", "diamond"),
    "budget": LineStyle("", "blue", "solid", "circle"),
    "expected": LineStyle("", "blue", "dash", "circle-open"),
    "published": LineStyle("", "grey", "dash", "square"),
    "part": LineStyle("", "sky", "solid", "circle"),
    "found": LineStyle("", "orange", "solid", "circle"),
    "found once": LineStyle("", "orange", "dot", "diamond"),
    "dot before": LineStyle("", "grey", "solid", "circle"),
    "dot added": LineStyle("", "blue", "solid", "circle"),
    "dot rest": LineStyle("", "grey", "solid", "circle-open"),
    "box open": LineStyle("", "grey", "solid", "square-open", 1.5),
    "box left out": LineStyle("", "grey", "dot", "square-open", 1.5),
    "box part": LineStyle("", "grey", "dash", "square", 1.5),
    "box kept": LineStyle("", "ink", "solid", "square", 2.0),
    "box noisy": LineStyle("", "blue", "solid", "square", 2.5),
    "flow": LineStyle("", "ink", "solid", "circle", 1.5),
}


def method_style(method: str) -> LineStyle:
    """Return the look that the catalogue gives `method`, also to one that is not installed any more."""
    info = methods()[method].info
    return LineStyle(info.legend, info.style.color, info.style.dash, info.style.marker)


def style_of(name: str) -> LineStyle:
    """Return the look of a method's id or of a role.

    "group 3" is the fourth group: never a method's colour. "step 3" is the fourth of up to seven values of a setting.
    """
    step = re.fullmatch(r"step ([0-6])", name)
    if step:
        index = int(step.group(1))
        return LineStyle("", f"viridis {index}", DASHES[index % len(DASHES)], MARKERS[index])
    group = re.fullmatch(r"group (\d+)", name)
    if group:
        index = int(group.group(1))
        color = "ink" if index % 2 == 0 else "grey"
        return LineStyle("", color, DASHES[index % len(DASHES)], MARKERS[index % len(MARKERS)], 1.5)
    return _ROLES[name] if name in _ROLES else method_style(name)


def color_on(line: LineStyle, theme: Theme, variation: int = 0) -> str:
    """Return the look's colour "#RRGGBB" on `theme`; each `variation` moves it towards the text's colour."""
    base = COLORS[line.color][0 if theme.name == "light" else 1]
    share = min(0.22 * variation, 0.66)
    mixed = [round((1 - share) * a + share * b) for a, b in zip(_channels(base), _channels(theme.text), strict=True)]
    return "#" + "".join(f"{value:02X}" for value in mixed)


def fill(color: str, opacity: float) -> str:
    """Return `color` as an rgba() string, for the band of a line."""
    red, green, blue = _channels(color)
    return f"rgba({red},{green},{blue},{opacity})"


def _channels(color: str) -> tuple[int, int, int]:
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def count_earlier(names: Sequence[str]) -> list[int]:
    """Return how many methods before each have its name: by that many markers its style is varied."""
    return [names[:place].count(name) for place, name in enumerate(names)]
