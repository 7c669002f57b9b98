"""The mixing line in charts of accuracy against gap: from the constant answer to plain training, by drawing lots."""

from __future__ import annotations

from collections.abc import Iterable

from fairpriv_core.facts.tables import TableRow
from fairpriv_core.figures.figure import Series
from fairpriv_core.methods.catalog import REFERENCE_METHOD
from fairpriv_core.notions.catalog import notions

CAPTION = (
    "The dotted mixing line goes from one answer for everybody to plain training. Anything on or below it could be had "
    "by flipping a coin between the two."
)


def find_plain(rows: Iterable[TableRow]) -> TableRow | None:
    """Return the most accurate row of the reference method that is better than the constant answer; None without one.

    `rows` are of one data set, its groups and one notion.
    """
    plain = [row for row in rows if row.method == REFERENCE_METHOD and _ends(row) is not None]
    return max(plain, key=lambda row: row.accuracy.mean or 0.0, default=None)


def draw_mixing_line(plain: TableRow | None, panel: int = 0) -> tuple[Series, ...]:
    """Return the line, accuracy in per cent over gap in percentage points; () where it is undefined."""
    ends = None if plain is None else _ends(plain)
    if ends is None:
        return ()
    constant, gap, accuracy = ends
    return (
        Series("mixing line", "line", (0.0, 100 * gap), (100 * constant, 100 * accuracy), style="muted", panel=panel),
    )


def _ends(row: TableRow) -> tuple[float, float, float] | None:
    """Return (constant accuracy, gap, accuracy) where plain training gains accuracy and has a gap."""
    accuracy, gap, notion = row.accuracy.mean, row.gap.mean, notions().get(row.notion)
    if notion is None or not notion.is_of_means:  # drawing lots moves no other gap along a line
        return None
    if row.constant is None or accuracy is None or not gap or accuracy <= row.constant:
        return None
    return row.constant, gap, accuracy
