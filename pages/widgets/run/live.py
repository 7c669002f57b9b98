"""A run as it is now: the frame that Train has too, and below it all else that there is to say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import streamlit as st

from fairpriv_core.facts import wording
from fairpriv_core.facts.headline import Headline
from fairpriv_core.facts.log import format_log
from fairpriv_core.facts.run_facts import RunFacts, read_facts
from fairpriv_core.figures import live
from fairpriv_core.figures.figure import FigureData
from fairpriv_core.figures.origin import find_origin
from fairpriv_core.methods.catalog import methods
from fairpriv_core.records.record import RunRecord
from fairpriv_core.records.release import Kind
from fairpriv_core.records.source import find_answers, name_unit
from fairpriv_core.store.curves import SWEPT_POINTS
from fairpriv_core.store.rows import RunRow
from fairpriv_core.store.runs import RunStore
from pages.widgets.run.brakes import draw_state, show_broken_off
from pages.widgets.run.outcome import show_outcome
from pages.widgets.run.panels import (
    UseBound,
    add_gaps,
    choose_along,
    hold_panels,
    is_single,
    offer_plain,
    show_diagnosis,
    show_pairs,
    show_panels,
)
from pages.widgets.run.run_numbers import draw_budget, draw_numbers, show_more
from pages.widgets.shared.charts import show_origin
from pages.widgets.shared.headline import show_reasons, show_run_headline
from pages.widgets.shared.history import find_history
from pages.widgets.shared.left_out import offer_left_out
from pages.widgets.shared.polling import poll
from pages.widgets.shared.sentences import attempt, plain

_INTERVAL = 1.0


@dataclass(frozen=True)
class Seen:
    """What the store has of a run now; `facts` are None before its end, and where its method is not installed."""

    row: RunRow
    history: live.History
    record: RunRecord | None
    facts: RunFacts[Kind] | None


def look_at(store: RunStore, row: RunRow) -> Seen:
    """Return what the store has of a run now."""
    with st.container():  # a sentence of a store that cannot be read now moves no chart
        record = attempt(lambda: store.record(row.key))
        history = find_history(store, row.key, try_number=row.attempt)
    is_known = record is not None and record.config["method"]["name"] in methods()
    return Seen(row, history, record, read_facts(record) if record is not None and is_known else None)


def draw_frame(store: RunStore, view: Seen, *, small: bool, use_bound: UseBound | None = None) -> Headline | None:
    """Draw a run's state, brakes, numbers, budget and panels; return its headline, which a finished run has.

    A `small` frame has numbers and headline by turns, and panels without their captions. `use_bound` takes a clipping
    bound that helps.
    """
    row, history, facts = view.row, view.history, view.facts
    headline = show_run_headline(store, facts) if facts is not None and row.status == "finished" else None
    show_broken_off(row)
    draw_state(store, row)
    if not (small and headline):
        draw_numbers(row, history, facts)
    draw_budget(row, facts)
    if not live.has_epochs(history):
        _explain_missing(row)
        return headline
    with st.container(horizontal=True, vertical_alignment="center", key="run_along"):
        along = "steps" if is_single(row, history) else choose_along(row, history)
        with st.container(gap="small", width="stretch"):
            show_origin(row.config["data"], is_told=True)
            show_diagnosis(store, row, history, use_bound=use_bound)
    if row.chunk is not None:
        st.caption(f"Runs of a sweep that train in one loop keep at most {SWEPT_POINTS} points of a curve.")
    show_panels(store, row, history, along=along, small=small)
    offer_plain(store, row)
    return headline


def watch_run(store: RunStore, row: RunRow, draw: Callable[[RunStore, RunRow], object]) -> None:
    """Let `draw` draw a run as it is now, every second while it goes on."""
    poll(partial(_watch, status=row.status), store, row.key, draw, every=None if row.ended else _INTERVAL)


def _watch(store: RunStore, key: str, draw: Callable[[RunStore, RunRow], object], *, status: str) -> None:
    """Draw the run; where it is gone or its state is not `status` any more, draw the whole page."""
    row = attempt(lambda: store.row(key))
    if row is None or row.status != status:
        st.rerun()
    draw(store, row)


def draw_run(store: RunStore, row: RunRow) -> None:
    """Draw everything about one run."""
    view = look_at(store, row)
    headline = draw_frame(store, view, small=False)
    with st.expander("Reasons", key="run_reasons", icon=":material/help:"):
        if headline is not None:
            show_reasons(headline)
        show_more(store, row, view.history, view.facts)
    if live.has_epochs(view.history) and not is_single(row, view.history):
        _draw_more(row, view.history)
    if view.record is not None and view.facts is not None and row.ended:
        show_outcome(store, row, view.record, view.facts)
    if row.ended:
        offer_left_out(store, row)
    with st.expander("Log", key="run_log", icon=":material/history:"):
        for when, sentence in format_log(row):
            st.markdown(f":small[{plain(f'{when} UTC') if when else '…'} &nbsp; {plain(sentence)}]")


def _explain_missing(row: RunRow) -> None:
    if row.ended:
        st.caption("This run stored no numbers of single epochs.")
    else:
        st.caption("The first numbers appear at the end of the first epoch.")
        hold_panels()


def _draw_more(row: RunRow, history: live.History) -> None:
    """Draw the curves that are not in the frame: all gaps, classes, ε, and clipping over time."""
    config = row.config
    origin = find_origin([config["data"]], tell=False)
    figures: dict[str, FigureData] = {}
    if find_answers(config["data"]) is None:  # no curve looks at groups
        add_gaps(figures, row, history)
    if live.has_own_classes(history):
        figures["classes"] = live.live_classes(history, origin=origin)
    if "epsilon" in history:
        figures["epsilon"] = _draw_epsilon(row, history)
    if any(name.startswith(("clipped/", "contribution/")) for name in history):
        figures["clipping"] = live.live_clipping(history, origin=origin)
    show_pairs(figures)


def _draw_epsilon(row: RunRow, history: live.History) -> FigureData:
    threat = methods()[row.config["method"]["name"]].info.threat_model
    return live.live_epsilon(
        history,
        budget=row.config["epsilon"],
        delta=row.config["delta"],
        protects=wording.protected(threat, name_unit(row.config["data"])),
        steps=row.steps,
    )
