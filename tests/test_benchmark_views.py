"""The benchmark of views shows a store of several kinds of runs and a long one; how long that takes no test asks."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.stored_runs import SEEDS, add_long_run, fill, mix_configs
from benchmarks.views import view
from fairpriv_core.facts.tables import run_table
from fairpriv_core.store.runs import open_store


@pytest.mark.long
def test_pages_show_what_is_stored(tmp_path: Path) -> None:
    configs, place = mix_configs(8 * SEEDS), str(tmp_path / "runs.db")
    assert len({config.key for config in configs}) == len(configs) == 8 * SEEDS
    with open_store(place) as store:
        fill(store, configs)
        key = add_long_run(store, 3000)
        assert [row.key for row in store.rows(limit=1)] == [key] and 3000 <= len(store.metrics(key)) < 3300
        rows = run_table(store.each_brief())
        assert [len(row.seeds) for row in rows] == [1, *[SEEDS] * 8]
        assert len({(row.method, row.notion) for row in rows}) == 8
    compare, run = view(place, place, "compare", "run")
    assert (compare["page"], run["page"]) == ("compare", "run")
    assert min(compare["first_seconds"], run["second_seconds"]) > 0 and 50 < compare["peak_mb"] <= run["peak_mb"]
