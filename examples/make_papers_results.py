"""Keep what the run store has of papers' figures and tables, for the Papers page and docs/papers.

    fairpriv papers run ID --small                  run it
    python examples/make_papers_results.py ID …     keep its results in the package, and write the documents
    python examples/make_papers_results.py          write docs/papers.md and docs/papers/ from what is kept

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

from fairpriv_core.documents.paper_pages import list_data, render_index, render_paper
from fairpriv_core.errors import BadInput
from fairpriv_core.papers.catalog import find_preset, papers
from fairpriv_core.papers.measured import with_measured
from fairpriv_core.papers.preset import Preset
from fairpriv_core.papers.results import find_path, read_made
from fairpriv_core.papers.runs import find_records, list_configs
from fairpriv_core.papers.values import list_paths, read_path
from fairpriv_core.store.runs import RunStore, open_store
from fairpriv_core.store.sweeps import SweepStore

FOLDER = Path(__file__).parent.parent / "docs" / "papers"
STATED = ("threat_model", "variant", "epsilon", "epsilon_published")
WORKED_OUT = ("seconds_per_epoch",)


def main() -> None:
    """Keep the results of the presets that are named, and write the documents."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("presets", nargs="*", metavar="ID")
    parser.add_argument("--full", action="store_true", help="keep the full version, not the small one")
    asked = parser.parse_args()
    for name in asked.presets:
        with open_store() as store:
            made = collect(find_preset(name), store, "full" if asked.full else "small")
        keep(name, made)
    for path, text in render_documents().items():
        path.write_text(text, encoding="utf-8")


def render_documents() -> dict[Path, str]:
    """Return what is written of the results that are kept: the index, and of each paper its page and its data."""
    made = read_made()
    documents = {FOLDER.with_suffix(".md"): render_index(papers(), made)}
    for paper in papers().values():
        documents[FOLDER / f"{paper.id}.md"] = render_paper(paper, made)
        documents[FOLDER / f"{paper.id}.json"] = in_lines(list_data(paper, made))
    return documents


def collect(preset: Preset, store: RunStore, version: str) -> dict[str, Any]:
    """Return what is kept of a preset; BadInput where a run has neither finished nor failed.

    BadInput too for a preset that keeps nothing of its own.
    """
    if preset.made_from:
        raise BadInput(f"{preset.id} keeps no runs of its own: keep those of {', '.join(preset.made_from)}.")
    configs = list_configs(preset.pick(version).sweeps)
    found = with_measured(store, preset.measured, find_records(store, list(configs)))
    records = {record["key"].partition("-")[0]: record for record in found}
    rows = SweepStore(store).find(list(configs))
    failed = {key: str(row.error) for key, row in rows.items() if row.status == "failed"}
    missing = [key for key in configs if key not in records and key not in failed]
    if missing:
        raise BadInput(f"{preset.id}: {len(missing)} of {len(configs)} runs have not finished, first {missing[0]}.")
    settings: list[Any] = []
    stated: list[Any] = []
    runs = [shorten(records[key], list_paths(preset), settings, stated) for key in configs if key in records]
    paths = list(dict.fromkeys(path for run in runs for path in run["numbers"]))
    columns = list(runs[0]) if runs else []
    rows = [[*list(run.values())[:-1], [run["numbers"].get(path) for path in paths]] for run in runs]
    told = {"failed": failed} if failed else {}
    made = {"made": datetime.now(UTC).date().isoformat(), "version": version}
    return {**made, **told, "settings": settings, "stated": stated, "paths": paths, "columns": columns, "runs": rows}


def shorten(record: Mapping[str, Any], paths: list[str], settings: list[Any], stated: list[Any]) -> dict[str, Any]:
    """Return what is kept of a record: the places of its setting and of what it states of ε, and its numbers.

    Both are added to their lists where they are new.
    """
    setting = {name: value for name, value in record["config"].items() if name != "seed"}
    names = [f"metrics/{setting['notion']}_gap" if path == "gap" else path for path in paths]
    numbers = {name: read_path(record, name) for name in names if name not in WORKED_OUT}
    rounded = {name: None if value is None else round(value, 5) for name, value in numbers.items()}
    places = {
        "setting": _place(setting, settings),
        "stated": _place({name: record[name] for name in STATED}, stated),
    }
    own = {"seed": record["config"]["seed"], "seconds": record["seconds"], "numbers": rounded}
    return {"key": record["key"], **places, **own}


def _place(item: Any, among: list[Any]) -> int:
    """Return where an item stands in a list, at whose end it is put where it is new."""
    if item not in among:
        among.append(item)
    return among.index(item)


def keep(name: str, made: Mapping[str, Any]) -> None:
    """Write a preset's results beside those of its paper's others."""
    path = find_path(name)
    stored = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    path.write_text(in_lines(dict(sorted({**stored, name: made}.items()))), encoding="utf-8")


def in_lines(stored: Mapping[str, Mapping[str, Any]]) -> str:
    """Return JSON with a line for each item of a preset's lists, so that changes can be read."""
    return "{\n" + ",\n".join(f"{_dump(key)}: {_write(value)}" for key, value in stored.items()) + "\n}\n"


def _write(made: Mapping[str, Any]) -> str:
    lists = {name: rows for name, rows in made.items() if isinstance(rows, list)}
    parts = [f"{_dump(name)}: {_dump(value)}" for name, value in made.items() if name not in lists]
    text = ", ".join(parts)
    for name, rows in lists.items():
        text += f"{',' if text else ''}\n {_dump(name)}: [\n  " + ",\n  ".join(_dump(row) for row in rows) + "\n ]"
    return "{" + text + "}"


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    main()
