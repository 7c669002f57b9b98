"""A run as it is now: its state and brakes, what it has spent, its curves and its clipping histograms."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

from fairpriv_core.methods.catalog import methods
from fairpriv_core.report import live, wording
from fairpriv_core.report.run_log import tell_run
from fairpriv_core.runs.record import RunRecord
from fairpriv_core.runs.rows import RunRow
from fairpriv_core.runs.store import RunStore
from pages.widgets.charts import show_figure
from pages.widgets.guard import attempt, plain
from pages.widgets.outcome import show_outcome

_COLORS = {"running": "blue", "finished": "blue", "failed": "orange", "lost": "orange", "cancelled": "gray"}
_STATES = {
    "queued": "waiting for a worker",
    "running": "training",
    "stopping": "stopping",
    "paused": "paused: it goes on where it was when resumed",
    "finished": "finished",
    "failed": "failed",
    "cancelled": "stopped by hand",
    "lost": "lost: its process is gone; Resume goes on from the last checkpoint",
}
_QUEUE_PATIENCE = 5.0


def draw_run(store: RunStore, row: RunRow) -> None:
    """Draw everything about one run."""
    record = attempt(lambda: store.record(row.key))
    history = live.collect(attempt(lambda: store.metrics(row.key)) or ())
    _draw_state(store, row)
    _draw_numbers(row, history, record)
    _draw_budget(row, record)
    _draw_log(row)
    if record is not None and row.ended:
        show_outcome(store, row, record)
    if not history:
        if row.chunk is not None:
            st.caption("Runs of a sweep that train in one loop keep no numbers of single epochs.")
        elif not row.ended:
            st.caption("The first numbers appear at the end of the first epoch.")
        return
    _draw_curves(row, history)
    _draw_clipping(store, row, history)


def _draw_state(store: RunStore, row: RunRow) -> None:
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    with left:
        asked = f", {row.request} asked for" if row.request and row.status == "running" else ""
        st.badge(row.status + asked, color=_COLORS.get(row.status, "gray"))
        share = min(1.0, row.step / row.steps) if row.steps and row.status != "finished" else float(row.step > 0)
        st.progress(share, text=f"{_STATES[row.status]} · {_describe_steps(row)}{_describe_heartbeat(row)}")
    with right.container(horizontal=True, horizontal_alignment="right", key="brakes"):
        _offer(store, row, "pause", disabled=row.status not in ("queued", "running") or row.request is not None)
        _offer(store, row, "resume", disabled=not _can_resume(row))
        _offer(store, row, "stop", disabled=row.ended or row.status == "stopping")
    if row.status == "queued" and time.time() - row.created > _QUEUE_PATIENCE:
        st.warning(
            "No worker has taken this run yet. Others may be ahead of it; if nothing moves, start the dashboard with "
            "`./fairpriv app`, which starts the worker too.",
            icon=":material/hourglass_empty:",
        )


def _offer(store: RunStore, row: RunRow, what: str, *, disabled: bool) -> None:
    icons = {"pause": ":material/pause:", "resume": ":material/play_arrow:", "stop": ":material/stop:"}
    ask = partial(_ask, store, row.key, what)
    disabled = disabled or not store.database.writable or store.payer != row.owner
    st.button(what.capitalize(), key=f"do_{what}", disabled=disabled, icon=icons[what], on_click=ask)


def _ask(store: RunStore, key: str, what: str) -> None:
    attempt(lambda: store.request(key, what))


def _can_resume(row: RunRow) -> bool:
    crashed = row.status == "failed" and row.error_kind == "crashed"
    return row.status in ("paused", "lost") or crashed or (row.status == "running" and row.request == "pause")


def _describe_heartbeat(row: RunRow) -> str:
    if row.heartbeat is None or row.status not in ("running", "stopping", "lost"):
        return ""
    return f" · last sign of life {max(0.0, time.time() - row.heartbeat):.0f} s ago"


def _describe_steps(row: RunRow) -> str:
    if row.status == "finished":  # a search may end before its last step
        return f"{row.step:,} steps" + (f", {row.epoch} epochs" if row.epoch else "")
    return f"step {row.step:,} of {row.steps:,}, epoch {row.epoch}" if row.steps else f"step {row.step:,}"


def _draw_numbers(row: RunRow, history: live.History, record: RunRecord | None) -> None:
    """Draw the finished model's numbers, or the latest ones of the curves."""
    notion = row.config["notion"]
    found = {} if record is None else record.metrics or {}
    accuracy, gap = (found.get(name, _last(history, f"test/{name}")) for name in ("accuracy", f"{notion}_gap"))
    shown = {
        "Accuracy": wording.percent(accuracy),
        "Fairness gap": wording.points(gap),
        "ε spent": "–" if (spent := _find_spent(row, record)) is None else wording.epsilon_text(spent),
        "Training time": f"{row.seconds:.0f} s",
    }
    with st.container(horizontal=True, gap="medium", key="run_numbers"):
        for name, text in shown.items():
            short = text.replace(" percentage points", " pp")
            title = f"{wording.metric_title(f'{notion}_gap')}, in percentage points (pp)"
            st.metric(name, short, width=150, help=title if short != text else None)
    if accuracy is not None or gap is not None:
        st.caption(f"Accuracy and fairness gap: {wording.RAW[0].lower()}{wording.RAW[1:]}")


def _find_spent(row: RunRow, record: RunRecord | None) -> float | None:
    """Return the epsilon spent; None where none is proved, as after a choice by raw numbers."""
    withdrawn = row.ended and record is not None and record.epsilon is None
    return None if withdrawn else row.epsilon


def _draw_budget(row: RunRow, record: RunRecord | None) -> None:
    budget = row.config["epsilon"]
    if budget and not (row.ended and _find_spent(row, record) is None):
        spent = row.epsilon or 0.0
        delta = wording.delta_text(row.config["delta"])
        text = f"ε spent {wording.epsilon_text(spent)} of {budget:g} · δ = {delta} · {_find_protection(row)}"
        st.progress(min(1.0, spent / budget), text=text)
    if record is not None:
        paid = row.config.get("reuse")
        shared = f" Run {paid} paid it: this one used that release and spent nothing more." if paid else ""
        st.caption(plain(wording.epsilon_line(record.to_json()) + shared))


def _find_protection(row: RunRow) -> str:
    return f"protects {wording.protected(methods()[row.config['method']['name']].info.threat_model)}"


def _draw_log(row: RunRow) -> None:
    with st.expander("Log", key="run_log", icon=":material/history:"):
        for when, sentence in tell_run(row.to_json()):
            st.markdown(f":small[{f'{when} UTC' if when else '…'} &nbsp; {plain(sentence)}]")


def _draw_curves(row: RunRow, history: live.History) -> None:
    st.badge("raw: for the analyst, do not publish", color="orange", icon=":material/visibility_lock:")
    config: Mapping[str, Any] = row.config
    method = config["method"]
    left, right = st.columns(2, gap="medium")
    with left:
        show_figure(live.live_quality(history, method=method["name"], notion=config["notion"]), "run_quality")
    with right:
        show_figure(live.live_groups(history), "run_groups")
        if any(name.startswith("multiplier/") for name in history):
            show_figure(live.live_multipliers(history, limit=method.get("multiplier_max")), "run_multipliers")
    if "epsilon" in history:
        threat = methods()[method["name"]].info.threat_model
        plan = {"budget": config["epsilon"], "delta": config["delta"], "threat_model": threat, "steps": row.steps}
        with left:
            show_figure(live.live_epsilon(history, **plan), "run_epsilon")


def _draw_clipping(store: RunStore, row: RunRow, history: live.History) -> None:
    """Draw what clipping does to each group now, and what it did over time."""
    snapshot = attempt(lambda: store.snapshot(row.key))
    histograms = {} if snapshot is None else snapshot["histograms"]
    if not histograms:
        return
    clips = any(histogram.get("bound") is not None for histogram in histograms.values())
    st.subheader("What clipping does" if clips else "Row by row", anchor=False)
    columns = st.columns(2, gap="medium")
    for column, (quantity, histogram) in zip(columns, histograms.items(), strict=False):
        with column:
            show_figure(live.clipping_histogram(histogram, quantity=quantity), f"run_{quantity}")
    if any(name.startswith(("clipped/", "contribution/")) for name in history):
        show_figure(live.live_clipping(history), "run_clipping")


def _last(history: live.History, name: str) -> float | None:
    values = history.get(name, ((), ()))[1]
    return next((item for item in reversed(values) if item is not None), None)
