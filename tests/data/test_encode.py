"""The encoder: what each kind of column becomes, equal bits after JSON, and what a new file is told."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairpriv_core.data import encode as encoding
from fairpriv_core.data.dataset import load_dataset
from fairpriv_core.data.encode import Encoder
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.errors import BadInput
from fairpriv_core.files.column import Column, category, number
from fairpriv_core.files.read import read_table
from fairpriv_core.files.table import Codes, Numbers
from tests.data.encoders import load_encoder


def encode(column: Column, values: Numbers | Codes) -> list[list[float]]:
    return Encoder((column,)).transform({column.name: values}).tolist()


def numbers(*values: float) -> Numbers:
    return Numbers(np.array(values, dtype=np.float32))


def test_a_number_is_clipped_centered_and_scaled() -> None:
    column = number("x", low=0, high=10, center=5, scale=2)
    assert encode(column, numbers(-99, 0, 5, 7, 99)) == [[-2.5], [-2.5], [0], [1], [2.5]]


def test_a_logarithm_keeps_the_sign() -> None:
    column = number("x", low=-1e6, high=1e6, center=0, scale=1, log=True)
    found = np.array(encode(column, numbers(0, math.e - 1, -(math.e - 1))))[:, 0]
    assert found == pytest.approx([0, 1, -1], abs=1e-6)


def test_edges_give_intervals_that_are_closed_below() -> None:
    column = number("age", low=0, high=100, center=50, scale=50, edges=(25, 60))
    assert Encoder((column,)).feature_names == ("age", "age < 25", "25 ≤ age < 60", "age ≥ 60")
    assert [row[1:] for row in encode(column, numbers(24, 25, 60))] == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


def test_codes_and_missing_values_are_not_quantities() -> None:
    column = number("days", low=0, high=10, center=5, scale=5, special=(-1,), edges=(5,), missing=True)
    assert Encoder((column,)).feature_names == ("days", "days = -1", "days < 5", "days ≥ 5", "days missing")
    assert encode(column, numbers(-1, math.nan, math.inf, 10)) == [
        [0, 1, 0, 0, 0],
        [0, 0, 0, 0, 1],
        [0, 0, 0, 0, 1],
        [1, 0, 0, 1, 0],
    ]


def test_an_unknown_category_is_all_zeros() -> None:
    column = category("c", ("a", "b"), recode=(("bee", "b"),))
    values = Codes(np.array([0, 1, 2, 3, -1]), ("b", "A ", "Bee", "new"))
    assert encode(column, values) == [[0, 1], [1, 0], [0, 1], [0, 0], [0, 0]]
    marked = category("c", ("a", "b"), missing=True)
    assert encode(marked, values) == [[0, 1, 0], [1, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 1]]
    apart = category("c", ("b", "B"))
    assert encode(apart, values)[:3] == [[1, 0], [0, 0], [0, 0]], "who lists both means two"


def test_categories_compare_numbers_as_numbers() -> None:
    column = category("c", ("1", "2"))
    assert encode(column, numbers(1.0, 2.0, 3.0)) == [[1, 0], [0, 1], [0, 0]]
    assert encode(column, Codes(np.array([0, 1]), ("1.0", " 2"))) == [[1, 0], [0, 1]]


SCHEMAS = st.lists(
    st.builds(
        number,
        name=st.text(min_size=1),
        low=st.floats(-1e3, 0),
        high=st.floats(1, 1e3),
        center=st.floats(-10, 10),
        scale=st.floats(0.1, 10),
        log=st.booleans(),
        edges=st.lists(st.floats(-5, 5), unique=True, max_size=3).map(sorted).map(tuple),
        special=st.sampled_from([(), (-1.0,)]),
        missing=st.booleans(),
    )
    | st.builds(
        category,
        name=st.text(min_size=1),
        categories=st.lists(st.text(min_size=1), unique=True, min_size=1, max_size=4).map(tuple),
        missing=st.booleans(),
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda column: column.name,
).map(tuple)


@settings(max_examples=40, deadline=None)
@given(schema=SCHEMAS, values=st.lists(st.floats(width=32), min_size=1, max_size=20))
def test_json_gives_an_encoder_with_equal_bits(schema: tuple[Column, ...], values: list[float]) -> None:
    encoder = Encoder(schema)
    again = Encoder.from_json(encoder.to_json())
    table = {
        column.name: numbers(*values)
        if column.is_quantity
        else Codes(np.arange(len(values)) % (len(column.categories) + 1) - 1, column.categories)
        for column in schema
    }
    assert again.schema == schema and again.feature_names == encoder.feature_names
    assert again.transform(table).tobytes() == encoder.transform(table).tobytes()


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"format": 1, "columns": [{"kind": "x"}]}', '{"format": 9}'])
def test_a_text_that_is_no_encoder_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="encoder"):
        Encoder.from_json(text)


def test_a_dataset_carries_its_encoder() -> None:
    spec = DataSpec(dataset="synthetic", sensitive="group")
    dataset = load_dataset(spec)
    assert dataset.encoder == load_encoder(spec).to_json()
    assert dataset.feature_names == load_encoder(spec).feature_names
    json.loads(dataset.encoder)


def test_a_new_file_is_encoded_as_the_old_one(tmp_path: Path) -> None:
    rows = [f"{'fm'[row % 2]},{row % 37},{'xyz'[row % 3]},{row % 5 > 2:d}" for row in range(200)]
    old, new = tmp_path / "old.csv", tmp_path / "new.csv"
    old.write_text("\n".join(["sex,age,kind,paid", *rows]))
    new.write_text("\n".join(["kind,more,age", "x,1,3", "new,1,999", ",1,"]))
    dataset = load_dataset(DataSpec(file=str(old), label="paid", sensitive="sex"))
    encoder = Encoder.from_json(dataset.encoder)
    assert np.array_equal(encoder.transform(read_table(old).table), dataset.X)
    found = encoder.transform(read_table(new).table)
    kinds = [name.startswith("kind") for name in encoder.feature_names]
    assert found[:, kinds].tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert found[1, encoder.feature_names.index("age")] == found[:, encoder.feature_names.index("age")].max()
    assert np.isfinite(found).all()


def test_too_many_values_are_refused_before_one_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = (category("side", ("left", "right")), number("age", low=0, high=100, center=50, scale=10))
    table = {"side": Codes(np.zeros(5, np.int16), ("left",)), "age": Numbers(np.arange(5.0))}
    features = Encoder(schema).transform(table)
    monkeypatch.setattr(encoding, "MOST_VALUES", features.size)
    assert (Encoder(schema).transform(table) == features).all()
    monkeypatch.setattr(encoding, "MOST_VALUES", features.size - 1)
    monkeypatch.setattr(encoding, "stack_blocks", None)
    told = f"5 rows with {features.shape[1]} features are {features.size} values, and at most {features.size - 1} are"
    with pytest.raises(BadInput, match=told):
        Encoder(schema).transform(table)


def test_a_new_file_without_a_column_is_told_which(tmp_path: Path) -> None:
    path = tmp_path / "new.csv"
    path.write_text("skill,wealth\n1,2\n")
    encoder = load_encoder(DataSpec(dataset="synthetic", sensitive="group"))
    with pytest.raises(BadInput, match=r"lacks columns 'income_index', .*'; it has columns 'skill', 'wealth'\.$"):
        encoder.transform(read_table(path).table)
