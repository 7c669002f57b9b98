"""What a file's cells say: values that are one, words for none, and the first rows as they are used."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import streamlit as st

from fairpriv_core.data.profile import ColumnReport, FileReport
from fairpriv_core.data.table_schema import UNSAID, TableSchema, read_column, write_column
from fairpriv_core.files.spelling import MISSING, suggest_merges, suggest_missing
from fairpriv_core.grouping import group_by
from pages.widgets.shared.charts import mark_raw
from pages.widgets.shared.sentences import attempt, plain
from pages.widgets.shared.state import ahead, choose, forget, value
from pages.widgets.shared.written import get_form, put_form

WRITTEN = "written"  # what is stated of how the file is written goes by that name
_STATE = "cells"
_MOST_NAMED = 5  # pairs on a button
_ONE, _NONE = "are one value", "are missing values"


def get_stated() -> TableSchema:
    """Return what is stated of how the file is written, and of its cells: their spellings and words for none."""
    columns = tuple(read_column(name, statement) for name, statement in _read().items())
    return replace(UNSAID, columns=columns, file=get_form(of=WRITTEN))


def put_stated(schema: TableSchema) -> None:
    """Show what a link or a schema file states of how the file is written, and of its cells."""
    put_form(schema.file, of=WRITTEN)
    _write({column.name: write_column(column) for column in schema.columns})


def _read() -> dict[str, dict[str, Any]]:
    return dict(json.loads(str(ahead(_STATE, "") or "{}")))


def _write(statements: Mapping[str, Mapping[str, object]]) -> None:
    changes = {name: part for name, part in statements.items() if any(value != {} for value in part.values())}
    choose(_STATE, json.dumps(changes, ensure_ascii=False) if changes else "")


def offer_merges(report: FileReport, compared: Collection[str]) -> None:
    """Offer likely pairs of values with one click, and any other merge below; list what is merged.

    Words that seem to stand for no value are offered of label and groups, whose rows they would leave out.
    """
    columns = {column.name: column for column in report.columns if not column.numeric and column.values}
    for name in sorted(columns, key=lambda column: column not in compared):
        pairs = suggest_merges(columns[name].values)
        if pairs:
            pairs_text = ", ".join(f"{text} → {value}" for text, value in islice(pairs.items(), _MOST_NAMED))
            pairs_text += ", …" * (len(pairs) > _MOST_NAMED)
            label = plain(f"Merge in {name}: {pairs_text}")
            st.button(label, key=f"merge.{name}", icon=":material/merge:", on_click=_merge, args=(name, pairs))
        lacking = suggest_missing(columns[name].values) if name in compared else ()
        if lacking:
            label, icon = plain(f"Count {', '.join(lacking)} in {name} as missing"), ":material/block:"
            tip = "The rows with these values are left out then."
            st.button(label, key=f"lack.{name}", icon=icon, help=tip, on_click=_lack, args=(name, lacking))
    for name, words in report.lacked:
        if name in compared:
            label = plain(f"Count {', '.join(words)} in {name} as a value")
            tip = "These cells count as missing now, and their rows are left out."
            st.button(label, key=f"value.{name}", icon=":material/undo:", help=tip, on_click=_keep, args=(name, words))
    if not columns:
        return
    with st.expander("Merge values, or say which are missing", key="cells", icon=":material/merge:"):
        _list_said()
        _ask(columns, compared)


def _list_said() -> None:
    """Draw what is stated, each column with its way back."""
    for name, statement in _read().items():
        merges = [f"{', '.join(texts)} → {value}" for value, texts in statement.get("spellings", {}).items()]
        lacking = statement.get("missing_words")
        words = [] if lacking is None else [f"missing: {', '.join(lacking) or 'empty cells alone'}"]
        left, right = st.columns([5, 1], vertical_alignment="center")
        left.markdown(plain(f"{name}: {'; '.join([*merges, *words])}"))
        right.button("Undo", key=f"unmerge.{name}", on_click=_undo, args=(name,))


def _ask(columns: Mapping[str, ColumnReport], compared: Collection[str]) -> None:
    ordered = sorted(columns, key=lambda name: name not in compared)
    name = st.selectbox("Column", ordered, key="merge_column")
    texts = st.multiselect("Values", columns[name].values, key=f"merge_values.{name}")
    what = st.segmented_control("They", [_ONE, _NONE], default=_ONE, key="merge_what", required=True)
    key = f"merge_name.{name}.{texts}"
    new_name = "" if what == _NONE else st.text_input("Called", texts[0] if texts else "", key=key)
    if st.button("Apply", key="do_merge", disabled=not texts or (what != _NONE and not new_name.strip())):
        if what == _NONE:
            _lack(name, texts)
        else:
            _merge(name, {text: new_name.strip() for text in texts if text != new_name.strip()})
        st.rerun()


def _merge(name: str, pairs: Mapping[str, str]) -> None:
    """State of which value each text is a spelling; texts that were merged into one of them follow it."""
    column = _read().get(name, {})
    owner = {text: value for value, texts in column.get("spellings", {}).items() for text in texts}
    owner = {text: pairs.get(value, value) for text, value in owner.items()} | dict(pairs)
    _state(name, {**column, "spellings": group_by(owner, owner.__getitem__)})


def _lack(name: str, texts: Sequence[str]) -> None:
    column = _read().get(name, {})
    before = column.get("missing_words", [word for word in MISSING if word])
    _state(name, {**column, "missing_words": [*before, *texts]})


def _keep(name: str, words: Sequence[str]) -> None:
    """State that words are values, and no longer stand for none."""
    column = _read().get(name, {})
    before = column.get("missing_words", MISSING)
    _state(name, {**column, "missing_words": [word for word in before if word and word not in words]})


def _undo(name: str) -> None:
    _state(name, {})


def _state(name: str, column: Mapping[str, Any]) -> None:
    """Keep what is stated of a column, if it can be so; choices among its values start from their defaults."""
    if attempt(lambda: read_column(name, column)) is not None:
        _write(_read() | {name: dict(column)})
        forget(f"groups.{name}", *(["positive"] if value("label") == name else []))


def show_first(report: FileReport) -> None:
    """Draw the first rows as they are used."""
    label, icon = "The first ten rows as they are read", ":material/table_rows:"
    box = st.expander(label, key="first_rows", icon=icon, on_change="rerun")
    if box.open:
        with box:
            mark_raw()
            rows = {name: list(cells) for name, cells in report.shown}
            st.dataframe(rows, key="first_rows_table", hide_index=True, alt="The first rows of the file, as used.")
