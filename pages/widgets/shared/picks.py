"""The runs that are compared: chosen by a link, by clicks in the table, or from a list; all are one choice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from fairpriv_core.facts.tables import TableRow
from pages.widgets.shared.run_table import MOST_CHOSEN, name_row, name_rows
from pages.widgets.shared.sentences import plain
from pages.widgets.shared.state import choose, draw_several, value


def choose_usual(rows: Sequence[TableRow]) -> None:
    """On a first visit choose the newest run and the newest other one on the same question, or the two newest."""
    if not value("runs") and not st.session_state.get("compare_opened"):
        first, *older = rows
        same = [row for row in older if _question(row) == _question(first)]
        choose("runs", tuple(row.keys[0] for row in (first, *(same or older)[:1])))
    st.session_state["compare_opened"] = True


def settle_runs(rows: Sequence[TableRow], limit: int) -> bool:
    """Bring the runs that a link or a click chose to rows that are there, at most `limit`; say which are not.

    Return whether all that were chosen are not.
    """
    unknown = settle("runs", rows)
    if unknown:
        verb = "is" if len(unknown) == 1 else "are"
        st.warning(
            f"{plain(', '.join(unknown))} {verb} not among the finished runs of this store: deleted, archived, not "
            "finished, or in another store.",
            icon=":material/link_off:",
        )
    keys = tuple(key for key in value("runs") if key not in unknown)
    if len(keys) > limit:
        st.warning(f"At most {limit} runs fit here: these are the first {limit}.")
    if keys[:limit] != tuple(value("runs")):
        choose("runs", keys[:limit])
    return bool(unknown) and not keys


def settle(name: str, rows: Sequence[TableRow]) -> tuple[str, ...]:
    """Let each key chosen under `name` be the first of its row, and return the keys that are in no row.

    A link names a row by the key that was its first when the link was made; another seed that finishes can come first.
    """
    first = {key: row.keys[0] for row in rows for key in row.keys}
    keys = tuple(value(name))
    settled = tuple(dict.fromkeys(first.get(key, key) for key in keys))
    if settled != keys:
        choose(name, settled)
    return tuple(key for key in settled if key not in first)


def choose_runs(rows: Sequence[TableRow], visible: Sequence[TableRow]) -> list[TableRow]:
    """Draw the choice as a list and return its rows; each is named by the key of its first run."""
    by_key = {row.keys[0]: row for row in rows}
    listed = list(dict.fromkeys([*(row.keys[0] for row in visible), *value("runs")]))
    names = name_rows([by_key[key] for key in listed])
    about = f"2 to {MOST_CHOSEN}, as in the table; the choice stays when a filter hides a row."
    look: dict[str, Any] = {"max_selections": MOST_CHOSEN, "format_func": names.__getitem__, "help": about}
    return [by_key[key] for key in draw_several("runs", "Runs to compare", listed, **look)]


def choose_told(rows: Sequence[TableRow], label: str) -> list[TableRow] | None:
    """Draw the choice of runs for a report or a story and return it; a choice on Compare is the same choice.

    At first it is the newest private run. None where a link chose only runs that are not there.
    """
    is_lost = settle_runs(rows, MOST_CHOSEN)
    by_key, names = {row.keys[0]: row for row in rows}, name_rows(rows)
    newest = next((row for row in rows if row.threat_model is not None), None)
    if not rows:
        return None if is_lost else []
    _offer_newest(newest)
    keys = draw_several(
        "runs",
        plain(label),
        sorted(by_key, key=lambda key: not by_key[key].pinned),
        [] if newest is None else [newest.keys[0]],
        max_selections=MOST_CHOSEN,
        format_func=names.__getitem__,
        placeholder="none: stored results are shown",
        help=f"1 to {MOST_CHOSEN} settings, each with all its seeds.",
    )
    return None if is_lost and not keys else [by_key[key] for key in keys]


def _offer_newest(newest: TableRow | None) -> None:
    """Draw a button that adds the newest private run, where another one is chosen and there is room."""
    keys = tuple(value("runs"))
    if newest is not None and keys and newest.keys[0] not in keys and len(keys) < MOST_CHOSEN:
        st.button(
            "Add the newest private run",
            help=plain(name_row(newest)),
            key="report_newest",
            icon=":material/add:",
            on_click=lambda: choose("runs", (*keys, newest.keys[0])),
        )


def _question(row: TableRow) -> tuple[object, str]:
    return row.data, row.notion
