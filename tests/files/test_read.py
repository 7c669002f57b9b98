"""Reading CSV and Parquet files in blocks: any table comes back as it was written."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from fairpriv_core.errors import BadInput
from fairpriv_core.files import growing, read
from fairpriv_core.files.read import read_table
from fairpriv_core.files.table import Cells, Codes, Numbers

TEXT = st.text(
    st.characters(codec="utf-8", exclude_characters="\r\x00", exclude_categories=["Cs", "Zs", "Zl", "Zp"]), max_size=8
)
WORD = TEXT.map(lambda text: f"x{text}".strip())
NUMBER = st.none() | st.floats(width=32, allow_nan=False, allow_infinity=False)
QUIET = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def to_list(column: Cells) -> list[object]:
    if isinstance(column, Numbers):
        return [None if math.isnan(value) else float(value) for value in column.values]
    return [column.values[code] if code >= 0 else None for code in column.codes]


def write(path: Path, names: list[str], rows: list[tuple[object, ...]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows([["" if value is None else value for value in row] for row in rows])
    return path


@QUIET
@given(
    rows=st.lists(st.tuples(NUMBER, WORD | st.none(), WORD), min_size=1, max_size=30),
    names=st.lists(WORD.map("name {}".format), min_size=3, max_size=3, unique=True),  # that no row holds
)
def test_a_csv_comes_back_as_written(tmp_path: Path, rows: list[tuple[object, ...]], names: list[str]) -> None:
    reading = read_table(write(tmp_path / "any.csv", names, rows))
    assert list(reading.table) == names
    for position, name in enumerate(names):
        assert to_list(reading.table[name]) == [row[position] for row in rows]


@QUIET
@given(rows=st.lists(st.tuples(NUMBER, WORD | st.none(), st.booleans() | st.none()), min_size=1, max_size=30))
def test_a_parquet_comes_back_as_written(tmp_path: Path, rows: list[tuple[object, ...]]) -> None:
    numbers, words, flags = zip(*rows, strict=True)
    table = pa.table(
        {
            "number": pa.array(numbers, pa.float64()),
            "word": pa.array(words, pa.string()).dictionary_encode(),
            "flag": flags,
        }
    )
    parquet.write_table(table, tmp_path / "any.parquet")
    found = read_table(tmp_path / "any.parquet").table
    assert to_list(found["number"]) == list(numbers)
    assert to_list(found["word"]) == list(words)
    if any(flag is not None for flag in flags):
        assert to_list(found["flag"]) == [None if flag is None else str(flag).lower() for flag in flags]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200) | st.text(alphabet='ab1,;"\n\r\té', max_size=60).map(str.encode))
def test_any_bytes_give_a_table_or_a_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bytes.csv"
    path.write_bytes(content)
    try:
        reading = read_table(path)
    except BadInput as error:
        assert str(error).endswith(".") and error.field == "file"
    else:
        assert len({len(column) for column in reading.table.values()}) <= 1


def test_blocks_agree_with_one_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(index, f"word {index % 7}", index / 8) for index in range(5_000)]
    path = write(tmp_path / "long.csv", ["a", "b", "c"], rows)
    whole = read_table(path).table
    monkeypatch.setattr(read, "_BLOCK", 4_096)
    pieces = read_table(path).table
    for name in ("a", "b", "c"):
        assert to_list(pieces[name]) == to_list(whole[name]) == [row["abc".index(name)] for row in rows]


def test_a_text_late_in_a_column_of_numbers_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "_BLOCK", 1_024)
    path = write(tmp_path / "late.csv", ["a", "b"], [(1, 2)] * 1_000 + [("oops", 2)])
    reading = read_table(path)
    assert to_list(reading.table["a"])[-2:] == ["1", "oops"]
    assert reading.remarks == ("column 'a' is read as text because row 1002 holds no number there.",)


def test_numbers_after_an_empty_first_block_are_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "_BLOCK", 1_024)
    path = write(tmp_path / "late.csv", ["a", "b"], [(None, "x")] * 1_000 + [(1.5, "y")])
    column = read_table(path).table["a"]
    assert isinstance(column, Numbers) and to_list(column)[-2:] == [None, 1.5]


def test_missing_marks_and_blanks(tmp_path: Path) -> None:
    path = tmp_path / "marks.csv"
    path.write_text("a, b\n1, x\n?, ?\n NA,\nnan, y \n")
    found = read_table(path).table
    assert to_list(found["a"]) == [1.0, None, None, None]
    assert to_list(found["b"]) == ["x", None, None, "y"]


@pytest.mark.parametrize(
    "content", ["﻿a,b\n1,x\n", "a,b\r\n1,x\r\n", "a,b\r1,x\r", "\n\na,b\n1,x\n", "a,b\n1,x", "a,b\n1,x\n\n\n"]
)
def test_line_ends_marks_and_empty_lines_do_not_matter(tmp_path: Path, content: str) -> None:
    path = tmp_path / "ends.csv"
    path.write_bytes(content.encode())
    found = read_table(path).table
    assert to_list(found["a"]) == [1.0] and to_list(found["b"]) == ["x"]


def test_html_in_a_name_stays_text(tmp_path: Path) -> None:
    name = "<script>alert('1')</script>"
    assert list(read_table(write(tmp_path / "x.csv", [name, "b"], [(1, 2)])).table) == [name, "b"]


def test_a_column_without_a_name_is_left_out(tmp_path: Path) -> None:
    reading = read_table(write(tmp_path / "index.csv", ["", "a", "b"], [(0, 1, 2)]))
    assert list(reading.table) == ["a", "b"]
    assert reading.remarks == ("column 1 has no name and is not used.",)


def test_free_text_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (growing, read):
        monkeypatch.setattr(module, "MOST_VALUES", 10)
    reading = read_table(write(tmp_path / "names.csv", ["a", "b"], [(f"name {row}", row % 2) for row in range(20)]))
    assert list(reading.table) == ["b"]
    assert reading.unused == {"a": "column 'a' has more than 10 different texts and is not used."}


def test_what_is_neither_number_nor_text_is_left_out(tmp_path: Path) -> None:
    table = pa.table(
        {
            "t": pa.array([0, 1], pa.timestamp("s")),
            "n": [1, 2],
            "l": [[1], [2]],
            "d": pa.array([1, 2], pa.decimal128(5, 2)),
        }
    )
    parquet.write_table(table, tmp_path / "kinds.parquet")
    reading = read_table(tmp_path / "kinds.parquet")
    assert list(reading.table) == ["t", "n", "d"] and set(reading.unused) == {"l"}
    assert reading.table["t"].values == ("1970-01-01",)


def test_a_number_is_the_same_from_every_kind_of_file(tmp_path: Path) -> None:
    path = write(tmp_path / "big.csv", ["date", "other"], [(0.123456789, 0.1)])
    parquet.write_table(
        pa.table({"date": [0.123456789], "other": pa.array([0.1], pa.float32())}), tmp_path / "big.parquet"
    )
    for found in (read_table(path).table, read_table(tmp_path / "big.parquet").table):
        assert found["date"].values.tolist() == [0.123456789] and found["other"].values.tolist() == [0.1]


def test_long_whole_numbers_are_told_apart(tmp_path: Path) -> None:
    """Beyond 2^24 float32 takes neighbours for one: numbers of patients must not."""
    ids = [(row, 0.5) for row in range(2**24 + 1, 2**24 + 101)]
    path = write(tmp_path / "ids.csv", ["id", "x"], [(1, 0.5)] * 100_000 + ids)
    found = read_table(path).table["id"]
    assert isinstance(found, Numbers) and len(np.unique(found.values)) == 101 and found.values[0] == 1


def test_memory_is_near_that_of_the_columns(tmp_path: Path) -> None:
    """Half a million rows: what Arrow holds at once stays a few blocks, far below the file."""
    line = io.BytesIO()
    line.write(b"a,b,c\n")
    line.write(b"1.25,some text of a category,3\n" * 500_000)
    (tmp_path / "large.csv").write_bytes(line.getvalue())
    pool = pa.default_memory_pool()
    before = pool.bytes_allocated()
    found = read_table(tmp_path / "large.csv").table
    assert pool.bytes_allocated() - before < 16 << 20
    codes = found["b"]
    assert isinstance(codes, Codes) and codes.codes.dtype == np.int16 and len(codes) == 500_000
