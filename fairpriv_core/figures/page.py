"""A figure, or whatever else is HTML already, as one file that asks no server for anything."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from fairpriv_core.figures.figure import FigureData, list_columns, list_rows
from fairpriv_core.figures.styles import THEMES, ThemeName

_DOCUMENT = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{rule}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ margin: 1rem auto; max-width: 60rem; padding: 0 1rem; font: 16px/1.5 Arial, "Liberation Sans", sans-serif;
  font-variant-numeric: tabular-nums; background: {background}; color: {text}; }}
figure {{ margin: 0; }}
figcaption, details {{ color: {muted}; }}
table {{ border-collapse: collapse; }}
th, td {{ padding: 0.1rem 0.7rem; text-align: left; border-bottom: 1px solid {grid}; }}
{style}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""
_RULE = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
_FIGURE = """<figure>
<div role="group" aria-label="{alt}">{plot}</div>
<figcaption>{caption}</figcaption>
</figure>
<details><summary>The numbers of this figure</summary>
{numbers}
</details>"""


def write_document(title: str, body: str, *, theme: ThemeName, style: str = "") -> str:
    """Return one HTML file around `body`, which is HTML already; `style` is added to its style sheet."""
    colors = THEMES[theme]
    return _DOCUMENT.format(
        rule=_RULE,
        title=html.escape(title),
        body=body,
        style=style,
        background=colors.background,
        text=colors.text,
        muted=colors.muted,
        grid=colors.grid,
    )


def write_figure(figure: FigureData, plot: str) -> str:
    """Return `plot`, the figure drawn as an HTML fragment, with its caption, and its numbers as a table."""
    rows = [[_cell(value) for value in row] for row in list_rows(figure)]
    numbers = write_table(list_columns(figure), rows, name="The numbers of this figure")
    return _FIGURE.format(alt=html.escape(figure.alt), plot=plot, caption=html.escape(figure.text), numbers=numbers)


def write_table(head: Sequence[str], rows: Iterable[Sequence[str]], *, name: str) -> str:
    """Return a table of texts; where it is too wide it scrolls, which the keyboard reaches. `name` is read aloud."""
    cells = ["".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in rows]
    names = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    body = "\n".join(f"<tr>{row}</tr>" for row in cells)
    place = f'class="wide" tabindex="0" role="group" aria-label="{html.escape(name)}"'
    return f"<div {place}><table><thead><tr>{names}</tr></thead><tbody>\n{body}\n</tbody></table></div>"


def _cell(value: object) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
