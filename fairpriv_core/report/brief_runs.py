"""The runs of a report: seeds folded and lettered, and of them only what the audience may see.

For the audience "policy" a run is copied field by field into a new one, so that what nobody thought of stays out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from string import ascii_uppercase
from typing import Any

from fairpriv_core.errors import BadInput
from fairpriv_core.report.brief import Audience
from fairpriv_core.report.looks import method_look
from fairpriv_core.report.tables import REPLAYED, TableRow, mean_interval, run_table

Told = Mapping[str, Any]
_NOTHING = mean_interval(())
_PUBLIC = (
    "key",
    "status",
    "threat_model",
    "variant",
    "epsilon",
    "epsilon_published",
    "epsilon_reason",
    "epsilon_if_secret",
    "delta",
    "assumptions",
    "warnings",
    "calibrated",
    "versions",
    "steps",
)
_PUBLIC_DATA = ("name", "sensitive", "n_train", "n_test", "columns", "group_names", "label_names")


@dataclass(frozen=True)
class Chosen:
    """One setting under its letter: a row of the run table, and what `runs/handout.py` tells of each of its seeds."""

    letter: str
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
    def name(self) -> str:
        """The method with its budget, as a legend names it."""
        if self.row.variant == REPLAYED:
            return f"{self.letter}: {method_look(self.row.method).title}, replayed noise"
        claim = " as published" if self.row.variant == "published" else ""
        budget = "" if self.row.epsilon is None else f", ε = {self.row.epsilon:g}{claim}"
        return f"{self.letter}: {method_look(self.row.method).title}{budget}"


def choose_runs(handout: Told, audience: Audience) -> tuple[Chosen, ...]:
    """Return the runs of `handout` (see runs/handout.py), seeds folded, as `audience` may see them.

    Raises:
        BadInput: more settings than letters.
    """
    by_key = {told["record"]["key"]: told for told in handout["runs"]}
    rows = run_table([told["record"] for told in handout["runs"]])
    if len(rows) > len(ascii_uppercase):
        raise BadInput(f"a report has room for {len(ascii_uppercase)} settings, got {len(rows)}.", field="key")
    chosen = [
        Chosen(letter, row, tuple(by_key[key] for key in row.keys))
        for letter, row in zip(ascii_uppercase, rows, strict=False)
    ]
    return tuple(chosen if audience == "analyst" else map(publish_run, chosen))


def publish_run(chosen: Chosen) -> Chosen:
    """Return what may leave the analyst's room: what ε covers, what is public, and no number besides."""
    row = replace(chosen.row, accuracy=_NOTHING, gap=_NOTHING, dataset=PurePath(chosen.row.dataset).name, setting="")
    return Chosen(chosen.letter, row, tuple(_publish(told) for told in chosen.runs))


def is_covered(record: Told) -> bool:
    """Return whether a proved ε stands for a run: without one nothing that depends on protected values is covered."""
    return record.get("threat_model") is not None and record.get("epsilon") is not None


def accuracy_is_public(told: Told) -> bool:
    """Return whether a run's exact accuracy follows from its released model and from what its ε takes as public.

    It does where only the sensitive attribute is protected and predictions do not look at it.
    """
    record = told["record"]
    looks = told["method"]["needs_group_at_prediction"]
    return is_covered(record) and record["threat_model"] == "attribute" and not looks


def name_missing(told: Told) -> tuple[str, ...]:
    """Return the reasons why numbers of a run are kept from the audience "policy", one sentence each."""
    record, reasons = told["record"], []
    if not is_covered(record):
        reasons.append("No ε is proved for this run, so none covers what was measured with it: no number is shown.")
    elif record.get("metrics_private") is None:
        reasons.append(
            "It was launched without a private evaluation, so no fairness number of it is covered by its ε: its gaps "
            "and its groups' rates are left out."
        )
    if is_covered(record) and record.get("metrics_private") is None and not accuracy_is_public(told):
        reasons.append("Its accuracy depends on what it protects and was not paid for: it is left out.")
    return tuple(reasons)


def _publish(told: Told) -> Told:
    record, covered = told["record"], is_covered(told["record"])
    kept = {name: record.get(name) for name in _PUBLIC}
    data = record["config"]["data"]
    kept["config"] = {**record["config"], "data": {**data, "file": name_file(data)}}
    kept["data"] = {name: record["data"].get(name) for name in _PUBLIC_DATA}
    paid = record.get("metrics_private") if covered else None
    public = {"accuracy": record["metrics"]["accuracy"]} if accuracy_is_public(told) and paid is None else None
    kept |= {"metrics": public, "metrics_are_raw": False, "metrics_private": paid, "notes": {}}
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
