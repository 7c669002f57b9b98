"""The results that the first page shows: made earlier by this software, committed with the config that repeats them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairpriv_core.report.tables import Outcome, read_outcome

PATH = Path(__file__).with_name("start_results.json")


@dataclass(frozen=True)
class StartResults:
    """The committed results.

    Attributes:
        outcomes: one for each run.
        data: the reference of the data, such as {"dataset": "adult", "sensitive": "sex"}.
        notion: the name of the notion that was pursued and is reported.
        delta: of every private run.
        command: what a person types to make the file again.
        configs: each setting once, without its seed: with it any run can be repeated.
        made: the day, "2026-11-20".
    """

    outcomes: tuple[Outcome, ...]
    data: Mapping[str, Any]
    notion: str
    delta: float
    command: str
    configs: tuple[Mapping[str, Any], ...]
    made: str


def read_start_results(path: Path = PATH) -> StartResults:
    """Return the committed results; the file's form is what `examples/make_start_results.py` writes."""
    stored = json.loads(path.read_text(encoding="utf-8"))
    records = [{**run, "config": {**stored["configs"][run["setting"]], "seed": run["seed"]}} for run in stored["runs"]]
    first = stored["configs"][0]
    return StartResults(
        outcomes=tuple(read_outcome(record) for record in records),
        data=first["data"],
        notion=first["notion"],
        delta=first["delta"],
        command=stored["command"],
        configs=tuple(stored["configs"]),
        made=stored["made"],
    )
