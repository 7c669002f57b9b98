"""Several files of one shape are one table: the same zip in whatever order they come, or one sentence."""

from __future__ import annotations

import io
from itertools import permutations
from pathlib import Path

import pytest

from fairpriv_core.errors import BadInput
from fairpriv_core.files.read import digest_content, read_table
from fairpriv_core.files.several import join_files, name_joined

PARTS = {"feb.csv": b"age,sex,paid\n30,f,1\n", "jan.csv": b"age,sex,paid\n20,m,0\n21,f,1", "mar.csv": b"age,sex,paid\n"}


def join(*parts: tuple[str, bytes]) -> bytes:
    target = io.BytesIO()
    join_files([(name, io.BytesIO(content)) for name, content in parts], target)
    return target.getvalue()


def test_the_order_in_which_files_come_makes_no_difference(tmp_path: Path) -> None:
    made = {join(*order) for order in permutations(PARTS.items())}
    assert len(made) == 1
    path, whole = tmp_path / "all.zip", tmp_path / "whole.csv"
    path.write_bytes(made.pop())
    whole.write_bytes(b"age,sex,paid\n30,f,1\n20,m,0\n21,f,1\n")
    assert digest_content(path) == digest_content(whole)
    assert name_joined([*PARTS]) == "feb.csv and 2 more.zip"


def test_files_of_one_name_are_all_read(tmp_path: Path) -> None:
    """As those of several folders are: a zip that held the name twice would lose one."""
    path = tmp_path / "all.zip"
    path.write_bytes(join(("data.csv", b"a,b\n1,2\n"), ("data.csv", b"a,b\n3,4\n")))
    assert read_table(path).table["a"].values.tolist() == [1, 3]  # type: ignore[union-attr]


def test_files_that_cannot_be_one_table_name_the_column() -> None:
    with pytest.raises(BadInput, match=r"jan\.csv has no column 'sex', which feb\.csv has; several files"):
        join(("jan.csv", b"age,paid\n1,2\n"), ("feb.csv", b"age,sex,paid\n1,f,2\n"))
