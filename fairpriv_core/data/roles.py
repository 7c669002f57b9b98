"""Which column is the label, which the sensitive attribute, which are features; and how rows are put into groups.

The sensitive attribute is `sex`, `age:25,60` (cut at edges), `race=White,Black` (all others are one group) or
`sex+race` (crossed); groups never depend on counts. A label is named alike: `paid`, or `score:150`, cut in two.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise, product

import numpy as np

from fairpriv_core.data.problem import DataSpec, Grouping, Label, Schema
from fairpriv_core.data.schema import Declared, read_schema, write_schema
from fairpriv_core.errors import BadInput
from fairpriv_core.files.column import Column, category
from fairpriv_core.files.spelling import canonical, guess_positive, show_number
from fairpriv_core.files.table import Cells, Numbers, Table, match_values, name_bins, to_numbers

#: more groups than this cannot be measured or constrained one by one
MOST_GROUPS = 50
#: more classes than this cannot be told apart
MOST_CLASSES = 100
OTHERS = ("Other", "All others")  # the first that is not itself a group
_PLUS = re.compile(r'\+(?=(?:[^"]*"[^"]*")*[^"]*$)')  # not one in quotes


@dataclass(frozen=True)
class Attribute:
    """A column as a person named it, sensitive or label, with the edges or the values that it was given, if any."""

    column: str
    edges: tuple[float, ...] = ()
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the text that names it; `parse_sensitive` reads it back.

        >>> str(Attribute("age", (25.0, 60.0))), str(Attribute("race", values=("White", "Black, other")))
        ('age:25,60', 'race=White,"Black, other"')
        """
        edges, values = map(show_number, self.edges), map(_quote, self.values)
        return self.column + (f":{','.join(edges)}" * bool(self.edges)) + (f"={','.join(values)}" * bool(self.values))


def _quote(value: str) -> str:
    plain = value == value.strip() and not set(value) & set('+,"')
    return value if plain else '"' + value.replace('"', '""') + '"'


def split_crossed(text: str) -> list[str]:
    """Return the parts of `sex+race`; a plus in the quotes of a value does not part.

    >>> split_crossed('sex+age="65+",young')
    ['sex', 'age="65+",young']
    """
    return [part.strip() for part in (_PLUS.split(text) if "=" in text else text.split("+"))]


def list_meant(text: str) -> tuple[str, ...]:
    """Return every name of a column that `text`, a label or sensitive attribute, could mean; see `parse_sensitive`."""
    parts = [text.strip(), *split_crossed(text)]
    names = [part.rpartition(":")[0].strip() for part in parts] + [part.partition("=")[0].strip() for part in parts]
    return tuple(name for name in dict.fromkeys([*parts, *names]) if name)


def parse_sensitive(text: str, columns: Collection[str]) -> tuple[Attribute, ...]:
    """Return the attributes that `text` names; `columns` are those that exist, and win over the grammar.

    `sex` also finds a lone column `SEX`: names are told apart by case only where two columns differ by nothing else.
    Raises BadInput for an unknown column, for edges that are not rising numbers, for a column or a value named twice.
    """
    name = text.strip()
    parts = [name] if name in columns else split_crossed(name)
    attributes = tuple(_parse_attribute(part, columns) for part in parts)
    names = [attribute.column for attribute in attributes]
    if len(set(names)) < len(names):
        raise BadInput(f"sensitive names a column twice in '{text}'; cross unlike columns.", field="sensitive")
    return attributes


def guess_attributes(text: str) -> tuple[Attribute, ...]:
    """Return the attributes that `text` seems to name where its columns are not known; BadInput as `parse_sensitive`.

    >>> [each.column for each in guess_attributes("sex+age:25,60+race=White")]
    ['sex', 'age', 'race']
    """
    columns = []
    for part in split_crossed(text):
        name, colon, edges = part.rpartition(":")
        cut = name if colon and _read_edges(edges) else part
        columns.append((part.partition("=")[0] if "=" in part else cut).strip())
    return parse_sensitive(text, columns)


def parse_label(text: str, columns: Collection[str]) -> Attribute:
    """Return the column that the label `text` names, with one edge for `score:150`; `columns` win over the grammar.

    Raises BadInput for an unknown column, and for anything but one finite number behind the colon.
    """
    column, edges = _find_cut(text.strip(), columns)
    if column is None:
        raise BadInput(f"unknown label column '{text}'; choose from {', '.join(columns)}.", field="label")
    if edges is None:
        return Attribute(column)
    numbers = _read_edges(edges)
    if len(numbers) != 1:
        raise BadInput(
            f"a label is cut at one value, got '{edges}'; write one number, like {column}:150.", field="label"
        )
    return Attribute(column, numbers)


def declare_grouping(attribute: Attribute, column: Column, declared: Mapping[str, Grouping]) -> Grouping:
    """Return the groups of an attribute: a person's edges, else the declared grouping, else the listed categories."""
    if not column.is_quantity:
        if attribute.edges:
            raise BadInput(
                f"'{column.name}' holds text, so it cannot be cut at {_show(attribute.edges)}; "
                f"write it without edges, or cut a numeric column.",
                field="sensitive",
            )
        if attribute.values:
            return _keep_apart(attribute, column)
        return declared.get(column.name, Grouping(column.name, values=column.categories))
    if attribute.values:
        raise BadInput(
            f"'{column.name}' is a numeric column, so no values of it are groups; "
            f"say where to cut it, like {column.name}:25,60.",
            field="sensitive",
        )
    edges = attribute.edges or declared.get(column.name, Grouping(column.name)).edges
    if not edges:
        raise BadInput(
            f"'{column.name}' is a numeric column; say where to cut it, like {column.name}:25,60.", field="sensitive"
        )
    return Grouping(column.name, edges=edges)


def _keep_apart(attribute: Attribute, column: Column) -> Grouping:
    """Return a group for each value that was named, and one for all others; BadInput where that makes no sense."""
    known = {canonical(value): value for value in column.categories}
    values = [canonical(_recoded(column, value)) for value in attribute.values]
    unknown = [value for value, name in zip(attribute.values, values, strict=True) if name not in known]
    if unknown:
        raise BadInput(
            f"'{column.name}' has no value '{unknown[0]}'; choose from {_list(column.categories)}.", field="sensitive"
        )
    if len(set(values)) == len(known):
        raise BadInput(
            f"'{attribute}' names every value, so none is left for the others; "
            f"write {column.name}, or leave out those that shall be one group.",
            field="sensitive",
        )
    rest = next(name for name in OTHERS if canonical(name) not in values)
    return Grouping(column.name, values=tuple(known[name] for name in values), rest=rest)


def name_groups(grouping: Grouping) -> tuple[str, ...]:
    """Return the names of a grouping's groups, in the order of their numbers."""
    if not grouping.edges:
        return (*grouping.values, *((grouping.rest,) if grouping.rest else ()))
    return name_bins(grouping.column, grouping.edges)


def cross_names(groupings: Collection[Grouping]) -> tuple[str, ...]:
    """Return the names of crossed groups, `Female, Black`; raises BadInput beyond MOST_GROUPS."""
    names = tuple(", ".join(parts) for parts in product(*map(name_groups, groupings)))
    if len(names) > MOST_GROUPS:
        label = "+".join(grouping.column for grouping in groupings)
        raise BadInput(
            f"'{label}' has {len(names)} groups; at most {MOST_GROUPS} can be compared: cut or cross fewer values.",
            field="sensitive",
        )
    return names


def assign_groups(table: Table, groupings: Sequence[Grouping], columns: Mapping[str, Column]) -> np.ndarray:
    """Return the group of each row, (n,) int64 in 0..k-1; -1 for a row that lacks one of the attributes.

    `columns` needs those alone whose values are listed: one that is cut needs no more than its edges.
    """
    index = np.zeros(len(table[groupings[0].column]), dtype=np.int64)
    missing = np.zeros(len(index), dtype=bool)
    for grouping in groupings:
        part = _assign(table, grouping, columns.get(grouping.column))
        missing |= part < 0
        index = index * len(name_groups(grouping)) + part
    return np.where(missing, -1, index)


def _assign(table: Table, grouping: Grouping, column: Column | None) -> np.ndarray:
    values = table[grouping.column]
    if grouping.edges:
        numbers = to_numbers(values)
        places = np.searchsorted(_round_edges(grouping.edges, values), numbers, side="right").astype(np.int64)
        return np.where(np.isfinite(numbers), places, -1)
    assert column is not None
    listed = match_values(values, column.categories, dict(column.recode))
    position = {canonical(value): number for number, value in enumerate(grouping.values)}
    other = len(grouping.values) if grouping.rest else -1
    lookup = np.array([*(position.get(canonical(category), other) for category in column.categories), -1])
    groups: np.ndarray = lookup[listed].astype(np.int64)
    return groups


def _round_edges(edges: tuple[float, ...], values: Cells) -> np.ndarray:
    """Return edges as exact as the column: 0.7 read as float32 must not fall below an edge of 0.7."""
    precision = values.values.dtype if isinstance(values, Numbers) else np.dtype(np.float64)
    return np.array(edges, dtype=precision).astype(np.float64)


def _parse_attribute(part: str, columns: Collection[str]) -> Attribute:
    name, equals, values = part.partition("=")
    if equals and part not in columns and (whole_column := _find_column(name.strip(), columns)) is not None:
        return Attribute(whole_column, values=_parse_values(values, part))
    column, edges = _find_cut(part, columns)
    if column is None:
        raise BadInput(f"unknown column '{part}' in sensitive; choose from {', '.join(columns)}.", field="sensitive")
    return Attribute(column) if edges is None else Attribute(column, _parse_edges(edges, part))


def _find_cut(part: str, columns: Collection[str]) -> tuple[str | None, str | None]:
    """Return the column that `part` names, None for an unknown one, and what it says of edges, None for nothing."""
    if (column := _find_column(part, columns)) is not None:
        return column, None
    name, colon, edges = part.rpartition(":")
    return (_find_column(name.strip(), columns), edges) if colon else (None, None)


def _find_column(name: str, columns: Collection[str]) -> str | None:
    if name in columns:
        return name
    alike = [column for column in columns if column.casefold() == name.casefold()]
    return alike[0] if len(alike) == 1 else None


def _parse_values(text: str, part: str) -> tuple[str, ...]:
    values = tuple(value.strip() for value in next(csv.reader([text], skipinitialspace=True), []))
    if not values or not all(values) or len({canonical(value) for value in values}) < len(values):
        raise BadInput(
            f"the values in '{part}' must be different ones with commas between, like race=White,Black.",
            field="sensitive",
        )
    return values


def _parse_edges(text: str, part: str) -> tuple[float, ...]:
    edges = _read_edges(text)
    if not edges:
        raise BadInput(f"the edges in '{part}' must be rising numbers, like age:25,60.", field="sensitive")
    return edges


def _read_edges(text: str) -> tuple[float, ...]:
    """Return finite, rising numbers; none where `text` is anything else."""
    try:
        edges = tuple(float(edge) for edge in text.split(","))
    except ValueError:
        return ()
    rising = all(low < high for low, high in pairwise(edges))
    return edges if rising and all(math.isfinite(edge) for edge in edges) else ()


def _show(edges: tuple[float, ...]) -> str:
    return ",".join(show_number(edge) for edge in edges)


@dataclass(frozen=True)
class Groups:
    """Crossed groupings, and the column of each that lists values; one that is cut is known by its edges alone."""

    groupings: tuple[Grouping, ...]
    columns: tuple[Column, ...]

    @property
    def read(self) -> tuple[Column, ...]:
        """The columns of the groups, as a file's are read: one that is cut holds numbers."""
        cut = (grouping.column for grouping in self.groupings if grouping.edges)
        return (*self.columns, *(Column(name) for name in cut))

    def assign(self, table: Table) -> np.ndarray:
        """Return the group of each row, (n,) int64; BadInput where a column or a row's value is missing or unknown."""
        missing = [grouping.column for grouping in self.groupings if grouping.column not in table]
        if missing:
            raise BadInput(
                f"the model decides by group, so every row needs a value of {' and '.join(missing)}; "
                f"the file has only {', '.join(table)}.",
                field="file",
            )
        group = assign_groups(table, self.groupings, {column.name: column for column in self.columns})
        outside = np.flatnonzero(group < 0)
        if len(outside):
            groups = "; ".join(_format_grouping(grouping) for grouping in self.groupings)
            raise BadInput(
                f"row {outside[0] + 1} of the file is in no group that the model knows, so it cannot decide: {groups}.",
                field="file",
            )
        return group

    def to_json(self) -> str:
        """Return the groups as JSON; `from_json` gives equal ones. Nothing that was measured of a column is in it."""
        groupings = [asdict(grouping) for grouping in self.groupings]
        return json.dumps({"groupings": groupings, "columns": write_schema(self.columns)}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str | None) -> Groups:
        """Return the groups that `to_json` wrote; raises BadInput for any other text.

        Earlier versions also wrote what they measured of a column that is cut (range, mean, deciles): it is not read.
        """
        try:
            document = json.loads(text or "")
            groupings = tuple(
                Grouping(grouping["column"], tuple(grouping["values"]), grouping["rest"], tuple(grouping["edges"]))
                for grouping in document["groupings"]
            )
            columns = read_schema(document["columns"])
            return cls(groupings, tuple(column for column in columns if not column.is_quantity))
        except (KeyError, TypeError, ValueError) as error:
            raise BadInput(f"the model does not say which rows are in which group ({type(error).__name__}).") from error


def _format_grouping(grouping: Grouping) -> str:
    if grouping.edges:
        return f"{grouping.column} must be a number"
    return f"{grouping.column} must be one of {_list(name_groups(grouping))}"


def _list(names: Sequence[str]) -> str:
    return ", ".join(names[:10]) + (", …" if len(names) > 10 else "")


@dataclass(frozen=True)
class ColumnPlan:
    """The decided roles. `features` holds no sensitive column, and none at all where they are pixels.

    `label_names` are the negative and the `positive` label, or, with `positive` "", all of more than two classes.

    With `label_edge` the label's rows hold numbers: those that are at least as large are its second category.
    """

    label: Column
    positive: str
    label_names: tuple[str, ...]
    groupings: tuple[Grouping, ...]
    group_names: tuple[str, ...]
    features: Schema
    label_edge: float | None = None


def make_plan(spec: DataSpec, declared: Declared) -> ColumnPlan:
    """Return the roles of the columns; raises BadInput for every choice that cannot be used, naming those that can."""
    label = _choose_label(spec, declared)
    positive, names = _choose_classes(spec, label, declared)
    usual = set() if declared.image else {usual.column.name for usual in declared.labels}
    choices = [name for name in declared.columns if name not in usual]
    attributes = parse_sensitive(spec.sensitive, [*dict.fromkeys([*choices, label.column.name])])
    hidden = _find_same({attribute.column for attribute in attributes}, declared.same)
    if label.column.name in hidden and not declared.classes_are_groups:
        raise BadInput(
            f"'{label.column.name}' cannot be both the label and the sensitive attribute; choose another of the two.",
            field="sensitive",
        )
    known = {grouping.column: grouping for grouping in declared.groupings}
    groupings = tuple(declare_grouping(part, declared.columns[part.column], known) for part in attributes)
    group_names = cross_names(groupings)
    if len(group_names) < 2:
        raise BadInput(
            f"every row is in one group, '{group_names[0]}'; "
            f"choose a sensitive attribute with at least two groups, got '{spec.sensitive}'.",
            field="sensitive",
        )
    hidden |= _find_same({label.column.name}, declared.same)
    features = tuple(column for column in declared.schema if column.name not in hidden)
    if not features and not declared.image:
        raise BadInput(
            "no column is left to predict from once label and sensitive attribute are taken out.", field="label"
        )
    return ColumnPlan(label.column, positive, names, groupings, group_names, features, label.edge)


def seal_plan(spec: DataSpec, files: str, plan: ColumnPlan) -> str:
    """Return the SHA-256 of the files' seal, of what was asked of them and of how they are encoded."""
    content = {**spec.to_json(), "file": None, "positive": plan.positive, "label": plan.label.name}
    text = json.dumps([files, content, plan.group_names, write_schema(plan.features)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _choose_label(spec: DataSpec, declared: Declared) -> Label:
    if spec.label is None:
        return declared.labels[0]
    for label in declared.labels:
        if label.column.name == spec.label:
            return label
    attribute = parse_label(spec.label, declared.columns)
    column = declared.columns[attribute.column]
    if attribute.edges:
        return _cut_label(column, attribute.edges[0])
    if column.is_quantity:
        raise BadInput(
            f"label '{column.name}' is a numeric column with too many values; "
            f"say where to cut it in two, like {column.name}:150.",
            field="label",
        )
    if len(column.categories) < 2:
        only = f" only one value, '{column.categories[0]}'," if column.categories else " no values,"
        raise BadInput(f"label '{column.name}' has{only} so there is nothing to predict.", field="label")
    return Label(column, guess_positive(column.categories))


def _cut_label(column: Column, edge: float) -> Label:
    """Return the label of two values that an edge makes of numbers; the upper one, with the edge, is positive."""
    number = show_number(edge)
    if not column.is_quantity:
        raise BadInput(
            f"label '{column.name}' holds text, so it cannot be cut at {number}; "
            f"write it without ':{number}', or cut a numeric column.",
            field="label",
        )
    if not column.low < edge <= column.high:  # which they are is not said: another run may protect this column
        raise BadInput(
            f"label '{column.name}' cannot be cut at {number}: all of its values are on one side; "
            "cut it above its smallest value, and not above its largest one.",
            field="label",
        )
    names = name_bins(column.name, (edge,))
    return Label(category(column.name, names), names[1], edge=edge)


def _choose_classes(spec: DataSpec, label: Label, declared: Declared) -> tuple[str, tuple[str, ...]]:
    """Return the positive category and the names of the labels; "" and all categories where no one is positive."""
    values = label.column.categories
    if declared.image is None or len(values) == 2 or spec.positive is not None:
        return _choose_positive(spec, label)
    if len(values) > MOST_CLASSES:
        raise BadInput(
            f"label '{label.column.name}' has {len(values):,} values; at most {MOST_CLASSES} can be kept apart.",
            field="label",
        )
    return "", values


def _choose_positive(spec: DataSpec, label: Label) -> tuple[str, tuple[str, str]]:
    """Return the positive category and (negative, positive) as they are shown."""
    values = label.column.categories
    listing = ", ".join(values[:10]) + (", …" if len(values) > 10 else "")
    text = label.positive if spec.positive is None else _recoded(label.column, spec.positive)
    matches = [value for value in values if canonical(value) == canonical(text)]
    if not text:
        raise BadInput(
            f"label '{label.column.name}' has {len(values)} values ({listing}); "
            f"say which one is the positive one with positive.",
            field="positive",
        )
    if not matches:
        raise BadInput(
            f"positive '{spec.positive}' does not occur in '{label.column.name}'; choose from {listing}.",
            field="positive",
        )
    positive = matches[0]
    negative = [value for value in values if value != positive]
    return positive, (negative[0] if len(negative) == 1 else f"not {positive}", positive)


def _recoded(column: Column, value: str) -> str:
    renamed = {canonical(old): new for old, new in column.recode}
    return renamed.get(canonical(value), value)


def _find_same(columns: set[str], same: tuple[tuple[str, ...], ...]) -> set[str]:
    return columns.union(*(set(twins) for twins in same if columns & set(twins)))
