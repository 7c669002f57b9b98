"""A file's content: the same for the same rows however they are written, another for any other cell."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairpriv_core.errors import BadInput
from fairpriv_core.files import read
from fairpriv_core.files.read import digest_content

ROWS = 300


def make() -> pd.DataFrame:
    """Return rows of every kind: numbers, whole ones, with gaps, texts, truth values, names, a late text."""
    draw = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "size": draw.normal(size=ROWS),
            "count": draw.integers(-2, 9, ROWS),
            "gaps": np.where(draw.random(ROWS) < 0.1, np.nan, draw.integers(0, 5, ROWS)),
            "side": draw.choice(["f", "m", "ü, or\nother"], ROWS),
            "over": draw.random(ROWS) < 0.5,
            "name": [f"person {row}" for row in range(ROWS)],
            "late": ["1"] * (ROWS - 1) + ["none of them"],
            "mostly": [None] * (ROWS - 1) + ["7"],
        }
    )
    table.loc[5, "side"] = None
    return table


def test_how_the_rows_are_written_makes_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "_BLOCK", 4096)
    monkeypatch.setattr(read, "_BATCH", 37)
    table, found = make(), {}
    table.to_csv(plain := tmp_path / "plain.csv", index=False)
    content = plain.read_bytes()
    (tmp_path / "lines.csv").write_bytes(content + b"\n\n")
    table.to_csv(tmp_path / "windows.csv", index=False, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    table.to_csv(tmp_path / "indexed.csv")
    table[table.columns[::-1]].to_csv(tmp_path / "turned.csv", index=False, na_rep="NA")
    table.set_index(np.arange(ROWS) + 5).to_parquet(tmp_path / "rows.parquet")
    pd.read_csv(plain, engine="pyarrow").to_parquet(tmp_path / "again.parquet")
    table.assign(over=table["over"].astype(str).str.upper()).to_csv(tmp_path / "loud.csv", index=False)
    table.assign(count=table["count"].astype(float)).to_csv(tmp_path / "saved.csv", index=False)
    for path in sorted(tmp_path.iterdir()):
        found[path.name] = digest_content(path)
    assert len(found) == 9 and set(found.values()) == {found["plain.csv"]}
    monkeypatch.undo()
    assert digest_content(plain) == found["plain.csv"]  # whatever the size of blocks


def test_single_precision_is_the_number_as_it_is_written(tmp_path: Path) -> None:
    table = pd.DataFrame({"x": np.array([0.1, -0.0, 1e-30, np.nan, np.inf], dtype=np.float32), "y": range(5)})
    table.to_parquet(tmp_path / "x.parquet")
    table.to_csv(tmp_path / "x.csv", index=False)
    assert digest_content(tmp_path / "x.parquet") == digest_content(tmp_path / "x.csv")


CHANGES: tuple[tuple[int, str, object], ...] = (
    (299, "size", 0.5),
    (0, "count", 99),
    (7, "gaps", None),
    (8, "side", "f "),
    (8, "side", None),
    (299, "name", "another"),
    (298, "late", "2"),
    (10, "over", None),
    (0, "mostly", "x"),
)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_every_cell_counts(kind: str, tmp_path: Path) -> None:
    def digest(*change: object) -> str:
        table = make().astype({"over": object, "side": object})
        table.loc[7, "gaps"], table.loc[8, "side"] = 3.0, "m"
        if change:
            row, column, value = change
            table.loc[row, column] = value
        path = tmp_path / f"rows.{kind}"
        table.to_csv(path, index=False) if kind == "csv" else table.to_parquet(path, index=False)
        return digest_content(path)

    found = {change: digest(*change) for change in CHANGES}
    assert len({digest(), *found.values()}) == 1 + len(CHANGES), found


def test_cells_run_into_each_other_nowhere(tmp_path: Path) -> None:
    found = []
    for lines in ("ab,c", "a,bc", "abc,"), ("c,ab", "a,bc", "abc,"), ("a,c", "ab,bc", "abc,"), ("ab,c", "a,bc", ",abc"):
        (tmp_path / "x.csv").write_text("\n".join(["one,two", *lines]) + "\n")
        found.append(digest_content(tmp_path / "x.csv"))
    (tmp_path / "x.csv").write_text("one,other\nab,c\na,bc\nabc,\n")
    assert len({*found, digest_content(tmp_path / "x.csv")}) == 5


def test_images_in_a_file_are_of_its_content(tmp_path: Path) -> None:
    found = []
    for content in (b"one", b"two"):
        pd.DataFrame({"image": [content, b"\xff\0"], "y": [1, 2]}).to_parquet(tmp_path / "x.parquet")
        found.append(digest_content(tmp_path / "x.parquet"))
    assert found[0] != found[1]


def test_a_wrong_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "x.parquet").write_bytes(b"PAR1 and no more")
    for path in tmp_path.iterdir():
        with pytest.raises(BadInput):
            digest_content(path)
