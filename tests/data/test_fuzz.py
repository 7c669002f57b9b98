"""CSV and Parquet files of random nonsense, with a fixed seed: each is read, or refused in one sentence."""

from __future__ import annotations

import csv
import gzip
import io
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from fairpriv_core.data.dataset import load_dataset
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.data.profile import inspect_file
from fairpriv_core.errors import BadInput
from fairpriv_core.files.faults import MOST_COLUMNS
from tests.nasty import TEXTS, find_faults

MANY = [200, pytest.param(2000, marks=pytest.mark.long)]
NAMES = ["age", "sex", "income", "hours", "city"]
CODINGS = ("utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "utf-7", "cp500", "shift_jis")
ODD_COLUMNS = (
    *(pa.array([[1, 2]] * 20), pa.array([0] * 20, pa.timestamp("ns")), pa.array([None] * 20, pa.decimal128(38, 5))),
    *(pa.array([b"\xff\x00"] * 20), pa.array([{"a": 1}] * 20), pa.array([2**64 - 1] * 20, pa.uint64())),
    pa.array([None] * 20),
)
Rows = list[list[str]]


def make_rows(rng: random.Random, count: int) -> Rows:
    drawn = ([f"{rng.randrange(18, 80)}", rng.choice("FM"), rng.choice(["no", "yes"])] for _ in range(count))
    return [NAMES, *([*row, f"{rng.uniform(0, 60):.2f}", rng.choice("abc")] for row in drawn)]


def write_rows(rows: Rows, **how: str) -> bytes:
    stream = io.StringIO()
    csv.writer(stream, **{"lineterminator": "\n", **how}).writerows(rows)  # type: ignore[arg-type]
    return stream.getvalue().encode("utf-8", "surrogatepass")


def make_cells(rng: random.Random) -> bytes:
    """Return a file with some cells, or names of columns, that are anything."""
    rows = [list(row) for row in make_rows(rng, rng.choice([0, 1, 20, 80]))]
    for _ in range(rng.randrange(1, 20)):
        row = rng.choice(rows)
        row[rng.randrange(5)] = rng.choice((*TEXTS, "a\r\nb", "\x00", "\ufeff", "\u200b"))
    return write_rows(rows)


def make_shape(rng: random.Random) -> bytes:
    """Return a file with rows too long, too short or empty, or with another separator or line end."""
    rows = [list(row) for row in make_rows(rng, rng.choice([0, 2, 20]))]
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(rows))
        rows[at] = rng.choice([[*rows[at], "x", "x"], rows[at][: rng.randrange(5)], [""] * 5, []])
    return write_rows(rows, delimiter=rng.choice(",,;\t| "), lineterminator=rng.choice(["\n", "\r\n", "\r", "\n\n"]))


def make_bytes(rng: random.Random) -> bytes:
    """Return a file with some bytes changed, added or left out, or in another coding, or compressed."""
    content = bytearray(write_rows(make_rows(rng, rng.choice([3, 80]))))
    for _ in range(rng.choice([1, 2, 5, 50])):
        at = rng.randrange(len(content) + 1)
        content[at : at + rng.randrange(10)] = rng.randbytes(rng.randrange(8))
    text = bytes(content).decode("latin-1")
    others = (text.encode(rng.choice(CODINGS), "replace"), gzip.compress(content), b"PK\x03\x04" + content, b"")
    return rng.choice([bytes(content), bytes(content), bytes(content), *others])


def make_parquet(rng: random.Random) -> bytes:
    """Return a Parquet file with a column of an odd kind, and often with broken bytes."""
    head, *rows = make_rows(rng, 20)
    table = pa.table(dict(zip(head, zip(*rows, strict=True), strict=True)))
    stream = io.BytesIO()
    parquet.write_table(table.append_column(rng.choice(["odd", "", "\x1b"]), rng.choice(ODD_COLUMNS)), stream)
    content = bytearray(stream.getvalue())
    if rng.random() < 0.6:
        for _ in range(rng.choice([1, 5, 50])):
            content[rng.randrange(4, len(content))] = rng.randrange(256)
    return bytes(content[: rng.choice([len(content), len(content), rng.randrange(len(content))])])


MAKERS: tuple[Callable[[random.Random], bytes], ...] = (make_cells, make_shape, make_bytes, make_parquet)


def find_all_faults(path: Path, spec: DataSpec) -> Iterator[str]:
    yield from (fault for each in inspect_file(path).errors for fault in find_faults(2, f"Error: {each}"))
    try:
        load_dataset(spec)
    except BadInput as error:
        yield from find_faults(2, f"Error: {error}")


@pytest.mark.parametrize("count", MANY)
@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
def test_a_file_of_nonsense_is_read_or_refused_in_one_sentence(tmp_path: Path, count: int) -> None:
    rng, path, faults = random.Random(count), tmp_path / "people.csv", []
    for at in range(count):
        path.write_bytes(MAKERS[at % len(MAKERS)](rng))
        label = rng.choice(["income"] * 6 + ["age:40", "nope", rng.choice(TEXTS) or "x"])
        sensitive = rng.choice(["sex"] * 6 + ["age:30,50", "sex+city", "nope", rng.choice(TEXTS).strip() or "x"])
        spec = DataSpec(file=str(path), label=label, sensitive=sensitive)
        faults += [(at, fault) for fault in find_all_faults(path, spec)]
    assert not faults


def test_a_file_has_at_most_so_many_columns(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"c{at}" for at in range(MOST_COLUMNS + 1)) + "\n")
    with pytest.raises(BadInput, match="has 2,001 columns, and at most 2,000 are read"):
        load_dataset(DataSpec(file=str(path), label="c0", sensitive="c1"))
