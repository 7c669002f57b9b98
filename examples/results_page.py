"""The results page of the documentation, made from exported records: means over seeds with 95 % t intervals.

A page is sections of rows. A row is one setting under several seeds; a column is a value of the records by its path
("metrics/accuracy", "metrics/groups/Female/accuracy"). A row with `least` or `most` gets a verdict on its means.
A section with `plain_rows_of` has the columns and rows of the section with that title, under the plain encoding.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairpriv_core.data.problem import ENCODINGS
from fairpriv_core.errors import BadInput
from fairpriv_core.notions.catalog import DEFAULT_NOTION
from fairpriv_core.records.config import RunConfig, build_config, find_config
from fairpriv_core.stats import mean_interval

Runs = Sequence[Mapping[str, Any]]
Records = dict[str, Mapping[str, Any]]  # by the config's key
_MISSING = "–"
_SEEDS = 5
_PLAIN = ENCODINGS[1]


def read_spec(path: Path) -> dict[str, Any]:
    """Return the page's sections as the TOML file has them, each with its rows; one may be text alone."""
    spec = tomllib.loads(path.read_text(encoding="utf-8"))
    titled = {section["title"]: section for section in spec["section"]}
    for section in spec["section"]:
        section.setdefault("row", [])
        if (title := section.get("plain_rows_of")) is not None:
            section["columns"] = titled[title]["columns"]
            section["row"] = [_encode_plainly(row) for row in titled[title]["row"]]
    return spec


def _encode_plainly(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row under the plain encoding; what was asked of the other one is not asked of it."""
    asked = {name: value for name, value in row.items() if name not in ("least", "most")}
    return {**asked, "id": f"{row['id']}-plain", "data": {**row.get("data", {}), "encoding": _PLAIN}}


def read_records(path: Path) -> Records:
    """Return the exported records by the key that their configs have today: a parameter added since has its default."""
    stored: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return {build_config(find_config(record) or {}).key: record for record in stored}


def configs_of(row: Mapping[str, Any]) -> Iterator[RunConfig]:
    """Yield the row's config under each of its seeds; BadInput for a setting that there is not."""
    for seed in range(row.get("seeds", _SEEDS)):
        yield build_config(
            {
                "data": {
                    "dataset": row.get("dataset", "adult"),
                    "sensitive": row.get("sensitive", "sex"),
                    **row.get("data", {}),
                },
                "notion": row.get("notion", DEFAULT_NOTION),
                "method": {"name": row["method"], **row.get("set", {})},
                "epsilon": row.get("epsilon"),
                "split": row.get("split", "stratified"),
                "seed": seed,
            }
        )


def render_results(spec: Mapping[str, Any], records: Records) -> str:
    """Return the page as Markdown. Raises BadInput for a run without a record."""
    parts = [f"# {spec['title']}", spec["text"].strip()]
    for section in spec["section"]:
        parts += [f"## {section['title']}", section["text"].strip()]
        parts += _show(section, records) if section["row"] else []
    return "\n\n".join(parts) + "\n"


def list_keys(spec: Mapping[str, Any], records: Records) -> dict[str, list[str]]:
    """Return the keys of each row's records, by the row's id. Raises BadInput for a run without a record."""
    rows = [row for section in spec["section"] for row in section["row"]]
    return {row["id"]: [run["key"] for run in _runs(row, records)] for row in rows}


def judge(row: Mapping[str, Any], runs: Runs) -> str:
    """Return whether the means reach what the row must, in words; a dash where it need not reach anything."""
    if "least" not in row and "most" not in row:
        return _MISSING
    missed = []
    for path, bound in row.get("least", {}).items():
        mean = _mean(runs, path)
        if mean is None or mean < bound:
            missed.append(f"{_name(path)} {_by(bound, mean)} too low")
    for path, bound in row.get("most", {}).items():
        mean = _mean(runs, path)
        if mean is None or mean > bound:
            missed.append(f"{_name(path)} {_by(mean, bound)} too high")
    return "; ".join(missed) or "reached"


def _show(section: Mapping[str, Any], records: Records) -> Iterator[str]:
    columns, rows = section["columns"], section["row"]
    runs = {row["id"]: _runs(row, records) for row in rows}
    judged = any("least" in row or "most" in row for row in rows)
    heads = ["run", *[column["title"] for column in columns], *(["asked for", "verdict"] if judged else [])]
    lines = [_line(heads), _line(["---"] * len(heads))]
    for row in rows:
        own = runs[row["id"]]
        cells = [row["label"], *[_cell(own, column["path"], column.get("of", "mean")) for column in columns]]
        lines.append(_line([*cells, *([_asked(row), judge(row, own)] if judged else [])]))
    yield "\n".join(lines)
    if "after" in section:
        yield section["after"].strip()


def _runs(row: Mapping[str, Any], records: Records) -> Runs:
    keys = [config.key for config in configs_of(row)]
    missing = [key for key in keys if key not in records]
    if missing:
        raise BadInput(f"row '{row['id']}' has no record {missing[0]}; run: python -m examples.make_results run.")
    return [records[key] for key in keys]


def _cell(runs: Runs, path: str, of: str) -> str:
    values = [value for value in (_read(run, path) for run in runs) if value is not None]
    if len(values) < len(runs):
        return _MISSING
    if of in ("largest", "smallest"):
        return f"{(max if of == 'largest' else min)(values):.4f}"
    found = mean_interval(values)
    return f"{found.mean:.4f}" if found.half is None else f"{found.mean:.4f} ± {found.half:.4f}"


def _read(run: Mapping[str, Any], path: str) -> float | None:
    value: Any = run
    for step in path.split("/"):
        if isinstance(value, list):
            value = next((item for item in value if item["name"] == step), None)
        else:
            value = None if value is None else value.get(step)
    return None if value is None else float(value)


def _mean(runs: Runs, path: str) -> float | None:
    values = [_read(run, path) for run in runs]
    found = [value for value in values if value is not None]
    return sum(found) / len(found) if len(found) == len(values) else None


def _by(high: float | None, low: float | None) -> str:
    return "undefined," if high is None or low is None else f"{high - low:.4f}"


def _asked(row: Mapping[str, Any]) -> str:
    least = [f"{_name(path)} ≥ {bound:g}" for path, bound in row.get("least", {}).items()]
    most = [f"{_name(path)} ≤ {bound:g}" for path, bound in row.get("most", {}).items()]
    return ", ".join([*least, *most])


def _name(path: str) -> str:
    """Return a metric's name in words, and the group that it is of."""
    *above, name = path.split("/")
    return name.replace("_", " ") + (f" of {above[-1]}" if "groups" in above else "")


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
