"""The run table: seeds folded, every column sorts, and clicked rows are the runs that are compared."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from fairpriv_core.facts import wording
from fairpriv_core.facts.tables import REPLAYED, UNPROVED, TableRow, name_gap, varied_settings
from fairpriv_core.figures.styles import method_style
from fairpriv_core.grouping import group_by
from fairpriv_core.methods.catalog import methods, place_method
from fairpriv_core.records.source import is_read_from_rows
from fairpriv_core.text import in_percent, number_text
from pages.widgets.shared.charts import mark_raw
from pages.widgets.shared.labels import choose_tags, list_tags
from pages.widgets.shared.names import list_data, name_budget, name_data_of, name_method, name_notion, name_settings
from pages.widgets.shared.sentences import plain
from pages.widgets.shared.state import ahead, choose, draw_several, label_apart, value

FILTERS = ("only.data", "only.notion", "only.method", "only.protects")
_TITLES = {"only.data": "Data", "only.notion": "Notion", "only.method": "Method", "only.protects": "Protects"}
MOST_CHOSEN = 6
_KEY = "run_table"
_HEIGHT = 422
_LONGEST = 40
Varied = Mapping[str, Mapping[str, object]]


def key_data(row: TableRow) -> str:
    """Return what an address calls the data, the sensitive attribute, the rows used and their encoding."""
    return f"{row.dataset.rpartition('/')[2][:24]}:{row.sensitive}{wording.rows_suffix(list_data(row))}"


def choose_rows(rows: Sequence[TableRow]) -> list[TableRow]:
    """Draw the filters and return the rows that pass, pinned ones first; a filter left empty lets all pass."""
    tags = list_tags(row.tags for row in rows)
    n_used = sum(bool(ahead(name)) for name in (*FILTERS, "only.tag"))
    label = f"Filters ({n_used})" if n_used else "Filters"
    with st.popover(label, icon=":material/filter_list:", key="filters"):
        tagged = set(choose_tags(tags))
        visible = [row for row in rows if tagged <= {*row.tags}]
        for name in FILTERS:
            values = _choose(name, rows)
            visible = [row for row in visible if not values or _read(row, name) in values]
    return sorted(visible, key=lambda row: not row.pinned)


def _choose(name: str, rows: Sequence[TableRow]) -> list[str]:
    """Draw a filter and return the values that it lets pass, which the address has; the list has their titles."""
    alike = group_by(rows, lambda row: _read(row, name))
    titles = label_apart(
        {value: " or ".join(dict.fromkeys(_show(row, name) for row in own)) for value, own in alike.items()}
    )
    options = sorted(titles, key=place_method) if name == "only.method" else list(titles)
    return [*draw_several(name, _TITLES[name], options, placeholder="all", format_func=titles.__getitem__)]


def _read(row: TableRow, name: str) -> str:
    protects = row.threat_model or "nothing"
    return {
        "only.data": key_data(row),
        "only.notion": row.notion,
        "only.method": row.method,
        "only.protects": protects,
    }[name]


def _show(row: TableRow, name: str) -> str:
    if name == "only.data":
        return name_data_of(row)
    value = _read(row, name)
    return {"only.notion": name_notion, "only.method": name_method}.get(name, str)(value)


def name_row(row: TableRow, differences: Mapping[str, object] | None = None) -> str:
    """Return a row as a list names it; `differences` are the settings that tell it from others of its method."""
    budget = name_budget(row.epsilon, row.variant)
    budget = {REPLAYED: ", replayed noise", UNPROVED: ", no ε proved"}.get(row.variant or "", budget)
    seeds = f"{len(row.seeds)} seeds" if len(row.seeds) > 1 else "1 seed"
    settings = f", {name_settings(row.method, differences)}" if differences else ""
    question = f"{name_data_of(row)} · {name_notion(row.notion)}"
    own_name = f"{row.name} · " if row.name else ""
    return f"{own_name}{method_style(row.method).title}{budget}{settings} · {question} · {seeds}"


def name_rows(rows: Sequence[TableRow]) -> dict[str, str]:
    """Return what a list shows of each row, by its first key.

    Of rows that are called the same the settings that differ are told, and then their keys.
    """
    rows_by_name = group_by(rows, name_row)
    differences = {key: settings for same in rows_by_name.values() for key, settings in varied_settings(same).items()}
    return label_apart({row.keys[0]: name_row(row, differences[row.keys[0]]) for row in rows})


def name_short(row: TableRow, differences: Mapping[str, object]) -> str:
    """Return a row as a legend names it."""
    words = name_settings(row.method, differences)
    settings = f", {textwrap.shorten(words, _LONGEST, placeholder=' …')}" if differences else ""
    return f"{method_style(row.method).title}{name_budget(row.epsilon, row.variant)}{settings}"


def show_table(rows: Sequence[TableRow], differences: Varied) -> None:
    """Draw the run table; rows that are clicked become the choice "runs", beside those that a filter hides."""
    keys = [row.keys[0] for row in rows]
    light_rows(_KEY, keys, value("runs"))
    words = [name for name in ("name", "tags") if any(getattr(row, name) for row in rows)]
    st.dataframe(
        [_call(row, words) | _as_row(row, differences.get(row.keys[0], {})) for row in rows],
        key=_KEY,
        hide_index=True,
        placeholder="–",
        height=min(_HEIGHT, 37 + 35 * max(1, len(rows))),
        on_select=lambda: choose("runs", read_clicked(_KEY, keys, value("runs"))),
        selection_mode="multi-row",
        alt="Finished runs, seeds folded: method, notion, data, budget, accuracy and gap with the half of their "
        "95 % interval.",
        column_config=_build_columns(rows),
    )
    thinned = any(row.group_ratio for row in rows)
    caveats = f" An ε with a group ratio has an assumption. {wording.THINNED}" if thinned else ""
    if any(methods()[row.method].info.public_part for row in rows):
        caveats += f" An ε of a method with a public part has one too. {wording.PUBLIC_PART}"
    learned = any(is_read_from_rows(row.asked, row.threat_model) for row in rows)
    caveats += f" Where ε protects records: {wording.LEARNED[0].lower()}{wording.LEARNED[1:]}" if learned else ""
    caveats += f" {wording.BY_ANSWERS}" if any(row.by_answers for row in rows) else ""
    if any(row.kind == "raw" for row in rows):
        mark_raw()
    if caveats:
        st.caption(plain(caveats.strip()))


def light_rows(table: str, keys: Sequence[str], selection: Sequence[str]) -> None:
    """Let the rows of a `table` that are chosen be lit; `keys` are those of all its rows."""
    rows = [keys.index(key) for key in selection if key in keys]
    if list(_read_lit(table)) != rows:
        st.session_state[table] = {"selection": {"rows": rows, "columns": [], "cells": []}}


def read_clicked(table: str, keys: Sequence[str], selection: Sequence[str]) -> tuple[str, ...]:
    """Return the lit rows of a `table`: those of `selection` in their order, those out of sight too, then others."""
    lit = [keys[row] for row in _read_lit(table) if row < len(keys)]
    before = [key for key in selection if key in lit or key not in keys]
    return (*before, *(key for key in lit if key not in before))


def _read_lit(table: str) -> Sequence[int]:
    return st.session_state[table]["selection"]["rows"] if table in st.session_state else ()


def _build_columns(rows: Sequence[TableRow]) -> dict[str, Any]:
    number, text = st.column_config.NumberColumn, st.column_config.TextColumn
    half = "Half the 95 % interval of the mean over seeds, in percentage points; empty for one seed"
    return {
        "settings": text(help="What differs between runs of one method, beside data, notion and ε", width="medium"),
        "ε": number(help="The budget asked for; on another run's release what that release cost"),
        "δ": number(format="%.0e", help="The chance that ε fails"),
        "accounting": text(
            help="published: the ε that the paper states, which is not proved; replayed: the noise can be repeated; "
            "not proved: chosen by raw numbers, for one"
        ),
        "protects": text(help="What ε protects: values that protect different things cannot be compared"),
        "accuracy %": number(format="%.2f", help="Mean over seeds of the last state, not the best, on the test split"),
        "seeds": number(help="Runs that differ by seed alone are one row"),
        "± acc.": number(format="%.2f", help=half),
        "gap pp": number(
            name_gap("gap pp", rows) if all(row.by_answers for row in rows) else None,
            format="%.2f",
            help="Mean gap of the run's own notion, in percentage points (pp)",
        ),
        "± gap": number(format="%.2f", help=f"{half}, and of a gap by randomised answers"),
        "gap 95 %": text(help="The ends of the 95 % interval of a gap by randomised answers, in percentage points"),
    }


def _call(row: TableRow, words: Sequence[str]) -> dict[str, object]:
    """Return the columns of a person's own words, of those that are used."""
    return {name: {"name": row.name, "tags": ", ".join(row.tags)}[name] for name in words}


def _as_row(row: TableRow, differences: Mapping[str, object]) -> dict[str, object]:
    return {
        "method": method_style(row.method).title,
        "ε": row.epsilon,
        "accuracy %": in_percent(row.accuracy.mean),
        "± acc.": in_percent(row.accuracy.half),
        "gap pp": in_percent(row.gap.mean),
        "± gap": None if row.by_answers else in_percent(row.gap.half),
        **_show_ends(row),
        "settings": name_settings(row.method, differences),
        "accounting": row.variant,
        "protects": row.threat_model or "nothing",
        "δ": None if row.epsilon is None else row.delta,
        "notion": name_notion(row.notion),
        "data": name_data_of(row),
        "seeds": len(row.seeds),
        "key": row.keys[0],
    }


def _show_ends(row: TableRow) -> dict[str, object]:
    """Return the column with the ends of an interval by answers, of which one side is longer; {} of other rows."""
    if not row.by_answers or row.gap.low is None or row.gap.high is None:
        return {}
    return {"gap 95 %": f"{number_text(100 * row.gap.low)} to {number_text(100 * row.gap.high)}"}
