"""`fairpriv sweep`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import click

from fairpriv_core.cli_output import check_folder, open_talk, report
from fairpriv_core.errors import BadInput
from fairpriv_core.runs.children import count_cores, use_one_thread
from fairpriv_core.runs.cluster_sweep import Cluster
from fairpriv_core.runs.crew import Executor, run_here
from fairpriv_core.runs.sweep import run_sweep
from fairpriv_core.runs.sweep_launch import Order


@click.command()
@click.argument("file")
@click.option("--resume", is_flag=True, help="Go on with a sweep that was begun: only what is missing runs.")
@click.option("--workers", type=click.IntRange(min=1), help="How many processes train; default: one a core.")
@click.option("--scheduler", help="A Dask scheduler, tcp://host:8786: its workers train. FAIRPRIV_STORE is PostgreSQL.")
@click.option("--yes", is_flag=True, help="Start more runs than the file lets start without it.")
@click.option("--out", help="Write the answer here too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def sweep(file: str, workers: int | None, scheduler: str | None, out: str | None, as_json: bool, **asked: bool) -> None:
    """Train all runs that FILE asks for, and say before what they cost."""
    check_folder(out)
    talk = open_talk()
    with _open_executor(workers, scheduler, talk.say) as (executor, count):
        answer = run_sweep(file, Order(executor, count, **asked), talk)
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
        yield cluster.run, cluster.threads
