"""The two encodings of a benchmark: `binned`, with edges that this project chose, and `plain`, without them.

Bins let a linear model bend: on Adult they are worth about a point of accuracy to most methods. No code book has them,
so what stands beside published figures is `plain`.
"""

from __future__ import annotations

from dataclasses import replace

from fairpriv_core.data.problem import ENCODINGS, Problem
from fairpriv_core.errors import BadInput
from fairpriv_core.files.column import Column

#: of a number that `binned` has a logarithm of, `plain` has the declared range over so many units
UNITS = 10
_BINNED, _PLAIN = ENCODINGS


def encode_as(problem: Problem, encoding: str) -> Problem:
    """Return the benchmark whose columns are encoded as `encoding` says; BadInput for one of images."""
    if encoding == _BINNED:
        return problem
    if problem.image is not None:
        raise BadInput(
            f"encoding {encoding} is about numbers in columns, and the rows of '{problem.name}' are images.",
            field="encoding",
        )
    plain = tuple(column if column.name in problem.coded else _unbin(column) for column in problem.schema)
    return replace(problem, schema=plain)


def name_encodings(problem: Problem) -> tuple[str, ...]:
    """Return the encodings that a benchmark has: one where they do not differ."""
    differ = problem.image is None and encode_as(problem, _PLAIN) != problem
    return ENCODINGS if differ else (_BINNED,)


def _unbin(column: Column) -> Column:
    """Return a number as one feature: on its declared scale, or its range over UNITS in place of a logarithm."""
    if not column.is_quantity:
        return column
    if not column.log:
        return replace(column, edges=())
    return replace(column, edges=(), log=False, center=column.low, scale=(column.high - column.low) / UNITS)
