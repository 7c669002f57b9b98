"""The runs of a report: seeds folded and numbered, and of them only what the audience may see.

The rows of a benchmark are public, and so is what is measured on them; of any other data only what ε covers is shown.

For the audience "policy" a run is copied field by field into a new one, by the table of `records/release.py`, so that
what nobody thought of stays out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import PurePath

from fairpriv_core.errors import BadInput
from fairpriv_core.plain import write_toml
from fairpriv_core.records.record import accuracy_is_public, is_covered
from fairpriv_core.records.release import without_raw
from fairpriv_core.records.source import is_published, without_folders
from fairpriv_core.report import wording
from fairpriv_core.report.document import Audience
from fairpriv_core.report.report_data import Json, Reference, ReportData, ReportRun
from fairpriv_core.report.styles import method_style
from fairpriv_core.report.tables import REPLAYED, TableRow, run_table
from fairpriv_core.stats import mean_interval

_NOTHING = mean_interval(())
_MOST_SETTINGS = 26
#: may be handed on, and says nothing in plain words
_UNTOLD = ("event", "released", "notes")
#: of a run whose accuracy is public: what follows from its model and from features and labels alone
_PUBLIC_METRICS = ("accuracy", "constant_accuracy")
_PUBLIC_DATA = ("name", "sensitive", "n_train", "n_test", "columns", "group_names", "label_names")


@dataclass(frozen=True)
class Chosen:
    """One setting under its number: a row of the run table, and what is told of each of its seeds."""

    number: int
    row: TableRow
    runs: tuple[ReportRun, ...]

    @property
    def first(self) -> ReportRun:
        """What is told of the first seed."""
        return self.runs[0]

    @property
    def record(self) -> Json:
        """The first seed's record."""
        return self.first.record

    @property
    def group_ratio(self) -> float | None:
        """What its training rows were thinned to; None where they were not."""
        found: float | None = self.record["config"]["data"].get("group_ratio")
        return found

    @property
    def mark(self) -> str:
        """How sentences and points name it: a word, since a group may be called by a letter."""
        return f"Run {self.number}"

    @property
    def accuracy_is_public(self) -> bool:
        """Whether its exact accuracy may be published."""
        return all(has_public_accuracy(run) for run in self.runs)

    @property
    def is_published(self) -> bool:
        """Whether its data is nobody's secret."""
        return is_published(self.record["config"]["data"])

    @property
    def raw_text(self) -> str:
        """What must be said with its raw numbers; "" where everybody has its rows."""
        return "" if self.is_published else wording.raw_text(public_accuracy=self.accuracy_is_public)

    @property
    def name(self) -> str:
        """The method with its budget, as a legend names it."""
        if self.row.variant == REPLAYED:
            return f"{self.mark}: {method_style(self.row.method).title}, replayed noise"
        claim = " as published" if self.row.variant == "published" else ""
        budget = "" if self.row.epsilon is None else f", ε = {self.row.epsilon:g}{claim}"
        return f"{self.mark}: {method_style(self.row.method).title}{budget}"


def choose_runs(data: ReportData, audience: Audience) -> tuple[Chosen, ...]:
    """Return the runs of `data`, seeds folded, as `audience` may see them.

    Raises:
        BadInput: more settings than a report has room for.
    """
    by_key = {run.record["key"]: run for run in data.runs}
    rows = run_table([run.record for run in data.runs])
    if len(rows) > _MOST_SETTINGS:
        raise BadInput(f"a report has room for {_MOST_SETTINGS} settings, got {len(rows)}.", field="key")
    chosen = [Chosen(number, row, tuple(by_key[key] for key in row.keys)) for number, row in enumerate(rows, start=1)]
    return tuple(chosen if audience == "analyst" else map(publish_run, chosen))


def cut_beside(data: ReportData, audience: Audience) -> ReportData:
    """Return what stands beside the runs of `data`, as `audience` may see it; the runs are `choose_runs`'s to show."""
    shown = data.references
    if audience == "policy":
        shown = tuple(Reference(_publish_record(each.record, public=None)) for each in shown)
    return replace(data, runs=(), references=shown)


def publish_run(chosen: Chosen) -> Chosen:
    """Return what may leave the analyst's room: what ε covers, what is public, and no number besides."""
    name = PurePath(chosen.row.dataset).name
    row = replace(chosen.row, accuracy=_NOTHING, gap=_NOTHING, constant=None, dataset=name, setting="")
    return Chosen(chosen.number, row, tuple(_publish(run) for run in chosen.runs))


def has_public_accuracy(run: ReportRun) -> bool:
    """Return whether the exact accuracy of a run that is told of may be published."""
    return accuracy_is_public(run.record, uses_group=run.method.needs_group_at_prediction)


def name_missing(run: ReportRun) -> tuple[str, ...]:
    """Return why numbers of a run are kept from the audience "policy", a sentence each; () where the data is public."""
    record, reasons = run.record, []
    if is_published(record["config"]["data"]):
        return ()
    if not is_covered(record):
        return ("No ε is proved, so none covers what was measured: no number is shown.",)
    if record.get("metrics_private") is None:
        reasons.append(
            "Launched without a private evaluation, so ε covers no fairness number: gaps and groups' rates are left "
            "out."
        )
        if not has_public_accuracy(run):
            reasons.append("Accuracy depends on protected data, and no ε covers it: it is left out.")
    return tuple(reasons)


def _publish(run: ReportRun) -> ReportRun:
    record, covered = run.record, is_covered(run.record)
    public = {name: record["metrics"].get(name) for name in _PUBLIC_METRICS} if has_public_accuracy(run) else None
    audit = run.audit
    return ReportRun(
        record=_publish_record(record, public=public),
        curves=(),
        audit=None if audit is None else {"made": audit["made"], "code": audit["code"], "model": None},
        certificates=run.certificates if covered else (),
        config=write_toml(without_folders(record["config"])),
        data=replace(run.data, caveats=() if run.data.own_file else run.data.caveats),
        method=run.method,
        notion=run.notion,
        odds=run.odds,
        missing=name_missing(run),
    )


def _publish_record(record: Json, *, public: Json | None) -> Json:
    """Return a record's JSON as it may leave: with all its metrics where the data is public, else with `public`."""
    told = without_raw(record, covered=is_covered(record))
    selected = {name: value for name, value in told.items() if name not in _UNTOLD}
    selected["config"] = without_folders(record["config"])
    selected["data"] = {name: record["data"].get(name) for name in _PUBLIC_DATA}
    shown = record["metrics"] if is_published(record["config"]["data"]) else public
    return {**selected, "metrics": shown, "metrics_are_raw": False}
