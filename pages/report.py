"""Report: finished runs to take away, for an analyst or for policy; a preview, and then one file.

Before there is a private run it reports on one that comes with this software.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from fairpriv_core.documents.forms import Report
from fairpriv_core.facts.run_facts import Audience
from fairpriv_core.ledger.choice import foresee_choice
from pages.widgets.report.leaving import settle_leaving
from pages.widgets.report.report import find_report, find_stored_report, offer_forms, show_document, show_where_stored
from pages.widgets.shared.finished import list_rows
from pages.widgets.shared.frame import link_to
from pages.widgets.shared.picks import choose_told
from pages.widgets.shared.state import draw_buttons, enter, publish

_FOR_POLICY = ("md", "zip")
_NOT_HERE = "A model card tells which run was chosen. The report for policy asks how it was, and then offers the card."
_TITLES: dict[Audience, str] = {"analyst": "An analyst", "policy": "Policy: to share"}


def show() -> None:
    """Draw the page."""
    enter("report")
    st.title("Report", anchor=False)
    listing = list_rows()
    if listing is None:
        return
    store, rows = listing
    selection = choose_told(rows, "Runs to report")
    with st.container(horizontal=True, vertical_alignment="bottom", key="report_bar"):
        audience: Audience = draw_buttons("audience", "Who will read it?", _TITLES, "analyst")
        place = st.popover("Download", icon=":material/download:", key="report_download")
        link_to("present", "Present these runs")
    publish(("runs", "audience", "archived"))
    if selection is None:
        return
    if not selection:
        show_where_stored()
        _show(find_stored_report(audience), place)
        return
    keys = [key for row in selection for key in row.keys]
    losses = foresee_choice(store, keys) if audience == "analyst" else ()
    leaving = settle_leaving(store, selection, rows) if audience == "policy" else keys
    report = None if leaving is None else find_report(store, leaving, audience)
    if report is not None:
        _show(report, place, without=_FOR_POLICY if losses else ())


def _show(report: Report, place: st.delta_generator.DeltaGenerator, *, without: Sequence[str] = ()) -> None:
    with place:
        offer_forms(report, without=without)
        if without:
            st.caption(_NOT_HERE)
    show_document(report.document)


show()
