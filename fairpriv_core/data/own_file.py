"""A person's own file: as its schema says, or with types, ranges and categories read from its rows, which is said."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from fairpriv_core.data.download import hash_file
from fairpriv_core.data.guess import declare, guess_column, list_values, measure
from fairpriv_core.data.own_images import attach_images
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.data.randomized import check_asked, check_people, find_randomized, mark_answers
from fairpriv_core.data.roles import Attribute, list_meant, parse_label, parse_sensitive
from fairpriv_core.data.schema import Declared, RawTable
from fairpriv_core.data.table_schema import (
    TableSchema,
    check_declared,
    find_stated,
    from_text,
)
from fairpriv_core.errors import BadInput
from fairpriv_core.files.column import SEEMING, Column, category
from fairpriv_core.files.dates import guess_order
from fairpriv_core.files.faults import check_several
from fairpriv_core.files.forms import UNSTATED
from fairpriv_core.files.read import Reading, read_table
from fairpriv_core.files.spelling import suggest_merges, suggest_missing
from fairpriv_core.files.table import Cells, Table, find_missing, match_values, to_codes

_FORM = "the number of rows, and the file's encoding, separator, decimal sign, sheet and header line"
_LEARNED = (
    "Cells types, ranges, bins, category lists, and how cells are spelled, were read from the file and are taken as "
    f"public: which texts are one value, and which stand for none. So are the values of the label, {_FORM}."
)
_DECLARED = (
    "Types, ranges, bins and categories of the features are declared in the schema, not learned from rows, and so are "
    f"the values of the label. Taken as public are {_FORM}."
)
_PAID = (
    "Ranges, bins and categories of the features were measured with noise, which epsilon counts, or are declared. "
    "Which columns these are, their types, which part of a date is used, which may lack a value, and the values of the "
    "label are as the schema states them. Whoever wrote it and from what, they are taken as public, and so are "
    f"{_FORM}."
)
_ASSUMED = {"rows": _LEARNED, "declared": _DECLARED, "paid": _PAID}
_WRITTEN = "The file is read {form}: as its rows look or its owner states, which is taken as public."
_USUAL = "in the usual way"  # said too: else a sentence more or less would tell of one value, such as "Café"


def read_own_file(path: Path, spec: DataSpec) -> RawTable:
    """Return a person's table with the schema that `spec` has, or one read from its rows; or with the images they name.

    What a schema leaves to be measured with noise is read from the rows: to look at, for nothing may be trained on it.
    Raises BadInput for a file or column that cannot be used, naming it.
    """
    schema = mark_answers(path, None if spec.schema is None else from_text(spec.schema))
    reading = read_columns(path, schema, person=spec.person)
    table = {name: column for name, column in reading.table.items() if name not in (spec.image, spec.person)}
    for field, text in (("label", spec.label or ""), ("sensitive", spec.sensitive)):
        meant = () if text.strip() in table else list_meant(text)
        for name in set(meant).intersection(reading.unused):
            raise BadInput(reading.unused[name], field=field)
    roles = _find_compared(spec, table)
    _check_schema(schema, roles, reading)
    columns = state_columns(table, schema, without={one.column for one in roles})
    columns = {name: keep_sign(column, reading) for name, column in columns.items()}
    source = "rows" if schema is None else schema.values_from
    learned = source == "rows"
    settle = measure if learned or (schema and schema.is_open) else (lambda column, values: declare(column))
    features = {name: settle(column, table[name]) for name, column in columns.items() if column.role == "feature"}
    known = {} if schema is None else {column.name: column for column in schema.columns}
    compared = {one.column: _list_compared(one, table[one.column], known.get(one.column), learned) for one in roles}
    declared = Declared(
        {**features, **compared},
        tuple(features.values()),
        assumed=(_ASSUMED[source],),
        assumed_by_all=(_WRITTEN.format(form=reading.form.format() or _USUAL),),
        learned=learned,
    )
    rows = RawTable(
        path.name,
        table,
        declared,
        hash_file(path),
        (*reading.odd, *(_warn(reading, columns) if is_guessed(schema) else ())),
        unit=None if spec.person is None else _number_people(spec.person, reading.table, find_randomized(schema)),
        unit_name=spec.person or "",
        left_out={**_list_left_out(columns, schema, table), **reading.unused},
        remarks=(*reading.list_remarks([*features, *compared], lacking=compared), *_suggest(compared)),
    )
    if spec.image is None:
        return rows
    rows, stated = replace(rows, caveats=reading.odd), find_stated(spec.schema)
    return attach_images(rows, path, spec.image, skip=spec.unreadable is not None, stated=stated)


def _find_compared(spec: DataSpec, table: Table) -> tuple[Attribute, ...]:
    """Return the sensitive columns and the label, which stands last; BadInput where one is unknown or has no value."""
    attributes = (*parse_sensitive(spec.sensitive, table), parse_label(spec.label or "", table))
    for attribute in attributes:
        if find_missing(table[attribute.column]).all():
            raise BadInput(f"every value of '{attribute.column}' is missing; choose another column.", field="file")
    return attributes


def read_columns(
    path: Path,
    schema: TableSchema | None,
    *,
    person: str | None = None,
    limit_bytes: int | None = None,
) -> Reading:
    """Return the columns of a file as a schema says that they are read; without one, dates as days whatever their time.

    The column `person` is read as the names that it holds, however many and long they are. Errors as `read_table`.
    """
    alone = schema is not None and schema.values_from != "rows"
    read_as = {} if schema is None else {column.name: column for column in schema.columns}
    read_as |= {} if person is None else {person: Column(person, "person")}
    stated = UNSTATED if schema is None else schema.file
    reading = read_table(path, read_as=read_as, alone=alone, limit_bytes=limit_bytes, stated=stated)
    check_several(path, [*reading.table, *reading.unused])
    dates = {name: Column(name, type="date") for name, some in reading.samples.items() if guess_order(some) is not None}
    if not is_guessed(schema) or not dates:
        return reading
    return read_table(path, read_as={**dates, **read_as}, alone=alone, limit_bytes=limit_bytes, stated=stated)


def is_guessed(schema: TableSchema | None) -> bool:
    """Return whether columns that a schema does not name are what they seem to be."""
    return schema is None or schema.others == "guessed"


def state_columns(table: Table, schema: TableSchema | None, *, without: Collection[str]) -> dict[str, Column]:
    """Return what a schema says of a table's columns; without one what they seem to be."""
    settled = {} if schema is None else {column.name: settle_type(column, table) for column in schema.columns}
    guessed = {name: guess_column(name, column) for name, column in table.items() if is_guessed(schema)}
    return {name: column for name, column in {**guessed, **settled}.items() if name not in without}


def keep_sign(column: Column, reading: Reading) -> Column:
    """Return a column with the sign before its decimals, where it is found to be another than its file's."""
    amounts = reading.amounts.get(column.name)
    other = amounts is not None and amounts.decimal != reading.form.decimal and not column.decimal
    return replace(column, decimal=amounts.decimal) if amounts is not None and other else column


def settle_type(column: Column, table: Table) -> Column:
    """Return a column of which only its cells are spoken of as what it seems to be, with what is said of them."""
    if column.type != SEEMING:
        return column
    guessed = guess_column(column.name, table[column.name])
    role = column.role if column.role != "feature" else guessed.role
    return replace(guessed, role=role).spelled_as(column)


def _check_schema(schema: TableSchema | None, attributes: Sequence[Attribute], reading: Reading) -> None:
    """Raise BadInput where a schema names a column that the file lacks, or does not say all that it must.

    So it does where answers that it states would be taken for anything else.
    """
    if schema is None:
        return
    check_asked(schema, label=attributes[-1].column, sensitive=attributes[:-1])
    lacking = [column.name for column in schema.columns if column.name not in reading.table]
    if lacking:
        raise BadInput(
            f"the schema names a column '{lacking[0]}', and the file has none of that name; "
            f"its columns are {', '.join([*reading.table, *reading.unused][:20])}.",
            field="schema",
        )
    if schema.values_from != "rows":
        *sensitive, label = (role.column for role in attributes)
        check_declared(schema, label=label, sensitive=sensitive, cut={role.column for role in attributes if role.edges})


def _list_compared(one: Attribute, column: Cells, spec: Column | None, learned: bool) -> Column:
    """Return the values of a label or sensitive column: declared ones, else those that the rows have."""
    if not one.edges and spec is not None and spec.categories:
        return replace(category(one.column, spec.categories).spelled_as(spec), randomized=spec.randomized)
    if learned:
        values = list_values(one.column, column, cut=bool(one.edges))
        if spec is None or values.is_quantity:
            return values
        return values.spelled_as(spec)
    return Column(one.column)


def _suggest(compared: Mapping[str, Column]) -> tuple[str, ...]:
    """Return which values of label and sensitive columns are likely one, or none, for the owner to decide."""
    sentences = []
    for name, column in compared.items():
        values = () if column.is_quantity else column.categories
        pairs, lacking = suggest_merges(values).items(), suggest_missing(values)
        sentences += [
            f"column '{name}': '{text}' may be '{value}'; --map makes them one value." for text, value in pairs
        ]
        sentences += [f"column '{name}': '{word}' may stand for no value; --missing makes it so." for word in lacking]
    return tuple(sentences)


def _number_people(person: str, table: Table, answers: Column | None) -> np.ndarray:
    """Return whose each row is, (n,) int64; -1 where that is missing.

    BadInput where the column is not there, or a person gave several randomised `answers`.
    """
    if person not in table:
        raise BadInput(f"unknown column '{person}' in person; choose from {', '.join(table)}.", field="person")
    coded = to_codes(table[person])
    assert coded is not None
    unit = coded.codes.astype(np.int64)
    if answers is not None and answers.name in table:
        check_people(answers, match_values(table[answers.name], answers.categories, {}), unit, person=person)
    return unit


def _warn(reading: Reading, specs: Mapping[str, Column]) -> tuple[str, ...]:
    """Return what every reader may know of a table whose columns were guessed: no cell of it, and no count."""
    retyped = {name: f"column '{name}' is read as text because of one of its values." for name in reading.retyped}
    unread = {
        name: f"column '{name}' has cells that are no numbers and count as missing."
        for name, cells in reading.unread.items()
        if cells.what == "number"
    }
    guessed = {name: column.public for name, column in specs.items() if column.public}
    read_as = (text for name, text in (*retyped.items(), *unread.items(), *guessed.items()) if name in specs)
    return (*read_as, *reading.unused.values())


def _list_left_out(specs: Mapping[str, Column], schema: TableSchema | None, table: Table) -> dict[str, str]:
    """Return the columns that are no feature, label or sensitive attribute, each with its reason."""
    stated = {} if schema is None else {column.name: column for column in schema.columns}
    reasons = {name: column.reason for name, column in specs.items() if column.role != "feature" and name not in stated}
    by_schema = {name for name, column in stated.items() if column.role == "left out"}
    by_schema |= set() if is_guessed(schema) else set(table).difference(stated)
    return {**reasons, **{name: f"column '{name}' is left out by the schema." for name in table if name in by_schema}}
