"""Quick filters of the run table: data, notion, method, what is protected. They stand in the address."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from fairpriv_core.report.styles import method_style
from fairpriv_core.report.tables import TableRow
from fairpriv_core.report.wording import metric_title
from pages.widgets.shared.called import call_files
from pages.widgets.shared.state import keep, mount_several

FILTERS = ("only.data", "only.notion", "only.method", "only.protects")
_TITLES = {"only.data": "Data", "only.notion": "Notion", "only.method": "Method", "only.protects": "Protects"}


def name_data(row: TableRow) -> str:
    """Return the data, the sensitive attribute and which rows are used, as lists and the address name them."""
    ratio = "" if row.group_ratio is None else f" · group ratio {row.group_ratio:g}"
    few = "" if row.rows is None else f" · {row.rows:,} rows"
    return f"{row.dataset.rpartition('/')[2][:24]}:{row.sensitive}{ratio}{few}"


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
