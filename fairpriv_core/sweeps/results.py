"""What a sweep found: one line a combination, and means over seeds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from fairpriv_core.notions.catalog import notions
from fairpriv_core.plain import Json
from fairpriv_core.records.record import RunRecord
from fairpriv_core.stats import mean_interval
from fairpriv_core.store.rows import RunRow
from fairpriv_core.store.runs import RunStore
from fairpriv_core.store.sweeps import SweepStore
from fairpriv_core.sweeps.plan import SweepPlan
from fairpriv_core.sweeps.spec import Cell

#: numbers of a record's metrics that a line has; undefined is None
METRICS = ("accuracy", "balanced_accuracy", "roc_auc", *(notion.metric for notion in notions().values()))
_MEANS = ("accuracy", "gap", "epsilon")


def list_results(store: RunStore, plan: SweepPlan) -> list[Json]:
    """Return a line for each combination: its values (`cell`), its run's key and status, epsilon and metrics.

    `status` is the run's, or "left out" for a combination that no run can have, or "not started" for one whose run
    would use the release of another that did not finish; `reason` says why it has not finished. `gap` is that of the
    run's own notion, where groups are randomised answers their estimate.
    """
    rows = SweepStore(store).find(plan.keys)
    records = store.records([row.key for row in rows.values()])
    return [_cell_to_json(cell, rows, records) for cell in plan.cells]


def average_results(cells: Sequence[Cell], results: Sequence[Json]) -> list[Json]:
    """Return the means over the seeds of what finished: for each combination of the other axes a line."""
    groups: dict[str, list[Json]] = {}
    for cell, result in zip(cells, results, strict=True):
        if cell.config is not None:
            groups.setdefault(json.dumps(_without_seed(cell.values), sort_keys=True), []).append(result)
    return [_average(lines) for lines in groups.values()]


def _cell_to_json(cell: Cell, rows: Mapping[str, RunRow], records: Mapping[str, RunRecord]) -> Json:
    line: dict[str, object] = {"cell": dict(cell.values), "key": None, "status": "left out", "reason": cell.reason}
    record = row = None
    if cell.config is not None:
        row = rows.get(cell.config.key)
        reason = f"run {cell.config.reuse}, whose release it would use, has not finished."
        line |= {"key": cell.config.key, "status": "not started", "reason": reason}
    if row is not None:
        record = records.get(row.key)
        waits = row.error or (None if row.status == "finished" else f"run {row.key} is {row.status}.")
        line |= {"key": row.key, "status": row.status, "reason": waits}
    line["epsilon"] = record.epsilon if record is not None and row is not None and row.ended else None
    line["gap"] = None if record is None else record.gap
    metrics = (None if record is None else record.metrics) or {}
    return {**line, **{name: metrics.get(name) for name in METRICS}}


def _average(lines: Sequence[Json]) -> Json:
    finished = [line for line in lines if line["status"] == "finished"]
    means: dict[str, object] = {"cell": _without_seed(lines[0]["cell"]), "runs": len(lines), "finished": len(finished)}
    for name in _MEANS:
        means[name] = mean_interval(line[name] for line in finished).mean
    return means


def _without_seed(values: Json) -> Json:
    return {name: value for name, value in values.items() if name != "seed"}
