"""What is predicted, whose groups are compared and which columns are features: decided from columns, before any row."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from fairpriv_core.data.features import write_schema
from fairpriv_core.data.material import Declared
from fairpriv_core.data.problem import Categorical, DataSpec, Grouping, Label, Numeric, Schema
from fairpriv_core.data.sensitive import cross_names, declare_grouping, parse_label, parse_sensitive
from fairpriv_core.data.table import canonical, name_bins, show_number
from fairpriv_core.errors import BadInput

#: more classes than this cannot be told apart
MOST_CLASSES = 100


@dataclass(frozen=True)
class Plan:
    """The decided roles. `features` holds no sensitive column, and none at all where they are pixels.

    `label_names` are the negative and the `positive` label, or, with `positive` "", all of more than two classes.

    With `label_edge` the label's rows hold numbers: those that are at least as large are its second category.
    """

    label: Categorical
    positive: str
    label_names: tuple[str, ...]
    groupings: tuple[Grouping, ...]
    group_names: tuple[str, ...]
    features: Schema
    label_edge: float | None = None


def make_plan(spec: DataSpec, declared: Declared) -> Plan:
    """Return the roles of the columns; raises BadInput for every choice that cannot be used, naming those that can."""
    label = _choose_label(spec, declared)
    positive, names = _choose_classes(spec, label, declared)
    usual = set() if declared.image else {usual.column.name for usual in declared.labels}
    others = [name for name in declared.columns if name not in usual]
    attributes = parse_sensitive(spec.sensitive, [*dict.fromkeys([*others, label.column.name])])
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
    return Plan(label.column, positive, names, groupings, group_names, features, label.edge)


def seal_plan(spec: DataSpec, files: str, plan: Plan) -> str:
    """Return the SHA-256 of the files' seal, of what was asked of them and of how they are encoded."""
    asked = {**spec.to_json(), "file": None, "positive": plan.positive, "label": plan.label.name}
    text = json.dumps([files, asked, plan.group_names, write_schema(plan.features)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _choose_label(spec: DataSpec, declared: Declared) -> Label:
    if spec.label is None:
        return declared.labels[0]
    for label in declared.labels:
        if label.column.name == spec.label:
            return label
    asked = parse_label(spec.label, declared.columns)
    column = declared.columns[asked.column]
    if asked.edges:
        return _cut_label(column, asked.edges[0])
    if isinstance(column, Numeric):
        raise BadInput(
            f"label '{column.name}' is a numeric column with too many values; "
            f"say where to cut it in two, like {column.name}:150.",
            field="label",
        )
    if len(column.categories) < 2:
        only = f" only one value, '{column.categories[0]}'," if column.categories else " no values,"
        raise BadInput(f"label '{column.name}' has{only} so there is nothing to predict.", field="label")
    return Label(column, column.categories[-1] if len(column.categories) == 2 else "")


def _cut_label(column: Numeric | Categorical, edge: float) -> Label:
    """Return the label of two values that an edge makes of numbers; the upper one, with the edge, is positive."""
    shown = show_number(edge)
    if isinstance(column, Categorical):
        raise BadInput(
            f"label '{column.name}' holds texts, so it cannot be cut at {shown}; "
            f"write it without ':{shown}', or cut a numeric column.",
            field="label",
        )
    low, high = show_number(column.low), show_number(column.high)
    if not column.low < edge <= column.high:
        raise BadInput(
            f"label '{column.name}' cannot be cut at {shown}: its values go from {low} to {high}, "
            "so all of them are on one side; cut it between the two.",
            field="label",
        )
    names = name_bins(column.name, (edge,))
    return Label(Categorical(column.name, names), names[1], edge=edge)


def _choose_classes(spec: DataSpec, label: Label, declared: Declared) -> tuple[str, tuple[str, ...]]:
    """Return the positive category and the names of the labels; "" and all categories where no one is positive."""
    values = label.column.categories
    if declared.image is None or len(values) == 2 or spec.positive is not None:
        return _choose_positive(spec, label)
    if len(values) > MOST_CLASSES:
        raise BadInput(
            f"label '{label.column.name}' has {len(values):,} values; at most {MOST_CLASSES} can be told apart.",
            field="label",
        )
    return "", values


def _choose_positive(spec: DataSpec, label: Label) -> tuple[str, tuple[str, str]]:
    """Return the positive category and (negative, positive) as they are shown."""
    values = label.column.categories
    shown = ", ".join(values[:10]) + (", …" if len(values) > 10 else "")
    asked = label.positive if spec.positive is None else _recoded(label.column, spec.positive)
    matches = [value for value in values if canonical(value) == canonical(asked)]
    if not asked:
        raise BadInput(
            f"label '{label.column.name}' has {len(values)} values ({shown}); "
            f"say which one is the positive one with positive.",
            field="positive",
        )
    if not matches:
        raise BadInput(
            f"positive '{spec.positive}' does not occur in '{label.column.name}'; choose from {shown}.",
            field="positive",
        )
    positive = matches[0]
    negative = [value for value in values if value != positive]
    return positive, (negative[0] if len(negative) == 1 else f"not {positive}", positive)


def _recoded(column: Categorical, value: str) -> str:
    renamed = {canonical(old): new for old, new in column.recode}
    return renamed.get(canonical(value), value)


def _find_same(columns: set[str], same: tuple[tuple[str, ...], ...]) -> set[str]:
    return columns.union(*(set(twins) for twins in same if columns & set(twins)))
