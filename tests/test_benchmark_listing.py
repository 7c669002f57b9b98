"""The benchmark of listing runs lists what it stored; how long that takes is no test's business."""

from __future__ import annotations

from pathlib import Path

from benchmarks.listing import time_listing
from benchmarks.stored_runs import SEEDS, fill, list_configs
from fairpriv_core.facts.tables import run_table
from fairpriv_core.store.runs import open_store


def test_every_run_that_is_stored_is_listed_and_folded(tmp_path: Path) -> None:
    configs = list_configs(2 * 5 * SEEDS)
    assert len({config.key for config in configs}) == len(configs) == 50
    with open_store(str(tmp_path / "runs.db")) as store:
        assert 10_000 < fill(store, configs) < 40_000
        briefs = store.briefs()
        assert {brief["key"] for brief in briefs} == {config.key for config in configs}
        assert [len(row.seeds) for row in run_table(briefs)] == [SEEDS] * 10
        taken = time_listing(store)
    assert set(taken) == {"read", "fold", "frontier", "seconds"} and min(taken.values()) > 0
