"""Some of the rows in place of all: which ones follows from two numbers, before any value is looked at."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fairpriv_core.data.dataset import load_dataset, split_dataset
from fairpriv_core.data.gather import gather
from fairpriv_core.data.images import Pixels
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.data.profile import outline_data
from fairpriv_core.data.rows import draw_row_numbers, draw_rows
from fairpriv_core.errors import BadInput

SPEC = DataSpec(dataset="synthetic", sensitive="region")
FEW = replace(SPEC, rows=500)


def test_fewer_rows_are_among_more_and_are_the_same_each_time() -> None:
    few, more = draw_row_numbers(2000, 300), draw_row_numbers(2000, 700)
    assert len(few) == 300 and (np.diff(few) > 0).all() and set(few) < set(more)
    assert np.array_equal(few, draw_row_numbers(2000, 300))
    assert np.array_equal(draw_row_numbers(50, 50), np.arange(50))


def test_everything_that_is_said_of_a_row_goes_with_it() -> None:
    whole = gather(SPEC)
    n = len(next(iter(whole.table.values())))
    marked = np.arange(n) % 3 == 0
    pixels = Pixels(np.arange(n, dtype=np.uint8)[:, None, None, None])
    few = draw_rows(replace(whole, official_test=marked, unit=np.arange(n) // 2, pixels=pixels), 40)
    kept = draw_row_numbers(n, 40)
    assert few.official_test is not None and few.unit is not None and few.pixels is not None
    assert np.array_equal(few.official_test, marked[kept]) and np.array_equal(few.unit, kept // 2)
    assert np.array_equal(few.pixels.values.ravel(), kept.astype(np.uint8))
    assert all(len(column) == 40 for column in few.table.values())


def test_rows_are_drawn_before_any_is_looked_at(tmp_path: Path) -> None:
    def read(broken: int | None) -> np.ndarray:
        lines = [f"{row % 7 / 2},{row % 2},{'' if row == broken else 'ab'[row % 3 > 0]}" for row in range(300)]
        path = tmp_path / "own.csv"
        path.write_text("\n".join(["x,label,group", *lines]))
        dataset = load_dataset(DataSpec(file=str(path), label="label", sensitive="group", rows=200))
        assert dataset.group_names == ("a", "b")
        return dataset.without_nulls().y

    kept = draw_row_numbers(300, 200)
    lost = int(kept[7])
    assert np.array_equal(read(None), kept % 2)
    assert np.array_equal(read(lost), kept[kept != lost] % 2), "one row without a value changed which others are used"


def test_splits_and_outlines_are_of_those_rows_alone() -> None:
    dataset = load_dataset(FEW)
    train, test = split_dataset(dataset, seed=3)
    assert dataset.n == train.n + test.n == outline_data(FEW).dataset.n == 500
    again = split_dataset(dataset, seed=4)[0]
    assert set(map(bytes, again.X)) | set(map(bytes, split_dataset(dataset, seed=4)[1].X)) == set(map(bytes, dataset.X))


def test_it_is_said_and_sealed() -> None:
    whole, few = load_dataset(SPEC), load_dataset(FEW)
    assert few.digest not in (whole.digest, load_dataset(replace(SPEC, rows=501)).digest)
    assert few.caveats[-1] == f"Of {whole.n:,} rows 500 are used, drawn with the constant seed 0."
    for model in ("attribute", "record"):
        [said] = set(few.assumptions[model]) - set(whole.assumptions[model])
        assert said.startswith("Which 500 rows are used is public") and "takes no credit" in said


def test_more_rows_than_there_are_is_a_sentence() -> None:
    with pytest.raises(BadInput, match=r"^rows must be at most [\d,]+, the number of rows .* got 9,999,999"):
        load_dataset(replace(SPEC, rows=9_999_999))


@pytest.mark.parametrize("rows", [0, 1, -5, True, 2.5])
def test_a_number_of_rows_out_of_range_is_a_sentence(rows: int) -> None:
    with pytest.raises(BadInput, match=r"rows must be a whole number"):
        DataSpec(dataset="synthetic", sensitive="region", rows=rows)
