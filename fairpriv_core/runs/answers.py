"""What each command answers: a JSON document, and the same as text for a person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairpriv_core.data.catalog import problems
from fairpriv_core.data.terms import confirm
from fairpriv_core.errors import BadInput
from fairpriv_core.runs import account, catalogues, prose
from fairpriv_core.runs.artifact import DESCRIPTION, PARAMETERS
from fairpriv_core.runs.certificate import describe_certificates, find_certificates
from fairpriv_core.runs.listing import curves_to_csv, list_runs
from fairpriv_core.runs.predict import predict_file
from fairpriv_core.runs.record import RunRecord
from fairpriv_core.runs.rows import RunRow
from fairpriv_core.runs.store import open_store

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
        "datasets": catalogues.list_datasets,
        "methods": catalogues.list_methods,
        "notions": catalogues.list_notions,
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
        files = {name: store.artifact(key, name) for name in (PARAMETERS, DESCRIPTION)}
    found = {"key": key, **predict_file(files, source, target)}
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
