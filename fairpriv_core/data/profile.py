"""What the Data page shows: group sizes and base rates, features that give the group away, what a file seems to hold.

All of it is computed on raw data, for the analyst alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from fairpriv_core.data.dataset import Dataset, build_dataset
from fairpriv_core.data.encode import Encoder
from fairpriv_core.data.guess import (
    MOST_CODES,
    count_values,
    list_values,
    measure,
    sort_values,
    split_words,
    state,
)
from fairpriv_core.data.mapped import ROWS_AT_ONCE
from fairpriv_core.data.own_file import keep_sign, read_columns, settle_type
from fairpriv_core.data.own_images import find_image_columns
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.data.roles import MOST_GROUPS
from fairpriv_core.data.rows import assemble
from fairpriv_core.data.table_schema import UNSAID, TableSchema
from fairpriv_core.errors import BadInput
from fairpriv_core.files.column import SEEMING, Column
from fairpriv_core.files.faults import fault
from fairpriv_core.files.forms import Form, find_basis
from fairpriv_core.files.read import Reading
from fairpriv_core.files.spelling import guess_positive, show_number
from fairpriv_core.files.table import Cells, Codes, Numbers, Table, find_missing, take_rows, to_codes
from fairpriv_core.stats import wilson_interval

#: a group with fewer records than TINY ends a private run; one with fewer than SMALL gives wide intervals
TINY, SMALL = 30, 100
_CELLS = 100
_MOST_LISTED = 1_000
_SHOWN = MOST_GROUPS
_PREVIEW = 10
_SENSITIVE_WORDS = frozenset(
    (
        "sex",
        "gender",
        "race",
        "ethnicity",
        "age",
        "marital",
        "religion",
        "disability",
        "nationality",
        "group",
        "geschlecht",
    )
)
_LABEL_WORDS = frozenset(("label", "target", "income", "default", "outcome", "class", "y", "approved", "recid"))


@dataclass(frozen=True)
class GroupProfile:
    """One group: its size, its base rate of the positive label with a 95 % Wilson interval (None if it is empty).

    `flag` is "" or says that the group is small.
    """

    name: str
    size: int
    share: float
    positives: int
    base_rate: float | None
    low: float | None
    high: float | None
    flag: str


@dataclass(frozen=True)
class ColumnReport:
    """One column of a file: what it seems to be, how many values it has, and some of them.

    `said` states the range or values that the rows have of a column that can be a feature. `numeric` tells whether its
    cells are numbers, whatever they stand for.
    """

    said: Column
    numeric: bool
    distinct: int
    missing: int
    values: tuple[str, ...]

    @property
    def name(self) -> str:
        """The column's name."""
        return self.said.name

    @property
    def role(self) -> str:
        """What it seems to be for, one of `column.ROLES`."""
        return self.said.role

    @property
    def is_quantity(self) -> bool:
        """Whether it holds more different numbers than make groups or labels; it is one once it is cut."""
        return self.numeric and self.distinct > MOST_CODES


@dataclass(frozen=True)
class FileReport:
    """What a file seems to hold. With any of `errors` it cannot be used; `warnings` are worth a look.

    `images` are the columns that seem to hold images, or to name them; `form` is how the file is written, or with
    `errors` seems to be, None where nothing else can be stated of it. `shown` has the first cells of each column as
    they are used, `lacked` the words that stand for no value in columns of texts.
    """

    name: str
    rows: int
    columns: tuple[ColumnReport, ...] = ()
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    form: Form | None = field(default_factory=Form)
    shown: tuple[tuple[str, tuple[str, ...]], ...] = ()
    lacked: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True)
class Outline:
    """A data set whose `X` is left out, (n, 0), and how well each of its columns alone tells the group and the label.

    `revealing` has (column, AUC of predicting the group from it), highest first; 0.5 says nothing, 1 gives it away.
    `telling` has the same of the label; none for more than two. `rows_left_out` has (reason, rows), `columns_left_out`
    (column, reason).
    """

    dataset: Dataset
    revealing: tuple[tuple[str, float], ...]
    telling: tuple[tuple[str, float], ...] = ()
    rows_left_out: tuple[tuple[str, int], ...] = ()
    columns_left_out: tuple[tuple[str, str], ...] = ()


def profile_groups(dataset: Dataset) -> list[GroupProfile]:
    """Return size and base rate of each declared group, in the order of the groups' numbers; two labels only."""
    group, y = dataset.members
    sizes = np.bincount(group, minlength=dataset.groups)
    positives = np.bincount(group, weights=y == 1, minlength=dataset.groups).astype(int)
    return [
        _profile(name, int(size), int(positive), len(y))
        for name, size, positive in zip(dataset.group_names, sizes, positives, strict=True)
    ]


def count_classes(dataset: Dataset) -> np.ndarray:
    """Return how many records each group has of each label, (k, l)."""
    group, y = dataset.members
    cells = np.bincount(group * dataset.labels + y, minlength=dataset.groups * dataset.labels)
    return cells.reshape(dataset.groups, dataset.labels)


def outline_data(spec: DataSpec) -> Outline:
    """Return what is told of the data that `spec` names; errors as `load_dataset`. No more than a column is encoded.

    The AUC is the largest of one group against the rest. Each column is cut into at most 100 cells, and a row is scored
    by the group's share among the other half of the rows of its cell, so the direction of a relation does not matter
    and chance finds nothing.
    """
    rows = assemble(spec)
    table, groups, labels = rows.raw_table.table, len(rows.plan.group_names), len(rows.plan.label_names)
    cells = {column.name: _cut_cells(column, table) for column in rows.plan.features}
    there = slice(None) if rows.present is None else rows.present
    revealing = {name: _reveal(cut[there], rows.group[there], groups) for name, cut in cells.items()}
    telling = {name: _reveal(cut[there], rows.y[there], 2) for name, cut in cells.items()} if labels == 2 else {}
    return Outline(
        build_dataset(rows, spec, np.empty((len(rows.y), 0), dtype=np.float32)),
        _rank(revealing),
        _rank(telling),
        tuple(rows.left_out.items()),
        tuple(rows.raw_table.left_out.items()),
    )


def _rank(areas: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    return tuple(sorted(areas.items(), key=lambda pair: -pair[1]))


def inspect_file(path: Path | str, *, limit_bytes: int | None = None, stated: TableSchema = UNSAID) -> FileReport:
    """Return what a file seems to hold, read as `stated` (`take_statement`); what is wrong is in `errors`, not raised.

    A statement that the file contradicts is wrong with it, too.
    """
    place = Path(path)
    try:
        reading = read_columns(place, stated, limit_bytes=limit_bytes)
        images = find_image_columns(place, reading.form)
        columns = _guess_label([_report(name, reading, stated) for name in reading.table])
        if not list_labels(columns):
            raise fault(
                f"{place.name} has no column with two different values, so nothing can be predicted; check the file."
            )
    except BadInput as error:
        form = find_basis(place, limit_bytes=limit_bytes) if place.is_file() else None
        return FileReport(place.name, 0, errors=(str(error),), form=form)
    rows = len(next(iter(reading.table.values()), ()))
    remarks = (*reading.remarks, *(report.said.reason for report in columns if report.said.reason))
    warnings = tuple(
        remark for remark in remarks if not remark.startswith(tuple(f"column '{name}' " for name in images))
    )
    cells = tuple((name, _show(column)) for name, column in reading.table.items())
    return FileReport(
        place.name, rows, columns, (), warnings, images, reading.form, cells, tuple(reading.lacked.items())
    )


def _show(column: Cells) -> tuple[str, ...]:
    """Return the first cells of a column as they are used, "" for those that are missing."""
    first = take_rows({"": column}, slice(_PREVIEW))[""]
    if isinstance(first, Codes):
        return tuple("" if code < 0 else first.values[code] for code in first.codes)
    return tuple(show_number(value) if math.isfinite(value) else "" for value in first.values.tolist())


def list_labels(columns: Sequence[ColumnReport]) -> list[ColumnReport]:
    """Return the columns that can be predicted: those with few values, then quantities, which have to be cut."""
    varied = [column for column in columns if column.distinct > 1]
    small = [column for column in varied if column.distinct <= MOST_CODES]
    quantities = [column for column in varied if column.is_quantity and column.role != "unused"]
    return [*small, *quantities] or [column for column in varied if column.values]


def _profile(name: str, size: int, positives: int, total: int) -> GroupProfile:
    flag = f"fewer than {TINY} records" if size < TINY else f"fewer than {SMALL} records" if size < SMALL else ""
    if size == 0:
        return GroupProfile(name, 0, 0.0, 0, None, None, None, "no records")
    low, high = wilson_interval(positives, size)
    return GroupProfile(name, size, size / total, positives, positives / size, low, high, flag)


def _reveal(cells: np.ndarray, group: np.ndarray, groups: int) -> float:
    """Return the largest AUC of one group against the rest, from the counts of the groups in each of `cells` (n,)."""
    shape = (2, int(cells.max()) + 1, groups)
    place = np.ravel_multi_index((np.arange(len(group)) % 2, cells, group), shape)
    counts = np.bincount(place, minlength=math.prod(shape)).reshape(shape)
    rest = counts.sum(axis=2, keepdims=True) - counts
    areas = (_cross_area(counts[:, :, index], rest[:, :, index]) for index in range(groups))
    return max(0.5, *areas)


def _cut_cells(column: Column, table: Table) -> np.ndarray:
    """Return a cell (n,) for each row: equal rows share one; many different rows are cut at quantiles."""
    values = _place_rows(column, table)
    _, cells = np.unique(values, return_inverse=True)
    most = max(2, min(_CELLS, len(values) // 50))
    if cells.max() >= most:
        edges = np.unique(np.quantile(values, np.linspace(0, 1, most + 1)[1:-1]))
        cells = np.searchsorted(edges, values, side="right")
    numbered: np.ndarray = np.asarray(cells)
    return numbered


def _place_rows(column: Column, table: Table) -> np.ndarray:
    """Return a number (n,) for each row of an encoded column: which feature is 1 if all are 0 or 1, else the first."""
    encoder, rows = Encoder((column,)), len(table[column.name])
    first, position, one_hot = np.empty(rows), np.empty(rows), True
    for start in range(0, rows, ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        block = encoder.transform(take_rows({column.name: table[column.name]}, part))
        one_hot = one_hot and bool(np.isin(block, (0, 1)).all())
        first[part], position[part] = block[:, 0], block @ np.arange(1.0, block.shape[1] + 1)
    return position if one_hot else first


def _cross_area(inside: np.ndarray, outside: np.ndarray) -> float:
    """Return the mean AUC of both halves (2, cells) of the rows, each ranked by the other's shares: no optimism."""
    shares = inside / np.maximum(inside + outside, 1)
    return (_area(inside[0], outside[0], by=shares[1]) + _area(inside[1], outside[1], by=shares[0])) / 2


def _area(inside: np.ndarray, outside: np.ndarray, *, by: np.ndarray) -> float:
    """Return the AUC of ranking cells by `by`; ties count one half, and nothing to tell apart gives 0.5."""
    pairs = inside.sum() * outside.sum()
    _, rank = np.unique(by, return_inverse=True)
    won = np.bincount(rank, weights=outside)
    below = np.cumsum(won) - won / 2
    return float((np.bincount(rank, weights=inside) * below).sum() / pairs) if pairs else 0.5


def _report(name: str, reading: Reading, stated: TableSchema) -> ColumnReport:
    column, known = reading.table[name], {stated_column.name: stated_column for stated_column in stated.columns}
    guessed = settle_type(known.get(name, Column(name, type=SEEMING)), reading.table)
    guessed = keep_sign(guessed, reading)
    spec = state(guessed, measure(guessed, column)) if guessed.role == "feature" else guessed
    coded = to_codes(column, limit=_MOST_LISTED)
    values = sort_values(coded.values)[:_SHOWN] if coded is not None else ()
    distinct = count_values(column)
    role = _guess_role(name, distinct) if spec.role == "feature" else spec.role
    missing = int(find_missing(column).sum())
    return ColumnReport(replace(spec, role=role), isinstance(column, Numbers), distinct, missing, values)


def _guess_role(name: str, distinct: int) -> str:
    """Return what a column seems to be for, from the words in its name; a person confirms it."""
    words = split_words(name)
    if words & _SENSITIVE_WORDS:
        return "sensitive"
    return "label" if distinct == 2 and words & _LABEL_WORDS else "feature"


def _guess_label(columns: Sequence[ColumnReport]) -> tuple[ColumnReport, ...]:
    """Return the columns with one as label where none seems to be it by itself; a sensitive one never is."""
    free = [column for column in list_labels(columns) if column.role == "feature"]
    if not free or any(column.role == "label" for column in columns):
        return tuple(columns)
    small = [column for column in free if not column.is_quantity]
    candidates = [column for column in free if split_words(column.name) & _LABEL_WORDS]
    guess = (small[-1:] or candidates or free[-1:])[0]
    labelled = replace(guess, said=replace(guess.said, role="label"))
    return tuple(labelled if report is guess else report for report in columns)


def propose_schema(path: Path, stated: TableSchema = UNSAID) -> TableSchema:
    """Return a schema of a file, to be corrected: what its columns seem to be, their ranges and values in the rows.

    The file is read as `stated` (`take_statement`). At most one column is the label and one sensitive, and a sensitive
    one has no range: which it is is nobody's business. Raises BadInput for a file that cannot be used.
    """
    reading = read_columns(path, stated)
    table = reading.table
    columns = _guess_label([_report(name, reading, stated) for name in table])
    names: dict[str, str] = {}
    for column in columns:
        names.setdefault(column.role, column.name)
    return TableSchema(tuple(_propose(column, table[column.name], names) for column in columns), file=stated.file)


def _propose(report: ColumnReport, column: Cells, names: Mapping[str, str]) -> Column:
    """Return what is proposed of a column; only the columns of `names` are label, sensitive or person."""
    spec = report.said
    if spec.role in ("label", "sensitive", "person") and names[spec.role] != spec.name:
        spec = replace(spec, role="left out" if spec.role == "person" else "feature")
    if spec.role not in ("label", "sensitive"):
        return spec
    bare = replace(spec, range=None, edges=(), log=None, categories=(), missing=None, part="", order="", at="")
    if report.is_quantity:
        return bare
    listed = list_values(spec.name, column)
    values = listed.categories
    positive = guess_positive(values) if values and spec.role == "label" else ""
    return replace(bare, type=spec.type if spec.type == "code" else "category", categories=values, positive=positive)
