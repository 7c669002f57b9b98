"""What this software found of the papers' figures, committed: each run's setting, seed, key and the numbers shown.

There is a file a paper, as `examples/make_papers_results.py` writes it: under a preset's id the day, the version that
ran, each setting once, each statement of an ε once, the paths of the numbers once, and the runs in `columns`, each with
its numbers in the order of the paths, null where it has none; and of runs that failed their keys and reasons.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fairpriv_core.papers.catalog import PAPERS
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
    """Return the committed results by the id of their preset; one that is made from others has theirs.

    It has none while one of the others has none, or another version than the rest.
    """
    stored = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))]
    own = {name: _read(name, one) for paper in stored for name, one in paper.items()}
    made_from = {each.id: each.made_from for paper in PAPERS for each in paper.presets if each.made_from}
    parts = {name: [own[part] for part in others if part in own] for name, others in made_from.items()}
    whole = {name for name, found in parts.items() if len(found) == len(made_from[name]) and _are_alike(found)}
    return own | {name: _put_together(parts[name]) for name in sorted(whole)}


def _are_alike(parts: Sequence[Made]) -> bool:
    return len({one.version for one in parts}) == 1


def _put_together(parts: Sequence[Made]) -> Made:
    """Return the results of several presets as one's, each run once, of the last day."""
    runs = {run["key"]: run for one in parts for run in one.runs}
    failed = {key: reason for one in parts for key, reason in one.failed.items()}
    return Made(max(one.day for one in parts), parts[0].version, tuple(runs.values()), failed)


def _read(name: str, stored: Json) -> Made:
    """Return a preset's results; a run's setting is named with the preset, as several may be put together."""
    settings, paths = stored["settings"], stored["paths"]
    runs = [
        {
            **run,
            **stored["stated"][run["stated"]],
            "setting": (name, run["setting"]),
            "config": {**settings[run["setting"]], "seed": run["seed"]},
            "numbers": {path: value for path, value in zip(paths, run["numbers"], strict=True) if value is not None},
        }
        for run in (dict(zip(stored["columns"], row, strict=True)) for row in stored["runs"])
    ]
    return Made(stored["made"], stored["version"], tuple(runs), stored.get("failed", {}))
