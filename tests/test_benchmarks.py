"""The benchmarks run; what they measure is no test's business."""

from __future__ import annotations

from benchmarks.epoch import list_cases, measure


def test_each_case_has_a_ratio() -> None:
    cells = measure(layers=1, rows=4096, rounds=1)
    assert len(cells) == len(list_cases())
    assert all(cell["ratio_to_n"] > 0 for cell in cells)
