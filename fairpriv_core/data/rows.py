"""The rows with their roles: label and group as numbers, which rows are used, what epsilon takes as given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from fairpriv_core.data.gather import gather
from fairpriv_core.data.problem import DataSpec, Grouping
from fairpriv_core.data.randomized import assume_answered
from fairpriv_core.data.roles import ColumnPlan, assign_groups, make_plan, seal_plan
from fairpriv_core.data.schema import RawTable
from fairpriv_core.data.table_schema import from_text
from fairpriv_core.errors import BadInput
from fairpriv_core.files.table import count_rows, match_values, take_rows
from fairpriv_core.seeds import public_generator

#: with it rows are drawn: the same ones at every seed of a run
ROWS_SEED = 0


def draw_row_numbers(n: int, rows: int) -> np.ndarray:
    """Return the positions of `rows` of n rows, rising; they follow from the two numbers alone.

    Fewer rows are among those of a larger number. BadInput where there are not as many.
    """
    if rows > n:
        raise BadInput(f"rows must be at most {n:,}, the number of rows that there are, got {rows:,}.", field="rows")
    return np.sort(public_generator(ROWS_SEED, "rows").permutation(n)[:rows])


def draw_rows(raw_table: RawTable, rows: int) -> RawTable:
    """Return the rows that are drawn, before any of them is looked at; BadInput where there are not as many."""
    n = count_rows(raw_table.table)
    selected = draw_row_numbers(n, rows)
    return replace(
        raw_table,
        table=take_rows(raw_table.table, selected),
        official_test=None if raw_table.official_test is None else raw_table.official_test[selected],
        unit=None if raw_table.unit is None else raw_table.unit[selected],
        pixels=None if raw_table.pixels is None else raw_table.pixels.take(selected),
        caveats=(*raw_table.caveats, f"Of {n:,} rows {rows:,} are used, drawn with the constant seed {ROWS_SEED}."),
    )


def draw_one_each(unit: np.ndarray, *, preferred: np.ndarray | None = None) -> np.ndarray:
    """Return a mask (n,) of one row of each unit: of those `preferred` (n,), if any are, where it has one.

    `unit` (n,) is int64, -1 for a row that is not to be drawn. Which of a person's rows it is depends on that person's
    rows alone: no other row is drawn otherwise, whatever a person's rows hold.
    """
    order = public_generator(ROWS_SEED, "people").permutation(len(unit))
    if preferred is not None:
        order = np.concatenate([order[preferred[order]], order[~preferred[order]]])
    _, first = np.unique(unit[order], return_index=True)
    mask = np.zeros(len(unit), dtype=bool)
    mask[order[first]] = True
    return mask & (unit >= 0)


def assume_drawn(rows: int) -> str:
    """Return what an epsilon on some of the rows takes as given, whatever it protects."""
    return (
        f"Which {rows:,} rows are used is public: they were drawn with the constant seed {ROWS_SEED}, whatever they "
        "hold. Nothing depends on the others but what is said of the data as a whole, and epsilon takes no credit for "
        "leaving them out."
    )


def undersample_groups(group: np.ndarray, ratio: float, groups: int, generator: np.random.Generator) -> np.ndarray:
    """Return the positions of the rows that stay, in their order; `group` (n,) is in 0..`groups` - 1.

    Of a group with more than m / ratio rows that many stay, rounded, where m is the size of the smallest group that has
    rows. With generators alike the rows that stay at a higher ratio also stay at a lower one.

    Raises:
        BadInput: no group has rows to leave out at that ratio; how large the groups are is not said.
    """
    sizes = np.bincount(group, minlength=groups)
    most = round(float(sizes[sizes > 0].min(initial=len(group))) / ratio)
    if most >= sizes.max():
        raise BadInput(
            f"group_ratio {ratio:g} leaves no row out: the groups of the training rows are that much alike already; "
            "choose a larger ratio, up to 1, or leave it out.",
            field="group_ratio",
        )
    samples = [generator.permutation(np.flatnonzero(group == place))[:most] for place in range(groups)]
    return np.sort(np.concatenate(samples))


def match_groups(group: np.ndarray, like: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return positions of rows of `group` (n,), as many as can be, whose groups have the shares that `like` (m,) has.

    A group without rows on one of the two sides is left out of it.
    """
    k = int(max(group.max(), like.max())) + 1
    sizes, targets = np.bincount(group, minlength=k), np.bincount(like, minlength=k)
    common = np.flatnonzero((sizes > 0) & (targets > 0))
    scarce = common[np.argmin(sizes[common] / targets[common])]
    selected = targets * sizes[scarce] // targets[scarce]
    return np.sort(
        np.concatenate([generator.permutation(np.flatnonzero(group == place))[: selected[place]] for place in common])
    )


def assume_undersampled(ratio: float) -> str:
    """Return what an epsilon on thinned rows takes as given, whatever it protects."""
    return (
        f"Which training rows are left out to reach a group ratio of {ratio:g} is assumed public, although it depends "
        "on everyone's sensitive attribute and on how many rows each group has. Epsilon compares data with the same "
        "rows left out. A person known to be left out is known to be of a larger group, and the number of training "
        "rows gives the size of the smallest group; epsilon covers neither."
    )


@dataclass(frozen=True)
class LabelledTable:
    """Rows with their roles: `y` (n,) 0..l-1, `group` (n,) 0..k-1, and the features' table or pixels.

    Rows of a person's file that lack a label or a group are there too, as 0 and not `present` (n,): see `Dataset`. Of
    benchmarks, whose rows are public, they are left out; `present` is None where all are.
    `row` (n,) has the rows' numbers among all that were `read`, None where all are present. `left_out` says how many
    are not used for what reason: for the owner of the rows alone.
    """

    raw_table: RawTable
    plan: ColumnPlan
    y: np.ndarray
    group: np.ndarray
    digest: str
    assumptions: Mapping[str, tuple[str, ...]]
    caveats: tuple[str, ...]
    present: np.ndarray | None
    row: np.ndarray | None
    read: int
    left_out: Mapping[str, int]


def assemble(spec: DataSpec) -> LabelledTable:
    """Return the rows that `spec` names; raises BadInput where a label or group is left with nothing to compare."""
    raw_table = gather(spec) if spec.rows is None else draw_rows(gather(spec), spec.rows)
    plan = make_plan(spec, raw_table.declared)
    label = _find_labels(raw_table, plan)
    group = assign_groups(raw_table.table, plan.groupings, raw_table.declared.columns)
    _check_answers(raw_table, group)
    known = (label >= 0) & (group >= 0)
    lacking = _find_lacking(spec, raw_table, plan, label, known)
    selected = _select(spec, raw_table, known)
    if not (selected & known).any():
        raise BadInput("no row has both a label and a sensitive attribute; check the two columns.", field="label")
    features = {column.name: raw_table.table[column.name] for column in plan.features}
    official = None if raw_table.official_test is None else raw_table.official_test[selected]
    unit = None if raw_table.unit is None or spec.person else raw_table.unit[selected]
    table = features if selected.all() else take_rows(features, selected)
    pixels = None if raw_table.pixels is None else raw_table.pixels.take(selected)
    left_out = {reason: int(rows.sum()) for reason, rows in lacking.items() if rows.any()}
    present = known[selected]
    return LabelledTable(
        replace(raw_table, table=table, official_test=official, unit=unit, pixels=pixels),
        plan,
        np.where(present, _number_labels(label[selected], plan), 0),
        np.where(present, group[selected], 0),
        seal_plan(spec, raw_table.digest, plan),
        _assume(spec, raw_table, plan, left_out, unit),
        (*raw_table.caveats, *_warn_unlabelled(spec, left_out.get(_lack(plan.label.name), 0))),
        None if present.all() else present,
        None if (selected & known).all() else np.flatnonzero(selected),
        len(selected),
        left_out,
    )


def _select(spec: DataSpec, raw_table: RawTable, known: np.ndarray) -> np.ndarray:
    """Return a mask (n,) of the rows that there are: of a person's file all, or one of each person who is named.

    Of a person without a row that has a label and a group one stays nevertheless, so that the number of rows is that of
    people.
    """
    if spec.file is None:
        return known
    if spec.person is None or raw_table.unit is None:
        return np.ones(len(known), dtype=bool)
    return draw_one_each(raw_table.unit, preferred=known)


def _find_lacking(
    spec: DataSpec, raw_table: RawTable, plan: ColumnPlan, label: np.ndarray, known: np.ndarray
) -> dict[str, np.ndarray]:
    """Return a mask (n,) of the rows that are not used for each reason; no row is among two."""
    lacking = {_lack(_name_groups(plan)): (label >= 0) & ~known, _lack(plan.label.name): label < 0}
    if spec.person is None or raw_table.unit is None:
        return lacking
    unit = raw_table.unit
    lacking[_lack(spec.person)] = known & (unit < 0)
    lacking[_others(spec.person)] = known & (unit >= 0) & ~draw_one_each(unit, preferred=known)
    return lacking


def _name_groups(plan: ColumnPlan) -> str:
    return "+".join(grouping.column for grouping in plan.groupings)


def _lack(column: str) -> str:
    return f"no value of {column}"


def _others(person: str) -> str:
    return f"another row of the same {person} is used"


def _warn_unlabelled(spec: DataSpec, rows: int) -> tuple[str, ...]:
    """Return what every reader is told of a benchmark; of a person's file that is raw, and so in `left_out` alone."""
    return (f"{rows:,} rows without a label were dropped.",) if rows and spec.file is None else ()


def _check_answers(raw_table: RawTable, group: np.ndarray) -> None:
    """Raise BadInput where a column of randomised answers lacks one, or has a value that nobody could answer."""
    answers = raw_table.declared.answers
    if answers is not None and (group < 0).any():
        raise BadInput(
            f"column '{answers.name}' has a cell that is none of its answers; randomised response gives everybody one.",
            field="file",
        )


def _find_labels(raw_table: RawTable, plan: ColumnPlan) -> np.ndarray:
    """Return the position (n,) of each row's label among the categories; -1 where it is missing."""
    if plan.label_edge is not None:
        cut = Grouping(plan.label.name, edges=(plan.label_edge,))
        return assign_groups(raw_table.table, (cut,), raw_table.declared.columns)
    return match_values(raw_table.table[plan.label.name], plan.label.categories, dict(plan.label.recode))


def _number_labels(label: np.ndarray, plan: ColumnPlan) -> np.ndarray:
    """Return 1 for the positive label and 0 for the others; the label's own number where there is no positive one."""
    if not plan.positive:
        return label.astype(np.int64)
    positive: np.ndarray = label == plan.label.categories.index(plan.positive)
    return positive.astype(np.int64)


def _assume(
    spec: DataSpec, raw_table: RawTable, plan: ColumnPlan, left_out: Mapping[str, int], unit: np.ndarray | None
) -> dict[str, tuple[str, ...]]:
    """Return what is taken as given under each threat model, one sentence each; `left_out` as in LabelledTable."""
    sensitive = _name_groups(plan)
    dropped, unlabelled = (
        (f"{rows:,} rows without a value of {what} were dropped; which rows these are is taken as public.",)
        * bool(rows)
        for what in (sensitive, plan.label.name)
        for rows in (left_out.get(_lack(what), 0),)
    )
    cut = f"Where {plan.label.name} is cut into the two labels ({'; '.join(plan.label.categories)}) is taken as public."
    labels = () if plan.label_edge is None else (cut,)
    answers = raw_table.declared.answers
    answered = () if answers is None else (assume_answered(answers, spec.person or "row"),)
    listed = _assume_groups(spec, plan, learned=raw_table.declared.learned and answers is None)
    owner = f"{raw_table.unit_name}, {'who' if raw_table.pixels is None else 'which'} has"
    most = 0 if unit is None else int(np.unique(unit, return_counts=True)[1].max())
    sampling = () if spec.rows is None else (assume_drawn(spec.rows),)
    nameless = 0 if raw_table.unit is None else int((raw_table.unit < 0).sum())
    people = () if spec.person is None else _assume_people(spec.person, nameless)
    for_both = (*raw_table.declared.assumed_by_all, *sampling, *people, *(_assume_unit(owner, most) if most else ()))
    public = (*dropped, *unlabelled) if spec.file is None else ()  # a file's rows that lack a value stay as nulls
    record = (listed, *labels, *public, *raw_table.declared.assumed)
    return {"attribute": (listed, *labels, *dropped, *answered, *for_both), "record": (*record, *for_both)}


def _assume_groups(spec: DataSpec, plan: ColumnPlan, *, learned: bool) -> str:
    """Return where the list of groups comes from; a paid schema may have been written from the rows or not."""
    listed = "; ".join(plan.group_names[:10]) + ("; …" if len(plan.group_names) > 10 else "")
    measured = learned or (spec.schema is not None and from_text(spec.schema).paid is not None)
    if not measured or all(grouping.edges for grouping in plan.groupings):
        origin = "declared, not learned from rows, and"
    else:
        origin = "read from the file and" if learned else "as the schema states it and"
    sensitive = _name_groups(plan)
    types = f" So are the types of {sensitive} and {plan.label.name} in the schema." if measured and spec.schema else ""
    return f"The list of groups of {sensitive} ({listed}) is {origin} taken as public.{types}"


def _assume_people(person: str, nameless: int) -> tuple[str, ...]:
    """Return what an epsilon takes as given where one row of each person is used."""
    without = (f"{nameless:,} rows without a value of {person} were dropped; which rows these are is taken as public.",)
    return (
        f"Epsilon and delta protect all rows of one {person} together: one of them is used, drawn with the constant "
        f"seed {ROWS_SEED}. Which rows belong to one {person} is taken as public.",
        *without * bool(nameless),
    )


def _assume_unit(owner: str, most: int) -> tuple[str, ...]:
    """Return what an epsilon on rows means for who has `most` of them (group privacy: Dwork and Roth 2014, 2.3)."""
    name = owner.partition(",")[0]
    return (
        f"Epsilon and delta protect one row, not a {owner} up to {most}: for m rows of one {name} together "
        "they are m times epsilon and m e^((m - 1) epsilon) times delta, which soon protects nothing.",
        f"Which rows belong to one {name} is taken as public.",
    )
