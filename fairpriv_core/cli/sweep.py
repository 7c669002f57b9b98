"""`fairpriv sweep`: many runs from one file, in chunks that train together, on this machine or elsewhere.

The store is the queue of record: what has ended stays, whatever happens, and the same file goes on with what is
missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

import click

from fairpriv_core.cli import options
from fairpriv_core.cli.output import Answer, check_folder, open_reporter, report
from fairpriv_core.cli.request import read_named, settle_data
from fairpriv_core.errors import BadInput
from fairpriv_core.facts.terminal import format_results
from fairpriv_core.records.source import find_answers, is_published
from fairpriv_core.runs.children import count_cores, use_one_thread
from fairpriv_core.runs.supervisor import Executor, run_here
from fairpriv_core.store.runs import open_store
from fairpriv_core.sweeps.cluster_sweep import Cluster
from fairpriv_core.sweeps.launch import Launch, Order, list_launched
from fairpriv_core.sweeps.plan import plan_sweep
from fairpriv_core.sweeps.results import average_results, list_results
from fairpriv_core.sweeps.spec import build_sweep, read_sweep_file
from fairpriv_core.text import Reporter


@click.command()
@click.argument("file")
@click.option("--resume", is_flag=True, help="Go on with a sweep that was begun: only what is missing runs.")
@click.option("--workers", type=click.IntRange(min=1), help="How many processes train. Default: one a core.")
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="A Dask scheduler, tcp://host:8786: its workers train. FAIRPRIV_STORE is PostgreSQL. Default: none.",
)
@click.option("--no-private-evaluation", is_flag=True, help="Runs make no private evaluations, whatever FILE says.")
@click.option("--yes", is_flag=True, help="Start more runs than the file lets start without it.")
@click.option("--out", metavar="FILE", help="Write the answer here too. Default: nowhere.")
@options.json
def sweep(file: str, workers: int | None, scheduler: str | None, out: str | None, as_json: bool, **asked: bool) -> None:
    """Train all runs that FILE asks for, and say before what they cost."""
    check_folder(out)
    reporter, evaluate = open_reporter(), not asked.pop("no_private_evaluation")
    with _open_executor(workers, scheduler, reporter.say) as (executor, count):
        answer = run_sweep(file, Order(executor, count, **asked), reporter, evaluate=evaluate)
    report(answer, out, as_json)


@contextmanager
def _open_executor(
    workers: int | None, scheduler: str | None, say: Callable[[str], None]
) -> Iterator[tuple[Executor, int]]:
    """Give what executes a sweep, here or on a cluster, and how many chunks it works on at a time."""
    if scheduler is None:
        use_one_thread()
        count = workers or count_cores()
        yield partial(run_here, workers=count), count
        return
    if workers is not None:
        raise BadInput(
            "--workers and --scheduler exclude each other: a cluster has the workers it has.", field="workers"
        )
    with Cluster(scheduler, say) as cluster:
        cluster.await_workers()
        yield cluster.run, cluster.threads


def run_sweep(path: str, order: Order, reporter: Reporter, *, evaluate: bool = True) -> Answer:
    """Run the sweep of the file at `path` in the default store; say what it costs before it starts.

    Dashboards list it from then on. Without `evaluate` no run makes a private evaluation.

    Raises:
        BadInput: the file or a combination is wrong, the sweep was begun before and `resume` is not given, more runs
            than the file allows would start and `yes` is not given, or a cap forbids it. Nothing is launched then.
        KeyboardInterrupt: the sweep was stopped; what has ended is kept and the rest is paused.
    """
    raw = read_sweep_file(path)
    raw |= {} if evaluate else {"private_evaluation": False}
    if isinstance(data := read_named(raw.get("data", {})), Mapping):
        raw["data"] = settle_data(data, {name for axes in build_sweep(raw).axes for name in axes})
    sweep = build_sweep(raw)
    with open_store() as store:
        launch = Launch(
            store, plan_sweep(sweep, find_record=store.source, identify=store.files.identify), order, reporter
        )
        cost = launch.prepare(path, sweep)
        again = f"fairpriv sweep {path} --resume" + ("" if evaluate else " --no-private-evaluation")
        launch.run(again, partial(list_launched, store, raw, cost, launch.plan.keys))
        results = list_results(store, launch.plan)
    table = average_results(launch.plan.cells, results)
    wrong = [result for result in results if result["status"] not in ("finished", "left out")]
    error = f"{len(wrong)} of {cost['runs']} runs have not finished; the first: {wrong[0]['reason']}" if wrong else None
    data = [cell.config.data.to_json() for cell in launch.plan.cells if cell.config is not None]
    published = all(map(is_published, data))
    answers = {find_answers(source) is not None for source in data if not is_published(source)}
    document = {"sweep": cost, "data_is_published": published, "runs": results, "table": table}
    text = format_results(results, table, raw=False in answers, by_answers=True in answers)
    return Answer(document, text, bool(wrong), error)
