"""The rows with their roles: label and group as numbers, which rows are dropped, what epsilon takes as given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from fairpriv_core.data.few import assume_few, take_few
from fairpriv_core.data.gather import gather
from fairpriv_core.data.material import Material
from fairpriv_core.data.plan import Plan, make_plan, seal_plan
from fairpriv_core.data.problem import DataSpec, Grouping
from fairpriv_core.data.sensitive import assign_groups
from fairpriv_core.data.table import match_values, take_rows
from fairpriv_core.errors import BadInput


@dataclass(frozen=True)
class Rows:
    """Rows that have a label and a group: `y` (n,) 0..l-1, `group` (n,) 0..k-1, and the features' table or pixels.

    `row` (n,) has their numbers among all that were `read`, None where none was left out.
    """

    material: Material
    plan: Plan
    y: np.ndarray
    group: np.ndarray
    digest: str
    assumptions: Mapping[str, tuple[str, ...]]
    caveats: tuple[str, ...]
    row: np.ndarray | None
    read: int


def assemble(spec: DataSpec) -> Rows:
    """Return the rows that `spec` names; raises BadInput where a label or group is left with nothing to compare."""
    material = gather(spec) if spec.rows is None else take_few(gather(spec), spec.rows)
    plan = make_plan(spec, material.declared)
    label = _find_labels(material, plan)
    group = assign_groups(material.table, plan.groupings, material.declared.columns)
    kept = (label >= 0) & (group >= 0)
    if not kept.any():
        raise BadInput("no row has both a label and a sensitive attribute; check the two columns.", field="label")
    features = {column.name: material.table[column.name] for column in plan.features}
    official = None if material.official_test is None else material.official_test[kept]
    unit = None if material.unit is None else material.unit[kept]
    table = features if kept.all() else take_rows(features, kept)
    pixels = None if material.pixels is None else material.pixels.take(kept)
    unlabelled, ungrouped = int((label < 0).sum()), int(((group < 0) & (label >= 0)).sum())
    return Rows(
        replace(material, table=table, official_test=official, unit=unit, pixels=pixels),
        plan,
        _number_labels(label[kept], plan),
        group[kept],
        seal_plan(spec, material.digest, plan),
        _assume(spec, material, plan, (ungrouped, unlabelled), unit),
        (*material.caveats, *((f"{unlabelled:,} rows without a label were dropped.",) if unlabelled else ())),
        None if kept.all() else np.flatnonzero(kept),
        len(kept),
    )


def _find_labels(material: Material, plan: Plan) -> np.ndarray:
    """Return the position (n,) of each row's label among the categories; -1 where it is missing."""
    if plan.label_edge is not None:
        cut = Grouping(plan.label.name, edges=(plan.label_edge,))
        return assign_groups(material.table, (cut,), material.declared.columns)
    return match_values(material.table[plan.label.name], plan.label.categories, dict(plan.label.recode))


def _number_labels(label: np.ndarray, plan: Plan) -> np.ndarray:
    """Return 1 for the positive label and 0 for the others; the label's own number where there is no positive one."""
    if not plan.positive:
        return label.astype(np.int64)
    positive: np.ndarray = label == plan.label.categories.index(plan.positive)
    return positive.astype(np.int64)


def _assume(
    spec: DataSpec, material: Material, plan: Plan, lacking: tuple[int, int], unit: np.ndarray | None
) -> dict[str, tuple[str, ...]]:
    """Return what is taken as given under each threat model, one sentence each.

    `lacking` are how many rows were left out that lack a sensitive value, and how many that lack a label.
    """
    listed = "; ".join(plan.group_names[:10]) + ("; …" if len(plan.group_names) > 10 else "")
    named = "+".join(grouping.column for grouping in plan.groupings)
    learned = material.declared.learned and not all(grouping.edges for grouping in plan.groupings)
    origin = "read from the file and" if learned else "declared, not learned from rows, and"
    values = f"The list of groups of {named} ({listed}) is {origin} taken as public."
    dropped, unlabelled = (
        (f"{rows:,} rows without a value of {what} were dropped; which rows these are is taken as public.",)
        * bool(rows)
        for rows, what in zip(lacking, (named, plan.label.name), strict=True)
    )
    cut = f"Where {plan.label.name} is cut into the two labels ({'; '.join(plan.label.categories)}) is taken as public."
    labels = () if plan.label_edge is None else (cut,)
    attribute = (values, *labels, *dropped)
    owner = f"{material.unit_name}, {'who' if material.pixels is None else 'which'} has"
    most = 0 if unit is None else int(np.unique(unit, return_counts=True)[1].max())
    few = () if spec.rows is None else (assume_few(spec.rows),)
    shared = (*few, *(_assume_unit(owner, most) if most else ()))
    record = (*attribute, *unlabelled, *material.declared.assumed)
    return {"attribute": (*attribute, *shared), "record": (*record, *shared)}


def _assume_unit(owner: str, most: int) -> tuple[str, ...]:
    """Return what an epsilon on rows means for who has `most` of them (group privacy: Dwork and Roth 2014, 2.3)."""
    name = owner.partition(",")[0]
    return (
        f"Epsilon and delta protect one row, not a {owner} up to {most}: for m rows of one {name} together "
        "they are m times epsilon and m e^((m - 1) epsilon) times delta, which soon protects nothing.",
        f"Which rows belong to one {name} is taken as public.",
    )
