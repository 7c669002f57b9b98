"""The sensitive attribute: `sex`, `age:25,60` (cut at edges), `sex+race` (crossed). Groups never depend on counts.

A label is named alike: `paid`, or `score:150`, numbers cut in two.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from fairpriv_core.data.problem import Categorical, Grouping, Numeric
from fairpriv_core.data.table import Column, Numbers, Table, canonical, match_values, name_bins, show_number, to_numbers
from fairpriv_core.errors import BadInput

#: more groups than this cannot be measured or constrained one by one
MOST_GROUPS = 50


@dataclass(frozen=True)
class Attribute:
    """A column as a person named it, sensitive or label; `edges` are empty unless the person gave some."""

    column: str
    edges: tuple[float, ...] = ()


def parse_sensitive(text: str, columns: Collection[str]) -> tuple[Attribute, ...]:
    """Return the attributes that `text` names; `columns` are those that exist, and win over the grammar.

    `sex` also finds a lone column `SEX`: names are told apart by case only where two columns differ by nothing else.
    Raises BadInput for an unknown column, for edges that are not rising numbers and for a column named twice.
    """
    whole = text.strip()
    parts = [whole] if whole in columns else [part.strip() for part in whole.split("+")]
    attributes = tuple(_parse_attribute(part, columns) for part in parts)
    names = [attribute.column for attribute in attributes]
    if len(set(names)) < len(names):
        raise BadInput(f"sensitive names a column twice in '{text}'; cross unlike columns.", field="sensitive")
    return attributes


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


def declare_grouping(attribute: Attribute, column: Numeric | Categorical, declared: Mapping[str, Grouping]) -> Grouping:
    """Return the groups of an attribute: a person's edges, else the declared grouping, else the listed categories."""
    if isinstance(column, Categorical):
        if attribute.edges:
            raise BadInput(
                f"'{column.name}' holds texts, so it cannot be cut at {_show(attribute.edges)}; "
                f"write it without edges, or cut a numeric column.",
                field="sensitive",
            )
        return declared.get(column.name, Grouping(column.name, values=column.categories))
    edges = attribute.edges or declared.get(column.name, Grouping(column.name)).edges
    if not edges:
        raise BadInput(
            f"'{column.name}' is a numeric column; say where to cut it, like {column.name}:25,60.", field="sensitive"
        )
    return Grouping(column.name, edges=edges)


def name_groups(grouping: Grouping) -> tuple[str, ...]:
    """Return the names of a grouping's groups, in the order of their numbers."""
    if not grouping.edges:
        return (*grouping.values, *((grouping.rest,) if grouping.rest else ()))
    return name_bins(grouping.column, grouping.edges)


def cross_names(groupings: Collection[Grouping]) -> tuple[str, ...]:
    """Return the names of crossed groups, `Female, Black`; raises BadInput beyond MOST_GROUPS."""
    names = tuple(", ".join(parts) for parts in product(*map(name_groups, groupings)))
    if len(names) > MOST_GROUPS:
        asked = "+".join(grouping.column for grouping in groupings)
        raise BadInput(
            f"'{asked}' has {len(names)} groups; at most {MOST_GROUPS} can be compared: cut or cross fewer values.",
            field="sensitive",
        )
    return names


def assign_groups(
    table: Table, groupings: Sequence[Grouping], columns: Mapping[str, Numeric | Categorical]
) -> np.ndarray:
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


def _assign(table: Table, grouping: Grouping, column: Numeric | Categorical | None) -> np.ndarray:
    values = table[grouping.column]
    if grouping.edges:
        numbers = to_numbers(values)
        found = np.searchsorted(_round_edges(grouping.edges, values), numbers, side="right").astype(np.int64)
        return np.where(np.isfinite(numbers), found, -1)
    assert isinstance(column, Categorical)
    listed = match_values(values, column.categories, dict(column.recode))
    position = {canonical(value): number for number, value in enumerate(grouping.values)}
    other = len(grouping.values) if grouping.rest else -1
    lookup = np.array([*(position.get(canonical(category), other) for category in column.categories), -1])
    groups: np.ndarray = lookup[listed].astype(np.int64)
    return groups


def _round_edges(edges: tuple[float, ...], values: Column) -> np.ndarray:
    """Return edges as exact as the column: 0.7 read as float32 must not fall below an edge of 0.7."""
    kept = values.values.dtype if isinstance(values, Numbers) else np.dtype(np.float64)
    return np.array(edges, dtype=kept).astype(np.float64)


def _parse_attribute(part: str, columns: Collection[str]) -> Attribute:
    column, edges = _find_cut(part, columns)
    if column is None:
        raise BadInput(f"unknown column '{part}' in sensitive; choose from {', '.join(columns)}.", field="sensitive")
    return Attribute(column) if edges is None else Attribute(column, _parse_edges(edges, part))


def _find_cut(part: str, columns: Collection[str]) -> tuple[str | None, str | None]:
    """Return the column that `part` names, None for an unknown one, and what it says of edges, None for nothing."""
    if (whole := _find_column(part, columns)) is not None:
        return whole, None
    name, colon, edges = part.rpartition(":")
    return (_find_column(name.strip(), columns), edges) if colon else (None, None)


def _find_column(name: str, columns: Collection[str]) -> str | None:
    if name in columns:
        return name
    alike = [column for column in columns if column.casefold() == name.casefold()]
    return alike[0] if len(alike) == 1 else None


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
