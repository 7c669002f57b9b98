"""Runs that come with this software: whole records on a benchmark that ships with it, as they were when made.

Present and Report show them before anybody has trained, and runs on the same rows are held at once against those of
them without privacy and fairness. `examples/make_stored_runs.py` makes the file again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fairpriv_core.records.record import RunRecord

PATH = Path(__file__).with_name("stored_runs.json")


@dataclass(frozen=True)
class StoredRuns:
    """The records, and the day on which they were made, "2026-11-28"."""

    records: tuple[RunRecord, ...]
    made: str


@cache
def read_stored_runs() -> StoredRuns:
    """Return what the file holds."""
    document = json.loads(PATH.read_text(encoding="utf-8"))
    return StoredRuns(tuple(map(RunRecord.from_json, document["records"])), document["made"])


def format_stored(what: str, records: Iterable[RunRecord]) -> str:
    """Return where those of `records` are from that come with this software; "" where none does.

    `what` begins the sentence, such as "Plain training is". A run that a person has trained with the same settings has
    the same key, and is another record.
    """
    stored = read_stored_runs()
    shipped = [record for record in records if record in stored.records]
    if not shipped:
        return ""
    seeds = sorted({record.config["seed"] for record in shipped})
    seed_text = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
    version = shipped[0].versions["fairpriv"]
    return f"{what} stored with this software: made by fairpriv {version} on {stored.made}, {seed_text}."
