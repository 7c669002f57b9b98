"""The benchmark of the store: what it measures adds up."""

from __future__ import annotations

from pathlib import Path

from benchmarks import store, stored_runs


def test_a_store_under_four_writers_keeps_what_was_acknowledged(tmp_path: Path) -> None:
    cell = store.measure(str(tmp_path / "runs.db"), stored_runs.build_draft(), kind="SQLite", pace=0.2, seconds=1.0)
    assert cell["rows_a_second"] > 0 and cell["locked"] == 0 and cell["errors"] == {}
    assert 0 < cell["read_p50_ms"] <= cell["read_p99_ms"]
