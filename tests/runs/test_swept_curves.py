"""The curves of runs that train in one loop: thinned, and of the single run's very numbers."""

from __future__ import annotations

from typing import Any

import pytest

from fairpriv_core.records.config import build_config
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.curves import SWEPT_POINTS
from fairpriv_core.store.runs import RunStore
from fairpriv_core.store.sweeps import SweepStore
from fairpriv_core.store.work import WorkStore

RAW = {"data": {"dataset": "synthetic", "sensitive": "group"}, "notion": "demographic_parity", "epsilon": 1.0}


def train(store: RunStore, *, epochs: int, **varied: Any) -> list[str]:
    """Train runs of several bounds and seeds in one loop, and return their keys."""
    method = {"name": "pf_ld", "epochs": epochs}
    configs = [
        build_config({**RAW, "method": {**method, "clip_primal": clip}, "seed": seed, **varied})
        for clip in (0.5, 1.0)
        for seed in (0, 1)
    ]
    SweepStore(store).submit([(config, "c" * 16) for config in configs])
    work = WorkStore(store.database)
    work_on(work, work.claim())
    assert {row.status for row in store.rows()} == {"finished"}
    return [config.key for config in configs]


@pytest.mark.parametrize(("epochs", "points"), [(3, 3), (SWEPT_POINTS, SWEPT_POINTS), (47, SWEPT_POINTS)])
def test_a_swept_run_keeps_few_points_and_the_last(epochs: int, points: int, local: RunStore) -> None:
    for key in train(local, epochs=epochs):
        values, record = local.metrics(key), local.record(key)
        curve = [(step, value) for step, name, value in values if name == "test/accuracy"]
        assert record is not None and record.metrics is not None
        assert len(curve) == points and curve[-1] == (record.steps, record.metrics["accuracy"])
        names = {name.partition("/")[0] for _, name, _ in values}
        assert names == {"train", "test", "group", "multiplier", "epsilon"}, "no share of a bound that others have"
        assert local.histograms(key) == {}


def test_curves_are_those_of_the_run_alone(local: RunStore) -> None:
    keys = train(local, epochs=4, replay_noise=5)
    swept = {key: local.metrics(key) for key in keys}
    work = WorkStore(local.database)
    for key in keys:
        row = local.row(key)
        again = local.submit(build_config(row.config), again=True)
        work_on(work, work.claim(again.key))
        alone = {(step, name): value for step, name, value in local.metrics(again.key)}
        for step, name, value in swept[key]:
            if name != "epsilon":
                assert value == pytest.approx(alone[step, name], abs=5e-3), name
