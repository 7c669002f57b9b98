"""`fairpriv sweep`: many runs from one file, in chunks that train together, on this machine or elsewhere.

The store is the queue of record: what has ended stays, whatever happens, and the same file goes on with what is
missing.
"""

from __future__ import annotations

from fairpriv_core.runs.answers import Answer
from fairpriv_core.runs.holding import Talk
from fairpriv_core.runs.prose_sweep import describe_results
from fairpriv_core.runs.store import open_store
from fairpriv_core.runs.sweep_launch import Launch, Order
from fairpriv_core.runs.sweep_plan import plan_sweep
from fairpriv_core.runs.sweep_results import average_results, list_results
from fairpriv_core.runs.sweep_spec import read_sweep


def run_sweep(path: str, order: Order, talk: Talk) -> Answer:
    """Run the sweep of the file at `path` in the default store; say what it costs before it starts.

    Raises:
        BadInput: the file or a combination is wrong, the sweep was begun before and `resume` is not given, more runs
            than the file allows would start and `yes` is not given, or a cap forbids it. Nothing is launched then.
        KeyboardInterrupt: the sweep was stopped; what has ended is kept and the rest is paused.
    """
    sweep = read_sweep(path)
    with open_store() as store:
        launch = Launch(store, plan_sweep(sweep, find_record=store.source, identify=store.files.identify), order, talk)
        cost = launch.prepare(path, sweep)
        launch.run(f"fairpriv sweep {path} --resume")
        results = list_results(store, launch.plan)
    table = average_results(launch.plan.cells, results)
    wrong = [result for result in results if result["status"] not in ("finished", "left out")]
    error = f"{len(wrong)} of {cost['runs']} runs have not finished; the first: {wrong[0]['reason']}" if wrong else None
    document = {"sweep": cost, "runs": results, "table": table}
    return Answer(document, describe_results(results, table), bool(wrong), error)
