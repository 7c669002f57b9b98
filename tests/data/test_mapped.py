"""Large matrices in mapped files: the same bits as in memory, and nothing left behind, however it ends."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairpriv_core.data import mapped
from fairpriv_core.data.dataset import Dataset, load_dataset, split_dataset
from fairpriv_core.data.encode import Encoder
from fairpriv_core.data.mapped import select_rows, stack_blocks
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.errors import RunFailed
from fairpriv_core.files.read import read_table
from fairpriv_core.records.config import build_config
from fairpriv_core.runs.execute import FitOutcome, execute
from fairpriv_core.runs.session import MemoryJournal

BLOCKS = [np.arange(start, start + 3 * rows, dtype=np.float32).reshape(rows, 3) for start, rows in ((0, 5), (15, 2))]
WHOLE = np.concatenate(BLOCKS)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder for temporary files, and have every matrix go there."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    monkeypatch.setattr(mapped, "MAPPED_FROM", 1)
    return place


def count_mapped(folder: Path) -> int:
    """Return how many files of the folder are mapped; only such as have no name any more."""
    lines = [line for line in Path("/proc/self/maps").read_text().splitlines() if f"{folder}/" in line]
    assert all(line.endswith("(deleted)") for line in lines)
    return len(lines)


def test_blocks_come_out_one_below_the_other(folder: Path) -> None:
    found = stack_blocks(iter(BLOCKS), rows=7, columns=3)
    assert (type(found), found.dtype, found.flags.writeable) == (np.ndarray, np.float32, True)
    assert found.tobytes() == WHOLE.tobytes()
    assert count_mapped(folder) == 1
    del found
    assert count_mapped(folder) == 0


def test_small_matrices_stay_in_memory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped, "MAPPED_FROM", WHOLE.nbytes + 1)
    found = stack_blocks(BLOCKS, rows=7, columns=3)
    assert count_mapped(folder) == 0
    assert found.tobytes() == WHOLE.tobytes()


def test_rows_are_selected_by_position_or_mask(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped, "ROWS_AT_ONCE", 2)
    for index in (np.array([6, 0, 0, 3]), np.arange(7) % 2 == 0, np.zeros(0, dtype=np.int64)):
        assert select_rows(WHOLE, index).tobytes() == WHOLE[index].tobytes()


def test_data_of_one_s_own_has_the_same_bits(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder.parent / "own.csv"
    rows = [f"{'fm'[row % 2]},{row % 37},{'xyz'[row % 3]},{row * row % 101 / 7},{row % 5 > 2:d}" for row in range(3000)]
    path.write_text("\n".join(["sex,age,kind,height,paid", *rows]))
    spec = DataSpec(file=str(path), label="paid", sensitive="sex")
    in_file = load(spec)
    assert count_mapped(folder) == 3
    monkeypatch.setattr(mapped, "MAPPED_FROM", 1 << 40)
    for one, other in zip(in_file, load(spec), strict=True):
        assert one.X.tobytes() == other.X.tobytes()
        assert np.array_equal(one.y, other.y)
        assert np.array_equal(one.group, other.group)
        assert (one.digest, one.encoder, one.assumptions) == (other.digest, other.encoder, other.assumptions)


def load(spec: DataSpec) -> tuple[Dataset, Dataset, Dataset]:
    whole = load_dataset(spec)
    return (whole, *split_dataset(whole, seed=3))


def test_new_rows_are_encoded_alike(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder.parent / "new.csv"
    path.write_text("\n".join(["skill,wealth", *(f"{row / 7},{row % 11}" for row in range(500))]))
    table = read_table(path).table
    encoder = Encoder.from_json(
        '{"format": 1, "columns": [{"kind": "numeric", "name": "skill", "low": 0.0, "high": 50.0, "center": 3.0, '
        '"scale": 2.0, "log": false, "edges": [1.0], "special": [], "missing": true}]}'
    )
    in_file = encoder.transform(table)
    monkeypatch.setattr(mapped, "MAPPED_FROM", 1 << 40)
    assert encoder.transform(table).tobytes() == in_file.tobytes()


METHODS: dict[str, dict[str, float]] = {
    "none": {},
    "pf_ld": {"noise_primal": 2.0, "noise_dual": 5.0, "noise_counts": 5.0},
    "dp_sgd": {"noise_primal": 2.0},
    "one_release": {"noise_statistic": 2.0},
}


@pytest.mark.parametrize("method", METHODS)
def test_a_run_is_the_same_run(folder: Path, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    """Training with repeatable noise, predictions and metrics do not depend on where the rows lie."""
    raw = {
        "data": {"dataset": "synthetic", "sensitive": "group"},
        "notion": "demographic_parity",
        "method": {"name": method, "epochs": 2, **METHODS[method]},
        "replay_noise": 7,
    }
    in_file = run(raw)
    monkeypatch.setattr(mapped, "MAPPED_FROM", 1 << 40)
    in_memory = run(raw)
    assert in_file.fitted.parameters.tobytes() == in_memory.fitted.parameters.tobytes()
    assert in_file.fitted.notes == in_memory.fitted.notes
    assert in_file.record.metrics == in_memory.record.metrics
    assert in_file.record.released == in_memory.record.released


def run(raw: dict[str, Any]) -> FitOutcome:
    return execute(build_config(raw), MemoryJournal())


def test_only_its_owner_could_read_it_and_it_has_no_name(folder: Path) -> None:
    seen: list[os.stat_result] = []

    def blocks() -> Iterator[np.ndarray]:
        opened = [Path(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")]
        seen.extend(os.stat(each) for each in opened if each.is_symlink() and str(folder) in os.readlink(each))
        assert not list(folder.iterdir())
        yield WHOLE

    held = stack_blocks(blocks(), rows=7, columns=3)
    assert [(stat.S_IMODE(each.st_mode), each.st_nlink) for each in seen] == [(0o600, 0)]
    assert not list(folder.iterdir())
    del held


def test_nothing_is_left_after_a_failure(folder: Path) -> None:
    def blocks() -> Iterator[np.ndarray]:
        yield WHOLE[:2]
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        stack_blocks(blocks(), rows=7, columns=3)
    assert not list(folder.iterdir())
    assert count_mapped(folder) == 0


def test_nothing_is_left_after_a_kill(folder: Path) -> None:
    """Killed while it writes, and killed while it reads."""
    script = """
import os, sys
import numpy as np
from fairpriv_core.data import mapped
mapped.MAPPED_FROM = 1
def blocks():
    yield np.ones((4, 3))
    if sys.argv[1] == "writing":
        os.kill(os.getpid(), 9)
    yield np.ones((4, 3))
held = mapped.stack_blocks(blocks(), rows=8, columns=3)
assert held.sum() == 24
os.kill(os.getpid(), 9)
"""
    for moment in ("writing", "reading"):
        ended = subprocess.run(
            [sys.executable, "-c", script, moment], env={**os.environ, "TMPDIR": str(folder)}, timeout=60
        )
        assert ended.returncode == -9
        assert not list(folder.iterdir())


def test_memory_holds_a_block_and_not_the_matrix(folder: Path) -> None:
    script = """
import re
from pathlib import Path
import numpy as np
from fairpriv_core.data import mapped
def anonymous():
    return int(re.search(r"RssAnon:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024
mapped.MAPPED_FROM = 1
before = anonymous()
held = mapped.stack_blocks((np.full((4096, 64), k, np.float32) for k in range(100)), rows=409_600, columns=64)
chosen = mapped.select_rows(held, np.arange(409_600) % 4 > 0)
assert held[::4096, 0].tolist() == list(range(100))
print(anonymous() - before)
"""
    found = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert float(found.stdout) < 60, found.stderr  # MiB, of 100 MiB and 75 MiB


@pytest.mark.parametrize("moment", ["known before", "reserving", "writing"])
def test_a_full_disk_is_a_sentence(folder: Path, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def refuse(*given: object) -> None:
        raise full

    def blocks() -> Iterator[np.ndarray]:
        yield WHOLE[:2]
        if moment == "writing":
            raise full
        yield WHOLE[2:]

    if moment == "known before":
        monkeypatch.setattr(mapped.shutil, "disk_usage", lambda folder: type("Usage", (), {"free": 8})())
    if moment == "reserving":
        monkeypatch.setattr(mapped.os, "posix_fallocate", refuse)
    says = (
        rf"the encoded rows need 0 MB in {folder}, where they cannot be written \(No space left on device\); "
        "free some space there, or set TMPDIR"
    )
    with pytest.raises(RunFailed, match=says):
        stack_blocks(blocks(), rows=7, columns=3)
    assert not list(folder.iterdir())
