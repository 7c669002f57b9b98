"""What each command answers: a JSON document, and the same as text for a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from fairpriv_core.cli.listing import curves_to_csv, list_runs
from fairpriv_core.cli.prose import describe_audit, describe_ledgers, describe_selection
from fairpriv_core.data.catalog import problems
from fairpriv_core.data.download import confirm
from fairpriv_core.data.problem import Problem
from fairpriv_core.errors import BadInput
from fairpriv_core.ledger.report import Data, name_columns, report_ledger, report_ledgers
from fairpriv_core.ledger.selection import Wish, select_run
from fairpriv_core.methods.base import Method, Parameter, parameters
from fairpriv_core.methods.catalog import methods
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.notion import Notion
from fairpriv_core.privacy.rdp import Cap
from fairpriv_core.records.config import DEFAULT_DELTA
from fairpriv_core.records.ledger_entry import call_data, identify_data
from fairpriv_core.records.model import Model
from fairpriv_core.records.record import RunRecord
from fairpriv_core.runs import account, prose
from fairpriv_core.runs.audit import AuditPlan, Report, audit_once
from fairpriv_core.runs.certificate import describe_certificates, find_certificates
from fairpriv_core.store.rows import RunRow
from fairpriv_core.store.runs import RunStore, open_store

FORMATS = ("json", "csv")


@dataclass(frozen=True)
class Answer:
    """One command's answer; `failed` makes its exit code 1."""

    document: Mapping[str, Any]
    text: str
    failed: bool = False
    error: str | None = None


def confirm_terms(name: str) -> str:
    """Remember that the person confirms what a data set's owners ask; BadInput where nothing is asked."""
    problem = problems().get(name)
    if problem is None or not problem.terms:
        asking = ", ".join(each.name for each in problems().values() if each.terms)
        raise BadInput(f"'{name}' asks for no confirmation; {asking} do.", field="dataset")
    confirm(problem)
    return f"confirmed: {problem.terms}"


def answer_catalogue(name: str) -> Answer:
    """List "datasets", "methods" or "notions"."""
    lists = {
        "datasets": list_datasets,
        "methods": list_methods,
        "notions": list_notions,
    }
    found = lists[name]()
    return Answer({name: found}, prose.describe_catalogue(found))


def answer_account(raw_method: Mapping[str, Any], **sizes: Any) -> Answer:
    """Say what a budget costs."""
    found = account.account(raw_method, **sizes)
    return Answer(found, prose.describe_account(found))


def answer_runs() -> Answer:
    """List the runs in the default store."""
    with open_store() as store:
        found = list_runs(store)
    return Answer({"runs": found}, prose.describe_runs(found))


def answer_run(row: RunRow, record: RunRecord | None) -> Answer:
    """Print a run's record; of a run that never began, its row."""
    failed = row.status != "finished"
    if record is None:
        document = {"key": row.key, "status": row.status, "error": row.error, "config": row.config}
        return Answer(document, f"run {row.key} is {row.status}", failed, row.error)
    return Answer(record.to_document(), prose.describe_record(record), failed, record.error)


def answer_prediction(key: str, source: str, target: str) -> Answer:
    """Predict a file's rows with a run's model."""
    with open_store() as store:
        key = store.row(key).key
        model = Model.read(partial(store.artifact, key))
    found = {"key": key, **model.predict_file(source, target)}
    decided = [f"{count:,} {name}" for name, count in found.get("decided", {"positive": found["positive"]}).items()]
    return Answer(found, f"{found['rows']:,} rows predicted, {', '.join(decided)}, written to {target}")


def answer_certificate(key: str) -> Answer:
    """Say what a run certifies of its gap."""
    with open_store() as store:
        record = store.record(store.row(key).key)
    if record is None:
        raise BadInput(f"run {key} has not begun: only a finished run has a certificate.", field="key")
    found = find_certificates(record)
    return Answer(found, prose.align(describe_certificates(record)))


def export_run(key: str, form: str) -> str:
    """Return a run's record ("json") or curves ("csv") as text; neither holds anything secret."""
    with open_store() as store:
        if form == "csv":
            return curves_to_csv(store, store.row(key).key)
        record = store.record(key)
    if record is None:
        raise BadInput(f"run {key} has no record yet.", field="key")
    return record.to_text()


def answer_audit(key: str, plan: AuditPlan, report: Report, *, again: bool) -> Answer:
    """Audit a run, or tell what its stored audit found."""
    with open_store() as store:
        found = audit_once(store, store.row(key).key, plan, report, again=again)
    return Answer(found, describe_audit(found))


def answer_ledger(dataset: str | None, file: str | None, sensitive: str | None, delta: float | None) -> Answer:
    """Tell the ledger of one data set, of its column `sensitive` alone where that is given; or of all data sets."""
    delta = DEFAULT_DELTA if delta is None else delta
    if dataset is None and file is None:
        if sensitive is not None:
            raise BadInput("sensitive is a column of a data set; name the data set too (--dataset).", field="sensitive")
        with open_store() as store:
            found = report_ledgers(store, delta=delta)
    else:
        data = _find_data(dataset, file)
        columns = () if sensitive is None else name_columns(data, sensitive)
        with open_store() as store:
            found = [report_ledger(store, _find_page(store, data), call_data(data), delta=delta, columns=columns)]
    return Answer({"ledgers": found}, describe_ledgers(found))


def answer_cap(name: str, column: str | None, *, record: bool, lift: bool, **limit: Any) -> Answer:
    """Set or lift the cap on one column, or on whole records, of the data set or file `name`; tell its ledger then."""
    data = _find_data(name, None) if name in problems() else _find_data(None, name)
    if (column is None) != record:
        raise BadInput("say what the cap is on: --sensitive COLUMN, or --record for whole records.", field="sensitive")
    if lift == (limit["epsilon"] is not None):
        raise BadInput("give either --epsilon, to set the cap, or --lift, to remove it.", field="epsilon")
    delta = DEFAULT_DELTA if limit["delta"] is None else limit["delta"]
    wanted = None if lift else Cap(limit["epsilon"], delta)
    protected = None if column is None else _name_one(data, column)
    with open_store() as store:
        page = identify_data(data, None if data["file"] is None else store.files.identify(data["file"]))
        store.ledger.set_cap(page, protected, wanted, where=call_data(data))
        found = report_ledger(store, page, call_data(data), delta=delta, columns=(protected,))
    return Answer({"ledgers": [found]}, describe_ledgers([found]))


def answer_selection(keys: Sequence[str], wish: Wish, *, again: bool) -> Answer:
    """Choose one of several runs."""
    with open_store() as store:
        found = select_run(store, [store.row(key).key for key in keys], wish, again=again)
    return Answer(found, describe_selection(found))


def _find_data(dataset: str | None, file: str | None) -> Data:
    """Return a config's `data`; BadInput unless it names one data set of the catalogue or one file that is there."""
    if dataset is not None and file is not None:
        raise BadInput("give either a data set or a file, not both.", field="dataset")
    if dataset is not None and dataset not in problems():
        raise BadInput(f"unknown data set '{dataset}'; choose from {', '.join(problems())}.", field="dataset")
    if file is not None and not Path(file).expanduser().is_file():
        raise BadInput(f"'{file}' is neither a data set ({', '.join(problems())}) nor a file.", field="dataset")
    return {"dataset": dataset, "file": None if file is None else str(Path(file).expanduser().absolute())}


def _find_page(store: RunStore, data: Data) -> str:
    return identify_data(data, None if data["file"] is None else next(iter(store.files.find(data["file"])), None))


def _name_one(data: Data, column: str) -> str:
    named = name_columns(data, column)
    if len(named) > 1:
        raise BadInput(f"a cap is on one column, got {' and '.join(named)}; set one on each.", field="sensitive")
    return named[0]


def list_datasets() -> list[dict[str, Any]]:
    """Return each data set's name, title, summary, source, licence, labels, sensitive attributes and caveats."""
    return [_describe_problem(problem) for problem in problems().values()]


def list_methods() -> list[dict[str, Any]]:
    """Return what each method declares, and its parameters with help, default, range and the paper's value."""
    return [_describe_method(method) for method in methods().values()]


def list_notions() -> list[dict[str, Any]]:
    """Return each notion's name, title, citation, sentence, when it misleads, and the methods that support it."""
    return [_describe_notion(notion) for notion in notions().values()]


def _describe_problem(problem: Problem) -> dict[str, Any]:
    return {
        "name": problem.name,
        "title": problem.title,
        "summary": problem.summary,
        "citation": problem.citation,
        "licence": problem.licence,
        "labels": [label.column.name for label in problem.labels],
        "positive": [label.positive or None for label in problem.labels],
        "sensitive": list(problem.sensitive),
        "caveats": list(problem.caveats),
        **({"image": list(problem.image), "terms": problem.terms} if problem.image else {}),
    }


def _describe_method(method: type[Method]) -> dict[str, Any]:
    info = method.info
    return {
        "name": info.name,
        "title": info.title,
        "summary": info.summary,
        "threat_model": info.threat_model,
        "variants": list(info.variants),
        "notions": list(info.notions),
        "pursues_notion": info.pursues_notion,
        "uses_groups": info.uses_groups,
        "needs_group_at_prediction": info.needs_group_at_prediction,
        "max_groups": info.max_groups,
        "max_labels": info.max_labels,
        "citation": info.citation,
        "calibrates": info.calibrates,
        "parameters": [_describe_parameter(name, *shown) for name, shown in parameters(method).items()],
    }


def _describe_parameter(name: str, shown: Parameter, item: Field[Any]) -> dict[str, Any]:
    default = None if item.default is MISSING else item.default
    return {
        "name": name,
        "title": shown.title,
        "help": shown.help,
        "default": list(default) if isinstance(default, tuple) else default,
        "low": shown.low,
        "high": shown.high,
        "choices": list(shown.choices),
        "paper": shown.paper,
        "unit": shown.unit,
        "expert": shown.expert,
    }


def _describe_notion(notion: Notion) -> dict[str, Any]:
    return {
        "name": notion.name,
        "title": notion.title,
        "citation": notion.citation,
        "sentence": notion.sentence,
        "misleads": notion.misleads,
        "methods": [name for name, method in methods().items() if notion.name in method.info.notions],
    }
