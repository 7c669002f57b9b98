"""The numbers of a run: accuracy, gap with what it is held against, ε spent of its budget, time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from fairpriv_core.facts import wording
from fairpriv_core.facts.run_facts import RunFacts
from fairpriv_core.figures import live
from fairpriv_core.figures.origin import find_origin
from fairpriv_core.methods.catalog import REFERENCE_METHOD, methods, name_accounting_of
from fairpriv_core.notions.catalog import notions
from fairpriv_core.records.parameters import format_group_needed
from fairpriv_core.records.record import RAW
from fairpriv_core.records.release import Kind
from fairpriv_core.records.source import ConfigJson, find_answers, is_published, name_unit
from fairpriv_core.store.rows import RunRow
from fairpriv_core.store.runs import RunStore
from fairpriv_core.text import delta_text, epsilon_text, percent_text, points_text, short_epsilon_text
from pages.widgets.shared.margins import find_plain, list_margins
from pages.widgets.shared.sentences import plain

_BROKEN_OFF = ("failed", "cancelled")


def format_reference(store: RunStore, config: ConfigJson) -> str:
    """Return what the gap of a run of `config` is to be held against; the plain model's gap where a run has it."""
    notion = notions()[config["notion"]]
    constant = ", and one answer for everybody gives 0" if notion.compares == "decisions" else ""
    ideal = f"Fairness gap: 0 is ideal{constant}."
    if config["method"]["name"] == REFERENCE_METHOD:
        return ideal
    reference = find_plain(store, config)
    gap = None if reference is None or reference.metrics is None else reference.metrics.get(notion.metric)
    return ideal if gap is None else f"{ideal} Without privacy and fairness it is {points_text(gap)} on the same data."


def draw_numbers(row: RunRow, history: live.History, run: RunFacts[Kind] | None) -> None:
    """Draw the finished model's numbers, or the latest ones of the curves."""
    notion = row.config["notion"]
    accuracy, gap = _find_numbers(row, history, run)
    is_drawn = _has_budget(row, run) and row.status not in _BROKEN_OFF  # as a part of its budget, below
    numbers = {
        "Accuracy": percent_text(accuracy),
        _name_gap(row): points_text(gap),
        **({} if is_drawn else _list_epsilons(row, run)),
        "Training time": f"{row.seconds:.0f} s",
    }
    with st.container(horizontal=True, gap="medium", key="run_numbers"):
        for name, text in numbers.items():
            short = text.replace(" percentage points", " pp")
            title = f"{wording.metric_title(f'{notion}_gap')}, in percentage points (pp)"
            st.metric(name, short, width=150, help=title if short != text else None)


def show_more(store: RunStore, row: RunRow, history: live.History, run: RunFacts[Kind] | None) -> None:
    """Draw what the numbers are held against, and how ε was accounted."""
    if any(number is not None for number in _find_numbers(row, history, run)):
        raw = RAW if run is None or run.exact is None else run.raw_text
        open_to_all = is_published(row.config["data"]) or find_answers(row.config["data"]) is not None
        about = "" if open_to_all else f" Accuracy and fairness gap: {raw[0].lower()}{raw[1:]}"
        st.caption(plain(f"{format_reference(store, row.config)}{about}"))
    if run is None:
        return
    if _has_budget(row, run):
        _show_accounted(row, run)
    for remark in list_margins(store, run) if row.ended else ():
        st.caption(plain(f"{remark}{find_origin([row.config['data']]).brief}"))
    group_remark = format_group_needed(row.config)
    if group_remark is not None:
        st.caption(plain(group_remark))


def _name_gap(row: RunRow) -> str:
    if find_answers(row.config["data"]) is not None:
        return "Gap, by answers"  # a phone cuts more off
    return "Fairness gap" if is_published(row.config["data"]) else "Fairness gap, raw"


def _find_numbers(row: RunRow, history: live.History, run: RunFacts[Kind] | None) -> tuple[float | None, float | None]:
    """Return accuracy and gap: the finished model's, or the latest ones of the curves."""
    metrics: Mapping[str, Any] = {} if run is None or run.exact is None else run.exact.found
    names = ("accuracy", f"{row.config['notion']}_gap")
    accuracy, gap = (metrics.get(name, _last(history, f"test/{name}")) for name in names)
    if gap is None and run is not None and run.released is not None and run.released.by_answers:
        gap = run.released.found[names[1]]
    return accuracy, gap


def _list_epsilons(row: RunRow, run: RunFacts[Kind] | None) -> dict[str, str]:
    """Return a run's epsilon under its name; of a run that broke off the bound that holds wherever it stopped."""
    epsilon = _find_spent(row, run)
    if row.status in _BROKEN_OFF:
        return {"Guaranteed": "–" if epsilon is None else f"ε ≤ {epsilon_text(epsilon)}"}
    return {"ε spent": "–" if epsilon is None else epsilon_text(epsilon)}


def _find_spent(row: RunRow, run: RunFacts[Kind] | None) -> float | None:
    """Return the epsilon spent; of a run that broke off the one of its planned length, which holds for a part too.

    None where none is proved, as after a choice by raw numbers.
    """
    if run is not None and row.ended and (run.epsilon.proved is None or row.status in _BROKEN_OFF):
        return run.epsilon.proved
    return row.epsilon


def draw_budget(row: RunRow, run: RunFacts[Kind] | None) -> None:
    """Draw what of the budget is spent; where there is none to draw, say what its ε is.

    The ε of a part is computed coarsely: where it exceeds the whole's, the whole's is shown,
    which holds for a part too.
    """
    budget = row.config["epsilon"]
    if budget is not None and _has_budget(row, run):
        epsilon = _find_spent(row, run) or 0.0
        threat = methods()[row.config["method"]["name"]].info.threat_model
        protects = wording.protected(threat, name_unit(row.config["data"]))
        about = f"proved · δ = {delta_text(row.config['delta'])} · protects {protects}"
        if row.status in _BROKEN_OFF:
            part = None if row.epsilon is None else epsilon_text(min(row.epsilon, epsilon))
            so_far = "" if part is None else f" Released so far: ε = {part}."
            st.caption(plain(f"Guaranteed: ε ≤ {epsilon_text(epsilon)}, {about}. The run stopped early.{so_far}"))
        else:
            epsilon = epsilon if row.ended else min(epsilon, budget)
            text = f"ε spent {epsilon_text(epsilon)} of {short_epsilon_text(budget)}, {about}"
            st.progress(min(1.0, epsilon / budget), text=text)
    elif run is not None:
        _show_accounted(row, run)


def _has_budget(row: RunRow, run: RunFacts[Kind] | None) -> bool:
    """Return whether the run has a budget of which a part is spent, as proved."""
    method = row.config["method"]
    proved = name_accounting_of(method["name"], method.get("variant")) == "proved"
    return proved and bool(row.config["epsilon"]) and not (row.ended and _find_spent(row, run) is None)


def _show_accounted(row: RunRow, run: RunFacts[Kind]) -> None:
    """Say how the ε of a run was accounted, and who paid it."""
    is_reused = row.config.get("reuse")
    note = " An earlier run spent it; this one reused its release and spent nothing more." if is_reused else ""
    broken = " The ledger counts what the run released before it broke off." if row.status in _BROKEN_OFF else ""
    st.caption(plain(run.epsilon.line + note + broken))


def _last(history: live.History, name: str) -> float | None:
    values = history.get(name, ((), ()))[1]
    return next((item for item in reversed(values) if item is not None), None)
