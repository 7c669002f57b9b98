"""`fairpriv papers`: figures and tables of the papers, run again and set beside what was printed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import click

from fairpriv_core.cli import options
from fairpriv_core.cli.output import Answer, open_reporter, print_answer, report
from fairpriv_core.cli.request import read_method_options
from fairpriv_core.documents.paper_prose import format_document, format_papers, list_papers, to_document
from fairpriv_core.errors import BadInput
from fairpriv_core.papers import catalog
from fairpriv_core.papers.measured import with_measured
from fairpriv_core.papers.preset import PaperSweep, Version
from fairpriv_core.papers.results import read_made
from fairpriv_core.papers.runs import find_runs, list_waiting, run_missing, with_seeds, with_settings
from fairpriv_core.runs.children import count_cores, use_one_thread
from fairpriv_core.runs.supervisor import run_here
from fairpriv_core.store.rows import RunRow
from fairpriv_core.store.runs import open_store
from fairpriv_core.sweeps.launch import Order


@click.group(invoke_without_command=True)
@options.json
@click.pass_context
def papers(context: click.Context, /, as_json: bool) -> None:
    """List the figures and tables of the papers that can be made again."""
    if context.invoked_subcommand is None:
        listed = list_papers(catalog.papers())
        print_answer(Answer({"papers": listed}, format_papers(listed)), as_json)


@papers.command()
@click.argument("name", metavar="ID")
@options.json
def show(name: str, as_json: bool) -> None:
    """Print the results of a figure or table that were made earlier, without training."""
    preset = catalog.find_preset(name)
    results = read_made().get(name)
    if results is None:
        raise BadInput(f"{name} has no results yet: fairpriv papers run {name} makes them.", field="id")
    document = to_document(preset, results.version, results.runs)
    print_answer(Answer(document, format_document(document)), as_json)


@papers.command()
@click.argument("name", metavar="ID")
@click.option("--small", "version", flag_value="small", default="small", help="The smaller version (default).")
@click.option("--full", "version", flag_value="full", help="All that the paper ran.")
@options.seeds
@options.set
@click.option("--workers", type=click.IntRange(min=1), help="How many processes train. Default: one a core.")
@click.option("--yes", is_flag=True, help="Start the full version's runs, however many they are.")
@options.json
def run(name: str, version: str, workers: int | None, as_json: bool, **asked: Any) -> None:
    """Run a figure or table, say what it costs before, and set it beside what was printed.

    What the store has already is not run again. The exit code is 1 where runs have not ended, such as those that
    another process held.
    """
    preset = catalog.find_preset(name)
    sweeps, changes = _read_sweeps(preset.pick(version), asked["seeds"], asked["assignments"])
    use_one_thread()
    count = workers or count_cores()
    order = Order(partial(run_here, workers=count), count, resume=True, yes=asked["yes"] or version == "small")
    command = " ".join(["fairpriv papers run", name, f"--{version}", *changes])
    keys = run_missing(sweeps, order, open_reporter(), again=command)
    with open_store() as store:
        records = with_measured(store, preset.measured, find_runs(store, keys))
        waiting = list_waiting(store, keys)
    document = to_document(preset, version, records, changes)
    error = _format_waiting(waiting, len(keys), command) if waiting else None
    report(Answer(document, format_document(document), bool(waiting), error), None, as_json)


def _format_waiting(waiting: Sequence[RunRow], runs: int, command: str) -> str:
    """Return how to go on with what has not ended of so many runs, and what is in the way of one that cannot."""
    start = f"{len(waiting)} of {runs} runs have not ended"
    stuck = [row for row in waiting if row.error]
    if not stuck:
        return f"{start}: {command} goes on with them."
    key, error = stuck[0].key, stuck[0].error
    return f"{start}, and {len(stuck)} cannot: {error} After fairpriv runs delete {key}, {command} starts it anew."


def _read_sweeps(
    version: Version, seeds: str | None, assignments: tuple[str, ...]
) -> tuple[Sequence[PaperSweep], list[str]]:
    """Return the sweeps to run, and the options that make them others than the version's."""
    sweeps: Sequence[PaperSweep] = version.sweeps
    if assignments:
        settings = read_method_options({"name": "none"}, None, None, assignments)
        sweeps = with_settings(sweeps, {name: value for name, value in settings.items() if name != "name"})
    if seeds is not None:
        sweeps = with_seeds(sweeps, options.read_seeds(seeds))
    return sweeps, [
        *([f"--seeds {seeds}"] if seeds is not None else []),
        *[f"--set {assignment}" for assignment in assignments],
    ]
