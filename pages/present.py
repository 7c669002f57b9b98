"""Present: a story of five steps for people who decide, on numbers that are public or paid for."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from fairpriv_core.documents.forms import Report
from fairpriv_core.documents.slides import NO_SLIDES, can_write_slides
from fairpriv_core.documents.story_page import write_story
from fairpriv_core.facts.tables import TableRow
from fairpriv_core.methods.catalog import methods
from fairpriv_core.store.runs import RunStore
from pages.widgets.report.leaving import settle_leaving
from pages.widgets.report.report import find_report, find_stored_story, offer_forms, show_where_stored
from pages.widgets.shared.finished import list_rows
from pages.widgets.shared.picks import choose_told
from pages.widgets.shared.run_table import name_rows
from pages.widgets.shared.sentences import plain
from pages.widgets.shared.session import theme_name
from pages.widgets.shared.state import draw_list, enter, publish

_HEIGHT = 640
_PLACE = _HEIGHT + 70  # with a line above it, held while the page is drawn


def show() -> None:
    """Draw the page."""
    enter("present")
    st.title("Present", anchor=False)
    listing = list_rows()
    if listing is None:
        return
    store, rows = listing
    place = st.container(key="present_story")  # above the choices that it is made of
    keys = place.empty()  # a container without anything in it holds no place
    selection = choose_told(rows, "Runs to present")
    choice = _choose_one(selection) if selection else 0
    publish(("runs", "decided", "archived"))
    if selection is None:
        return
    with place:
        report = _find_story(store, selection, choice, rows) if selection else find_stored_story()
    if report is None:
        return
    keys.caption("→ and ← go on and back. N shows notes, F fills the screen. Numbers are public, or ε covers them.")
    with place:
        alt = f"A presentation in five steps. {report.story.headline}"
        st.iframe(write_story(report.story, theme=theme_name()), height=_HEIGHT, alt=alt)
    if not selection:
        show_where_stored()
    offer_forms(report, of_story=True)
    if not can_write_slides():
        st.caption(plain(NO_SLIDES[0].upper() + NO_SLIDES[1:]))


def _find_story(
    store: RunStore, selection: Sequence[TableRow], choice: int, all_rows: Sequence[TableRow]
) -> Report | None:
    """Return the story of the runs that may leave; None after asking how to go on, or saying why there is none."""
    leaving = settle_leaving(store, selection, all_rows, decided=selection[choice])
    if leaving is None:
        return None
    remaining = [row for row in selection if set(row.keys) & set(leaving)]
    return find_report(
        store, leaving, "policy", 1 + (remaining.index(selection[choice]) if selection[choice] in remaining else 0)
    )


def _choose_one(selection: Sequence[TableRow]) -> int:
    """Return the place among `selection` of the row that was decided for; nothing is asked where there is one."""
    by_key, names = {row.keys[0]: row for row in selection}, name_rows(selection)
    if len(by_key) == 1:
        return 0
    fair = [key for key, row in by_key.items() if methods()[row.method].info.pursues_notion]
    decided_key = draw_list("decided", "What we chose", by_key, names.__getitem__, (fair or list(by_key))[0])
    return list(by_key).index(decided_key)


show()
