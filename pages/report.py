"""Report: finished runs to take away, for an analyst or for policy; a preview, and then one file."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from fairpriv_core.report.document import AUDIENCES, NOTICES, Audience
from fairpriv_core.report.tables import TableRow
from pages.widgets.report.report import find_report, offer_forms, show_document
from pages.widgets.shared.finished import open_rows
from pages.widgets.shared.picks import settle_runs
from pages.widgets.shared.run_table import MOST_CHOSEN, name_row
from pages.widgets.shared.sentences import plain
from pages.widgets.shared.state import choose, enter, keep, mount_default, mount_several, publish, value

_TITLES: dict[Audience, str] = {"analyst": "An analyst", "policy": "Policy: to hand on"}


def show() -> None:
    """Draw the page."""
    enter("report")
    st.header("Report", anchor=False)
    opened = open_rows("it can be reported")
    if opened is None:
        return
    store, rows = opened
    chosen, audience = _choose(rows), _choose_audience()
    publish(("runs", "audience"))
    if not chosen:
        st.info(f"Choose 1 to {MOST_CHOSEN} runs to report.", icon=":material/description:")
        return
    report = find_report(store, chosen, audience)
    if report is not None:
        offer_forms(report)
        show_document(report.document)


def _choose(rows: Sequence[TableRow]) -> list[TableRow]:
    """Return the rows that are reported; what was chosen on Compare is chosen here too."""
    settle_runs(rows, MOST_CHOSEN)
    by_key = {row.keys[0]: row for row in rows}
    _offer_newest(rows)
    picked = st.multiselect(
        f"Runs to report (1 to {MOST_CHOSEN}; all seeds of each)",
        list(by_key),
        **mount_several("runs", by_key, list(by_key)[:1]),
        max_selections=MOST_CHOSEN,
        format_func=lambda name: name_row(by_key[name]),
    )
    return [by_key[name] for name in keep("runs", picked)]


def _offer_newest(rows: Sequence[TableRow]) -> None:
    """Draw a button that adds the newest finished run, where another one is chosen and there is room."""
    chosen, newest = tuple(value("runs")), rows[0]
    if chosen and newest.keys[0] not in chosen and len(chosen) < MOST_CHOSEN:
        st.button(
            f"Add the newest finished run: {plain(name_row(newest))}",
            key="report_newest",
            icon=":material/add:",
            on_click=lambda: choose("runs", (*chosen, newest.keys[0])),
        )


def _choose_audience() -> Audience:
    """Return who will read the report."""
    picked = st.segmented_control(
        "Who will read it?",
        AUDIENCES,
        **mount_default("audience", AUDIENCES, AUDIENCES[0]),
        format_func=lambda name: _TITLES[name],
        required=True,
    )
    audience: Audience = keep("audience", picked)
    st.caption(NOTICES[audience])
    return audience


show()
