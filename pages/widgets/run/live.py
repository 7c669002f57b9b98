"""A run as it is now: its state and brakes, what it has spent, its curves and its clipping histograms."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

from fairpriv_core.facts import wording
from fairpriv_core.facts.log import tell_run
from fairpriv_core.facts.run_facts import read_facts
from fairpriv_core.figures import live
from fairpriv_core.figures.origin import find_origin
from fairpriv_core.methods.catalog import methods
from fairpriv_core.records.source import name_unit
from fairpriv_core.store.curves import SWEPT_POINTS
from fairpriv_core.store.rows import RunRow
from fairpriv_core.store.runs import RunStore
from fairpriv_core.text import count_text
from pages.widgets.run.outcome import show_outcome
from pages.widgets.run.run_numbers import draw_budget, draw_numbers, say_more
from pages.widgets.shared.charts import show_figure, show_origin
from pages.widgets.shared.headline import show_reasons, show_run_headline
from pages.widgets.shared.history import find_history
from pages.widgets.shared.left_out import offer_left_out
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
_QUEUE_PATIENCE = 5.0


def draw_run(store: RunStore, row: RunRow) -> None:
    """Draw everything about one run."""
    with st.container():  # a sentence of a store that cannot be read now moves no chart
        record = attempt(lambda: store.record(row.key))
        history = find_history(store, row.key, try_number=row.attempt)
    known = record is not None and record.config["method"]["name"] in methods()  # not of a package that is gone
    facts = read_facts(record) if record is not None and known else None
    headline = show_run_headline(store, facts) if facts is not None and row.status == "finished" else None
    _say_broken_off(row)
    _draw_state(store, row)
    draw_numbers(row, history, facts)
    draw_budget(row, facts)
    with st.expander("Reasons", key="run_reasons", icon=":material/help:"):
        if headline is not None:
            show_reasons(headline)
        say_more(store, row, history, facts)
    if live.has_epochs(history):
        _draw_curves(row, history)
        _draw_clipping(store, row, history)
    else:
        _explain_missing(row)
    if record is not None and facts is not None and row.ended:
        show_outcome(store, row, record, facts)
    if row.ended:
        offer_left_out(store, row)
    _draw_log(row)


def _say_broken_off(row: RunRow) -> None:
    """Say why a run has no outcome: it was stopped, or broke off by itself."""
    if row.error:
        st.error(plain(sentence(row.error)), icon=":material/error:")
    if row.status == "cancelled":
        after = f"after {row.step:,} of {row.steps:,} steps" if row.steps else "before it began"
        said = f"You stopped this run {after}. It has no model, and its gap was not judged."
        st.warning(said, icon=":material/stop:")


def _explain_missing(row: RunRow) -> None:
    if row.ended:
        st.caption("This run stored no numbers of single epochs.")
    else:
        st.caption("The first numbers appear at the end of the first epoch.")


def _draw_state(store: RunStore, row: RunRow) -> None:
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    with left:
        asked = f", {row.request} asked for" if row.request and row.status == "running" else ""
        share = min(1.0, row.step / row.steps) if row.steps and row.status != "finished" else float(row.step > 0)
        st.progress(share, text=f"{_STATES[row.status]}{asked} · {_describe_steps(row)}{_describe_heartbeat(row)}")
    with right.container(horizontal=True, horizontal_alignment="right", key="brakes"):
        _offer(store, row, "pause", disabled=row.status not in ("queued", "running") or row.request is not None)
        _offer(store, row, "resume", disabled=not _can_resume(row))
        _offer(store, row, "stop", disabled=row.ended or row.status == "stopping")
    if row.status == "queued" and row.started is None and time.time() - row.created > _QUEUE_PATIENCE:
        st.warning(
            "No worker has started this run yet. Other runs may come first. If nothing happens, look at the terminal "
            "that started the dashboard.",
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
    if row.request == "stop":
        return False
    return row.status in ("paused", "lost") or crashed or (row.status == "running" and row.request == "pause")


def _describe_heartbeat(row: RunRow) -> str:
    if row.heartbeat is None or row.status not in ("running", "stopping", "lost"):
        return ""
    return f" · last sign of life {max(0.0, time.time() - row.heartbeat):.0f} s ago"


def _describe_steps(row: RunRow) -> str:
    if row.status == "finished":  # a search may end before its last step
        return count_text(row.step, "step") + (f", {count_text(row.epoch, 'epoch')}" if row.epoch else "")
    return f"step {row.step:,} of {row.steps:,}, epoch {row.epoch}" if row.steps else f"step {row.step:,}"


def _draw_log(row: RunRow) -> None:
    with st.expander("Log", key="run_log", icon=":material/history:"):
        for when, sentence in tell_run(row.to_json()):
            st.markdown(f":small[{plain(f'{when} UTC') if when else '…'} &nbsp; {plain(sentence)}]")


def _draw_curves(row: RunRow, history: live.History) -> None:
    data = row.config["data"]
    origin = find_origin([data], tell=False)
    show_origin(data, told=row.status == "finished")
    if row.chunk is not None:
        st.caption(f"Runs of a sweep that train in one loop keep at most {SWEPT_POINTS} points of a curve.")
    config: Mapping[str, Any] = row.config
    method = config["method"]
    left, right = st.columns(2, gap="medium")
    with left:
        quality = live.live_quality(history, method=method["name"], notion=config["notion"], origin=origin)
        show_figure(quality, "run_quality")
    with right:
        show_figure(live.live_groups(history, origin=origin), "run_groups")
        if live.tells_classes(history):
            show_figure(live.live_classes(history, origin=origin), "run_classes")
        if any(name.startswith("multiplier/") for name in history):
            show_figure(live.live_multipliers(history, limit=method.get("multiplier_max")), "run_multipliers")
    if "epsilon" in history:
        threat = methods()[method["name"]].info.threat_model
        plan = {
            "budget": config["epsilon"],
            "delta": config["delta"],
            "protects": wording.protected(threat, name_unit(config["data"])),
            "steps": row.steps,
        }
        with left:
            show_figure(live.live_epsilon(history, **plan), "run_epsilon")


def _draw_clipping(store: RunStore, row: RunRow, history: live.History) -> None:
    """Draw what clipping does to each group now, and what it did over time."""
    snapshot = attempt(lambda: store.snapshot(row.key))
    histograms = {} if snapshot is None else snapshot["histograms"]
    if not histograms:
        return
    clips = any(histogram.get("bound") is not None for histogram in histograms.values())
    st.header("What clipping does" if clips else "Row by row", anchor=False)
    origin = find_origin([row.config["data"]], tell=False)
    columns = st.columns(2, gap="medium")
    for column, (quantity, histogram) in zip(columns, histograms.items(), strict=False):
        with column:
            show_figure(live.clipping_histogram(histogram, quantity=quantity, origin=origin), f"run_{quantity}")
    if any(name.startswith(("clipped/", "contribution/")) for name in history):
        show_figure(live.live_clipping(history, origin=origin), "run_clipping")
