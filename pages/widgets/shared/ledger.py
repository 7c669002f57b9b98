"""The ledger on a page: what all runs on a data set have spent so far, and for whom."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from functools import partial

import streamlit as st

from fairpriv_core.data.problem import DataJson
from fairpriv_core.ledger.launch import Effect, Page, foresee_launch, read_page
from fairpriv_core.records.ledger_entry import call_data, identify_data
from fairpriv_core.records.source import ConfigJson, is_published
from fairpriv_core.store.runs import RunStore
from fairpriv_core.text import at_least_text, count_text, delta_text, epsilon_text
from pages.widgets.shared.reference import call_files
from pages.widgets.shared.sentences import attempt, plain

HELP = (
    "All runs on the same people add up, deleted and failed ones too. Runs that protect something else count as far as "
    "they depend on it. The sums assume what each run's ε assumes, such as which rows were left out."
)
_REFUSED = (
    "This launch would exceed the cap. Choose a smaller ε, or change the cap with `fairpriv ledger cap`. Under a cap "
    "runs cost more together than runs that were fixed beforehand: each may be chosen after seeing the earlier ones."
)

_STALE_SECONDS = 5.0

Stamp = tuple[tuple[object, ...], ...]


def call_people(data: DataJson) -> str:
    """Return a config's data as a heading names it."""
    return plain(call_files(call_data(data)))


def show_spent(store: RunStore, configs: Iterable[ConfigJson], *, delta: float) -> None:
    """Draw the ledger of every data set that these runs' configs are about."""
    data_by_id = {identify_data(config["data"]["dataset"], config["file_id"]): config["data"] for config in configs}
    with st.expander("Ledger: what these data sets have spent", key="ledger"):
        for data, people in data_by_id.items():
            page = attempt(partial(find_page, store, data))
            st.markdown(f"**{call_people(people)}**, at δ = {delta_text(delta)}", help=HELP)
            if page is not None:
                list_effects(foresee_launch(page, None, delta=delta), launched=False)


def show_gauge(store: RunStore, data: DataJson, file_id: str | None, *, delta: float) -> None:
    """Draw a button that says what the people of `data` (a config's) have spent, and behind it each protected thing.

    Nothing is drawn for public rows, which are for practice, unless somebody has set a cap.
    """
    effects = attempt(lambda: find_spent(store, identify_data(data["dataset"], file_id), delta)) or []
    if is_published(data) and not any(effect.cap for effect in effects):
        return
    with_runs = [effect for effect in effects if effect.runs]
    with_bound = [effect for effect in with_runs if math.isfinite(effect.planned)]
    worst = max(with_bound, key=lambda effect: effect.planned, default=None)
    label = "no bound" if with_runs else "nothing spent"
    label = label if worst is None else f"ε = {epsilon_text(worst.planned)} of {name_column(worst)}"
    with st.popover(f"Ledger: {label}", icon=":material/account_balance:", key="ledger_gauge"):
        st.markdown(f"All runs on **{call_people(data)}** together, at δ = {delta_text(delta)}")
        _list_lines(effects, launched=False)
        for effect in effects:
            if effect.cap is not None and math.isfinite(effect.planned):
                share = min(1.0, effect.planned / effect.cap.epsilon)
                st.progress(
                    share, text=f"{name_column(effect)}: {epsilon_text(effect.planned)} of {effect.cap.epsilon:g}"
                )
        _list_reasons(effects)
        st.caption(HELP)


def find_page(store: RunStore, data: str) -> Page:
    """Return a data set's page of the ledger; the spending of runs at work may be some seconds old."""
    return _read_page(store, *_name_page(store, data))


def find_spent(store: RunStore, data: str, delta: float) -> list[Effect]:
    """Return what a data set has spent of each thing that is protected, as old as `find_page`."""
    return _find_spent(store, *_name_page(store, data), delta)


def _name_page(store: RunStore, data: str) -> tuple[str, str, Stamp]:
    """Return the key of a cached page: its store and person, its data set, and a stamp that changes with its lines."""
    stamp = store.ledger.stamp()
    moving = any(row[0] == "running" for row in stamp)
    turn = time.time() // _STALE_SECONDS if moving else 0.0
    return f"{store.database.where} {store.owner}", data, (*stamp, (turn,))


@st.cache_resource(max_entries=8, show_spinner=False)
def _read_page(_store: RunStore, where: str, data: str, stamp: Stamp) -> Page:
    return read_page(_store, data)


@st.cache_resource(max_entries=32, show_spinner=False)
def _find_spent(_store: RunStore, where: str, data: str, stamp: Stamp, delta: float) -> list[Effect]:
    return foresee_launch(_read_page(_store, where, data, stamp), None, delta=delta)


def list_effects(effects: Sequence[Effect], *, launched: bool) -> None:
    """Draw what is spent of each thing that is protected; with what a launch adds where one is `launched`."""
    _list_lines(effects, launched=launched)
    if not all(effect.fits for effect in effects):
        st.warning(_REFUSED, icon=":material/block:")
    if any(effect.reason for effect in effects):
        with st.popover("Why no bound", icon=":material/help:"):
            _list_reasons(effects)


def _list_lines(effects: Sequence[Effect], *, launched: bool) -> None:
    st.markdown(
        "\n".join(
            f"- :small[**{name_column(effect)}**: {_format_effect(effect, launched=launched)}]" for effect in effects
        )
    )


def _list_reasons(effects: Sequence[Effect]) -> None:
    for effect in effects:
        if effect.reason:
            st.markdown(f"**{name_column(effect)}**: {plain(effect.reason)}")


def _format_effect(effect: Effect, *, launched: bool) -> str:
    """Return one line: what is spent, what waits, what a launch makes of it, what a cap leaves."""
    parts = [f"{_show(effect.spent)}, {count_text(effect.runs, 'run')}" if effect.runs else "nothing spent"]
    if effect.planned != effect.spent:
        parts.append(f"{_show(effect.planned)} with queued and running runs")
    if launched:
        same = effect.after == effect.planned
        parts.append("the same with this launch" if same else f"**{_show(effect.after)}** with this launch")
    if effect.cap is not None and effect.remaining is not None:
        remaining = at_least_text(effect.remaining)
        cap = f"cap {effect.cap.epsilon:g} at δ = {delta_text(effect.cap.delta)}"
        parts.append(f"{cap}, one more run may cost {remaining}")
    return " · ".join(parts)


def name_column(effect: Effect) -> str:
    """Return what is protected, in words."""
    return "whole records" if effect.column is None else plain(effect.column)


def _show(epsilon: float) -> str:
    return f"ε = {epsilon_text(epsilon)}" if math.isfinite(epsilon) else "no bound"
