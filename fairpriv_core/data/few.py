"""A part of the rows in place of all of them: drawn at random with a constant seed, whatever the rows hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairpriv_core.data.material import Material
from fairpriv_core.data.table import count_rows, take_rows
from fairpriv_core.errors import BadInput
from fairpriv_core.seeds import public_generator

#: with it rows are drawn: the same ones at every seed of a run
FEW_SEED = 0


def draw_few(n: int, rows: int) -> np.ndarray:
    """Return the positions of `rows` of n rows, rising; they follow from the two numbers alone.

    Fewer rows are among those of a larger number. BadInput where there are not as many.
    """
    if rows > n:
        raise BadInput(f"rows must be at most {n:,}, the number of rows that there are, got {rows:,}.", field="rows")
    return np.sort(public_generator(FEW_SEED, "rows").permutation(n)[:rows])


def take_few(material: Material, rows: int) -> Material:
    """Return the rows that are drawn, before any of them is looked at; BadInput where there are not as many."""
    n = count_rows(material.table)
    kept = draw_few(n, rows)
    return replace(
        material,
        table=take_rows(material.table, kept),
        official_test=None if material.official_test is None else material.official_test[kept],
        unit=None if material.unit is None else material.unit[kept],
        pixels=None if material.pixels is None else material.pixels.take(kept),
        caveats=(*material.caveats, f"Of {n:,} rows {rows:,} are used, drawn with the constant seed {FEW_SEED}."),
    )


def assume_few(rows: int) -> str:
    """Return what an epsilon on some of the rows takes as given, whatever it protects."""
    return (
        f"Which {rows:,} rows are used is public: they were drawn with the constant seed {FEW_SEED}, whatever they "
        "hold. Nothing depends on the others but what is said of the data as a whole, and epsilon takes no credit for "
        "leaving them out."
    )
