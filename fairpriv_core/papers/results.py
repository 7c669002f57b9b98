"""What this software found of the papers' figures, committed: each run's setting, seed, key and the numbers shown.

The file's form is what `examples/make_papers_results.py` writes: under a preset's id the day, the version that ran,
each setting once, and the runs, each with its numbers by their paths.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairpriv_core.papers.preset import Json

PATH = Path(__file__).with_name("results.json")


@dataclass(frozen=True)
class Made:
    """A preset's committed results: the day they were made, the version that ran, and its runs as records."""

    day: str
    version: str
    runs: tuple[Json, ...]


def read_made(path: Path = PATH) -> dict[str, Made]:
    """Return the committed results by the id of their preset."""
    stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {name: _read(one) for name, one in stored.items()}


def _read(stored: Json) -> Made:
    settings = stored["settings"]
    runs = [{**run, "config": {**settings[run["setting"]], "seed": run["seed"]}} for run in stored["runs"]]
    return Made(stored["made"], stored["version"], tuple(runs))
