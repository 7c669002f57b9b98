"""What is read in a process of its own is what is read here, errors included."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from fairpriv_core.data.problem import DataSpec
from fairpriv_core.data.profile import inspect_file, outline_data
from fairpriv_core.data.reader_process import READER, Reader
from fairpriv_core.errors import BadInput, DataUnavailable, RunFailed
from fairpriv_core.files.read import digest_content


def make_file(folder: Path) -> Path:
    path = folder / "people, all.csv"
    path.write_text(
        "age,sex,city,paid\n" + "".join(f"{i % 60},{'fm'[i % 2]},X{i % 3},{i % 5 > 2}\n" for i in range(300))
    )
    return path


def test_an_outline_is_the_same(tmp_path: Path) -> None:
    own = DataSpec(file=str(make_file(tmp_path)), label="paid", sensitive="sex+age:25")
    for spec in (own, DataSpec(dataset="synthetic", sensitive="group+region")):
        found, made = READER.outline(spec), outline_data(spec)
        assert found.revealing == made.revealing
        for field in fields(made.dataset):
            mine, other = getattr(found.dataset, field.name), getattr(made.dataset, field.name)
            same = (
                np.array_equal(mine, other) and mine.dtype == other.dtype if hasattr(mine, "dtype") else mine == other
            )
            assert same and type(mine) is type(other), field.name


def test_a_report_on_a_file_is_the_same(tmp_path: Path) -> None:
    path = make_file(tmp_path)
    assert READER.inspect(path) == inspect_file(path)
    assert "limit" in READER.inspect(path, limit_bytes=100).errors[0]
    assert READER.digest(path) == digest_content(path)


def test_errors_come_back_as_they_were(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="unknown column 'nobody'") as caught:
        READER.outline(DataSpec(file=str(make_file(tmp_path)), label="paid", sensitive="nobody"))
    with pytest.raises(BadInput) as here:
        outline_data(DataSpec(file=str(make_file(tmp_path)), label="paid", sensitive="nobody"))
    assert (str(caught.value), caught.value.field) == (str(here.value), here.value.field)


def test_data_that_cannot_be_had_are_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FAIRPRIV_DATA", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    reader = Reader()
    with pytest.raises(DataUnavailable):
        reader.outline(DataSpec(dataset="bank", sensitive="age"))
    reader.close()


def test_a_process_that_dies_is_told_in_a_sentence_and_one_that_has_gone_is_replaced() -> None:
    with pytest.raises(RunFailed, match="could not be read"):
        Reader("fairpriv_core.data.no_such_module").outline(DataSpec(dataset="synthetic", sensitive="group"))
    READER.close()
    assert READER.outline(DataSpec(dataset="synthetic", sensitive="group")).dataset.n == 8000


def test_what_takes_too_long_is_ended_and_told_in_a_sentence() -> None:
    reader, asked = Reader(seconds=0.001), DataSpec(dataset="synthetic", sensitive="group")
    for _ in range(2):  # the second asks a new process, and waits for nothing
        with pytest.raises(RunFailed, match=r"could not be read within 0\.001 seconds, after which reading stops"):
            reader.outline(asked)
    assert reader._process is None
