"""`fairpriv sweep`."""

from __future__ import annotations

from functools import partial

import click

from fairpriv_core.cli_output import check_folder, open_talk, report
from fairpriv_core.runs.children import count_cores, use_one_thread
from fairpriv_core.runs.crew import run_here
from fairpriv_core.runs.sweep import run_sweep
from fairpriv_core.runs.sweep_launch import Order


@click.command()
@click.argument("file")
@click.option("--resume", is_flag=True, help="Go on with a sweep that was begun: only what is missing runs.")
@click.option("--workers", type=click.IntRange(min=1), help="How many processes train; default: one a core.")
@click.option("--yes", is_flag=True, help="Start more runs than the file lets start without it.")
@click.option("--out", help="Write the answer here too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def sweep(file: str, workers: int | None, out: str | None, as_json: bool, **asked: bool) -> None:
    """Train all runs that FILE asks for, and say before what they cost."""
    check_folder(out)
    use_one_thread()
    count = workers or count_cores()
    order = Order(partial(run_here, workers=count), count, **asked)
    report(run_sweep(file, order, open_talk()), out, as_json)
