"""Every bad file ends in one sentence that names what is wrong, where, and what to do."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from fairpriv_core.data.dataset import load_dataset
from fairpriv_core.data.own_images import read_first_row
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.data.profile import inspect_file
from fairpriv_core.errors import BadInput
from fairpriv_core.files.faults import check_size

ROWS = "".join(
    f"{sex},{age},{paid}\n" for sex, age, paid in [("f", 30, 0), ("m", 41, 1), ("f", 52, 1), ("m", 23, 0)] * 5
)
GOOD = f"sex,age,paid\n{ROWS}"


def refuse(path: Path, *, label: str = "paid", sensitive: str = "sex", positive: str | None = None) -> str:
    with pytest.raises(BadInput) as caught:
        load_dataset(DataSpec(file=str(path), label=label, sensitive=sensitive, positive=positive))
    sentence = str(caught.value)
    assert sentence.endswith(".") and "\n" not in sentence and caught.value.exit_code == 2
    assert caught.value.field in {"file", "label", "sensitive", "positive"}
    return sentence


FILES = {
    "empty": (b"", "people.csv is empty; it needs a header line and rows"),
    "blank lines": (b"\n\n\n", "people.csv is empty"),
    "header only": (b"sex,age,paid\n", "people.csv has a header and no rows"),
    "header without end": (b"sex,age,paid", "people.csv has a header and no rows"),
    "one column": (b"sex\nf\nm\n", "has one column, 'sex'; it needs a label"),
    "duplicate headers": (b"sex,age,sex,paid\nf,1,f,0\n", "has more than one column named 'sex'; rename"),
    "all missing": (
        b"sex,age,paid\n,1,0\nNA,2,1\n,3,1\n",
        "every value of 'sex' is missing; choose another column",
    ),
    "constant label": (b"sex,age,paid\nf,1,1\nm,2,1\n", "label 'paid' has only one value, '1', so there is nothing"),
    "one group": (b"sex,age,paid\nf,1,1\nf,2,0\n", "every row is in one group, 'f'; choose a sensitive attribute with"),
    "too few fields": (b"sex,age,paid\nf,1,1\nm,2\n", "people.csv: row 3 has 2 fields, the header 3: 'm,2'; correct"),
    "too many fields": (b"sex,age,paid\nf,1,1,0\n", "row 2 has 4 fields, the header 3"),
    "one bad byte": (
        "sex,age,paid\ncafé,1,1\ncaf".encode() + b"\xe9,2,0\n",
        "people.csv is UTF-8 with a fault: byte 0xE9 in line 3 (byte 27 of the file) is none; correct that line, or",
    ),
    "cut off": ("sex,age,paid\nf,1,1\nm,2,é".encode()[:-1], "people.csv is not UTF-8: its last character is cut off"),
    "zero bytes": (GOOD.encode("utf-16-le"), "people.csv is no text: it holds zero bytes; save it as CSV in UTF-8"),
    "half of utf-16": (GOOD.encode("utf-16") + b"\x00", "people.csv cannot be read ('utf-16"),
    "half a zip": (b"PK\x03\x04rest", "people.csv cannot be read (File is not a zip file)"),
    "half a gzip": (gzip.compress(GOOD.encode())[:40], "people.csv cannot be read (Compressed file ended before the"),
    "no gzip": (b"\x1f\x8brest", "people.csv cannot be read (Compressed file ended before the"),
    "packed twice": (gzip.compress(gzip.compress(GOOD.encode())), "people.csv holds a packed file; unpack it first"),
    "old workbook": (
        b"\xd0\xcf\x11\xe0rest",
        "people.csv is damaged, no workbook, or needs more memory",
    ),
    "sparse ARFF": (
        b"@relation x\n@attribute sex {f,m}\n@attribute paid numeric\n@data\n{0 f, 1 1}\n",
        "people.csv is sparse ARFF, whose rows name only some columns; save it as dense ARFF or CSV",
    ),
    "ARFF without rows": (b"@relation x\n@attribute sex {f,m}\n", "people.csv is ARFF without a line @data"),
    "a list in JSON": (b'{"sex": "f", "paid": [1]}\n', "people.csv: row 1 holds a list in column 'paid'; write one"),
    "half an object": (b'{"sex": "f", "paid": 1}\n{"sex": "m"', "people.csv: row 2 is no JSON; write an object"),
    "half a list": (b'[{"sex": "f", "paid": 1},', "people.csv ends within its list of rows"),
    "deep JSON": (b'{"a":' * 100_000, "people.csv: row 1 is no JSON"),
    "no object": (b'{"sex": "f", "paid": 1}\n12\n', "people.csv: row 2 is no object; write each row as"),
    "broken parquet": (b"PAR1 and no more", "people.csv cannot be read"),
}


@pytest.mark.parametrize(("content", "says"), FILES.values(), ids=FILES)
def test_a_bad_file_is_refused_in_one_sentence(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(content)
    assert says in refuse(path)
    report = inspect_file(path)
    if not {"paid", "sex"} <= {column.name for column in report.columns}:
        assert len(report.errors) == 1 and says in report.errors[0]


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"label": "wage"}, "unknown label column 'wage'; choose from sex, age, paid"),
        ({"sensitive": "gender"}, "unknown column 'gender' in sensitive; choose from sex, age, paid"),
        ({"label": "sex"}, "'sex' cannot be both the label and the sensitive attribute"),
        ({"sensitive": "sex+paid"}, "'paid' cannot be both the label and the sensitive attribute"),
        ({"sensitive": "sex:3"}, "'sex' holds text, so it cannot be cut at"),
        ({"positive": "yes"}, "positive 'yes' does not occur in 'paid'; choose from 0, 1"),
        ({"label": "age"}, "label 'age' has 4 values (23, 30, 41, 52); say which one is the positive one"),
    ],
)
def test_a_bad_choice_of_columns_is_refused(tmp_path: Path, asked: dict[str, str], says: str) -> None:
    path = tmp_path / "people.csv"
    path.write_text(GOOD)
    assert says in refuse(path, **asked)


def test_a_label_with_too_many_values_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("sex,age,paid\n" + "".join(f"{'fm'[row % 2]},1,{row / 7}\n" for row in range(200)))
    assert "label 'paid' is a numeric column with too many values" in refuse(path)
    path.write_text("sex,age,paid\n" + "".join(f"{'fm'[row % 2]},1,name{row}\n" for row in range(200)))
    assert "label 'paid' has 200 values (name0, name1" in refuse(path)


def test_a_sensitive_column_with_too_many_values_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("sex,age,paid\n" + "".join(f"name{row},{row},{row % 2}\n" for row in range(200)))
    assert "'sex' has 200 groups; at most 50 can be compared" in refuse(path)
    assert "'age' is a numeric column; say where to cut it, like age:25,60" in refuse(path, sensitive="age")


def test_a_file_with_nothing_to_predict_from_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("sex,paid\nf,1\nm,0\n")
    assert "no column is left to predict from" in refuse(path)


def test_a_file_that_is_not_there_or_a_folder_is_refused(tmp_path: Path) -> None:
    assert "there is no file" in refuse(tmp_path / "none.csv")
    assert "there is no file" in refuse(tmp_path)


def test_sixty_megabytes_against_a_limit_of_fifty(tmp_path: Path) -> None:
    path = tmp_path / "large.csv"
    with path.open("wb") as file:
        file.truncate(60_000_000)
    report = inspect_file(path, limit_bytes=50_000_000)
    assert report.errors == (
        "large.csv has 60.0 MB and the limit is 50 MB; use fewer rows, or fairpriv train --csv, which takes a file of "
        "any size.",
    )
    with pytest.raises(BadInput, match="the limit is 50 MB"):
        check_size("large.csv", 60_000_000, limit_bytes=50_000_000)
    check_size("large.csv", 60_000_000, limit_bytes=None)


def test_a_small_file_of_many_rows_counts_as_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "tight.parquet"
    parquet.write_table(pa.table({"sex": np.tile(["f", "m"], 10_000), "paid": np.arange(20_000) // 10_000}), path)
    assert path.stat().st_size < 20_000
    (said,) = inspect_file(path, limit_bytes=100_000).errors
    assert said.startswith("tight.parquet has 0.3 MB unpacked and the limit is 0.1 MB; use fewer rows")
    assert inspect_file(path, limit_bytes=400_000).errors == ()


def test_a_bad_byte_past_the_first_block_is_named(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    rows = "sex,age,paid\n" + "é,1,0\n" * 300_000
    path.write_bytes(rows.encode() + b"\xe9,1,0\n")
    assert f"in line 300002 (byte {len(rows.encode()) + 1} of the file)" in refuse(path)


def test_a_parquet_file_with_a_damaged_page_is_refused_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    parquet.write_table(pa.table({"sex": ["f", "m"], "paid": [1, 2]}), path)
    content = bytearray(path.read_bytes())
    content[4:24] = b"\xff" * 20  # the first page's header
    path.write_bytes(content)
    with pytest.raises(BadInput, match=r"people\.parquet cannot be read"):
        read_first_row(path)
    [error] = inspect_file(path).errors
    assert "people.parquet cannot be read" in error
