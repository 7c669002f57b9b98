"""The state of a run in one line, and its brakes: pause, resume, stop."""

from __future__ import annotations

import time
from functools import partial

import streamlit as st

from fairpriv_core.store.rows import RunRow
from fairpriv_core.store.runs import RunStore
from fairpriv_core.text import count_text
from pages.widgets.shared.sentences import attempt, plain, sentence

_STATES = {
    "queued": "waiting for a worker",
    "running": "training",
    "stopping": "stopping",
    "paused": "paused: Resume continues from here",
    "finished": "finished",
    "failed": "failed",
    "cancelled": "stopped by hand",
    "lost": "lost: its process ended; Resume continues from the last checkpoint",
}
_QUEUE_PATIENCE = 5.0  # seconds
_HEARTBEAT_PATIENCE = 5.0  # seconds; a process gives a sign every two


def show_broken_off(row: RunRow) -> None:
    """Say why a run has no outcome: it was stopped, or broke off by itself."""
    if row.error:
        st.error(plain(sentence(row.error)), icon=":material/error:")
    if row.status == "cancelled":
        after = f"after {row.step:,} of {row.steps:,} steps" if row.steps else "before it began"
        words = f"You stopped this run {after}. It has no model, and its gap was not judged."
        st.warning(words, icon=":material/stop:")


def draw_state(store: RunStore, row: RunRow) -> None:
    """Draw how far a run is, with its brakes; of a run that has ended only the steps that it made."""
    request = f", {row.request} asked for" if row.request and row.status == "running" else ""
    state = f"{_STATES[row.status]}{_format_place(store, row)}{request}"
    line = f"{state} · {_format_steps(row)}{_format_heartbeat(row)}"
    with st.container(key="run_state"):
        if row.ended and not _can_resume(row):
            st.caption(plain(line))
            return
        left, right = st.columns(2)
        with left:
            st.progress(min(1.0, row.step / row.steps) if row.steps else float(row.step > 0), text=plain(line))
        with right.container(horizontal=True, horizontal_alignment="right", gap="small", key="brakes"):
            _offer_brakes(store, row)
    if row.status == "queued" and row.started is None and time.time() - row.created > _QUEUE_PATIENCE:
        st.warning(
            "No worker has started this run yet. Other runs may come first. If nothing happens, look at the terminal "
            "that started the dashboard.",
            icon=":material/hourglass_empty:",
        )


def _offer_brakes(store: RunStore, row: RunRow) -> None:
    """Draw all brakes in fixed places: one that came and went would move the others away under a person's click."""
    able = _can_resume(row)
    waits = row.status in ("queued", "running") and row.request is None
    _offer(store, row, "pause", ":material/pause:", disabled=able or not waits)
    _offer(store, row, "resume", ":material/play_arrow:", disabled=not able)
    _offer(store, row, "stop", ":material/stop:", disabled=row.ended or row.status == "stopping")


def _format_place(store: RunStore, row: RunRow) -> str:
    """Return how many runs come before one that waits."""
    before = (attempt(lambda: store.count_before(row)) or 0) if row.status == "queued" else 0
    return f", {count_text(before, 'run')} before it" if before else ""


def _offer(store: RunStore, row: RunRow, what: str, icon: str, *, disabled: bool) -> None:
    off = disabled or not store.database.writable or store.payer != row.owner
    ask = partial(_ask, store, row.key, what)
    st.button(what.capitalize(), key=f"do_{what}", disabled=off, icon=icon, on_click=ask)


def _ask(store: RunStore, key: str, what: str) -> None:
    attempt(lambda: store.request(key, what))


def _can_resume(row: RunRow) -> bool:
    crashed = row.status == "failed" and row.error_kind == "crashed"
    if row.request == "stop":
        return False
    return row.status in ("paused", "lost") or crashed or (row.status == "running" and row.request == "pause")


def _format_heartbeat(row: RunRow) -> str:
    """Return how long ago the run's process gave a sign of life; "" where that is not to be worried about."""
    if row.heartbeat is None or row.status not in ("running", "stopping", "lost"):
        return ""
    seconds = time.time() - row.heartbeat
    return "" if seconds < _HEARTBEAT_PATIENCE else f" · last sign of life {seconds:.0f} s ago"


def _format_steps(row: RunRow) -> str:
    if row.status == "finished":  # a search may end before its last step
        return count_text(row.step, "step") + (f", {count_text(row.epoch, 'epoch')}" if row.epoch else "")
    return f"step {row.step:,} of {row.steps:,}, epoch {row.epoch}" if row.steps else f"step {row.step:,}"
