"""The columns of a person's file: which are used, of which type, with which range or values; guesses to correct.

What is corrected is a schema, which goes with the run. An untouched grid states nothing: the run reads from the rows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from fairpriv_core.data.problem import DataSpec
from fairpriv_core.data.profile import ColumnReport, FileReport
from fairpriv_core.data.roles import parse_label, parse_sensitive
from fairpriv_core.data.table_schema import (
    Payment,
    TableSchema,
    find_compared,
    forget_values,
    from_text,
    name_as,
    name_roles,
    pay_for,
    read_column,
    read_schema_file,
    take_statement,
    to_text,
    write_statement,
)
from fairpriv_core.errors import BadInput
from fairpriv_core.files.column import SEEMING, TYPES, Column
from fairpriv_core.files.dates import PARTS
from pages.widgets.shared.reference import write_reference
from pages.widgets.shared.sentences import attempt, plain
from pages.widgets.shared.state import choose, draw_buttons, keep, mount_number, value

_MOST_ROWS = 12  # of the grid, before it scrolls
_MOST_BYTES = 1_000_000
_MOST_NAMED = 6
_MEMORY = "columns_shown"
_SOURCES = {"rows": "Taken from the rows", "declared": "Known without the rows", "paid": "Measured with noise"}
_DECLARED = (
    "Known without the rows: you state every range and value below, so an ε for whole records assumes nothing about "
    "them. Measured with noise: launch measures them for a part of ε."
)
_SHARE = "schema_share"


@dataclass(frozen=True)
class _Shown:
    """What a grid was drawn from, and the schema that it gave last."""

    file: str
    compared: frozenset[str]
    turn: int
    begun: TableSchema
    now: TableSchema
    text: str


def choose_columns(report: FileReport, spec: DataSpec, file_schema: TableSchema, *, name: str) -> DataSpec:
    """Draw the columns of a file called `name` that are features, to be corrected; return `spec` with their schema.

    The file is read as `file_schema` says; `spec` has label and sensitive attribute. BadInput, naming column and key,
    where a correction makes no sense.
    """
    guessed = TableSchema(tuple(_free(column.said) for column in report.columns))
    compared = frozenset(find_compared(guessed, label=spec.label or "", sensitive=spec.sensitive))
    hidden = compared | {spec.image, spec.person}
    st.header("Columns", anchor=False)
    source = draw_buttons("values_from", "Ranges and values", _SOURCES, "rows", help=_DECLARED)
    grid = _begin(guessed, spec, compared, file_schema)
    before = [column for column in grid.begun.columns if column.name not in hidden]
    reports = {column.name: column for column in report.columns}
    rows = _edit([_as_row(column, reports[column.name]) for column in before], key=f"columns_{grid.turn}")
    after = {column.name: read_row(row, column) for row, column in zip(rows, before, strict=True)}
    now = TableSchema(tuple(after.get(column.name, column) for column in grid.begun.columns), source)
    if source == "declared":
        now = _declare(now, guessed, hidden)
    if source == "paid":
        now = _pay(now, guessed, compared, grid.begun.paid)
    is_guessed, now = now == guessed, replace(now, file=file_schema.file)
    text = (write_statement(file_schema) or "") if is_guessed else to_text(now, compared=compared)
    st.session_state[_MEMORY] = replace(grid, now=now, text=text)
    choose("schema", text or None)
    _offer_file(now, spec, name)
    return replace(spec, schema=text or None)


def _declare(now: TableSchema, guessed: TableSchema, hidden: Collection[str | None]) -> TableSchema:
    """Return a schema without bins guessed from the rows, and warn of ranges and values that still are as guessed."""
    guesses = {guess.name: guess for guess in guessed.columns}
    columns = [
        replace(column, edges=()) if column.edges == guesses[column.name].edges else column for column in now.columns
    ]
    features = [column for column in columns if column.role == "feature" and column.name not in hidden]
    same = [
        column.name
        for column in features
        if (own := _list_values(column)) and own == _list_values(guesses[column.name])
    ]
    if same:
        more = f" and {len(same) - _MOST_NAMED:,} more" if len(same) > _MOST_NAMED else ""
        words = f"Still taken from the rows: {', '.join(same[:_MOST_NAMED])}{more}. Correct what you know better."
        st.warning(plain(words), icon=":material/edit_note:")
    return replace(now, columns=tuple(columns))


def _pay(now: TableSchema, guessed: TableSchema, compared: Collection[str], before: Payment | None) -> TableSchema:
    """Return a schema in which guessed ranges and values are to be measured with noise, unless they have been."""
    if before is not None and before.release:
        st.caption("Ranges and values were measured with noise. The ε of every run on them includes that.")
        return replace(now, paid=before)
    share = st.slider(
        "Share of ε for the columns",
        step=0.05,
        **mount_number(_SHARE, 0.05, 0.5, 0.1),
        help="Launch measures ranges, bins and values that you left as guessed. A larger share has less noise.",
    )
    guesses = {guess.name: _list_values(guess) for guess in guessed.columns}
    unstated = {column.name for column in now.columns if _list_values(column) == guesses[column.name]} - {*compared}
    columns = [forget_values(column) if column.name in unstated else column for column in now.columns]
    return pay_for(TableSchema(tuple(columns), "declared"), float(keep(_SHARE, share)))


def _list_values(column: Column) -> tuple[float | str, ...]:
    return column.categories or column.range or ()


def leave_out(name: str) -> None:
    """Leave the column `name` out of the features of the file that is shown."""
    grid: _Shown = st.session_state[_MEMORY]
    columns = [replace(column, role="left out") if column.name == name else column for column in grid.now.columns]
    choose("schema", to_text(replace(grid.now, columns=tuple(columns)), compared=grid.compared))


def read_row(row: Mapping[str, Any], before: Column) -> Column:
    """Return what a row of the grid says of a column that was `before`; BadInput where it makes no sense."""
    if {key: row[key] for key in _SAID} == _column_to_json(before):
        return before
    kind = row["type"]
    document: dict[str, Any] = {"role": "feature" if row["use"] else "left out", "type": kind}
    ends = [row["from"], row["to"]]
    if kind in ("number", "whole number", "date") and ends != [None, None]:
        if None in ends:
            present, lacking = ("lowest", "highest") if row["to"] is None else ("highest", "lowest")
            raise BadInput(f"column '{before.name}' has a {present} value and no {lacking} one; give both, or none.")
        document["range"] = ends
    if kind in ("category", "code"):
        document["categories"] = [str(entry).strip() for entry in row["values"] or ()]
    if kind == "date":
        document |= {"part": row["part"] or "year", "order": before.order, "at": row["at"] or ""}
    if row["empty"]:
        document["missing"] = True
    document |= {"spellings": dict(before.spellings), "missing_words": before.missing_words, "decimal": before.decimal}
    if kind == before.type and document.get("range") == _list(before.range):
        document |= {"edges": before.edges, "log": before.log}
    return read_column(before.name, document)


_SAID = ("use", "type", "from", "to", "values", "empty", "part", "at")


def _column_to_json(column: Column) -> dict[str, object]:
    """Return what can be corrected of a column."""
    low, high = column.range or (None, None)
    use, empty = column.role == "feature", bool(column.missing)
    values = (use, column.type, low, high, list(column.categories), empty, column.part or None, column.at or None)
    return dict(zip(_SAID, values, strict=True))


def _as_row(column: Column, report: ColumnReport) -> dict[str, object]:
    return {
        "column": column.name,
        **_column_to_json(column),
        "different": report.distinct,
        "missing": report.missing,
        "some": ", ".join(report.values[:5]),
        "why": column.reason,
    }


def _list(ends: tuple[float, float] | None) -> list[float] | None:
    return None if ends is None else list(ends)


def _free(column: Column) -> Column:
    """Return a guess for a column that is not label, sensitive or person: a feature, unless it tells whose a row is."""
    return replace(column, role="left out" if column.role in ("person", "left out") else "feature")


def _begin(guessed: TableSchema, spec: DataSpec, compared: frozenset[str], file_schema: TableSchema) -> _Shown:
    """Return the grid as it was, or a new one from the schema of a link or a file."""
    text_before = str(value("schema") or "")
    grid: _Shown | None = st.session_state.get(_MEMORY)
    place = f"{spec.file} {write_statement(file_schema)}"
    same = grid is not None and (grid.file, grid.compared, grid.text) == (place, compared, text_before)
    if grid is not None and same and f"columns_{grid.turn}" in st.session_state:
        return grid
    begun = _overlay(guessed, from_text(text_before) if text_before else None, compared)
    return _Shown(place, compared, 1 + (grid.turn if grid else 0), begun, begun, text_before)


def _overlay(guessed: TableSchema, schema: TableSchema | None, compared: Collection[str]) -> TableSchema:
    """Return what a config's schema says of each guessed column; one that it does not name is left out."""
    if schema is None:
        return guessed
    statements = {column.name: column for column in schema.columns}
    columns = []
    for column in guessed.columns:
        statement = statements.get(column.name)
        if statement is None or statement.type == SEEMING:
            stays = statement is not None or column.name in compared or schema.others == "guessed"
            columns.append(column if stays else replace(column, role="left out"))
        else:
            columns.append(replace(statement, reason=column.reason, public=column.public))
    return TableSchema(tuple(columns), schema.values_from, schema.paid)


def _edit(rows: Sequence[Mapping[str, object]], *, key: str) -> list[dict[str, object]]:
    """Draw the grid and return its rows as they are corrected."""
    column = st.column_config
    dated = any(row["type"] == "date" for row in rows)
    order = ("column", "use", "type", "from", "to", "values", "empty", *(("part", "at") * dated))
    edited = st.data_editor(
        {name: [row[name] for row in rows] for name in rows[0]} if rows else {},
        key=key,
        hide_index=True,
        num_rows="fixed",
        height=37 + 35 * min(max(1, len(rows)), _MOST_ROWS),
        column_order=(*order, "different", "missing", "some", "why"),
        disabled=("column", "different", "missing", "some", "why"),
        column_config={
            "column": column.TextColumn("column", pinned=True),
            "use": column.CheckboxColumn("use", help="Whether the model sees it", width="small"),
            "type": column.SelectboxColumn("type", options=list(TYPES), required=True),
            "from": column.NumberColumn("lowest", help="Lower values count as this one; empty: taken from the rows"),
            "to": column.NumberColumn("highest", help="Higher values count as this one; empty: taken from the rows"),
            "values": column.ListColumn("values", help="Of a category or code; others count as none of them"),
            "empty": column.CheckboxColumn("may lack", help="A missing value gets a feature of its own"),
            "part": column.SelectboxColumn("part of the date", options=list(PARTS)),
            "at": column.TextColumn("age on", help="The day on which an age is taken, such as 2026-01-01"),
            "different": column.NumberColumn("different values"),
            "some": column.TextColumn("some values"),
        },
        alt="Each column's type, range or values, and whether the model sees it; cells can be corrected.",
    )
    return [dict(zip(edited, row, strict=True)) for row in zip(*edited.values(), strict=True)]


def _offer_file(now: TableSchema, spec: DataSpec, name: str) -> None:
    """Draw the schema as a file to take away or to bring, and the way back to the guesses."""
    names = [column.name for column in now.columns]
    label, sensitive = parse_label(spec.label or "", names), parse_sensitive(spec.sensitive, names)
    schema = name_as(now, label=label, positive=spec.positive or "", sensitive=sensitive)
    with st.expander("Schema: as a file, or from one", key="schema_file"):
        st.download_button("Download schema.toml", schema.to_toml(name), "schema.toml", "application/toml", key="take")
        upload = st.file_uploader(
            "A schema.toml of this file, or the note of its randomised answers", type="toml", key="schema_uploader"
        )
        if upload is not None and upload.file_id != st.session_state.get("schema_given"):
            st.session_state["schema_given"] = upload.file_id
            attempt(lambda: _take(upload.getvalue(), spec))
        if value("schema") not in (None, write_statement(take_statement(now))) and st.button(
            "Use the guesses", key="drop_schema"
        ):
            choose("schema", None)
            choose("values_from", "rows")
            st.rerun()


def _take(content: bytes, spec: DataSpec) -> None:
    """Show the data as the schema in a file says; BadInput for another file."""
    if len(content) > _MOST_BYTES:
        raise BadInput(f"a schema has at most {_MOST_BYTES:,} bytes, and this file has {len(content):,}.")
    try:
        schema = read_schema_file(content.decode())
    except UnicodeDecodeError:
        raise BadInput("a schema is text in UTF-8, and this file is not.") from None
    roles = name_roles(schema)
    text_before = DataSpec(**{**vars(spec), **roles})
    compared = find_compared(schema, label=text_before.label or "", sensitive=text_before.sensitive)
    choose("data", write_reference(replace(text_before, schema=to_text(schema, compared=compared))))
    st.rerun()
