"""A sweep that a page asks for: a worker, which has torch and the data, says what it costs and launches it.

What is launched is in the run table, where the process that trains finds it; no page and no worker need stay for it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fairpriv_core.errors import BadInput, FairprivError
from fairpriv_core.runs.children import count_cores
from fairpriv_core.runs.config import RunConfig
from fairpriv_core.runs.ledger_entry import Post
from fairpriv_core.runs.store import RunStore
from fairpriv_core.runs.store_database import Database
from fairpriv_core.runs.store_sweep import SweepStore
from fairpriv_core.runs.sweep_cost import tell_cost
from fairpriv_core.runs.sweep_launch import check_room
from fairpriv_core.runs.sweep_plan import SweepPlan, plan_sweep
from fairpriv_core.runs.sweep_spec import Sweep, build_sweep

Json = dict[str, Any]


def request_cost(raw: Mapping[str, Any], *, owner: str) -> Json:
    """Return the request for what the sweep `raw` (as for `build_sweep`) costs `owner`, as a preview.

    Its result has `cost` as `tell_cost`, the `keys` of all its configs, `max_runs` as the sweep says, and `refusal`:
    the sentence with which a launch would be refused now, or None. BadInput where `raw` is no sweep.
    """
    build_sweep(raw)
    try:
        return {"sweep": json.loads(json.dumps(raw, allow_nan=False)), "owner": owner}
    except (TypeError, ValueError) as error:
        raise BadInput(f"a sweep's values are finite numbers, words and tables: {error}.", field="axes") from error


def request_launch(raw: Mapping[str, Any], *, owner: str, confirmed: bool) -> Json:
    """Return the request that launches the sweep `raw` for `owner`; `confirmed`: even with more runs than its max_runs.

    Its result is the number of runs that are `launched`; asked for twice, it launches what is missing, so nothing.
    """
    return {**request_cost(raw, owner=owner), "launch": {"confirmed": confirmed}}


def compute(place: str | None, request: Mapping[str, Any]) -> Json:
    """Do what a page asked for, in the store at `place`.

    Raises:
        BadInput: as `build_sweep` and `plan_sweep`; of a launch, where too many runs were not confirmed or a cap
            forbids it. Nothing is launched then.
        StoreError: the disk has no room for the runs.
    """
    sweep = build_sweep(request["sweep"])
    with RunStore(Database(place), request["owner"]) as store:
        plan = plan_sweep(sweep, find_record=store.source, identify=store.files.identify)
        if "launch" in request:
            return {"launched": _launch(store, plan, sweep, confirmed=request["launch"]["confirmed"])}
        return _tell(store, plan, sweep)


def _tell(store: RunStore, plan: SweepPlan, sweep: Sweep) -> Json:
    found = SweepStore(store).find(plan.keys)
    missing = [key for key in plan.keys if key not in found or not found[key].ended]
    cost = tell_cost(store, plan, missing, sweep=sweep, workers=count_cores())
    return {"cost": cost, "keys": plan.keys, "max_runs": sweep.max_runs, "refusal": _find_refusal(store, plan, cost)}


def _find_refusal(store: RunStore, plan: SweepPlan, cost: Json) -> str | None:
    """Return why a launch would be refused now, whoever confirms it; None where it would not."""
    try:
        check_room(store.database, cost["new"])
        SweepStore(store).check(*_list_runs(store, plan))
    except FairprivError as error:
        return str(error)
    return None


def _launch(store: RunStore, plan: SweepPlan, sweep: Sweep, *, confirmed: bool) -> int:
    sweeps = SweepStore(store)
    new = len(plan.keys) - len(sweeps.find(plan.keys))
    if new > sweep.max_runs and not confirmed:
        raise BadInput(
            f"{new} runs would start, and more than {sweep.max_runs} need to be confirmed; nothing was started.",
            field="max_runs",
        )
    check_room(store.database, new)
    sweeps.submit(*_list_runs(store, plan))
    sweeps.go_on(plan.keys)
    return new


def _list_runs(store: RunStore, plan: SweepPlan) -> tuple[list[tuple[RunConfig, str]], dict[str, Post]]:
    """Return all runs with their chunks; and what those will release that make or use a release that is still to come.

    Once a release has been made the ledger knows it by its own name.
    """
    runs = [(config, chunk.id) for chunk in plan.chunks for config in chunk.configs]
    used = {config.reuse for config, _ in runs if config.reuse in plan.posts}
    found = SweepStore(store).find([key for key in used if key is not None])
    unmade = used - {key for key, row in found.items() if row.status == "finished"}
    return runs, {c.key: plan.posts[c.key] for c, _ in runs if c.key in unmade or c.reuse in unmade}
