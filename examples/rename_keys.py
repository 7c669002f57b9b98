"""Rewrite the keys of runs wherever they are committed, after a change of what a key depends on.

    python -m examples.rename_keys

Each committed config is written anew with all its settings, and its new key stands wherever the former one stood.
Run `python -m tests.pins write` afterwards: the configs of what it pins are in the code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from examples.make_papers_results import split_config, write_rows
from examples.make_results import RECORDS
from examples.make_results import write_rows as write_results
from examples.make_stored_runs import write_records
from fairpriv_core.figures.start import PATH as START
from fairpriv_core.papers.results import FOLDER as KEPT
from fairpriv_core.papers.results import read_rows
from fairpriv_core.records.config import build_config, name_config
from fairpriv_core.records.parameters import method_to_json, read_method
from fairpriv_core.records.stored import PATH as STORED

ROOT = Path(__file__).parent.parent
FOLDERS = ("docs", "examples", "fairpriv_core", "tests")  # in whose files keys stand
FORMS = (".json", ".md", ".py")
TABLE = ".parquet"
KEY = re.compile(r"\b[0-9a-f]{16}\b")
Json = dict[str, Any]
Named = tuple[str, Json]  # a committed key, without the number of a repeat, and its config in today's form


def main() -> None:
    """Write configs, then keys, and say how many of these have changed."""
    stored = read_stored()
    renamed = {key: name_config(config) for key, config in list_named(stored)}
    for path, content in stored.items():
        if path.suffix == TABLE:
            rows = [{**row, "key": _rename(row["key"], renamed)} for row in content]
            write_results(path, rows) if path == RECORDS else write_rows(path, rows)
        else:
            path.write_text(write_like(path, content), "utf-8")
    for path in (path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in FORMS):
        before = path.read_text("utf-8")
        after = _rename(before, renamed)
        if after != before:
            path.write_text(after, "utf-8")
    print(f"{sum(key != name for key, name in renamed.items()):,} of {len(renamed):,} keys have changed.")


def _rename(text: str, renamed: Mapping[str, str]) -> str:
    return KEY.sub(lambda found: renamed.get(found[0], found[0]), text)


def read_stored() -> dict[Path, Any]:
    """Return what the files hold in which configs are committed, with all their settings said as today."""
    stored = {path: restate(read(path)) for path in (START, STORED)}
    return stored | {path: _restate_rows(read(path)) for path in (RECORDS, *sorted(KEPT.glob(f"*{TABLE}")))}


def read(path: Path) -> Any:
    """Return what one of these files holds."""
    return read_rows(path) if path.suffix == TABLE else json.loads(path.read_text("utf-8"))


def _restate_rows(rows: Sequence[Json]) -> list[Json]:
    """Return rows of a table in which every config is as today's."""
    said = {text: split_config({**restate(json.loads(text)), "seed": 0}) for text in {row["config"] for row in rows}}
    return [{**row, "config": said[row["config"]]["config"]} for row in rows]


def restate(value: Any) -> Any:
    """Return a JSON value in which every config, or its method alone, is as `to_json` writes it."""
    if isinstance(value, list):
        return [restate(each) for each in value]
    if not isinstance(value, dict):
        return value
    if {"data", "notion", "method", "delta"} <= value.keys():
        stated = build_config(value).to_json()
        return {name: one for name, one in stated.items() if name != "seed" or "seed" in value}
    if isinstance(value.get("method"), dict):
        value = {**value, "method": method_to_json(read_method(value["method"]))}
    return {name: restate(each) for name, each in value.items()}


def write_like(path: Path, content: Any) -> str:
    """Return the text of one of the files that are JSON."""
    if path == STORED:
        return write_records(content["records"], content["made"])
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def list_named(stored: Mapping[Path, Any]) -> Iterator[Named]:
    """Yield each committed key with its config."""
    for path, content in stored.items():
        if path == STORED:
            yield from ((record["key"], record["config"]) for record in content["records"])
        elif path == START:
            yield from _list_runs(content["runs"], content["configs"])
        else:
            settings = {text: json.loads(text) for text in {row["config"] for row in content}}
            yield from _list_runs([{**row, "setting": row["config"]} for row in content], settings)


def _list_runs(runs: Sequence[Json], settings: Any) -> Iterator[Named]:
    yield from ((run["key"].partition("-")[0], {**settings[run["setting"]], "seed": run["seed"]}) for run in runs)


if __name__ == "__main__":
    main()
