"""The runs of a paper's figure: the configs that its sweeps ask for, and what a store has of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fairpriv_core.records.config import RunConfig
from fairpriv_core.store.runs import RunStore, open_store
from fairpriv_core.store.sweeps import SweepStore
from fairpriv_core.sweeps.launch import Launch, Order
from fairpriv_core.sweeps.plan import plan_sweep
from fairpriv_core.sweeps.spec import build_sweep, expand
from fairpriv_core.text import Reporter

Json = Mapping[str, Any]


def list_configs(sweeps: Iterable[Json]) -> dict[str, RunConfig]:
    """Return the configs of sweeps, in the form that `build_sweep` reads, by their keys; each once."""
    cells = [cell for raw in sweeps for cell in expand(build_sweep(raw))]
    return {cell.config.key: cell.config for cell in cells if cell.config is not None}


def find_records(store: RunStore, keys: Sequence[str]) -> list[dict[str, Any]]:
    """Return the JSON of the records of those configs whose newest run has finished, by the configs' keys."""
    finished = [row.key for row in SweepStore(store).find(keys).values() if row.status == "finished"]
    return [record.to_json() for record in store.records(finished).values()]


def attach(records: Sequence[Json], measure: str, found: Mapping[str, Json]) -> list[dict[str, Any]]:
    """Return records with what was measured of each, by its key, under the measure's name."""
    return [{**record, measure: found.get(record["key"], {})} for record in records]


def run_missing(sweeps: Iterable[Json], order: Order, reporter: Reporter, *, again: str) -> list[str]:
    """Run what the default store does not have of sweeps, one after the other, and return the keys of their configs.

    `again` is the command that goes on where this is broken off; errors as `run_sweep`.
    """
    keys: list[str] = []
    with open_store() as store:
        for raw in sweeps:
            sweep = build_sweep(raw)
            launch = Launch(store, plan_sweep(sweep, find_record=store.source), order, reporter)
            launch.prepare(again, sweep)
            launch.run(again)
            keys += launch.plan.keys
    return keys
