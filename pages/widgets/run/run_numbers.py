"""The numbers of a run: accuracy, gap with what it is held against, ε spent of its budget, time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import streamlit as st

from fairpriv_core.methods.catalog import REFERENCE_METHOD, methods
from fairpriv_core.notions.catalog import notions
from fairpriv_core.records.reached import judge_aim
from fairpriv_core.records.record import RAW, RunRecord
from fairpriv_core.records.source import is_published, key_split, name_unit
from fairpriv_core.report import live, wording
from fairpriv_core.report.tables import run_table
from fairpriv_core.store.rows import RunRow
from fairpriv_core.store.runs import RunStore
from fairpriv_core.text import delta_text, epsilon_text, percent_text, points_text
from pages.widgets.run.outcome import say_raw
from pages.widgets.shared.heights import list_heights
from pages.widgets.shared.sentences import attempt, plain

_FRESH_SECONDS = 60.0  # a page that watches a run need not read all others at each look


def say_reference(store: RunStore, config: Mapping[str, Any]) -> str:
    """Return what the gap of a run of `config` is to be held against; the plain model's gap where a run has it."""
    notion = notions()[config["notion"]]
    constant = ", and the constant answer has 0" if notion.target == "score" else ""
    ideal = f"Fairness gap: 0 is ideal{constant}."
    if config["method"]["name"] == REFERENCE_METHOD:
        return ideal
    question = json.dumps(_ask(config))
    gap = _find_plain_gap(str(store.database.url), store.owner, question, store)
    return ideal if gap is None else f"{ideal} Without privacy and fairness it is {points_text(gap)} on the same data."


@st.cache_data(ttl=_FRESH_SECONDS, max_entries=64, show_spinner=False)
def _find_plain_gap(place: str, owner: str | None, question: str, _store: RunStore) -> float | None:
    """Return the mean gap of a finished run without privacy and fairness that was asked the same; None without one."""
    wanted = json.loads(question)
    found = attempt(lambda: run_table(_store.each_brief(method=REFERENCE_METHOD, notion=wanted["notion"])))
    return next((row.gap.mean for row in found or () if _ask(json.loads(row.setting)) == wanted), None)


def _ask(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what two runs share whose gaps may stand side by side."""
    split = key_split(config["split"], config["data"]["dataset"])
    return {"data": config["data"], "notion": config["notion"], "split": split}


def draw_numbers(store: RunStore, row: RunRow, history: live.History, record: RunRecord | None) -> None:
    """Draw the finished model's numbers, or the latest ones of the curves."""
    notion = row.config["notion"]
    found = {} if record is None else record.metrics or {}
    accuracy, gap = (found.get(key, _last(history, f"test/{key}")) for key in ("accuracy", f"{notion}_gap"))
    shown = {
        "Accuracy": percent_text(accuracy),
        "Fairness gap": points_text(gap),
        _name_epsilon(row): "–" if (spent := _find_spent(row, record)) is None else epsilon_text(spent),
        "Training time": f"{row.seconds:.0f} s",
    }
    with st.container(horizontal=True, gap="medium", key="run_numbers"):
        for name, text in shown.items():
            short = text.replace(" percentage points", " pp")
            title = f"{wording.metric_title(f'{notion}_gap')}, in percentage points (pp)"
            st.metric(name, short, width=150, help=title if short != text else None)
    if accuracy is not None or gap is not None:
        raw = RAW if record is None or record.metrics is None else say_raw(record)
        about = "" if is_published(row.config["data"]) else f" Accuracy and fairness gap: {raw[0].lower()}{raw[1:]}"
        st.caption(plain(f"{say_reference(store, row.config)}{about}"))
    if row.ended and record is not None:
        _say_reached(record)
        for said in list_heights(store, record.to_json()):
            st.caption(plain(f"{said} Raw, for the analyst."))


def _say_reached(record: RunRecord) -> None:
    """Say whether the gap that was asked for was reached."""
    reached = judge_aim(record.to_json())
    if reached is not None:
        icons = {"yes": ":material/check_circle:", "maybe": ":material/help:", "no": ":material/error:"}
        tell = st.warning if reached.verdict == "no" else st.info
        tell(plain(f"{reached.sentence} Raw, for the analyst."), icon=icons[reached.verdict])


def _name_epsilon(row: RunRow) -> str:
    """Return what the epsilon of a run's row is called: of one that broke off it is what was planned."""
    return "ε planned" if row.status in ("failed", "cancelled") else "ε spent"


def _find_spent(row: RunRow, record: RunRecord | None) -> float | None:
    """Return the epsilon spent; None where none is proved, as after a choice by raw numbers."""
    withdrawn = row.ended and record is not None and record.epsilon is None
    return None if withdrawn else row.epsilon


def draw_budget(row: RunRow, record: RunRecord | None) -> None:
    """Draw what of the budget is spent, and how it was accounted."""
    budget = row.config["epsilon"]
    if budget and not (row.ended and _find_spent(row, record) is None):
        spent = row.epsilon or 0.0
        delta = delta_text(row.config["delta"])
        text = f"{_name_epsilon(row)} {epsilon_text(spent)} of {budget:g} · δ = {delta} · {_find_protection(row)}"
        st.progress(min(1.0, spent / budget), text=text)
    if record is not None:
        paid = row.config.get("reuse")
        shared = f" Run {paid} paid it: this one used that release and spent nothing more." if paid else ""
        broken = " The ledger counts what the run released before it broke off." if row.status == "failed" else ""
        st.caption(plain(wording.epsilon_line(record.to_json()) + shared + broken))


def _find_protection(row: RunRow) -> str:
    threat = methods()[row.config["method"]["name"]].info.threat_model
    return f"protects {wording.protected(threat, name_unit(row.config['data']))}"


def _last(history: live.History, name: str) -> float | None:
    values = history.get(name, ((), ()))[1]
    return next((item for item in reversed(values) if item is not None), None)
