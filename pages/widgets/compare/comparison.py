"""Runs side by side: where they stand, curves, groups, tests, and the settings that differ. Each has a letter."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase

import streamlit as st

from fairpriv_core.records.config import DEFAULT_DELTA
from fairpriv_core.report.comparison import Compared
from fairpriv_core.report.tables import TableRow, say_claim, varied_settings
from fairpriv_core.store.runs import RunStore
from pages.widgets.compare.choice import offer_choice
from pages.widgets.compare.differences import show_differences, show_indices, show_tests
from pages.widgets.compare.overlays import show_classes, show_curves, show_groups, show_points
from pages.widgets.shared.guard import attempt, plain
from pages.widgets.shared.ledger import show_spent
from pages.widgets.shared.run_table import name_row, name_short

_GONE = "was deleted while this page was open."


def show_comparison(store: RunStore, rows: Sequence[TableRow]) -> None:
    """Draw the chosen rows over each other."""
    compared = _read(store, rows)
    if len(compared) < 2:
        return
    varied = varied_settings(rows)
    for letter, one in zip(ascii_uppercase, compared, strict=False):
        name = name_row(one.row, varied[one.row.keys[0]])
        st.markdown(f"**{plain(letter)}** &nbsp; {plain(name)}  \n:small[{plain(say_claim(one.row))}]")
    _warn(rows)
    show_points(compared)
    show_curves(store, compared)
    show_groups(compared)
    show_classes(compared)
    show_tests(compared)
    show_differences(compared)
    show_indices(compared)
    offer_choice(store, [one.row for one in compared])
    if st.toggle("Ledger: what these data sets have spent", key="spent"):
        configs = [record["config"] for one in compared for record in one.records]
        show_spent(store, configs, delta=DEFAULT_DELTA)


def _read(store: RunStore, rows: Sequence[TableRow]) -> list[Compared]:
    """Return the rows with the records of their runs, lettered; those that have gone meanwhile are told of."""
    records = attempt(lambda: store.records([key for row in rows for key in row.keys])) or {}
    varied = varied_settings(rows)
    found = []
    for row in rows:
        own = [records[key].to_json() for key in row.keys if key in records]
        if len(own) < len(row.keys):
            st.warning(f"{plain(name_row(row))} {_GONE} Reload the page.", icon=":material/link_off:")
        else:
            letter = ascii_uppercase[len(found)]
            found.append(Compared(f"{letter}: {name_short(row, varied[row.keys[0]])}", row, own))
    return found


def _warn(rows: Sequence[TableRow]) -> None:
    if len({row.threat_model for row in rows if row.threat_model}) > 1:
        st.warning(
            "These runs protect different things (the attribute, or the whole record): their ε cannot be compared.",
            icon=":material/warning:",
        )
    if len({row.data for row in rows}) > 1:
        st.warning(
            "These runs are on different data or groups: their accuracy and gaps do not say which method is better.",
            icon=":material/warning:",
        )
