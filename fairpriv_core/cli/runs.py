"""`fairpriv train`, `resume`, `runs`, `check`, `account`, `predict`, `certificate`: runs, their costs, their models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import click

from fairpriv_core.cli import options
from fairpriv_core.cli.output import Answer, check_folder, open_reporter, print_answer, report, say
from fairpriv_core.cli.request import name_table, read_method_options, read_request
from fairpriv_core.cli.terminal import format_account, format_label
from fairpriv_core.data.randomized import find_common_answers
from fairpriv_core.errors import BadInput
from fairpriv_core.facts.certificates import find_certificates, format_certificates
from fairpriv_core.facts.terminal import align, format_record, format_runs
from fairpriv_core.files.forms import UNSTATED, Stated
from fairpriv_core.paths import read_path
from fairpriv_core.records.ledger_entry import call_data
from fairpriv_core.records.model import Model
from fairpriv_core.records.record import RunRecord
from fairpriv_core.records.source import is_published, without_folders
from fairpriv_core.runs import account, foreground
from fairpriv_core.runs.plain_run import find_plain_run
from fairpriv_core.store.check import check_store
from fairpriv_core.store.labels import MOST_OF_NAME, MOST_OF_NOTE, RunLabel
from fairpriv_core.store.rows import RunRow
from fairpriv_core.store.runs import open_store
from fairpriv_core.text import count_text

_GROUP_RATIO = (
    "In (0, 1]: leave out training rows of larger groups until the smallest is so large a share of each. "
    "Default: none is left out."
)
_ENCODING = (
    "Of a benchmark's numbers: binned, with bins that we chose, or plain, without bins or logarithms. Default: binned."
)
_ROWS = "Use so many rows, drawn at random with a constant seed; the others are left alone. Default: all."
_LABEL = (
    "The column to predict; a file needs it. score:150 cuts a number in two. Default: the usual one of the data set."
)
_AS_IT_IS = "Default: as it is."
_POSITIVE = "Of the label, what counts as positive. Default: the data set's own; of a file what reads as yes."
_SPLIT = (
    "75/25 from the seed by row number (rows), label (stratified) or whose the rows are (people); or official. "
    "Default: the data set's own; of a file rows."
)


@click.command()
@click.option("--dataset", metavar="NAME", help=f"{options.DATASET} Default: Adult by sex, without a file.")
@click.option("--csv", "--parquet", "--file", "files", metavar="FILE", multiple=True, help=options.FILES)
@options.stated
@options.cells
@click.option("--label", metavar="COLUMN", help=_LABEL)
@click.option("--positive", metavar="VALUE", help=_POSITIVE)
@click.option("--sensitive", metavar="COLUMN", help=f"{options.SENSITIVE} Default: none, one is needed.")
@click.option("--group-ratio", metavar="NUMBER", help=_GROUP_RATIO)
@click.option("--rows", metavar="COUNT", help=_ROWS)
@click.option("--encoding", metavar="[binned|plain]", help=_ENCODING)
@click.option(
    "--schema", metavar="FILE", help="What the columns are and hold; fairpriv schema proposes it. Default: guessed."
)
@click.option(
    "--private-schema",
    metavar="SHARE",
    help="Measure what the schema leaves open with noise, for this share of epsilon, such as 0.1. Default: not.",
)
@click.option(
    "--person",
    metavar="COLUMN",
    help="Whose a row is: one row of each person is used, and people protected. Default: none, rows are protected.",
)
@click.option(
    "--image",
    metavar="COLUMN",
    help="The file's column that names images (relative to it) or holds them. Default: none.",
)
@click.option(
    "--unreadable", metavar="[skip]", help="skip leaves out images that cannot be read. Default: they are refused."
)
@click.option(
    "--notion",
    metavar="NAME",
    help="The fairness notion; fairpriv notions lists them. Default: none, a method that pursues one needs it.",
)
@click.option(
    "--method",
    metavar="NAME",
    help=f"{options.METHOD} auto takes the one that did best on tables like yours. Default: none, one is needed.",
)
@click.option(
    "--protect",
    metavar="[attribute|record]",
    help="For method auto: what stays secret, who is in which group, or all that a row says. Default: none, it asks.",
)
@click.option(
    "--group-at-decision",
    metavar="[yes|no]",
    help="For method auto: whether the group may be known when the model decides. Default: no.",
)
@options.variant
@options.set
@options.epsilon
@options.delta
@click.option("--split", metavar="[rows|stratified|people|official]", help=_SPLIT)
@click.option(
    "--seed", metavar="NUMBER", help="Public: drives split, initialisation and batches, never noise. Default: 0."
)
@click.option(
    "--private-evaluation/--no-private-evaluation",
    default=None,
    help="Release fairness on the test split too, with noise, within the same epsilon. Default: on, off with --reuse.",
)
@click.option(
    "--reuse",
    metavar="KEY",
    help="Train on the release of this run (one_release): nothing more is spent. fairpriv runs lists keys. "
    "Default: none.",
)
@click.option(
    "--replay-noise",
    metavar="NUMBER",
    help="Make the noise repeatable from this seed, for tests: such a run has no epsilon. Default: none.",
)
@click.option("--config", metavar="FILE", help="TOML or JSON to start from; options override it. Default: none.")
@options.out
@click.option("--again", is_flag=True, help="Run once more what is already in the store.")
@options.json
def train(out: str | None, again: bool, as_json: bool, **given: Any) -> None:
    """Train a model and print its record."""
    check_folder(out)
    files = given.pop("files")
    given["answers"] = find_common_answers([read_path(file) for file in files]) if len(files) > 1 else None
    given["file"] = name_table(files)
    config, settings = read_request(given)
    row, record = foreground.train(config, open_reporter(), again=again, said=settings)
    report(answer_run(row, record), out, as_json)


@click.command()
@click.argument("key")
@options.out
@options.json
def resume(key: str, out: str | None, as_json: bool) -> None:
    """Go on with an interrupted run and print its record."""
    check_folder(out)
    row, record = foreground.resume(key, open_reporter())
    report(answer_run(row, record), out, as_json)


@click.command("account")
@click.option("--method", metavar="NAME", required=True, help=options.METHOD)
@click.option("--dataset-size", type=int, required=True, help="The number of training rows.")
@click.option("--groups", type=int, default=2, help="The number of groups.")
@options.variant
@options.set
@options.epsilon
@options.delta
@options.json
def account_command(
    method: str, variant: str | None, assignments: tuple[str, ...], as_json: bool, **sizes: Any
) -> None:
    """Say what noise a budget asks for; needs no data."""
    cost = account.account(read_method_options(method, None, variant, assignments), **sizes)
    report(Answer(asdict(cost), format_account(cost)), None, as_json)


@click.group(invoke_without_command=True)
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="Only runs with this tag; repeatable. Default: all.")
@click.option("--archived", is_flag=True, help="Archived runs too.")
@options.json
@click.pass_context
def runs(context: click.Context, /, tags: tuple[str, ...], archived: bool, as_json: bool) -> None:
    """List the runs in the store, pinned ones first, then newest first."""
    if context.invoked_subcommand is None:
        print_answer(answer_runs(tags, archived=archived), as_json)


@runs.command()
@click.argument("key")
@click.option("--name", metavar="TEXT", help=f"At most {MOST_OF_NAME} characters; empty takes it away. {_AS_IT_IS}")
@click.option("--tag", "tags", metavar="TAG", multiple=True, help=f"Repeatable, in place of those it has. {_AS_IT_IS}")
@click.option("--no-tags", is_flag=True, help="Take all tags away.")
@click.option("--note", metavar="TEXT", help=f"At most {MOST_OF_NOTE:,} characters; empty takes it away. {_AS_IT_IS}")
@click.option("--pin/--unpin", "pinned", default=None, help=f"Whether lists put it first. {_AS_IT_IS}")
@click.option("--archive/--unarchive", "archived", default=None, help=f"Whether lists leave it out. {_AS_IT_IS}")
@options.json
def label(key: str, tags: tuple[str, ...], no_tags: bool, as_json: bool, **given: Any) -> None:
    """Give a run a name, tags or a note, pin or archive it; no record, file or report of the run holds them."""
    given["tags"] = () if no_tags else tags or None
    if all(value is None for value in given.values()):
        raise BadInput("nothing to change: give --name, --tag, --note, --pin or --archive.", field="name")
    with open_store() as store:
        key, changed = store.row(key).key, store.label(key, **given)
    print_answer(Answer({"key": key, **changed.to_json()}, format_label(key, changed)), as_json)


@runs.command("delete")
@click.argument("key")
@options.json
def delete_run(key: str, as_json: bool) -> None:
    """Delete a run that nobody works on; the ledger keeps what it released."""
    with open_store() as store:
        store.delete(key)
    print_answer(Answer({"key": key}, f"run {key} is deleted; the ledger keeps what it released"), as_json)


@click.command()
@options.json
def check(as_json: bool) -> None:
    """Read all that the run store holds, and name what is damaged; changes nothing."""
    report(answer_check(), None, as_json)


@click.command()
@click.argument("key")
@click.option(
    "--csv", "--parquet", "--file", "source", metavar="FILE", required=True, help="A table with the model's columns."
)
@options.stated
@click.option("--out", "target", metavar="FILE", required=True, help="Where to write row, probability and prediction.")
@options.json
def predict(key: str, source: str, target: str, as_json: bool, **given: Any) -> None:
    """Predict the rows of a file with a run's model."""
    check_folder(target)
    stated = options.take_stated(given)
    print_answer(answer_prediction(key, name_table((source,)) or "", target, stated), as_json)


@click.command()
@click.argument("key")
@options.json
def certificate(key: str, as_json: bool) -> None:
    """Print what a run certifies of its gap, where its method does."""
    print_answer(answer_certificate(key), as_json)


def answer_runs(tags: Sequence[str] = (), *, archived: bool = False) -> Answer:
    """List the runs in the default store that have all of `tags`; those archived only if asked for."""
    with open_store() as store:
        pairs, damaged = store.read_all()
        labels = store.labels()
    if damaged:
        say(f"Left out because damaged: {', '.join(damaged)} ('fairpriv check' says what is).")
    documents = [run_to_json(row, record) | labels.get(row.key, RunLabel()).to_json() for row, record in pairs]
    tagged = [document for document in documents if set(tags) <= set(document["tags"])]
    listed = [document for document in tagged if archived or not document["archived"]]
    if len(listed) < len(tagged):
        say(f"{count_text(len(tagged) - len(listed), 'archived run')} left out; --archived lists them.")
    listed.sort(key=lambda document: not document["pinned"])
    return Answer({"runs": listed}, format_runs(listed) if listed or not documents else "no run to list")


def answer_check() -> Answer:
    """Check the default store."""
    with open_store() as store:
        state, where = check_store(store), store.database.where
    contents = f"{state.runs:,} runs, {state.checkpoints:,} checkpoints and {state.files:,} files in {where}"
    if not state.damage:
        return Answer({"store": where, **asdict(state)}, f"{contents}: nothing is damaged.")
    sentence = f"{contents}: {len(state.damage):,} damaged."
    return Answer({"store": where, **asdict(state)}, "\n".join([sentence, *state.damage]), failed=True, error=sentence)


def answer_run(row: RunRow, record: RunRecord | None) -> Answer:
    """Print a run's record; of a run that never began, its row."""
    failed = row.status != "finished"
    if record is None:
        document = {"key": row.key, "status": row.status, "error": row.error, "config": without_folders(row.config)}
        return Answer(document, f"run {row.key} is {row.status}", failed, row.error)
    with open_store() as store:
        plain = find_plain_run(store, row.config)
    return Answer(record.to_document(), format_record(record, plain), failed, row.error or record.error)


def answer_prediction(key: str, source: str, target: str, stated: Stated = UNSTATED) -> Answer:
    """Predict a file's rows with a run's model."""
    with open_store() as store:
        key = store.row(key).key
        model = Model.read(partial(store.artifact, key))
    predicted = model.predict_file(source, target, stated)
    for remark in predicted["remarks"]:
        say(remark)
    counts = predicted.get("decided") or {"positive": predicted["positive"] or 0}
    decided = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    return Answer({"key": key, **predicted}, f"{predicted['rows']:,} rows predicted, {decided}, written to {target}")


def answer_certificate(key: str) -> Answer:
    """Say what a run certifies of its gap."""
    with open_store() as store:
        record = store.record(store.row(key).key)
    if record is None:
        raise BadInput(f"run {key} has not begun: only a finished run has a certificate.", field="key")
    certificates = find_certificates(record)
    return Answer(certificates, align(format_certificates(record)))


def run_to_json(row: RunRow, record: RunRecord | None) -> dict[str, Any]:
    """Return a run's row with data set, method, notion, accuracy and gap; `steps` are those made."""
    config = row.config
    metrics = record.metrics if record is not None else None
    epsilon = record.epsilon if record is not None and row.ended else row.epsilon
    return {
        **{name: value for name, value in row.to_json().items() if name not in ("config", "step")},
        "steps": row.step,
        "planned_steps": row.steps,
        "dataset": call_data(config["data"]),
        "sensitive": config["data"]["sensitive"],
        "method": config["method"]["name"],
        "notion": config["notion"],
        "seed": config["seed"],
        "epsilon": epsilon,
        "delta": config["delta"],
        "accuracy": None if metrics is None else metrics["accuracy"],
        "gap": None if record is None else record.gap,
        "data_is_published": is_published(config["data"]),
        "config": without_folders(config),
    }
