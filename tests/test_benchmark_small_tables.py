"""A small file that nobody tuned for trains to something better than one answer for everybody, by every method."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from benchmarks.constant import read_results
from benchmarks.small_tables import DRAWS, KINDS, PATH, ROWS, is_below, list_methods, write_table

RESULTS = read_results(PATH)


@pytest.mark.parametrize("name", list_methods())
def test_a_small_file_trains_to_more_than_one_answer(name: str) -> None:
    for kind in KINDS:
        line = RESULTS[f"{name} · {kind}"]  # python -m benchmarks.small_tables run
        assert len(line["accuracy"]) == len(DRAWS) and not is_below(line)


def test_below_is_less_than_a_point_above_or_failed() -> None:
    assert is_below({"accuracy": [0.6, 0.5], "constant": [0.54, 0.55]})
    assert not is_below({"accuracy": [0.6, 0.52], "constant": [0.54, 0.55]})
    assert is_below({"accuracy": [0.9, None], "constant": [0.5, 0.5]})


@pytest.mark.parametrize("kind", KINDS)
def test_a_made_up_file_has_two_groups_and_both_labels(kind: str, tmp_path: Path) -> None:
    write_table(kind, 0, tmp_path / "made.csv")
    rows = pd.read_csv(tmp_path / "made.csv")
    assert len(rows) == ROWS and 0.45 < (rows["paid"] == "yes").mean() < 0.55
    assert 0.35 < (rows["sex"] == "m").mean() < 0.45
