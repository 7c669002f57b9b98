"""A table with what is known of its columns: what the two ways of getting data (benchmark, own file) have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fairpriv_core.data.pixels import Pixels
from fairpriv_core.data.problem import Categorical, Grouping, Label, Numeric, Problem, Schema
from fairpriv_core.data.table import Table

_PIXELS = "Pixels are divided by 255, a public constant; the number of images is public."


@dataclass(frozen=True)
class Declared:
    """The columns of a data set: from a code book, or (`learned`) read from a person's file.

    `columns` are all that may be named; `schema` those that are features unless they are label or sensitive.
    `assumed` are the sentences that an epsilon under the threat model `record` takes as given. `image` is (channels,
    height, width) where the features are pixels, whatever the columns; `classes_are_groups` as in `Problem`.
    """

    columns: Mapping[str, Numeric | Categorical]
    schema: Schema
    labels: tuple[Label, ...] = ()
    groupings: tuple[Grouping, ...] = ()
    same: tuple[tuple[str, ...], ...] = ()
    assumed: tuple[str, ...] = ()
    learned: bool = False
    image: tuple[int, int, int] | None = None
    classes_are_groups: bool = False


@dataclass(frozen=True)
class Material:
    """The rows of a data set and what is declared of them. `digest` seals the bytes that they were read from.

    `official_test` (n,) bool marks the published test part, None where there is none. `unit` (n,) int64 says whose each
    row is, None where everyone has one; `unit_name` is what they are called. `one_split` as in `Problem`. `pixels` are
    the images of the rows, None where the features are columns of `table`.
    """

    name: str
    table: Table
    declared: Declared
    digest: str
    caveats: tuple[str, ...] = ()
    official_test: np.ndarray | None = None
    unit: np.ndarray | None = None
    unit_name: str = ""
    one_split: bool = False
    pixels: Pixels | None = None


def declare_problem(problem: Problem) -> Declared:
    """Return what the code book of a benchmark says."""
    columns = (
        "Ranges, bins and categories of the features are declared from the code book, not learned from rows; "
        "the number of rows is public."
    )
    assumed = (columns if problem.pictures is None else _PIXELS, *problem.assumed)
    schema = problem.schema if problem.pictures is None else ()
    return Declared(
        problem.columns,
        schema,
        problem.labels,
        problem.groupings,
        problem.same,
        assumed,
        image=problem.image,
        classes_are_groups=problem.classes_are_groups,
    )
