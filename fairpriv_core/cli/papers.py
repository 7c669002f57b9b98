"""`fairpriv papers`: figures and tables of the papers, run again and set beside what was printed."""

from __future__ import annotations

from functools import partial

import click

from fairpriv_core.cli import options
from fairpriv_core.cli.output import Answer, open_reporter, print_answer
from fairpriv_core.papers import catalog
from fairpriv_core.papers.measured import with_measured
from fairpriv_core.papers.runs import find_records, run_missing
from fairpriv_core.report.paper_prose import describe_document, describe_papers, list_papers, to_document
from fairpriv_core.runs.children import count_cores, use_one_thread
from fairpriv_core.runs.supervisor import run_here
from fairpriv_core.store.runs import open_store
from fairpriv_core.sweeps.launch import Order


@click.group(invoke_without_command=True)
@options.json
@click.pass_context
def papers(context: click.Context, /, as_json: bool) -> None:
    """List the figures and tables of the papers that can be made again."""
    if context.invoked_subcommand is None:
        found = list_papers(catalog.papers())
        print_answer(Answer({"papers": found}, describe_papers(found)), as_json)


@papers.command()
@click.argument("name", metavar="ID")
@click.option("--small", "version", flag_value="small", default="small", help="The smaller version (default).")
@click.option("--full", "version", flag_value="full", help="All that the paper ran.")
@click.option("--workers", type=click.IntRange(min=1), help="How many processes train; default: one a core.")
@click.option("--yes", is_flag=True, help="Start the full version's runs, however many they are.")
@options.json
def run(name: str, version: str, workers: int | None, yes: bool, as_json: bool) -> None:
    """Run a figure or table, say what it costs before, and set it beside what was printed.

    What the store has already is not run again.
    """
    preset = catalog.find_preset(name)
    sweeps = preset.pick(version).sweeps
    use_one_thread()
    count = workers or count_cores()
    order = Order(partial(run_here, workers=count), count, resume=True, yes=yes or version == "small")
    command = f"fairpriv papers run {name} --{version}"
    keys = run_missing(sweeps, order, open_reporter(), again=command)
    with open_store() as store:
        records = with_measured(store, preset.measured, find_records(store, keys))
    document = to_document(preset, version, records)
    print_answer(Answer(document, describe_document(document)), as_json)
