"""Finished runs by what was asked of them: only those on the same data, groups and notion stand against each other."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

import streamlit as st

from fairpriv_core.data.catalog import default_split
from fairpriv_core.facts.tables import TableRow, varied_settings
from fairpriv_core.facts.wording import data_title, rows_suffix
from fairpriv_core.figures.frontier import EpsilonClaim, group_by_claim
from fairpriv_core.figures.heatmap import Setting, read_settings
from fairpriv_core.figures.styles import method_style
from fairpriv_core.methods.base import parameters
from fairpriv_core.methods.catalog import mark_ours, methods, place_method
from fairpriv_core.notions.catalog import notions
from fairpriv_core.records.source import ConfigJson
from fairpriv_core.store.runs import RunStore
from pages.widgets.shared.finished import find_rows
from pages.widgets.shared.labels import leave_out_archived
from pages.widgets.shared.names import name_settings
from pages.widgets.shared.reference import call_files
from pages.widgets.shared.state import draw_list, draw_several, draw_switch, label_apart

_OWN_TITLES = {"epsilon": "Privacy budget ε", "delta": "δ"}
Claims = Mapping[EpsilonClaim, Sequence[TableRow]]


@dataclass(frozen=True)
class Answers:
    """Settings that answer one question on the data called `title`, with what tells them apart by a row's first key.

    `details` is that in words, `numbers` their numeric settings.
    """

    title: str
    rows: list[TableRow] = field(default_factory=list)
    details: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, Mapping[str, float]] = field(default_factory=dict)


def find_answers(store: RunStore) -> dict[str, dict[str, Answers]] | None:
    """Return what finished runs answer: data with groups -> notion -> answers, newest first; None as `find_rows`."""
    finished = find_rows(store)
    if finished is None:
        return None
    rows = leave_out_archived(finished)
    return _sort(str(store.database.url), store.owner, (store.stamp(), len(rows)), rows)


def find_place(answers_by_data: Mapping[str, Mapping[str, Answers]], keys: Set[str]) -> tuple[str, str] | None:
    """Return under which data and notion the first of these runs is; None where none has finished."""
    places = ((data, notion, answers.rows) for data, own in answers_by_data.items() for notion, answers in own.items())
    return next(((data, notion) for data, notion, rows in places if any(keys & {*row.keys} for row in rows)), None)


def find_title(name: str) -> Setting:
    """Return a numeric setting with its title, by its name in a config, such as "method.epochs"."""
    own = name.partition(".")[2]
    declarations = (parameters(kind) for kind in methods().values())
    title = next((declared[own][0].title for declared in declarations if own in declared), own.replace("_", " "))
    return Setting(name, _OWN_TITLES.get(name, title))


@st.cache_resource(max_entries=4, show_spinner="Sorting finished runs …")
def _sort(place: str, owner: str | None, stamp: object, _rows: Sequence[TableRow]) -> dict[str, dict[str, Answers]]:
    answers_by_data: dict[str, dict[str, Answers]] = {}
    for row in _rows:
        config = json.loads(row.setting)
        name, title = _name_data(row, config)
        group = answers_by_data.setdefault(name, {}).setdefault(row.notion, Answers(title))
        group.rows.append(row)
        group.numbers[row.keys[0]] = read_settings(config)
    for group in (answers for own in answers_by_data.values() for answers in own.values()):
        varied = varied_settings(group.rows)
        group.details.update({row.keys[0]: name_settings(row.method, varied[row.keys[0]]) for row in group.rows})
    return answers_by_data


def _name_data(row: TableRow, config: ConfigJson) -> tuple[str, str]:
    """Return the name in an address, and the title, of the data with groups, label and split."""
    data = config["data"]
    label = f" · {data['label']}" if data.get("label") else ""
    positive = f" = {data['positive']}" if data.get("positive") else ""
    split = config["split"]
    split_text = "" if split == default_split(data["dataset"]) else f" · {split} split"
    suffix = f"{rows_suffix(data)}{split_text}"
    name = f"{row.dataset.rpartition('/')[2][:24]}:{row.sensitive}{label}{positive}"
    return f"{name}{suffix}", f"{data_title(data)}{suffix}"


def choose_question(answers_by_data: Mapping[str, Mapping[str, Answers]]) -> tuple[dict[str, str], Answers, Claims]:
    """Draw the choice of data and notion, as in `answers_by_data`, and the filters, in one row.

    Return their titles ("dataset" and "notion") with what answers, and of that the rows that pass the filters.
    """
    places = st.columns([4, 3, 2], vertical_alignment="bottom")
    titles = label_apart({name: call_files(next(iter(own.values())).title) for name, own in answers_by_data.items()})
    with places[0]:
        data = draw_list("of_data", "Data", answers_by_data, titles.__getitem__)
    names = {name: notions()[name].title for name in answers_by_data[data]}
    with places[1]:
        notion = draw_list("of_notion", "Notion", names, names.__getitem__)
    answers = answers_by_data[data][notion]
    with places[2].popover("Filters", icon=":material/filter_list:", width="stretch"):
        claims = _choose_claims(answers)
    return {"dataset": titles[data], "notion": names[notion]}, answers, claims


def _choose_claims(answers: Answers) -> Claims:
    """Draw the filters and return the rows that pass them, by what their ε says: never one claim among another."""
    claims = group_by_claim(answers.rows)
    listed = sorted({row.method for rows in claims.values() for row in rows}, key=place_method)
    titles = {claim.title: claim for claim in claims}
    names = {name: f"{method_style(name).title}{mark_ours(name)}" for name in listed}
    label = "What ε protects, and how it was accounted"
    methods = draw_several("of_method", "Methods", listed, placeholder="all", format_func=names.__getitem__) or listed
    claim_titles = draw_several("of_claim", label, titles, placeholder="all") or titles
    draw_switch("dominated", "Show dominated settings")
    left_out = len(answers.rows) - sum(len(rows) for rows in claims.values())
    if left_out:
        subject = "1 setting is" if left_out == 1 else f"{left_out} settings are"
        st.caption(
            f"{subject} not shown: without a gap, or private without a stated ε, or with noise that can be repeated."
        )
    rows_by_claim = {
        titles[title]: [row for row in claims[titles[title]] if row.method in methods] for title in claim_titles
    }
    return {claim: rows for claim, rows in rows_by_claim.items() if rows}
