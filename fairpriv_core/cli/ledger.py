"""`fairpriv ledger` and `select`: what runs have spent together, caps, and choosing one of several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from fairpriv_core.cli import options
from fairpriv_core.cli.output import Answer, print_answer
from fairpriv_core.cli.terminal import format_ledgers, format_selection
from fairpriv_core.data.catalog import problems
from fairpriv_core.errors import BadInput
from fairpriv_core.ledger.report import DataSource, name_columns, report_ledger, report_ledgers
from fairpriv_core.ledger.selection import WAYS, Criterion, select_run
from fairpriv_core.paths import read_path
from fairpriv_core.privacy.rdp import Cap
from fairpriv_core.records.config import DEFAULT_DELTA
from fairpriv_core.records.ledger_entry import identify_data
from fairpriv_core.store.runs import RunStore, open_store

_OF_FILE = "The cap is on these rows in this order. Sorted anew, or with one row more, they are data without a cap."


@click.group(invoke_without_command=True)
@click.option("--dataset", metavar="NAME", help=f"{options.DATASET} Default: every one in the store.")
@click.option("--csv", "--parquet", "--file", "file", metavar="FILE", help=options.FILE)
@click.option("--sensitive", metavar="COLUMN", help="Only this sensitive column. Default: all.")
@options.ledger_delta
@options.json
@click.pass_context
def ledger(context: click.Context, /, as_json: bool, **asked: Any) -> None:
    """Tell what all runs on a data set have spent together, for each thing that is protected."""
    if context.invoked_subcommand is None:
        print_answer(answer_ledger(**asked), as_json)


@ledger.command()
@click.argument("data")
@click.option(
    "--epsilon",
    type=float,
    metavar="NUMBER",
    help="What all runs together may cost; a launch beyond it is refused. Default: none, with --lift alone.",
)
@options.ledger_delta
@click.option(
    "--sensitive",
    "column",
    metavar="COLUMN",
    help="Cap what is spent of this sensitive column. Default: none, with --record alone.",
)
@click.option("--record", is_flag=True, help="Cap what is spent of whole records.")
@click.option("--lift", is_flag=True, help="Remove the cap.")
@options.json
def cap(data: str, column: str | None, as_json: bool, **limit: Any) -> None:
    """Cap what may be spent of DATA, a data set of the catalogue or a file."""
    print_answer(answer_cap(data, column, **limit), as_json)


@click.command()
@click.argument("keys", nargs=-1, required=True)
@click.option("--by", type=click.Choice(WAYS), required=True, help="Numbers that are out already, noisy, or raw ones.")
@click.option(
    "--metric",
    metavar="NAME",
    help="accuracy, or a gap: a notion's name, which fairpriv notions lists, with _gap. Default: the runs' own gap.",
)
@click.option(
    "--epsilon", type=float, metavar="NUMBER", help="The price of a noisy choice, which needs it. Default: none."
)
@click.option("--delta", type=float, metavar="NUMBER", default=1e-5, help="In (0, 1).")
@options.without_epsilon
@options.json
def select(keys: tuple[str, ...], without_epsilon: bool, as_json: bool, **criterion: Any) -> None:
    """Choose the best of several runs, or of all on one's question, and say what epsilon that leaves."""
    print_answer(answer_selection(keys, Criterion(**criterion), without_epsilon=without_epsilon), as_json)


def answer_ledger(dataset: str | None, file: str | None, sensitive: str | None, delta: float | None) -> Answer:
    """Tell the ledger of one data set, of its column `sensitive` alone where that is given; or of all data sets."""
    delta = DEFAULT_DELTA if delta is None else delta
    if dataset is None and file is None:
        if sensitive is not None:
            raise BadInput("sensitive is a column of a data set; name the data set too (--dataset).", field="sensitive")
        with open_store() as store:
            ledgers = report_ledgers(store, delta=delta)
    else:
        with open_store() as store:
            data = _find_data(store, dataset, file)
            columns = () if sensitive is None else name_columns(data, sensitive)
            file_id = None if data.file is None else next(iter(store.files.find(data.file)), None)
            page = identify_data(data.dataset, file_id)
            ledgers = [report_ledger(store, page, data.name, delta=delta, columns=columns)]
    return Answer({"ledgers": ledgers}, format_ledgers(ledgers))


def answer_cap(name: str, column: str | None, *, record: bool, lift: bool, **limit: Any) -> Answer:
    """Set or lift the cap on one column, or on whole records, of the data set or file `name`; tell its ledger then."""
    if (column is None) != record:
        raise BadInput("say what the cap is on: --sensitive COLUMN, or --record for whole records.", field="sensitive")
    if lift == (limit["epsilon"] is not None):
        raise BadInput("give either --epsilon, to set the cap, or --lift, to remove it.", field="epsilon")
    delta = DEFAULT_DELTA if limit["delta"] is None else limit["delta"]
    new_cap = None if lift else Cap(limit["epsilon"], delta)
    with open_store() as store:
        data = _find_data(store, name, None) if name in _list_names(store) else _find_data(store, None, name)
        protected = None if column is None else _name_one(data, column)
        page = identify_data(data.dataset, None if data.file is None else store.files.identify(data.file))
        store.ledger.set_cap(page, protected, new_cap, where=data.name)
        account = report_ledger(store, page, data.name, delta=delta, columns=(protected,))
    note = {} if lift or data.file is None else {"says": _OF_FILE}
    return Answer({"ledgers": [account], **note}, "\n\n".join((format_ledgers([account]), *note.values())))


def answer_selection(keys: Sequence[str], criterion: Criterion, *, without_epsilon: bool = False) -> Answer:
    """Choose one of several runs; one that raw numbers choose loses its epsilon, which has to be said."""
    with open_store() as store:
        full_keys = [store.row(key).key for key in keys]
        selection = select_run(store, full_keys, criterion, without_epsilon=without_epsilon)
    return Answer(selection, format_selection(selection))


def _list_names(store: RunStore) -> list[str]:
    """Return the data sets of the catalogue, and what a program calls the rows that it counts in this ledger."""
    names = [name for data, name in store.ledger.data_sets().items() if data == identify_data(name, None)]
    return list(dict.fromkeys([*problems(), *names]))


def _find_data(store: RunStore, dataset: str | None, file: str | None) -> DataSource:
    """Return a config's `data`; BadInput unless it names one data set that is known or one file that is there."""
    if dataset is not None and file is not None:
        raise BadInput("give either a data set or a file, not both.", field="dataset")
    names = _list_names(store)
    if dataset is not None and dataset not in names:
        raise BadInput(f"unknown data set '{dataset}'; choose from {', '.join(names)}.", field="dataset")
    path = None if file is None else read_path(file)
    if path is not None and not path.is_file():
        raise BadInput(f"'{file}' is neither a data set ({', '.join(names)}) nor a file.", field="dataset")
    return DataSource(dataset, None if path is None else str(path))


def _name_one(data: DataSource, column: str) -> str:
    columns = name_columns(data, column)
    if len(columns) > 1:
        raise BadInput(f"a cap is on one column, got {' and '.join(columns)}; set one on each.", field="sensitive")
    return columns[0]
