"""Where data comes from: a benchmark by name, or a person's file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from python_calamine import CalamineWorkbook

from fairpriv_core.checks import known_names
from fairpriv_core.data.catalog import problems
from fairpriv_core.data.download import check_terms, find_files
from fairpriv_core.data.encodings import encode_as
from fairpriv_core.data.images import Pictures
from fairpriv_core.data.own_file import read_own_file
from fairpriv_core.data.problem import DataSpec, Layout, Problem, Source
from fairpriv_core.data.schema import Declared, RawTable, declare_problem
from fairpriv_core.files.column import Column
from fairpriv_core.files.faults import read_header
from fairpriv_core.files.forms import Form
from fairpriv_core.files.read import read_csv, read_table
from fairpriv_core.files.spelling import canonical
from fairpriv_core.files.table import (
    Cells,
    Codes,
    Numbers,
    Table,
    count_rows,
    find_missing,
    join_tables,
    match_values,
    take_rows,
    to_codes,
    to_numbers,
)


def read_benchmark(problem: Problem) -> RawTable:
    """Return a benchmark after its filters; columns that it does not declare (names, birth dates, …) are never read."""
    if problem.generate is not None:
        table = problem.generate()
        return RawTable(problem.name, table, declare_problem(problem), _seal_table(table), problem.caveats)
    files = find_files(problem)
    columns = {**problem.columns, **{column.name: column for column in problem.extra}}
    cuts = {label.column.name: label.above for label in problem.labels if label.above is not None}
    read = _read_file if problem.shipped is None else _read_part
    tables = [_declare(read(source, path, columns), columns, cuts) for source, path in files]
    all_rows = join_tables(tables)
    selected = _filter_rows(problem, all_rows)
    rows = take_rows({name: all_rows[name] for name in problem.columns}, selected)
    parts = [
        np.full(count_rows(table), source.part == "test") for table, (source, _) in zip(tables, files, strict=True)
    ]
    return RawTable(
        problem.name,
        rows,
        _note_filter(declare_problem(problem), published=len(selected), left=int(selected.sum())),
        hashlib.sha256("".join(source.sha256 for source, _ in files).encode()).hexdigest(),
        problem.caveats,
        official_test=np.concatenate(parts)[selected] if any(source.part for source, _ in files) else None,
        unit=None if problem.unit is None else to_numbers(all_rows[problem.unit])[selected].astype(np.int64),
        unit_name=problem.unit or "",
    )


def read_pictures(problem: Problem, read: Callable[[Problem, bool], Pictures], *, skip: bool) -> RawTable:
    """Return a benchmark of images; those that cannot be read are refused unless they are to be skipped."""
    pictures = read(problem, skip)
    return RawTable(
        problem.name,
        pictures.table,
        replace(declare_problem(problem), assumed_by_all=pictures.assumed),
        pictures.digest,
        (*problem.caveats, *pictures.notes),
        official_test=pictures.official_test,
        unit=pictures.unit,
        unit_name="picture",
        one_split=problem.one_split,
        pixels=pictures.pixels,
    )


def _note_filter(declared: Declared, *, published: int, left: int) -> Declared:
    if left == published:
        return declared
    note = f"The published row filter leaves {left:,} of {published:,} rows; each row is judged by itself."
    return replace(declared, assumed=(*declared.assumed, note))


def _declare(table: Mapping[str, Cells], columns: Mapping[str, Column], cuts: Mapping[str, float]) -> dict[str, Cells]:
    return {name: _apply(column, table[name], cuts.get(name)) for name, column in columns.items()}


def _read_part(source: Source, path: Path, names: Collection[str]) -> dict[str, Cells]:
    """Return the rows of a published file from the file that ships in its place."""
    table = read_table(path).table
    return take_rows({name: table[name] for name in names}, match_values(table["part"], [source.part or ""], {}) == 0)


def _read_file(source: Source, path: Path, names: Collection[str]) -> dict[str, Cells]:
    """Return the columns of a published file, the wanted ones by the names of the code book."""
    rename = dict(source.layout.rename)
    if source.layout.kind == "workbook":
        table = _read_sheet(path, source.layout)
    elif source.layout.kind == "parquet":
        table = read_table(path).table
    else:
        table = _read_text(path, source.layout, names, rename)
    return {rename.get(name, name): column for name, column in table.items()}


def _read_text(path: Path, layout: Layout, names_in_book: Collection[str], rename: dict[str, str]) -> dict[str, Cells]:
    header = list(layout.columns) or _read_header(path, layout)
    unique = [name if name not in header[:position] else f"{name}.{position}" for position, name in enumerate(header)]
    columns = [name for name in unique if rename.get(name, name) in names_in_book]
    skip = layout.skip if layout.columns else layout.skip + 1
    form = Form(separator=layout.separator, names=tuple(unique), skip=skip)
    return read_csv(path, form, columns=columns).table


def _read_header(path: Path, layout: Layout) -> list[str]:
    with path.open("rb") as file:
        return read_header(path.name, file, separator=layout.separator)[1]


def _read_sheet(path: Path, layout: Layout) -> dict[str, Cells]:
    """Return the first sheet of a workbook of numbers whose names stand in line `skip`."""
    rows = CalamineWorkbook.from_path(str(path)).get_sheet_by_index(0).to_python()
    names = [str(name) for name in rows[layout.skip]]
    values = np.array(rows[layout.skip + 1 :], dtype=np.float32)
    return {name: Numbers(values[:, position]) for position, name in enumerate(names)}


def _apply(column: Column, values: Cells, above: float | None) -> Cells:
    """Return a column in the code book's terms: its categories as values, everything else missing."""
    if column.is_quantity:
        return Numbers(to_numbers(values).astype(np.float32))
    if above is not None:
        numbers = to_numbers(values).astype(np.float32)  # as exact as the rows: 27.576 is not above 27.576
        return Codes(np.where(np.isfinite(numbers), numbers > np.float32(above), -1), column.categories)
    return Codes(match_values(values, column.categories, dict(column.recode)), column.categories)


def _filter_rows(problem: Problem, table: Table) -> np.ndarray:
    """Return a mask (n,) of the rows that the published filter keeps; a missing value never passes a range."""
    selected = np.ones(count_rows(table), dtype=bool)
    for rule in problem.keep:
        column = table[rule.column]
        if rule.low is not None and rule.high is not None:
            numbers = to_numbers(column)
            selected &= (numbers >= rule.low) & (numbers <= rule.high)
        if rule.without:
            selected &= ~np.isin(_find_values(column), [canonical(value) for value in rule.without])
    if problem.drop_missing:
        selected &= ~np.logical_or.reduce([find_missing(table[name]) for name in problem.columns])
    return selected


def _find_values(column: Cells) -> np.ndarray:
    coded = to_codes(column)
    assert coded is not None
    values: np.ndarray = np.array([*(canonical(value) for value in coded.values), ""])[coded.codes]
    return values


def _seal_table(table: Table) -> str:
    seal = hashlib.sha256()
    for name, column in table.items():
        seal.update(name.encode())
        seal.update((column.codes if isinstance(column, Codes) else column.values).tobytes())
    return seal.hexdigest()


def gather(spec: DataSpec) -> RawTable:
    """Return the rows that `spec` names and what is declared of them; raises BadInput or DataUnavailable."""
    if spec.file:
        return read_own_file(Path(spec.file), spec)
    problem = _find_problem(spec)
    check_terms(problem)
    if problem.pictures is None:
        return read_benchmark(problem)
    return read_pictures(problem, problem.pictures, skip=spec.unreadable is not None)


def declare(spec: DataSpec) -> Declared:
    """Return what is declared of the columns; a benchmark's files are not read for it."""
    return read_own_file(Path(spec.file), spec).declared if spec.file else declare_problem(_find_problem(spec))


def _find_problem(spec: DataSpec) -> Problem:
    catalogue = problems()
    name = spec.dataset or ""
    known_names("dataset", [name], catalogue)
    return encode_as(catalogue[name], spec.encoding)
