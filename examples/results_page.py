"""The results page of the documentation, made from exported records: means over seeds with 95 % t intervals.

A page is sections of rows. A row is one setting under several seeds; a section's `each` holds what all of its rows
share. A column is a value of the records by its path ("metrics/accuracy", "metrics/groups/Female/accuracy"); one with
`plain` is shown once more, of the same settings under the plain encoding. A row with `least` or `most` gets a verdict
on its means; one that is `hidden` stands in the records alone.
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
from fairpriv_core.papers.results import read_rows
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.stats import mean_interval

Row = Mapping[str, Any]
Runs = Sequence[Mapping[str, Any]]
Records = dict[str, Mapping[str, Any]]  # by the config's key
#: columns of the records' table that hold JSON; the config has no seed
NESTED = ("config", "event", "versions", "metrics", "certificates")
_MISSING = "–"
_SEEDS = 5
_PLAIN = ENCODINGS[1]


def read_spec(path: Path) -> dict[str, Any]:
    """Return the page's sections as the TOML file has them, each with its rows; one may be text alone."""
    spec = tomllib.loads(path.read_text(encoding="utf-8"))
    for section in spec["section"]:
        each = section.get("each", {})
        rows = section.get("row", [])
        section["row"] = [{**each, **row, "set": {**each.get("set", {}), **row.get("set", {})}} for row in rows]
    return spec


def list_rows(spec: Mapping[str, Any]) -> Iterator[Row]:
    """Yield every row, and after those of a section the same under the plain encoding where columns show that."""
    for section in spec["section"]:
        yield from section["row"]
        if any(column.get("plain") for column in section.get("columns", ())):
            yield from map(encode_plainly, section["row"])


def encode_plainly(row: Row) -> Row:
    """Return a row under the plain encoding; what was asked of the other one is not asked of it."""
    asked = {name: value for name, value in row.items() if name not in ("least", "most")}
    return {**asked, "id": f"{row['id']}-plain", "data": {**row.get("data", {}), "encoding": _PLAIN}}


def read_records(path: Path) -> Records:
    """Return the exported records by the key that their configs have today: a parameter added since has its default."""
    records: Records = {}
    for row in read_rows(path):
        nested = {name: json.loads(str(row[name])) for name in NESTED if name in row}
        config = {**nested["config"], "seed": row["seed"]}
        records[build_config(config).key] = {**row, **nested, "config": config}
    return records


def configs_of(row: Row) -> Iterator[RunConfig]:
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


def name_rows(spec: Mapping[str, Any]) -> dict[str, str]:
    """Return the ids of the rows that show a run, by its key."""
    names: dict[str, str] = {}
    for row in list_rows(spec):
        for config in configs_of(row):
            names[config.key] = f"{names.get(config.key, '')} {row['id']}".strip()
    return names


def render_results(spec: Mapping[str, Any], records: Records) -> str:
    """Return the page as Markdown. Raises BadInput for a run without a record."""
    parts = [f"# {spec['title']}", spec["text"].strip()]
    for section in spec["section"]:
        parts += [f"## {section['title']}", section["text"].strip()]
        parts += [_show(section, records)] if section["row"] else []
    return "\n\n".join(parts) + "\n"


def judge(row: Row, runs: Runs) -> str:
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


def _show(section: Mapping[str, Any], records: Records) -> str:
    columns, rows = section["columns"], section["row"]
    plain = [column for column in columns if column.get("plain")]
    judged = any("least" in row or "most" in row for row in rows)
    heads = ["run", *(column["title"] for column in columns), *(f"{column['title']}, plain" for column in plain)]
    heads += ["asked for", "verdict"] if judged else []
    lines = [_line(heads), _line(["---"] * len(heads))]
    for row in (row for row in rows if not row.get("hidden")):
        own = _runs(row, records)
        cells = [row["label"], *_cells(own, columns)]
        cells += _cells(_runs(encode_plainly(row), records), plain) if plain else []
        lines.append(_line([*cells, *([_asked(row), judge(row, own)] if judged else [])]))
    return "\n".join(lines)


def _runs(row: Row, records: Records) -> Runs:
    keys = [config.key for config in configs_of(row)]
    missing = [key for key in keys if key not in records]
    if missing:
        raise BadInput(f"row '{row['id']}' has no record {missing[0]}; run: python -m examples.make_results run.")
    return [records[key] for key in keys]


def _cells(runs: Runs, columns: Sequence[Mapping[str, Any]]) -> list[str]:
    return [_cell(runs, column["path"], column.get("of", "mean")) for column in columns]


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


def _asked(row: Row) -> str:
    least = [f"{_name(path)} ≥ {bound:g}" for path, bound in row.get("least", {}).items()]
    most = [f"{_name(path)} ≤ {bound:g}" for path, bound in row.get("most", {}).items()]
    return ", ".join([*least, *most])


def _name(path: str) -> str:
    """Return a metric's name in words, and the group that it is of."""
    *above, name = path.split("/")
    return name.replace("_", " ") + (f" of {above[-1]}" if "groups" in above else "")


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
