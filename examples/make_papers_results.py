"""Keep what the run store has of papers' figures and tables, for the Papers page and docs/papers.md.

    fairpriv papers run ID --small                  run it
    python examples/make_papers_results.py ID …     keep its results in the package, and write docs/papers.md
    python examples/make_papers_results.py          write docs/papers.md from what is kept

Of each run its setting, seed, key and the numbers that the figure shows are kept. Every run draws fresh noise, so one
that is made again differs within its interval.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fairpriv_core.errors import BadInput
from fairpriv_core.papers.catalog import find_preset, papers
from fairpriv_core.papers.measured import with_measured
from fairpriv_core.papers.preset import Preset
from fairpriv_core.papers.results import PATH, read_made
from fairpriv_core.papers.runs import find_records, list_configs
from fairpriv_core.report.paper_prose import render_papers
from fairpriv_core.report.paper_values import list_paths, read_path
from fairpriv_core.store.runs import RunStore, open_store
from fairpriv_core.store.sweeps import SweepStore

PAGE = Path(__file__).parent.parent / "docs" / "papers.md"
KEPT = ("threat_model", "variant", "epsilon", "epsilon_published", "seconds")
WORKED_OUT = ("seconds_per_epoch",)


def main() -> None:
    """Keep the results of the presets that are named, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("presets", nargs="*", metavar="ID")
    parser.add_argument("--full", action="store_true", help="keep the full version, not the small one")
    asked = parser.parse_args()
    for name in asked.presets:
        with open_store() as store:
            made = collect(find_preset(name), store, "full" if asked.full else "small")
        keep(name, made)
    PAGE.write_text(render_papers(papers(), read_made()), encoding="utf-8")


def collect(preset: Preset, store: RunStore, version: str) -> dict[str, Any]:
    """Return what is kept of a preset; BadInput where a run has neither finished nor failed."""
    configs = list_configs(preset.pick(version).sweeps)
    found = with_measured(store, preset.measured, find_records(store, list(configs)))
    records = {record["key"].partition("-")[0]: record for record in found}
    rows = SweepStore(store).find(list(configs))
    failed = {key: str(row.error) for key, row in rows.items() if row.status == "failed"}
    missing = [key for key in configs if key not in records and key not in failed]
    if missing:
        raise BadInput(f"{preset.id}: {len(missing)} of {len(configs)} runs have not finished, first {missing[0]}.")
    settings: list[Any] = []
    runs = [shorten(records[key], list_paths(preset), settings) for key in configs if key in records]
    told = {"failed": failed} if failed else {}
    made = {"made": datetime.now(UTC).date().isoformat(), "version": version}
    return {**made, **told, "settings": settings, "runs": runs}


def shorten(record: Mapping[str, Any], paths: list[str], settings: list[Any]) -> dict[str, Any]:
    """Return what is kept of a record; its setting is added to `settings` where it is new."""
    setting = {name: value for name, value in record["config"].items() if name != "seed"}
    if setting not in settings:
        settings.append(setting)
    names = [f"metrics/{setting['notion']}_gap" if path == "gap" else path for path in paths]
    numbers = {name: read_path(record, name) for name in names if name not in WORKED_OUT}
    rounded = {name: None if value is None else round(value, 5) for name, value in numbers.items()}
    named = {"key": record["key"], "setting": settings.index(setting), "seed": record["config"]["seed"]}
    return {**named, **{name: record[name] for name in KEPT}, "numbers": rounded}


def keep(name: str, made: Mapping[str, Any]) -> None:
    """Write a preset's results beside those of the others."""
    stored = json.loads(PATH.read_text(encoding="utf-8")) if PATH.exists() else {}
    rows = {**stored, name: made}
    parts = [f"{json.dumps(key)}: {_write(rows[key])}" for key in sorted(rows)]
    PATH.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def _write(made: Mapping[str, Any]) -> str:
    """Return one preset's results with a line for each setting and run, so that changes can be read."""
    lists = {name: made[name] for name in ("settings", "runs")}
    head = {name: value for name, value in made.items() if name not in lists}
    text = ", ".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in head.items())
    for name, rows in lists.items():
        text += f",\n {json.dumps(name)}: [\n  " + ",\n  ".join(json.dumps(row) for row in rows) + "\n ]"
    return "{" + text + "}"


if __name__ == "__main__":
    main()
