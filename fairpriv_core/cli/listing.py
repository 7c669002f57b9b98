"""The run table with what a person compares runs by, and a run's curves as CSV."""

from __future__ import annotations

import io
from typing import Any

from fairpriv_core.notions.metrics import violation
from fairpriv_core.records.ledger_entry import call_data
from fairpriv_core.records.record import RAW_SENTENCE, RunRecord
from fairpriv_core.store.rows import RunRow
from fairpriv_core.store.runs import RunStore
from fairpriv_core.text import write_lines


def list_runs(store: RunStore) -> list[dict[str, Any]]:
    """Return each run's row with data set, method, notion, accuracy and gap; `steps` are those made. Newest first."""
    rows = store.rows()
    records = store.records([row.key for row in rows])
    return [_describe(row, records.get(row.key)) for row in rows]


def curves_to_csv(store: RunStore, key: str) -> str:
    """Return a run's curves as CSV (step, name, value), under a line that says that they are raw."""
    buffer = io.StringIO()
    buffer.write(f"# {RAW_SENTENCE}\n")
    write_lines(buffer, ("step", "name", "value"), store.metrics(key))
    return buffer.getvalue()


def _describe(row: RunRow, record: RunRecord | None) -> dict[str, Any]:
    config = row.config
    metrics = record.metrics if record is not None else None
    stated = record.epsilon if record is not None and row.ended else row.epsilon
    return {
        **{name: value for name, value in row.to_json().items() if name not in ("config", "step")},
        "steps": row.step,
        "planned_steps": row.steps,
        "dataset": call_data(config["data"]),
        "sensitive": config["data"]["sensitive"],
        "method": config["method"]["name"],
        "notion": config["notion"],
        "seed": config["seed"],
        "epsilon": stated,
        "delta": config["delta"],
        "accuracy": None if metrics is None else metrics["accuracy"],
        "gap": None if metrics is None else violation(config["notion"], metrics),
        "config": config,
    }
