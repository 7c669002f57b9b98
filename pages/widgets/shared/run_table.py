"""The run table: seeds folded, every column sorts, and clicked rows are the runs that are compared."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from fairpriv_core.data.problem import ENCODINGS
from fairpriv_core.records.record import RAW
from fairpriv_core.records.source import is_read_from_rows
from fairpriv_core.report import wording
from fairpriv_core.report.styles import method_style
from fairpriv_core.report.tables import REPLAYED, UNPROVED, TableRow
from fairpriv_core.report.wording import metric_title
from pages.widgets.shared.reference import call_files
from pages.widgets.shared.state import choose, keep, mount_several, value

FILTERS = ("only.data", "only.notion", "only.method", "only.protects")
_TITLES = {"only.data": "Data", "only.notion": "Notion", "only.method": "Method", "only.protects": "Protects"}
MOST_CHOSEN = 6
_KEY = "run_table"
_HEIGHT = 422
_LONGEST = 40
Varied = Mapping[str, Mapping[str, Any]]


def name_data(row: TableRow) -> str:
    """Return the data, the sensitive attribute, the rows used and their encoding, as lists name them."""
    ratio = "" if row.group_ratio is None else f" · group ratio {row.group_ratio:g}"
    small = "" if row.rows is None else f" · {row.rows:,} rows"
    encoded = "" if row.encoding == ENCODINGS[0] else f" · {row.encoding} encoding"
    return f"{row.dataset.rpartition('/')[2][:24]}:{row.sensitive}{ratio}{small}{encoded}"


def choose_rows(rows: Sequence[TableRow]) -> list[TableRow]:
    """Draw the filters and return the rows that pass; a filter in which nothing is chosen lets all pass."""
    places = st.columns(len(FILTERS))
    left = list(rows)
    for place, name in zip(places, FILTERS, strict=True):
        values = dict.fromkeys(_read(row, name) for row in rows)
        with place:
            chosen = _choose(name, list(values))
        left = [row for row in left if not chosen or _read(row, name) in chosen]
    return left


def _choose(name: str, values: list[str]) -> list[str]:
    mounted = mount_several(name, values, ())
    chosen = st.multiselect(
        _TITLES[name], values, **mounted, placeholder="all", format_func=lambda one: _show(name, one)
    )
    return list(keep(name, tuple(chosen)))


def _read(row: TableRow, name: str) -> str:
    protects = row.threat_model or "nothing"
    return {
        "only.data": name_data(row),
        "only.notion": row.notion,
        "only.method": row.method,
        "only.protects": protects,
    }[name]


def _show(name: str, one: str) -> str:
    if name == "only.method":
        return method_style(one).title
    return metric_title(one) if name == "only.notion" else call_files(one)


def name_row(row: TableRow, varied: Mapping[str, Any] | None = None) -> str:
    """Return a row as a list names it; `varied` are the settings that tell it from others of its method."""
    budget = "" if row.epsilon is None else f" · ε = {row.epsilon:g}{name_claim(row)}"
    budget = {REPLAYED: " · replayed noise", UNPROVED: " · no ε proved"}.get(row.variant or "", budget)
    seeds = f"{len(row.seeds)} seeds" if len(row.seeds) > 1 else "1 seed"
    settings = f" · {name_settings(varied)}" if varied else ""
    asked = f"{call_files(name_data(row))} · {row.notion.replace('_', ' ')}"
    return f"{method_style(row.method).title}{budget}{settings} · {asked} · {seeds} · {row.keys[0][:6]}"


def name_short(row: TableRow, varied: Mapping[str, Any]) -> str:
    """Return a row as a legend names it."""
    budget = "" if row.epsilon is None else f", ε = {row.epsilon:g}{name_claim(row)}"
    settings = f", {textwrap.shorten(name_settings(varied), _LONGEST, placeholder=' …')}" if varied else ""
    return f"{method_style(row.method).title}{budget}{settings}"


def name_claim(row: TableRow) -> str:
    """Return what stands behind an ε that is the paper's claim."""
    return " as published" if row.variant == "published" else ""


def name_settings(varied: Mapping[str, Any]) -> str:
    """Return settings as short text: "multiplier 0.5, epochs 50"."""
    return ", ".join(f"{name.rpartition('.')[2].replace('_', ' ')} {show_setting(one)}" for name, one in varied.items())


def show_setting(one: Any) -> str:
    """Return a setting's value as text."""
    if isinstance(one, float):
        return f"{one:g}"
    return "–" if one is None else str(one)


def show_table(rows: Sequence[TableRow], varied: Varied) -> None:
    """Draw the run table; rows that are clicked become the choice "runs", beside those that a filter hides."""
    keys = [row.keys[0] for row in rows]
    chosen = {"rows": [keys.index(key) for key in value("runs") if key in keys], "columns": [], "cells": []}
    if list(_selected()) != chosen["rows"]:
        st.session_state[_KEY] = {"selection": chosen}
    st.dataframe(
        [_as_row(row, varied.get(row.keys[0], {})) for row in rows],
        key=_KEY,
        hide_index=True,
        placeholder="–",
        height=min(_HEIGHT, 37 + 35 * max(1, len(rows))),
        on_select=lambda: _take(keys),
        selection_mode="multi-row",
        alt="Finished runs, seeds folded: method, notion, data, budget, accuracy and gap with the half of their "
        "95 % interval.",
        column_config=_describe_columns(),
    )
    given = f" An ε with a group ratio: {wording.THINNED}" if any(row.group_ratio for row in rows) else ""
    learned = any(is_read_from_rows(row.asked, row.threat_model) for row in rows)
    given += f" An ε that protects records of a file of your own: {wording.LEARNED}" if learned else ""
    st.caption(
        "Click rows to compare them, a column's head to sort. Mean ± 95 % over seeds, of the last state of each run "
        f"and not of its best. {RAW}{given}"
    )


def _selected() -> Sequence[int]:
    return st.session_state[_KEY]["selection"]["rows"] if _KEY in st.session_state else ()


def _take(keys: Sequence[str]) -> None:
    """Make the clicked rows the choice: those chosen before keep their order, and runs out of sight stay."""
    clicked = [keys[row] for row in _selected() if row < len(keys)]
    selected = [key for key in value("runs") if key in clicked or key not in keys]
    choose("runs", (*selected, *(key for key in clicked if key not in selected)))


def _describe_columns() -> dict[str, Any]:
    number, text = st.column_config.NumberColumn, st.column_config.TextColumn
    half = "Half the 95 % interval of the mean over seeds, in percentage points; empty for one seed"
    return {
        "settings": text(help="What tells runs of one method apart, beside data, notion and ε", width="small"),
        "ε": number(help="The budget asked for; on another run's release what that release cost"),
        "δ": number(format="%.0e", help="The chance that ε fails"),
        "accounting": text(
            help="published: the paper's claim, which is not proved to hold; replayed: the noise can be repeated; "
            "not proved: chosen by raw numbers, for one"
        ),
        "protects": text(help="What ε protects: values that protect different things cannot be compared"),
        "accuracy %": number(format="%.2f", help="Mean over seeds, on the test split"),
        "± acc.": number(format="%.2f", help=half),
        "gap pp": number(format="%.2f", help="Mean gap of the run's own notion, in percentage points (pp)"),
        "± gap": number(format="%.2f", help=half),
    }


def _as_row(row: TableRow, varied: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "method": method_style(row.method).title,
        "settings": name_settings(varied),
        "ε": row.epsilon,
        "accuracy %": _percent(row.accuracy.mean),
        "± acc.": _percent(row.accuracy.half),
        "gap pp": _percent(row.gap.mean),
        "± gap": _percent(row.gap.half),
        "accounting": row.variant,
        "protects": row.threat_model or "nothing",
        "δ": None if row.epsilon is None else row.delta,
        "notion": row.notion.replace("_", " "),
        "data": call_files(name_data(row)),
        "seeds": len(row.seeds),
        "key": row.keys[0],
    }


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
