"""One HTML file around a drawn figure: caption, text alternative, and its numbers as a table. It needs no network."""

from __future__ import annotations

import html

from fairpriv_core.report.figure import FigureData
from fairpriv_core.report.looks import THEMES, ThemeName
from fairpriv_core.report.rows import COLUMNS, list_rows

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ margin: 1rem auto; max-width: 60rem; padding: 0 1rem; font: 16px/1.5 Arial, "Liberation Sans", sans-serif;
  font-variant-numeric: tabular-nums; background: {background}; color: {text}; }}
figure {{ margin: 0; }}
figcaption, details {{ color: {muted}; }}
table {{ border-collapse: collapse; }}
th, td {{ padding: 0.1rem 0.7rem; text-align: left; border-bottom: 1px solid {grid}; }}
</style>
</head>
<body>
<figure>
<div role="img" aria-label="{alt}">{plot}</div>
<figcaption>{caption}</figcaption>
</figure>
<details><summary>The numbers of this figure</summary>
<table><thead><tr>{head}</tr></thead><tbody>
{rows}
</tbody></table>
</details>
</body>
</html>
"""


def write_page(figure: FigureData, plot: str, *, theme: ThemeName) -> str:
    """Return the file around `plot`, the figure drawn as an HTML fragment."""
    colors = THEMES[theme]
    cells = ["".join(f"<td>{_cell(value)}</td>" for value in row) for row in list_rows(figure)]
    return _PAGE.format(
        title=html.escape(figure.title),
        alt=html.escape(figure.alt),
        plot=plot,
        caption=html.escape(figure.caption),
        head="".join(f"<th>{name}</th>" for name in COLUMNS),
        rows="\n".join(f"<tr>{row}</tr>" for row in cells),
        background=colors.background,
        text=colors.text,
        muted=colors.muted,
        grid=colors.grid,
    )


def _cell(value: object) -> str:
    return "" if value is None else html.escape(f"{value:.6g}" if isinstance(value, float) else str(value))
