"""The benchmark of time and memory against rows runs; what it measures is no test's business."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import scale

TINY = 2_048


def test_scale_compares_each_size_with_100_000_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale, "REFERENCE", 4 * TINY)
    cells = scale.measure((TINY, 4 * TINY), rounds=1)
    assert [cell["rows"] for cell in cells] == [TINY, 4 * TINY] * len(scale.CASES)
    assert all(cell["seconds"] > 0 and cell["ns_a_row"] > 0 for cell in cells)
    assert all(cell["ratio_to_100k"] == 1 for cell in cells if cell["rows"] == 4 * TINY)


@pytest.mark.long
def test_a_file_s_training_is_watched(tmp_path: Path) -> None:
    found = scale.train_file(tmp_path, "parquet", 2 * TINY)
    assert found["features"] == 106
    assert found["VmHWM"] > found["RssAnon"] > 0
