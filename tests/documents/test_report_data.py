"""What is handed to a report: runs in words, what they cost together, and no cell of a person's file."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from fairpriv_core.documents.report_data import gather_report
from fairpriv_core.errors import BadInput
from fairpriv_core.facts.measures import Fact
from fairpriv_core.facts.run_facts import read_facts
from fairpriv_core.plain import read_toml
from fairpriv_core.records.config import build_config
from fairpriv_core.records.record import RunRecord
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.runs import RunStore, open_store
from fairpriv_core.store.work import WorkStore
from fairpriv_core.sweeps.spec import build_sweep, expand

RAW = {"data": {"dataset": "synthetic", "sensitive": "group"}, "notion": "demographic_parity", "delta": 1e-5}


def run(store: RunStore, method: str, **asked: Any) -> RunRecord:
    """Train a short run and return its record."""
    work = WorkStore(store.database)
    row = store.submit(build_config({**RAW, "method": {"name": method, "epochs": 2}, **asked}))
    work_on(work, work.claim(row.key))
    record = store.record(row.key)
    assert record is not None and record.status == "finished"
    return record


def test_runs_are_told_in_the_order_given_with_what_they_cost_together(own_store: Path) -> None:
    with open_store(str(own_store)) as store:
        plain, first, second = run(store, "none"), run(store, "pf_ld", epsilon=1.0), run(store, "dp_sgd", epsilon=2.0)
        found = gather_report(store, [second.key, plain.key, first.key, second.key])
        alone = gather_report(store, [first.key])
    assert [told.key for told in found.runs] == [second.key, plain.key, first.key]
    assert [told.epsilon.sure for told in found.runs] == [89, None, 74]
    assert found.runs[2].data.label == "label" and found.runs[2].data.positive == "yes"
    assert found.runs[0].toml.startswith('notion = "demographic_parity"')
    protected = {one.column: one for one in found.together}
    assert set(protected) == {None, "group"}
    assert protected[None].epsilon is None and "not private" in protected[None].reason
    assert protected["group"].epsilon > 2.0 and protected["group"].runs == 3
    assert alone.together[0].epsilon == pytest.approx(1.0, rel=0.02)
    assert found.references == () and [each.key for each in alone.references] == [plain.key]
    assert alone.references[0].read("accuracy") == Fact("public", (plain.metrics or {})["accuracy"])


def test_the_ledger_tells_of_every_run_on_the_same_people(own_store: Path) -> None:
    with open_store(str(own_store)) as store:
        first, _ = run(store, "pf_ld", epsilon=1.0), run(store, "pf_ld", epsilon=1.0, seed=1)
        found = gather_report(store, [first.key])
    assert found.day == datetime.now(UTC).date().isoformat()
    records, group = found.ledger
    assert records.column is None and records.epsilon is None and records.reason
    assert group.column == "group" and group.runs == 2 and group.epsilon > 1.2


def test_what_cannot_be_reported_is_told(own_store: Path) -> None:
    with open_store(str(own_store)) as store:
        waiting = store.submit(build_config({**RAW, "method": "none"}))
        for keys, said in (([], "key of one finished run"), (["f" * 16], "no run"), ([waiting.key], "is queued")):
            with pytest.raises(BadInput, match=said):
                gather_report(store, keys)


def test_a_replayed_run_protects_nothing_and_a_files_cell_is_not_quoted(own_store: Path) -> None:
    with open_store(str(own_store)) as store:
        record = run(store, "pf_ld", epsilon=1.0, replay_noise=3)
    stated = read_facts(record).epsilon
    assert stated.sure is None and "Nothing is protected" in stated.odds
    told = "column 'age' is read as text because of 'Jane Doe, 4.5 m' in row 12."
    data = {**record.data, "caveats": [told, "3 rows without a label were dropped."]}
    assert read_facts(replace(record, data=data)).data.caveats == (
        "column 'age' is read as text because of one of its values.",
        "3 rows without a label were dropped.",
    )


def test_runs_that_are_a_sweep_bring_its_file(own_store: Path) -> None:
    with open_store(str(own_store)) as store:
        keys = [run(store, "pf_ld", epsilon=1.0, seed=seed).key for seed in (0, 1)]
        several, alone = gather_report(store, keys), gather_report(store, keys[:1])
    assert alone.sweep is None
    cells = expand(build_sweep(read_toml(several.sweep or "")))
    assert [cell.config.key for cell in cells if cell.config] == keys
