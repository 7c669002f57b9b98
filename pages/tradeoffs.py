"""Trade-offs: accuracy, fairness gap and ε of all finished runs; which ε is enough; sweeps that make more points."""

from __future__ import annotations

import streamlit as st

from fairpriv_core.figures.frontier import find_best, group_by_claim
from fairpriv_core.store.runs import RunStore, Stamp
from pages.widgets.shared.access import find_store
from pages.widgets.shared.headline import hold_headline, show_points_headline
from pages.widgets.shared.polling import poll
from pages.widgets.shared.state import draw_buttons, enter, publish, set_shown
from pages.widgets.tradeoffs.points import choose_wanted, read_wanted, show_epsilon, show_picked
from pages.widgets.tradeoffs.questions import Answers, choose_question, find_answers
from pages.widgets.tradeoffs.sweep_form import choose_sweep
from pages.widgets.tradeoffs.views import VIEWS, show_list, show_view

_POLL_SECONDS = 2.0
_PUBLISHED = (
    "of_data",
    "of_notion",
    "of_method",
    "of_claim",
    "view",
    "dominated",
    "points",
    "sweep",
    "wish_accuracy",
    "wish_gap",
    "archived",
)
_OF_MAPS = ("map_of", "map_quantity", "map_x", "map_y")
_NO_MATCH = "No run matches these filters. Remove one."
_NOT_DRAWN = "These runs cannot be drawn: they have no gap, no stated ε, or repeatable noise. Make others below."


def show() -> None:
    """Draw the page."""
    enter("tradeoffs")
    st.title("Trade-offs", anchor=False)
    store = find_store()
    view = draw_buttons("view", "View", VIEWS, "frontier")
    answers = None if store is None else find_answers(store)
    if store is None or answers is None:
        return
    if answers:
        _show_found(store, view, answers)
    else:
        st.info(
            "No finished run yet. A sweep makes many at once: fill in the form below.", icon=":material/scatter_plot:"
        )
    st.header("Make more points", anchor=False)
    choose_sweep(store)
    publish((*_PUBLISHED, *_OF_MAPS))
    poll(_watch, store, store.stamp(), every=_POLL_SECONDS)


def _show_found(store: RunStore, view: str, answers_by_data: dict[str, dict[str, Answers]]) -> None:
    """Draw what was found: the filters, the chosen view, the picked points, the inverse question."""
    top = hold_headline()  # on what is chosen below
    titles, answers, claims = choose_question(answers_by_data)
    if not claims:
        filtered = bool(group_by_claim(answers.rows))
        top.info(_NO_MATCH if filtered else _NOT_DRAWN, icon=":material/filter_alt:")
        return
    rows = [row for own in claims.values() for row in own]
    set_shown(rows)
    with top:
        show_points_headline(store, rows)
    best = [row for own in claims.values() for row in find_best(own)]
    show_view(view, titles, claims, answers, read_wanted())
    show_list(claims, best, answers)
    show_picked(rows, best, answers.details)
    show_epsilon(rows, choose_wanted())


def _watch(store: RunStore, stamp: Stamp) -> None:
    """Draw the page again as soon as another run has finished."""
    if store.stamp() != stamp:
        st.rerun()


show()
