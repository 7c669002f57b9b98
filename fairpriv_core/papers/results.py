"""What this software found of the papers' figures, committed: each run's setting, seed, key and the numbers shown.

There is a table a paper, as `examples/make_papers_results.py` writes it, with a row for each run of each figure. A
column is one of `COLUMNS`, or a number by its path, null where a run or its figure has none. The config has no seed.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa

from fairpriv_core.papers.catalog import PAPERS
from fairpriv_core.papers.paper_run import STATED, PaperRun
from fairpriv_core.records.source import ConfigJson

FOLDER = Path(__file__).with_name("kept")
#: `failed`: why a run came to no model; null for all that have numbers
COLUMNS = {
    **dict.fromkeys(("figure", "made", "version", "key", "config"), pa.string()),
    "seed": pa.int64(),
    "seconds": pa.float64(),
    **dict(zip(STATED, (pa.string(), pa.string(), pa.float64(), pa.float64()), strict=True)),
    "failed": pa.string(),
}


@dataclass(frozen=True)
class Made:
    """A preset's committed results: the day the last was made, the version that ran, its runs.

    `failed` is key -> reason of the runs that came to no model.
    """

    day: str
    version: str
    runs: tuple[PaperRun, ...]
    failed: Mapping[str, str] = field(default_factory=dict)

    def format_failed_runs(self) -> str:
        """Return how many runs came to no model and why, as a sentence that ends in a space; "" where all did."""
        if not self.failed:
            return ""
        alike = Counter(re.sub(r"\d[\d.,]*", "…", reason) for reason in self.failed.values())
        reasons = "; ".join(f"{count} × {re.split('[:;]', reason)[0]}" for reason, count in alike.items())
        return (
            f"{len(self.failed)} of {len(self.failed) + len(self.runs)} runs came to no model and are in no number "
            f"({reasons}). "
        )


def read_rows(path: Path) -> list[dict[str, object]]:
    """Return the rows of a paper's table, a figure's after each other; what is null is left out."""
    from pyarrow.parquet import read_table

    rows = read_table(path).to_pylist()
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def read_made() -> dict[str, Made]:
    """Return the committed results by the id of their preset; a preset made from others has the others' results.

    It has none while one of the others has none, or another version than the rest.
    """
    rows_of_all = [row for path in sorted(FOLDER.glob("*.parquet")) for row in read_rows(path)]
    own = {name: _read(name, list(rows)) for name, rows in groupby(rows_of_all, key=lambda row: str(row["figure"]))}
    made_from = {preset.id: preset.made_from for paper in PAPERS for preset in paper.presets if preset.made_from}
    parts = {name: [own[part] for part in others if part in own] for name, others in made_from.items()}
    versions = {name: {result.version for result in made} for name, made in parts.items()}
    complete = {name for name, made in parts.items() if len(made) == len(made_from[name]) and len(versions[name]) == 1}
    return own | {name: _put_together(parts[name]) for name in sorted(complete)}


def _put_together(parts: Sequence[Made]) -> Made:
    """Return the results of several presets as one's, each run once, of the last day."""
    runs = {run.key: run for part in parts for run in part.runs}
    failed = {key: reason for part in parts for key, reason in part.failed.items()}
    return Made(max(part.day for part in parts), parts[0].version, tuple(runs.values()), failed)


def _read(name: str, rows: Sequence[Mapping[str, Any]]) -> Made:
    """Return a preset's results; a run's setting is named with the preset, as several may be put together."""
    settings: dict[str, ConfigJson] = {text: json.loads(text) for text in dict.fromkeys(row["config"] for row in rows)}
    runs = [
        PaperRun(
            row["key"],
            {**settings[row["config"]], "seed": row["seed"]},
            seconds=row.get("seconds"),
            threat_model=row.get("threat_model"),
            variant=row.get("variant"),
            epsilon=row.get("epsilon"),
            epsilon_published=row.get("epsilon_published"),
            setting=(name, row["config"]),
            numbers={path: value for path, value in row.items() if path not in COLUMNS},
        )
        for row in rows
        if "failed" not in row
    ]
    failed = {row["key"]: row["failed"] for row in rows if "failed" in row}
    return Made(max(row["made"] for row in rows), rows[0]["version"], tuple(runs), failed)
