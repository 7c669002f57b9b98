"""What this software found of the papers' figures, committed: each run's setting, seed, key and the numbers shown.

There is a file a paper, as `examples/make_papers_results.py` writes it: under a preset's id the day, the version that
ran, each setting once, each statement of an ε once, the paths of the numbers once, and the runs in `columns`, each with
its numbers in the order of the paths, null where it has none; and of runs that failed their keys and reasons.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fairpriv_core.papers.preset import Json

FOLDER = Path(__file__).with_name("kept")


@dataclass(frozen=True)
class Made:
    """A preset's committed results: the day they were made, the version that ran, its runs as records.

    `failed` is key -> reason of the runs that came to no model.
    """

    day: str
    version: str
    runs: tuple[Json, ...]
    failed: Mapping[str, str] = field(default_factory=dict)

    def say_failed(self) -> str:
        """Return how many runs came to no model and why, as a sentence that ends in a space; "" where all did."""
        if not self.failed:
            return ""
        alike = Counter(re.sub(r"\d[\d.,]*", "…", reason) for reason in self.failed.values())
        reasons = "; ".join(f"{count} × {re.split('[:;]', reason)[0]}" for reason, count in alike.items())
        return (
            f"{len(self.failed)} of {len(self.failed) + len(self.runs)} runs came to no model and are in no number "
            f"({reasons}). "
        )


def find_path(preset: str) -> Path:
    """Return the file of the paper that a preset's id begins with."""
    return FOLDER / f"{preset.partition('.')[0]}.json"


def read_made() -> dict[str, Made]:
    """Return the committed results by the id of their preset."""
    stored = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))]
    return {name: _read(one) for paper in stored for name, one in paper.items()}


def _read(stored: Json) -> Made:
    settings, paths = stored["settings"], stored["paths"]
    runs = [
        {
            **run,
            **stored["stated"][run["stated"]],
            "config": {**settings[run["setting"]], "seed": run["seed"]},
            "numbers": {path: value for path, value in zip(paths, run["numbers"], strict=True) if value is not None},
        }
        for run in (dict(zip(stored["columns"], row, strict=True)) for row in stored["runs"])
    ]
    return Made(stored["made"], stored["version"], tuple(runs), stored.get("failed", {}))
