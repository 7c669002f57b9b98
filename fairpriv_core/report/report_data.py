"""What a report tells of runs: gathered from the store, folded over seeds, cut to what its audience may see.

For the audience "policy" a run is copied field by field into a new one, by the table of `records/release.py`, so that
what nobody thought of stays out.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import Any

from fairpriv_core.data.catalog import problems
from fairpriv_core.errors import BadInput
from fairpriv_core.ledger.launch import foresee_launch, read_page
from fairpriv_core.ledger.report import add_up
from fairpriv_core.methods.catalog import REFERENCE_METHOD, methods
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.notion import explain
from fairpriv_core.privacy.explain import odds, sentence
from fairpriv_core.records.config import write_toml
from fairpriv_core.records.ledger_entry import call_data, identify_data, list_sensitive
from fairpriv_core.records.record import RunRecord, accuracy_is_public, is_covered
from fairpriv_core.records.release import without_raw
from fairpriv_core.records.source import key_split
from fairpriv_core.report.document import Audience
from fairpriv_core.report.styles import method_style
from fairpriv_core.report.tables import REPLAYED, TableRow, run_table
from fairpriv_core.runs.certificate import describe_certificates
from fairpriv_core.stats import mean_interval
from fairpriv_core.store.audits import AuditStore
from fairpriv_core.store.runs import RunStore
from fairpriv_core.sweeps.spec import write_sweep

_CELL = re.compile(r" because of '.*'( in row [^.]*)?\.$", re.DOTALL)


def tell_data(record: RunRecord) -> dict[str, Any]:
    """Return the data in words; of a person's own file its caveats are told without the cell that they quote.

    `positive` is None where there are more than two labels.
    """
    asked = record.config["data"]
    problem = problems().get(asked["dataset"] or "")
    caveats = [_CELL.sub(" because of one of its values.", caveat) for caveat in record.data["caveats"]]
    first = problem.labels[0].column.name if problem is not None else ""
    labels = record.data["label_names"]
    return {
        "title": problem.title if problem is not None else f"an own file, {Path(str(asked['file'])).name[:24]}",
        "summary": problem.summary if problem is not None else "A file of its user's own.",
        "citation": problem.citation if problem is not None else None,
        "licence": problem.licence if problem is not None else None,
        "label": asked["label"] or first,
        "positive": labels[-1] if len(labels) == 2 else None,
        "caveats": caveats,
        "own_file": problem is None,
    }


def tell_method(record: RunRecord) -> dict[str, Any]:
    """Return what trained the run."""
    info = methods()[record.config["method"]["name"]].info
    return {
        "title": info.title,
        "summary": info.summary,
        "citation": info.citation,
        "needs_group_at_prediction": info.needs_group_at_prediction,
        "pursues_notion": info.pursues_notion,
    }


def tell_notion(record: RunRecord) -> dict[str, Any]:
    """Return which fairness was asked for, on the run's own groups and label."""
    notion = notions()[record.config["notion"]]
    return {
        "title": notion.title,
        "citation": notion.citation,
        "asks": explain(notion, record.data["group_names"], record.data["label_names"]),
        "misleads": notion.misleads,
    }


def tell_odds(record: RunRecord) -> dict[str, Any]:
    """Return what the proved epsilon says in odds, and how `sure` an attacker can end, in 100; None without a bound."""
    if record.threat_model is None:
        return {"sentence": "Nothing limits what an attacker can learn: this method is not private.", "sure": None}
    if record.config["replay_noise"] is not None:
        return {
            "sentence": "Nothing is protected: whoever knows how the noise was drawn can take it off.",
            "sure": None,
        }
    said = sentence(record.epsilon, record.delta, record.threat_model)
    return {"sentence": said, "sure": None if record.epsilon is None else odds(record.epsilon)}


_MOST_RUNS = 500  # among the newest of which a reference is looked for


def gather_report(store: RunStore, keys: Sequence[str]) -> dict[str, Any]:
    """Return what a report on the finished runs `keys` tells, JSON, in their order.

    `runs` has for each its `record`, `curves` (step, name, value), `audit`, `certificates` (name, sentence), `config`
    (TOML), what its data, method and notion are in words, and the `odds` that its proved epsilon leaves. `together` is
    what all of them spent, for each thing that is protected: `epsilon`, None with a `reason`. `ledger` is what
    everything on the same people has spent and will, as the ledger's gauge says it, on `day` (UTC). `references` are
    runs without privacy and fairness on the same question: `key`, `seed`, `accuracy` and `gap`, which are raw. `sweep`
    is the TOML of the sweep that trains exactly these runs; None where they are none.

    Raises:
        BadInput: no key is given, or a run is unknown or has not finished.
    """
    wanted = list(dict.fromkeys(store.row(key).key for key in keys))
    if not wanted:
        raise BadInput("name the key of one finished run or more.", field="key")
    records = store.records(wanted)
    for key in wanted:
        if key not in records or records[key].status != "finished":
            status = records[key].status if key in records else store.row(key).status
            raise BadInput(f"run {key} is {status}: only finished runs can be reported.", field="key")
    told = [_tell_run(store, records[key]) for key in wanted]
    chosen = [records[key] for key in wanted]
    return {
        "runs": told,
        "together": add_up(chosen),
        "ledger": _tell_ledger(store, chosen),
        "references": _find_references(store, chosen),
        "sweep": write_sweep([record.config for record in chosen]),
    }


def _tell_ledger(store: RunStore, records: Sequence[RunRecord]) -> dict[str, Any]:
    """Return the ledger's totals for the people of `records`: whole records, and the attributes that these runs name.

    Each is at the smallest δ of the runs on the same people.
    """
    pages: dict[str, list[RunRecord]] = {}
    for record in records:
        pages.setdefault(identify_data(record.config["data"], record.config.get("file_id")), []).append(record)
    lines = []
    for data, about in pages.items():
        delta = min(record.delta for record in about)
        named = {None, *(column for record in about for column in list_sensitive(record.config["data"], record.data))}
        for effect in foresee_launch(read_page(store, data), None, delta=delta):
            if not effect.runs or effect.column not in named:
                continue
            bounded = math.isfinite(effect.planned)
            reason = None if bounded else effect.reason or "No finite epsilon is proved for the releases."
            line = {"data": call_data(about[0].config["data"]), "column": effect.column, "runs": effect.runs}
            lines.append({**line, "epsilon": effect.planned if bounded else None, "reason": reason, "delta": delta})
    return {"day": datetime.now(UTC).date().isoformat(), "lines": lines}


def _find_references(store: RunStore, records: Sequence[RunRecord]) -> list[dict[str, Any]]:
    """Return the reference method's newest finished run on each question of `records`, without those among them."""
    asked = [_name_question(record.config) for record in records]
    found: dict[str, str] = {}
    for row in store.rows(limit=_MOST_RUNS):
        question = _name_question(row.config)
        if row.status == "finished" and row.config["method"]["name"] == REFERENCE_METHOD and question in asked:
            found.setdefault(question, row.key)
    others = store.records([key for key in found.values() if key not in {record.key for record in records}])
    return [_tell_reference(record) for record in others.values()]


def _name_question(config: Mapping[str, Any]) -> str:
    split = key_split(config["split"], config["data"]["dataset"])
    return repr([split, *(config.get(name) for name in ("data", "file_id", "notion", "seed"))])


def _tell_reference(record: RunRecord) -> dict[str, Any]:
    metrics, gap = record.metrics or {}, f"{record.config['notion']}_gap"
    seed = record.config["seed"]
    return {"key": record.key, "seed": seed, "accuracy": metrics.get("accuracy"), "gap": metrics.get(gap)}


def _tell_run(store: RunStore, record: RunRecord) -> dict[str, Any]:
    document = record.to_document()
    return {
        "record": document,
        "curves": store.metrics(record.key),
        "audit": AuditStore(store.database).find(record.key),
        "certificates": describe_certificates(record),
        "config": write_toml(document["config"]),
        "data": tell_data(record),
        "method": tell_method(record),
        "notion": tell_notion(record),
        "odds": tell_odds(record),
    }


Told = Mapping[str, Any]
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
    runs: tuple[Told, ...]

    @property
    def first(self) -> Told:
        """What is told of the first seed."""
        return self.runs[0]

    @property
    def record(self) -> Told:
        """The first seed's record."""
        found: Told = self.first["record"]
        return found

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
        return all(has_public_accuracy(told) for told in self.runs)

    @property
    def name(self) -> str:
        """The method with its budget, as a legend names it."""
        if self.row.variant == REPLAYED:
            return f"{self.mark}: {method_style(self.row.method).title}, replayed noise"
        claim = " as published" if self.row.variant == "published" else ""
        budget = "" if self.row.epsilon is None else f", ε = {self.row.epsilon:g}{claim}"
        return f"{self.mark}: {method_style(self.row.method).title}{budget}"


@dataclass(frozen=True)
class Reference:
    """A run without privacy and fairness on the same question; its shares are None for the audience "policy"."""

    key: str
    seed: int
    accuracy: float | None
    gap: float | None


@dataclass(frozen=True)
class Beside:
    """What stands beside the runs: what they cost `together`, the `ledger` as of `day`, and `references`."""

    together: tuple[Told, ...]
    ledger: tuple[Told, ...]
    day: str
    references: tuple[Reference, ...]


def read_beside(handout: Told, audience: Audience) -> Beside:
    """Return what stands beside the runs of `handout`, as `audience` may see it."""
    shown = [Reference(**each) for each in handout["references"]]
    if audience == "policy":
        shown = [Reference(each.key, each.seed, None, None) for each in shown]
    ledger = handout["ledger"]
    return Beside(tuple(handout["together"]), tuple(ledger["lines"]), ledger["day"], tuple(shown))


def choose_runs(handout: Told, audience: Audience) -> tuple[Chosen, ...]:
    """Return the runs of `handout`, seeds folded, as `audience` may see them.

    Raises:
        BadInput: more settings than a report has room for.
    """
    by_key = {told["record"]["key"]: told for told in handout["runs"]}
    rows = run_table([told["record"] for told in handout["runs"]])
    if len(rows) > _MOST_SETTINGS:
        raise BadInput(f"a report has room for {_MOST_SETTINGS} settings, got {len(rows)}.", field="key")
    chosen = [Chosen(number, row, tuple(by_key[key] for key in row.keys)) for number, row in enumerate(rows, start=1)]
    return tuple(chosen if audience == "analyst" else map(publish_run, chosen))


def publish_run(chosen: Chosen) -> Chosen:
    """Return what may leave the analyst's room: what ε covers, what is public, and no number besides."""
    row = replace(chosen.row, accuracy=_NOTHING, gap=_NOTHING, dataset=PurePath(chosen.row.dataset).name, setting="")
    return Chosen(chosen.number, row, tuple(_publish(told) for told in chosen.runs))


def has_public_accuracy(told: Told) -> bool:
    """Return whether the exact accuracy of a run that is told of may be published."""
    return accuracy_is_public(told["record"], looks=told["method"]["needs_group_at_prediction"])


def name_missing(told: Told) -> tuple[str, ...]:
    """Return the reasons why numbers of a run are kept from the audience "policy", one sentence each."""
    record, reasons = told["record"], []
    if not is_covered(record):
        return ("No ε is proved, so none covers what was measured: no number is shown.",)
    if record.get("metrics_private") is None:
        reasons.append(
            "Launched without a private evaluation, so ε covers no fairness number: gaps and groups' rates are left "
            "out."
        )
        if not has_public_accuracy(told):
            reasons.append("Accuracy depends on what is protected and was not paid for: it is left out.")
    return tuple(reasons)


def _publish(told: Told) -> Told:
    record, covered = told["record"], is_covered(told["record"])
    kept = {name: value for name, value in without_raw(record, covered=covered).items() if name not in _UNTOLD}
    data = record["config"]["data"]
    kept["config"] = {**record["config"], "data": {**data, "file": name_file(data)}}
    kept["data"] = {name: record["data"].get(name) for name in _PUBLIC_DATA}
    public = {name: record["metrics"].get(name) for name in _PUBLIC_METRICS} if has_public_accuracy(told) else None
    kept |= {"metrics": public, "metrics_are_raw": False}
    audit = told["audit"]
    own_file = told["data"]["own_file"]
    return {
        "record": kept,
        "curves": [],
        "audit": None if audit is None else {"made": audit["made"], "code": audit["code"], "model": None},
        "certificates": told["certificates"] if covered else [],
        "config": _hide_path(told["config"], record["config"]["data"]),
        "data": {**told["data"], "caveats": [] if own_file else told["data"]["caveats"]},
        "method": told["method"],
        "notion": told["notion"],
        "odds": told["odds"],
        "missing": name_missing(told),
    }


def _hide_path(config: str, data: Told) -> str:
    """Return the TOML of a config with a file's name in place of its path."""
    place = data["file"]
    return config if place is None else config.replace(json.dumps(place), json.dumps(name_file(data)))


def name_file(data: Told) -> str | None:
    """Return the name, without its folders, of the file in a config's data; None for a benchmark."""
    return None if data["file"] is None else PurePath(data["file"]).name
