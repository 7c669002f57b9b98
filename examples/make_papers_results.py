"""Keep what the run store has of papers' figures and tables, for the Papers page and docs/papers.

    fairpriv papers run ID --small                  run it
    python -m examples.make_papers_results ID …     keep its results in the package, and write the documents
    python -m examples.make_papers_results          write docs/papers.md and docs/papers/ from what is kept

Of each run its setting, seed, key and the numbers that the figure shows are kept. What is kept already stays where the
store has no run of it, so that a figure that asks for more needs these alone. Every run draws fresh noise, so one that
is made again differs within its interval.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow.parquet import write_table

from examples.paper_pages import render_index, render_paper
from fairpriv_core.errors import BadInput
from fairpriv_core.papers.catalog import find_preset, papers
from fairpriv_core.papers.measured import with_measured
from fairpriv_core.papers.paper_run import PaperRun
from fairpriv_core.papers.preset import Preset
from fairpriv_core.papers.results import COLUMNS, STATED, read_made, read_rows
from fairpriv_core.papers.results import FOLDER as KEPT
from fairpriv_core.papers.runs import find_runs, list_configs
from fairpriv_core.papers.values import list_paths
from fairpriv_core.store.runs import RunStore, open_store
from fairpriv_core.store.sweeps import SweepStore

FOLDER = Path(__file__).parent.parent / "docs" / "papers"
WORKED_OUT = ("seconds_per_epoch",)
Row = dict[str, Any]


def main() -> None:
    """Keep the results of the presets that are named, and write the documents."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("presets", nargs="*", metavar="ID")
    parser.add_argument("--full", action="store_true", help="keep the full version, not the small one")
    asked = parser.parse_args()
    for name in asked.presets:
        path = find_path(name)
        kept = read_rows(path) if path.exists() else []
        with open_store() as store:
            own = [row for row in kept if row["figure"] == name]
            rows = collect(find_preset(name), store, "full" if asked.full else "small", own)
        write_rows(path, [*(row for row in kept if row["figure"] != name), *rows])
    for path, text in render_documents().items():
        path.write_text(text, encoding="utf-8")


def render_documents() -> dict[Path, str]:
    """Return what is written of the results that are kept: the index, and of each paper its page."""
    made = read_made()
    documents = {FOLDER.with_suffix(".md"): render_index(papers(), made)}
    return documents | {FOLDER / f"{paper.id}.md": render_paper(paper, made) for paper in papers().values()}


def collect(preset: Preset, store: RunStore, version: str, kept: Sequence[Row] = ()) -> list[Row]:
    """Return the rows of a preset, from the store, and else those that are `kept`.

    Raises BadInput where a run has neither finished nor failed, and for a preset that keeps nothing of its own.
    """
    if preset.made_from:
        raise BadInput(f"{preset.id} keeps no runs of its own: keep those of {', '.join(preset.made_from)}.")
    configs = list_configs(preset.pick(version).sweeps)
    runs = with_measured(store, preset.measured, find_runs(store, list(configs)))
    made = {"figure": preset.id, "made": datetime.now(UTC).date().isoformat(), "version": version}
    found = {_name(run.key): made | shorten(run, list_paths(preset)) for run in runs}
    for key, row in SweepStore(store).find(list(configs)).items():
        if row.status == "failed":
            found[key] = made | {"key": key, **split_config(configs[key].to_json()), "failed": str(row.error)}
    found = {_name(row["key"]): {**row, "version": version} for row in kept} | found
    missing = [key for key in configs if key not in found]
    if missing:
        raise BadInput(f"{preset.id}: {len(missing)} of {len(configs)} runs have not finished, first {missing[0]}.")
    return [found[key] for key in configs]


def _name(key: str) -> str:
    """Return the key of a run's config, which has no number of a repeat."""
    return key.partition("-")[0]


def shorten(run: PaperRun, paths: Sequence[str]) -> Row:
    """Return what is kept of a run: its setting and seed, what it states of ε, and its numbers."""
    names = [f"metrics/{run.config['notion']}_gap" if path == "gap" else path for path in paths]
    numbers = {name: run.read(name) for name in names if name not in WORKED_OUT}
    rounded = {name: round(float(value), 5) for name, value in numbers.items() if value is not None}
    own = {name: getattr(run, name) for name in ("key", "seconds", *STATED)}
    return {**own, **split_config(run.config), **rounded}


def split_config(config: Mapping[str, Any]) -> Row:
    """Return a config as it is kept: its seed, and the rest as JSON."""
    setting = {name: value for name, value in config.items() if name != "seed"}
    return {"config": json.dumps(setting, ensure_ascii=False, separators=(",", ":")), "seed": config["seed"]}


def find_path(preset: str) -> Path:
    """Return the file of the paper that a preset's id begins with."""
    return KEPT / f"{preset.partition('.')[0]}.parquet"


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write a paper's table; rows that are alike stand beside each other, so that it is small."""
    ordered = sorted(rows, key=lambda row: (row["figure"], row["config"], row["seed"]))
    paths = sorted({name for row in ordered for name in row} - COLUMNS.keys())
    schema = pa.schema({**COLUMNS, **dict.fromkeys(paths, pa.float64())})
    write_table(pa.Table.from_pylist(ordered, schema), path, compression="zstd", compression_level=19)


if __name__ == "__main__":
    main()
