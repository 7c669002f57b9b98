"""The runs that are compared: chosen by a link, by clicks in the table, or from a list; all are one choice."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from fairpriv_core.report.tables import TableRow
from pages.widgets.guard import plain
from pages.widgets.run_table import MOST_CHOSEN, Varied, name_row
from pages.widgets.state import choose, keep, mount_several, value


def settle_choice(rows: Sequence[TableRow]) -> None:
    """Bring what a link or a click chose to rows that are there; on a first visit choose two that ask the same."""
    if not value("runs") and not st.session_state.get("compare_opened"):
        choose("runs", _choose_usual(rows))
    st.session_state["compare_opened"] = True
    first = {key: row.keys[0] for row in rows for key in row.keys}
    unknown = [key for key in value("runs") if key not in first]
    known = tuple(dict.fromkeys(first[key] for key in value("runs") if key in first))
    if unknown:
        many = "is" if len(unknown) == 1 else "are"
        st.warning(
            f"{plain(', '.join(unknown))} {many} not among the finished runs of this store: deleted, not finished, or "
            "in another store.",
            icon=":material/link_off:",
        )
    if len(known) > MOST_CHOSEN:
        st.warning(f"At most {MOST_CHOSEN} runs fit over each other: these are the first {MOST_CHOSEN}.")
    if known[:MOST_CHOSEN] != tuple(value("runs")):
        choose("runs", known[:MOST_CHOSEN])


def choose_runs(rows: Sequence[TableRow], shown: Sequence[TableRow], varied: Varied) -> list[TableRow]:
    """Draw the choice as a list and return its rows; each is named by the key of its first run."""
    by_key = {row.keys[0]: row for row in rows}
    listed = list(dict.fromkeys([*(row.keys[0] for row in shown), *value("runs")]))
    picked = st.multiselect(
        f"Runs to compare (2 to {MOST_CHOSEN})",
        listed,
        **mount_several("runs", listed, ()),
        max_selections=MOST_CHOSEN,
        format_func=lambda key: name_row(by_key[key], varied.get(key)),
        help="The same choice as in the table; it stays when a filter hides a row.",
    )
    return [by_key[key] for key in keep("runs", tuple(picked))]


def _choose_usual(rows: Sequence[TableRow]) -> tuple[str, ...]:
    """Return the newest run and the newest other one on the same question, or simply the two newest."""
    first, *others = rows
    same = [row for row in others if _question(row) == _question(first)]
    return tuple(row.keys[0] for row in (first, *(same or others)[:1]))


def _question(row: TableRow) -> tuple[str, str, str]:
    return row.dataset, row.sensitive, row.notion
