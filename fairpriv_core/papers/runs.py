"""The runs of a paper's figure: the configs that its sweeps ask for, and what a store has of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fairpriv_core.errors import BadInput
from fairpriv_core.methods.base import parameters
from fairpriv_core.methods.catalog import methods
from fairpriv_core.papers.paper_run import PaperRun
from fairpriv_core.papers.preset import Method, PaperSweep
from fairpriv_core.records.config import RunConfig
from fairpriv_core.store.rows import RunRow
from fairpriv_core.store.runs import RunStore, open_store
from fairpriv_core.store.sweeps import SweepStore
from fairpriv_core.sweeps.launch import Launch, Order
from fairpriv_core.sweeps.plan import plan_sweep
from fairpriv_core.sweeps.spec import build_sweep, expand
from fairpriv_core.text import Reporter


def list_configs(sweeps: Iterable[PaperSweep]) -> dict[str, RunConfig]:
    """Return the configs of sweeps by their keys; each once."""
    cells = [cell for raw in sweeps for cell in expand(build_sweep(raw))]
    return {cell.config.key: cell.config for cell in cells if cell.config is not None}


def join_sweeps(sweeps: Sequence[PaperSweep]) -> dict[str, object]:
    """Return one sweep, in the form that `build_sweep` reads, whose runs are those of all.

    What differs becomes an axis. Each has one table of axes, which names none of the others' fields, and all start as
    many runs without being asked for twice.
    """
    settings = [{name: value for name, value in raw.items() if name not in ("axes", "sweep")} for raw in sweeps]
    common = {name: value for name, value in settings[0].items() if all(own.get(name) == value for own in settings)}
    axes = [
        {**{name: [value] for name, value in own.items() if name not in common}, **raw["axes"]}
        for own, raw in zip(settings, sweeps, strict=True)
    ]
    return {**common, "axes": axes, "sweep": sweeps[0].get("sweep", {})}


def with_seeds(sweeps: Iterable[PaperSweep], seeds: Sequence[int]) -> list[PaperSweep]:
    """Return sweeps with other seeds."""
    return [{**raw, "axes": {**raw["axes"], "seed": list(seeds)}} for raw in sweeps]


def with_settings(sweeps: Iterable[PaperSweep], settings: Mapping[str, str]) -> list[PaperSweep]:
    """Return sweeps in which every method that has one of the hyper-parameters has the given value.

    Raises BadInput for a hyper-parameter that no method of them has.
    """
    changed: list[PaperSweep] = []
    names_in_use: set[str] = set()
    for raw in sweeps:
        tables: list[Method] = []
        for table in raw["axes"]["method"]:
            own = {name: value for name, value in settings.items() if name in parameters(methods()[table["name"]])}
            names_in_use |= own.keys()
            if {**table, **own} not in tables:
                tables.append({**table, **own})
        changed.append({**raw, "axes": {**raw["axes"], "method": tables}})
    unknown = sorted(settings.keys() - names_in_use)
    if unknown:
        raise BadInput(f"none of its methods has a hyper-parameter '{unknown[0]}'.", field="set")
    return changed


def find_runs(store: RunStore, keys: Sequence[str]) -> list[PaperRun]:
    """Return the newest run of each config where it has finished; `keys` are the configs'."""
    finished = [row.key for row in SweepStore(store).find(keys).values() if row.status == "finished"]
    return [PaperRun.of(record) for record in store.records(finished).values()]


def list_waiting(store: RunStore, keys: Sequence[str]) -> list[RunRow]:
    """Return the newest run of each of those configs that has one which has not ended."""
    return [row for row in SweepStore(store).find(keys).values() if not row.ended]


def attach(runs: Sequence[PaperRun], measure: str, numbers: Mapping[str, Mapping[str, Any]]) -> list[PaperRun]:
    """Return runs with what was measured of each, by its key, under the measure's name."""
    return [replace(run, measured={**run.measured, measure: numbers.get(run.key, {})}) for run in runs]


def run_missing(sweeps: Sequence[PaperSweep], order: Order, reporter: Reporter, *, again: str) -> list[str]:
    """Run what the default store does not have of sweeps, together, and return the keys of their configs.

    What it costs is said before anything starts. `again` is the command that goes on where this is broken off; errors
    as `run_sweep`.
    """
    sweep = build_sweep(join_sweeps(sweeps))
    with open_store() as store:
        launch = Launch(store, plan_sweep(sweep, find_record=store.source), order, reporter)
        launch.prepare(again, sweep)
        launch.run(again)
        return launch.plan.keys
