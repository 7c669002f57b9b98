"""The command line. With `--json`, one JSON document on standard output; messages go to standard error.

Exit codes: 0, 1 for a failed run, 2 for bad input.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any, NoReturn

import click

from fairpriv_core.cli import answers
from fairpriv_core.cli.export import export
from fairpriv_core.cli.new import new
from fairpriv_core.cli.output import Failed, check_folder, open_reporter, print_answer, report, say
from fairpriv_core.cli.papers import papers
from fairpriv_core.cli.request import read_method_options, read_request
from fairpriv_core.cli.sweep import sweep
from fairpriv_core.errors import FairprivError
from fairpriv_core.ledger.selection import WAYS, Wish
from fairpriv_core.runs import foreground
from fairpriv_core.runs.audit import AuditPlan

_SENSITIVE = "The sensitive attribute: a column, column:edge,edge to cut numbers, a+b to cross two."
_GROUP_RATIO = "In (0, 1]: leave out training rows of larger groups until the smallest is so large a share of each."
_ROWS = "Use so many rows, drawn at random with a constant seed; the others are left alone."
_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
_out = click.option("--out", help="Write the record here too.")
_variant = click.option("--variant", help="proved (default) or published, where the method has both.")
_set = click.option("--set", "assignments", metavar="KEY=VALUE", multiple=True, help="A hyper-parameter; repeatable.")
_epsilon = click.option("--epsilon", help="The privacy budget, > 0; a private method needs it.")
_delta = click.option("--delta", help="In (0, 1); default 1e-5.")
_ledger_delta = click.option("--delta", type=float, help="In (0, 1); default 1e-5.")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="fairpriv", prog_name="fairpriv")
def cli() -> None:
    """Train differentially private and fair classifiers, and see what each epsilon covers."""


@cli.command()
@_json
def datasets(as_json: bool) -> None:
    """List the data sets."""
    print_answer(answers.answer_catalogue("datasets"), as_json)


@cli.command()
@click.argument("dataset")
def confirm(dataset: str) -> None:
    """Confirm what the owners of DATASET ask of its users; remembered for you on this machine."""
    say(answers.confirm_terms(dataset))


@cli.command()
@_json
def methods(as_json: bool) -> None:
    """List the methods: what each protects, and its parameters (--json)."""
    print_answer(answers.answer_catalogue("methods"), as_json)


@cli.command()
@_json
def notions(as_json: bool) -> None:
    """List the fairness notions."""
    print_answer(answers.answer_catalogue("notions"), as_json)


@cli.command()
@click.option("--dataset", help="A data set of the catalogue.")
@click.option("--csv", "--parquet", "file", help="Your own CSV or Parquet file, in place of a data set.")
@click.option("--label", help="The column to predict; a file needs it. score:150 cuts a number in two.")
@click.option("--positive", help="The label's value that counts as positive.")
@click.option("--sensitive", help=_SENSITIVE)
@click.option("--group-ratio", help=_GROUP_RATIO)
@click.option("--rows", help=_ROWS)
@click.option("--image", metavar="COLUMN", help="The file's column that names images (relative to it) or holds them.")
@click.option("--unreadable", help="skip: leave out images that cannot be read; without it they are refused.")
@click.option("--notion", help="The fairness notion.")
@click.option("--method", help="The method.")
@_variant
@_set
@_epsilon
@_delta
@click.option(
    "--split",
    help="75/25 from the seed by row number (rows), label (stratified) or whose the rows are (people); or official.",
)
@click.option("--seed", help="Public: drives split, initialisation and batches, never noise. Default 0.")
@click.option(
    "--private-evaluation",
    is_flag=True,
    default=None,
    help="Release fairness on the test split too, with noise, within the same epsilon.",
)
@click.option("--reuse", metavar="KEY", help="Train on the release of this run (one_release): nothing more is spent.")
@click.option("--replay-noise", help="Make the noise repeatable, for tests: such a run has no epsilon.")
@click.option("--config", help="A TOML or JSON file to start from; options override it.")
@_out
@click.option("--again", is_flag=True, help="Run once more what is already in the store.")
@_json
def train(out: str | None, again: bool, as_json: bool, **given: Any) -> None:
    """Train a model and print its record."""
    check_folder(out)
    row, record = foreground.train(read_request(given), open_reporter(), again=again)
    report(answers.answer_run(row, record), out, as_json)


@cli.command()
@click.argument("key")
@_out
@_json
def resume(key: str, out: str | None, as_json: bool) -> None:
    """Go on with an interrupted run and print its record."""
    check_folder(out)
    row, record = foreground.resume(key, open_reporter())
    report(answers.answer_run(row, record), out, as_json)


@cli.command()
@click.option("--method", required=True, help="The method.")
@click.option("--dataset-size", type=int, required=True, help="The number of training rows.")
@click.option("--groups", type=int, default=2, show_default=True, help="The number of groups.")
@_variant
@_set
@_epsilon
@_delta
@_json
def account(method: str, variant: str | None, assignments: tuple[str, ...], as_json: bool, **sizes: Any) -> None:
    """Say what noise a budget asks for; needs no data."""
    named = read_method_options(method, None, variant, assignments)
    print_answer(answers.answer_account(named, **sizes), as_json)


@cli.command()
@_json
def runs(as_json: bool) -> None:
    """List the runs in the store, newest first."""
    print_answer(answers.answer_runs(), as_json)


@cli.command()
@click.argument("key")
@click.option("--csv", "--parquet", "source", required=True, help="A CSV or Parquet file with the model's columns.")
@click.option("--out", "target", required=True, help="Where to write row, probability and prediction.")
@_json
def predict(key: str, source: str, target: str, as_json: bool) -> None:
    """Predict the rows of a file with a run's model."""
    check_folder(target)
    print_answer(answers.answer_prediction(key, source, target), as_json)


@cli.command()
@click.argument("key")
@_json
def certificate(key: str, as_json: bool) -> None:
    """Print what a run certifies of its gap, where its method does."""
    print_answer(answers.answer_certificate(key), as_json)


@cli.command()
@click.argument("key")
@click.option("--runs", type=click.IntRange(min=40), default=1000, show_default=True, help="Trained on each data set.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="An audit with it repeats.")
@click.option("--again", is_flag=True, help="Audit once more a run that has been audited.")
@_json
def audit(key: str, runs: int, seed: int, again: bool, as_json: bool) -> None:
    """Attack a run's method and model: lower bounds on epsilon, membership and attribute inference."""
    plan = AuditPlan(runs=runs, seed=seed)
    print_answer(answers.answer_audit(key, plan, say, again=again), as_json)


@cli.group(invoke_without_command=True)
@click.option("--dataset", help="A data set of the catalogue; default: every one in the store.")
@click.option("--csv", "--parquet", "file", help="Your own CSV or Parquet file, in place of a data set.")
@click.option("--sensitive", help="Only this sensitive column.")
@_ledger_delta
@_json
@click.pass_context
def ledger(context: click.Context, /, as_json: bool, **asked: Any) -> None:
    """Tell what all runs on a data set have spent together, for each thing that is protected."""
    if context.invoked_subcommand is None:
        print_answer(answers.answer_ledger(**asked), as_json)


@ledger.command()
@click.argument("data")
@click.option("--epsilon", type=float, help="What all runs together may cost; a launch beyond it is refused.")
@_ledger_delta
@click.option("--sensitive", "column", help="Cap what is spent of this sensitive column.")
@click.option("--record", is_flag=True, help="Cap what is spent of whole records.")
@click.option("--lift", is_flag=True, help="Remove the cap.")
@_json
def cap(data: str, column: str | None, as_json: bool, **limit: Any) -> None:
    """Cap what may be spent of DATA, a data set of the catalogue or a file."""
    print_answer(answers.answer_cap(data, column, **limit), as_json)


@cli.command()
@click.argument("keys", nargs=-1, required=True)
@click.option("--by", type=click.Choice(WAYS), required=True, help="Numbers that are out already, noisy, or raw ones.")
@click.option("--metric", help="A notion's gap, such as equalized_odds_gap, or accuracy; default: the runs' own gap.")
@click.option("--epsilon", type=float, help="The price of a noisy choice.")
@click.option("--delta", type=float, default=1e-5, show_default=True, help="In (0, 1).")
@click.option("--again", is_flag=True, help="Make a choice once more that was made before.")
@_json
def select(keys: tuple[str, ...], again: bool, as_json: bool, **wish: Any) -> None:
    """Choose the best of several runs, and say what epsilon that leaves."""
    print_answer(answers.answer_selection(keys, Wish(**wish), again=again), as_json)


cli.add_command(export)
cli.add_command(new)
cli.add_command(papers)
cli.add_command(sweep)


def main() -> NoReturn:
    """Run the command line; every error that a person can cause is one sentence on standard error."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        cli.main(prog_name="fairpriv", standalone_mode=False)
        sys.stdout.flush()
        code = 0
    except FairprivError as error:
        say(f"Error: {error}")
        code = error.exit_code
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        say("stopped.")
        code = 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except Failed:
        code = 1
    sys.exit(code)
