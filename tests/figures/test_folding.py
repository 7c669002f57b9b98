from __future__ import annotations

import pytest

from fairpriv_core.figures.live import fold_curves


def test_one_run_keeps_its_values_and_has_no_interval() -> None:
    curve = fold_curves("A", "none", [{"test/accuracy": ([1.0, 2.0], [0.5, 0.7])}], "accuracy")
    assert (list(curve.x), list(curve.y), list(curve.low)) == ([1.0, 2.0], [0.5, 0.7], [])


def test_seeds_are_folded_at_the_steps_that_all_have() -> None:
    histories = [
        {"test/accuracy": ([1.0, 2.0, 3.0], [0.5, 0.7, 0.9])},
        {"test/accuracy": ([1.0, 3.0], [0.7, 0.9])},
    ]
    curve = fold_curves("A", "none", histories, "accuracy")
    assert list(curve.x) == [1.0, 3.0]
    assert curve.y == pytest.approx([0.6, 0.9])
    assert curve.low[0] < 0.5 and curve.high[0] > 0.7
    assert curve.low[1] == pytest.approx(0.9)


def test_a_value_that_is_undefined_in_one_run_is_a_gap() -> None:
    histories = [{"test/accuracy": ([1.0], [None])}, {"test/accuracy": ([1.0], [0.7])}]
    assert fold_curves("A", "none", histories, "accuracy").y == [None]


def test_a_metric_that_no_run_has_gives_no_points() -> None:
    assert list(fold_curves("A", "none", [{}, {}], "roc_auc").x) == []
