"""The benchmarks run; what they measure is no test's business."""

from __future__ import annotations

import math

from benchmarks.contenders import Case
from benchmarks.rivals import Work
from benchmarks.shapes import build_data
from benchmarks.table1 import measure

TINY = Work(build_data("bank", rows=2_048), 1, 256)


def test_each_cell_of_table_1_has_its_ratios() -> None:
    cells = measure(TINY, (Case("none"), Case("pf_ld", "proved")), rounds=1)
    assert [(cell["method"], cell["variant"]) for cell in cells] == [("none", ""), ("pf_ld", "proved")]
    for cell in cells:
        assert (cell["layers"], cell["batch"]) == (1, 256)
        assert all(math.isfinite(cell[name]) and cell[name] > 0 for name in cell if "ratio" in name)
