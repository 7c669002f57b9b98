"""A Mermaid graph of docs as a picture in the page: the theme would load Mermaid's script from another host."""

from __future__ import annotations

import re
from typing import Any

from mkdocs.config.defaults import MkDocsConfig

ROW, REACH, LEFT = 34, 30, 110  # pixels: between two names, of an arc for each name it passes, beside the names
ARROW = re.compile(r"(\w+) -- (\d+) --> (\w+)")
HEAD = (
    '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto" '
    'markerUnits="userSpaceOnUse"><path d="M0 0 8 4 0 8z" fill="currentColor"/></marker></defs>'
)


def on_config(config: MkDocsConfig) -> None:
    """Have Mermaid's blocks drawn."""
    fences = config.mdx_configs.setdefault("pymdownx.superfences", {}).setdefault("custom_fences", [])
    fences.append({"name": "mermaid", "class": "arrows", "format": draw})


def draw(source: str, *_: Any, **__: Any) -> str:
    """Return the graph as SVG: its names in one column, an arc from each to those that it points to."""
    names = [line.strip() for line in source.splitlines()[1:] if line.strip().isidentifier()]
    arrows = [(names.index(start), int(number), names.index(end)) for start, number, end in ARROW.findall(source)]
    width = LEFT + REACH * len(names) + 40
    return (
        f'<svg class="arrows" viewBox="0 0 {width} {ROW * len(names)}" width="{width}" role="img" '
        f'aria-label="Which room imports from which" font-size="13" fill="currentColor">{HEAD}'
        + "".join(
            f'<text x="{LEFT - 14}" y="{_height(at) + 4}" text-anchor="end">{n}</text>' for at, n in enumerate(names)
        )
        + "".join(_draw_arc(*arrow) for arrow in arrows)
        + "</svg>"
    )


def _height(place: int) -> int:
    return ROW * place + ROW // 2


def _draw_arc(start: int, number: int, end: int) -> str:
    """Return an arc with its number, as wide as that is large."""
    here, there = _height(start) - 5, _height(end) + 5
    reach, thick = 10 + REACH * abs(start - end), 1 + number / 40
    far = LEFT + reach * 4 / 3  # the curve goes three quarters of the way to it
    return (
        f'<path d="M{LEFT} {here}C{far} {here} {far} {there} {LEFT} {there}" fill="none" stroke="currentColor" '
        f'stroke-opacity="0.45" stroke-width="{thick}" marker-end="url(#head)"/>'
        f'<text x="{LEFT + reach - 6}" y="{(here + there) / 2 + 4}" font-size="10" '
        f'stroke="var(--md-default-bg-color)" stroke-width="3" paint-order="stroke">{number}</text>'
    )
