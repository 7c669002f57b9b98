"""How long a run may take, before it is launched."""

from __future__ import annotations

from typing import Any

import pytest

from fairpriv_core.engine.networks import NetworkShape
from fairpriv_core.records.config import build_config
from fairpriv_core.runs.expect import expect_seconds
from fairpriv_core.store.runs import open_store


def _expect(method: dict[str, Any], rows: list[Any] | None = None) -> tuple[float, bool]:
    raw = {"data": {"dataset": "synthetic", "sensitive": "group"}, "notion": "demographic_parity", "method": method}
    config = build_config(raw)
    shape = NetworkShape(50, getattr(config.method, "hidden_layers", 0))
    return expect_seconds(config, n_train=10_000, steps=config.method.steps(10_000), shape=shape, rows=rows or [])


def test_more_work_is_expected_to_take_longer() -> None:
    small = _expect({"name": "none", "epochs": 5})[0]
    assert small < _expect({"name": "none", "epochs": 50})[0]
    assert small < _expect({"name": "none", "epochs": 5, "hidden_layers": 4})[0]
    assert 1 < small < 60


def test_a_sample_that_is_a_share_of_all_rows_counts_as_that_share() -> None:
    small, large = (
        _expect(
            {"name": "pf_ld_record", "epochs": 5, "sampling_rate": 0.05, "hidden_layers": depth, "noise_primal": 1.0}
        )[0]
        for depth in (0, 4)
    )
    assert small < large < 10 * small


def test_a_run_of_the_same_kind_tells_better() -> None:
    raw = {
        "data": {"dataset": "synthetic", "sensitive": "group"},
        "notion": "demographic_parity",
        "method": {"name": "none", "epochs": 5},
    }
    with open_store(None) as store:
        row = store.submit(build_config(raw))
    done = type(row)(**{**vars(row), "step": 100, "seconds": 20.0})
    seconds, known = _expect({"name": "none", "epochs": 10}, [done])
    assert known
    assert seconds == pytest.approx(0.2 * 10 * 40)
    assert _expect({"name": "f_ld"}, [done])[1] is False
    assert _expect({"name": "none", "epochs": 10, "hidden_layers": 4}, [done])[1] is False


def test_a_scores_one_step_tells_nothing_of_a_networks_many() -> None:
    raw = {"data": {"dataset": "synthetic", "sensitive": "group"}, "notion": "demographic_parity", "epsilon": 1.0}
    with open_store(None) as store:
        row = store.submit(build_config({**raw, "method": {"name": "one_release", "learner": "linear"}}))
    done = type(row)(**{**vars(row), "step": 1, "seconds": 5.0})
    many = {"name": "one_release", "noise_statistic": 1.0}
    assert _expect({**many, "learner": "linear"}, [done]) == (5.0, True)
    assert _expect(many, [done])[1] is False


def test_a_search_that_ended_early_tells_how_long_the_next_one_takes() -> None:
    raw = {
        "data": {"dataset": "synthetic", "sensitive": "group"},
        "notion": "demographic_parity",
        "method": {"name": "reductions", "iterations": 10},
    }
    with open_store(None) as store:
        row = store.submit(build_config(raw))
    steps = build_config(raw).method.steps(10_000)
    done = type(row)(**{**vars(row), "status": "finished", "step": 7, "steps": steps, "seconds": 20.0})
    assert _expect({"name": "reductions", "iterations": 10}, [done]) == (pytest.approx(20.0), True)
