"""A run without privacy and fairness on the same test rows: what a fair model's accuracy is held against."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fairpriv_core.methods.catalog import REFERENCE_METHOD
from fairpriv_core.records.record import RunRecord
from fairpriv_core.store.runs import RunStore

_MOST_RUNS = 500  # among the newest of which one is looked for
_FOR_TRAINING = ("schema", "group_ratio")  # say nothing of which rows are test rows


def find_plain_run(store: RunStore, config: Mapping[str, Any]) -> RunRecord | None:
    """Return the newest finished run of the reference method on the test rows of `config`, JSON; None without one."""
    wanted = name_rows(config)
    for row in store.rows(limit=_MOST_RUNS):
        plain = row.status == "finished" and row.config["method"]["name"] == REFERENCE_METHOD
        if plain and name_rows(row.config) == wanted:
            return store.record(row.key)
    return None


def name_rows(config: Mapping[str, Any]) -> str:
    """Return what runs have in common that are measured on the same test rows, by the same features."""
    data = {name: value for name, value in config["data"].items() if name not in _FOR_TRAINING}
    return json.dumps([data, config.get("file_id"), config["split"], config["seed"]], sort_keys=True)
