"""`fairpriv bench`: private and fair methods on the same public tasks, with what others enter, as a leaderboard."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from io import StringIO
from itertools import product
from pathlib import Path
from typing import Any, Literal

import click

from fairpriv_core.bench.board import build_boards
from fairpriv_core.bench.entries import OutsideEntry, check_trials, list_rows, score_file
from fairpriv_core.bench.lines import add_lines, find_folder, list_files, read_lines
from fairpriv_core.bench.runner import Audits, run_suite
from fairpriv_core.bench.suite import Smoke, Suite, read_smoke, read_suite
from fairpriv_core.cli import options
from fairpriv_core.cli.output import Answer, check_folder, open_reporter, print_answer, say, write_out
from fairpriv_core.documents.bench import show_board, write_bench_page
from fairpriv_core.errors import BadInput
from fairpriv_core.figures.audits import at_own_delta, best_lower_bound, read_audit_results
from fairpriv_core.notions.catalog import notions
from fairpriv_core.paths import read_path
from fairpriv_core.runs.children import use_one_thread
from fairpriv_core.sweeps.cluster_sweep import spread
from fairpriv_core.text import write_lines as write_table

_OUT = "The file of results, gone on with where it is there. Default: in ~/.fairpriv/bench, where Leaderboard looks."


@click.group(invoke_without_command=True)
@click.option("--smoke", is_flag=True, help="The short form: Adult and made-up tables, without any file or network.")
@click.option(
    "--method",
    "methods",
    metavar="NAME",
    multiple=True,
    help="Its entry; fairpriv methods lists them. Repeatable. Default: the suite's entries.",
)
@click.option("--task", "tasks", metavar="NAME", multiple=True, help="Repeatable. Default: the standard ones.")
@options.seeds
@click.option("--trials", type=click.IntRange(min=1), help="Settings that were tried for this entry. Default: 1.")
@click.option("--paid", is_flag=True, help="No trial read a private row: the epsilon of a run is that of one fit.")
@click.option(
    "--scheduler", metavar="ADDRESS", help="A Dask scheduler, tcp://host:8786: its workers train. Default: none."
)
@click.option("--out", metavar="FILE", help=_OUT)
@options.json
@click.pass_context
def bench(context: click.Context, /, scheduler: str | None, out: str | None, as_json: bool, **asked: Any) -> None:
    """Run the benchmark: every method, or those named, on public tasks; what is in the file is not run again."""
    if context.invoked_subcommand is not None:
        return
    suite, name = _choose(**asked)
    place = _find_place(out, name)
    use_one_thread()
    elsewhere = None if scheduler is None else partial(spread, scheduler)
    lines, left_out = run_suite(suite, place, _read_audits(), open_reporter(), elsewhere)
    tasks = [task.name for task in suite.tasks if task.name not in left_out]
    document = {"out": str(place), "suite": suite.version, "left_out": left_out, "lines": len(lines)}
    failed = int((lines.failed != "").sum())
    sentences = [f"{len(lines)} lines in {place}; {failed} fits gave no model."]
    sentences += [f"{task} is left out: {why}" for task, why in left_out.items()]
    for notion, epsilon in product(suite.notions, suite.epsilons):
        for leaderboard in build_boards(lines, notion, epsilon, suite=suite, tasks=tasks):
            question = f"{notions()[notion].title}, ε = {epsilon:g}. {leaderboard.title}."
            sentences.append(f"{question}\n{leaderboard.format_first()}\n\n{show_board(leaderboard).format()}")
    print_answer(Answer(document, "\n\n".join(sentences)), as_json)


@bench.command()
@click.argument("task", metavar="TASK")
@click.option("--seed", type=click.IntRange(min=0), default=0, help="A seed of the suite.")
@click.option("--out", metavar="FILE", required=True, help="The CSV file that is written.")
def split(task: str, seed: int, out: str) -> None:
    """Write a task's rows as CSV: number, part, label, group and encoded features, for an entry of one's own."""
    check_folder(out)
    suite = read_suite()
    head, rows = list_rows(suite, suite.find_task(task), seed)
    table = StringIO()
    write_table(table, head, rows)
    write_out(out, table.getvalue())
    say(f"{task}, seed {seed}, is in {out}.")


@bench.command()
@click.argument("file", metavar="FILE")
@click.option("--name", required=True, metavar="NAME", help="What the entry is called.")
@click.option("--protects", required=True, type=click.Choice(("attribute", "record")), help="What epsilon protects.")
@click.option("--by-group", is_flag=True, help="Decisions use the group.")
@click.option("--trials", type=click.IntRange(min=1), default=1, help="Settings that were tried.")
@click.option("--paid", is_flag=True, help="Epsilon covers all trials, or none read a private row.")
@click.option("--out", metavar="FILE", help="The file of results. Default: in ~/.fairpriv/bench.")
@options.json
def enter(
    file: str, name: str, protects: Literal["attribute", "record"], out: str | None, as_json: bool, **more: Any
) -> None:
    """Score decisions that were made elsewhere, a CSV file of task, seed, row, decision, epsilon, marked as claimed."""
    lines = score_file(read_path(file), OutsideEntry(name, protects, **more), read_suite())
    place = _find_place(out, f"claimed_{name}")
    all_lines = add_lines(lines, place)
    scored = f"{len(lines)} lines of {name} are in {place}, marked as claimed. It is ranked among those with all tasks."
    print_answer(Answer({"out": str(place), "lines": len(all_lines)}, scored), as_json)


@bench.command()
@click.argument("files", metavar="[FILE]...", nargs=-1)
@click.option("--out", metavar="FILE", required=True, help="The HTML file that is written.")
def board(files: tuple[str, ...], out: str) -> None:
    """Write the leaderboard as one HTML file: of the files named, else of what ships and was made here."""
    check_folder(out)
    write_out(out, write_bench_page(read_lines(map(read_path, files) if files else list_files())))
    say(f"The leaderboard is in {out}.")


def _choose(
    *,
    smoke: bool,
    methods: tuple[str, ...],
    tasks: tuple[str, ...],
    seeds: str | None,
    trials: int | None,
    paid: bool,
) -> tuple[Suite, str]:
    """Return the part of the suite that is asked for, and what its file is called."""
    check_trials(trials or 1, paid=paid)
    if trials and len(methods) != 1:
        raise BadInput("trials are of one entry: name its method.", field="trials")
    suite = read_suite()
    short: Smoke = read_smoke() if smoke else {}
    task_names = tasks or short.get("tasks") or [task.name for task in suite.tasks if not task.more]
    entries = tuple(suite.find_entry(name) for name in methods) or suite.entries
    part = replace(
        suite,
        tasks=tuple(suite.find_task(name) for name in task_names),
        entries=tuple(replace(entry, trials=trials or entry.trials) for entry in entries),
        notions=tuple(short.get("notions", suite.notions)),
        epsilons=tuple(short.get("epsilons", suite.epsilons)),
        seeds=tuple(options.read_seeds(seeds)) if seeds else suite.seeds,
    )
    return part, "smoke" if smoke else "results"


def _find_place(out: str | None, name: str) -> Path:
    check_folder(out)
    return find_folder() / f"{name}.parquet" if out is None else read_path(out, field="out")


def _read_audits() -> Audits:
    """Return what stored audits showed of each method's code."""
    return {
        code["name"]: (best_lower_bound(code), at_own_delta(code["distinguishing"])["epsilon"], code["made"])
        for code in read_audit_results()["methods"]
    }
