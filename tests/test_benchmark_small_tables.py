"""A small file that nobody tuned for trains to something better than one answer for everybody, by every method."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks.constant import read_results
from benchmarks.small_tables import DRAWS, KINDS, PATH, ROWS, is_below, list_methods, write_table


def test_a_small_file_trains_to_more_than_one_answer_by_every_method() -> None:
    results = read_results(PATH)
    lines = [f"{name} · {kind}" for name in list_methods() for kind in KINDS]
    assert [name for name in lines if name not in results] == [], "python -m benchmarks.small_tables run"
    assert [name for name in lines if len(results[name]["accuracy"]) != len(DRAWS) or is_below(results[name])] == []


def test_below_is_less_than_a_point_above_or_failed() -> None:
    assert is_below({"accuracy": [0.6, 0.5], "constant": [0.54, 0.55]})
    assert not is_below({"accuracy": [0.6, 0.52], "constant": [0.54, 0.55]})
    assert is_below({"accuracy": [0.9, None], "constant": [0.5, 0.5]})


def test_a_made_up_file_has_two_groups_and_both_labels(tmp_path: Path) -> None:
    for kind in KINDS:
        write_table(kind, 0, tmp_path / "made.csv")
        rows = pd.read_csv(tmp_path / "made.csv")
        assert len(rows) == ROWS and 0.45 < (rows["paid"] == "yes").mean() < 0.55
        assert 0.35 < (rows["sex"] == "m").mean() < 0.45
