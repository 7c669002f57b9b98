"""Finished runs by what was asked of them: only those on the same data, groups and notion stand against each other."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from fairpriv_core.data.catalog import default_split
from fairpriv_core.methods.base import parameters
from fairpriv_core.methods.catalog import methods
from fairpriv_core.records.source import name_split
from fairpriv_core.report.heatmap import Setting, read_settings
from fairpriv_core.report.tables import TableRow, varied_settings
from fairpriv_core.store.runs import RunStore
from pages.widgets.shared.finished import find_rows
from pages.widgets.shared.run_table import name_settings

_OWN_TITLES = {"epsilon": "Privacy budget ε", "delta": "δ"}


@dataclass(frozen=True)
class Answers:
    """Settings that answer one question, with what tells them apart, both by a row's first key.

    `details` is that in words, `numbers` its numeric settings.
    """

    rows: list[TableRow] = field(default_factory=list)
    details: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, Mapping[str, float]] = field(default_factory=dict)


def find_answers(store: RunStore) -> dict[str, dict[str, Answers]] | None:
    """Return what finished runs answer: data with groups -> notion -> answers, newest first; None as `find_rows`."""
    rows = find_rows(store)
    return None if rows is None else _sort(str(store.database.url), store.owner, store.stamp(), rows)


def find_title(name: str) -> Setting:
    """Return a numeric setting with its title, by its name in a config, such as "method.epochs"."""
    own = name.partition(".")[2]
    known = (parameters(kind) for kind in methods().values())
    title = next((found[own][0].title for found in known if own in found), own.replace("_", " "))
    return Setting(name, _OWN_TITLES.get(name, title))


@st.cache_resource(max_entries=4, show_spinner="Sorting finished runs …")
def _sort(place: str, owner: str | None, stamp: object, _rows: Sequence[TableRow]) -> dict[str, dict[str, Answers]]:
    varied = varied_settings(_rows)
    found: dict[str, dict[str, Answers]] = {}
    for row in _rows:
        config = json.loads(row.setting)
        here = found.setdefault(_name_data(row, config), {}).setdefault(row.notion, Answers())
        here.rows.append(row)
        here.details[row.keys[0]] = name_settings(varied[row.keys[0]])
        here.numbers[row.keys[0]] = read_settings(config)
    return found


def _name_data(row: TableRow, config: Mapping[str, Any]) -> str:
    """Return data, groups, and what else decides which rows are asked what: another label, another split."""
    data = config["data"]
    label = f" · {data['label']}" if data.get("label") else ""
    positive = f" = {data['positive']}" if data.get("positive") else ""
    ratio = f" · group ratio {data['group_ratio']:g}" if data.get("group_ratio") else ""
    few = f" · {data['rows']:,} rows" if data.get("rows") else ""
    split = name_split(config.get("split", "protocol"), data["dataset"])
    drawn = "" if split == default_split(data["dataset"]) else f" · {split} split"
    return f"{row.dataset.rpartition('/')[2][:24]}:{row.sensitive}{label}{positive}{ratio}{few}{drawn}"
