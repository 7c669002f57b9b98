"""Write docs/performance.md from the results that the benchmarks left in docs/performance/ and its spec, page.toml.

    python benchmarks/report.py

A gate is a bound on one value of the cells that it selects, the worst of them counting. One that is missed says why.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "docs" / "performance"
PAGE = FOLDER.with_suffix(".md")
MISSING = "–"

Results = Mapping[str, Mapping[str, Any]]  # what each benchmark wrote, by its name
Cell = Mapping[str, Any]


def read_spec(folder: Path = FOLDER) -> dict[str, Any]:
    """Return what the page shows: its texts, gates and tables."""
    return tomllib.loads((folder / "page.toml").read_text(encoding="utf-8"))


def read_results(folder: Path = FOLDER) -> dict[str, Any]:
    """Return the results in `folder` by the names of their files."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}


def render(spec: Mapping[str, Any], results: Results) -> str:
    """Return the page as Markdown; ValueError for a gate that is missed without a reason."""
    parts = [f"# {spec['title']}", spec["text"].strip(), "## Gates", spec["gates"].strip(), _show_gates(spec, results)]
    for table in spec["table"]:
        parts += [f"## {table['title']}", table["text"].strip(), _show_table(table, results)]
    parts += ["## How to repeat it", spec["repeat"].strip(), "## What it was measured on", *_show_machines(results)]
    return "\n\n".join(parts) + "\n"


def judge(gate: Mapping[str, Any], results: Results) -> tuple[float | None, str]:
    """Return the worst value that counts, as the gate words it, and the verdict; None where nothing was measured."""
    cells = select(results.get(gate["file"], {}).get(gate.get("at", "cells"), []), gate.get("where", {}))
    values = [gate.get("scale", 1.0) * cell[gate["value"]] for cell in cells]
    if gate.get("inverse"):
        values = [1.0 / value for value in values]
    if not values:
        return None, "not measured"
    worst = max(values) if "most" in gate else min(values)
    met = worst <= gate["most"] if "most" in gate else worst >= gate["least"]
    if met:
        return worst, "met"
    if not gate.get("why"):
        raise ValueError(f"the gate '{gate['what']}' is missed at {worst:g}: page.toml must say why.")
    return worst, f"**missed**: {gate['why']}"


def select(cells: Sequence[Cell] | Cell, where: Mapping[str, Any]) -> list[Cell]:
    """Return the cells that hold all of `where`; a single cell may stand for a list of one."""
    listed = [cells] if isinstance(cells, Mapping) else cells
    return [cell for cell in listed if all(cell.get(name) == value for name, value in where.items())]


def _show_gates(spec: Mapping[str, Any], results: Results) -> str:
    lines = ["| what | gate | measured | |", "| --- | --- | --- | --- |"]
    for gate in spec["gate"]:
        value, verdict = judge(gate, results)
        bound = f"≤ {gate['most']:g}" if "most" in gate else f"≥ {gate['least']:g}"
        unit = gate.get("unit", "")
        shown = MISSING if value is None else f"{_format(value)}{unit}"
        lines.append(f"| {gate['what']} | {bound}{unit} | {shown} | {verdict} |")
    return "\n".join(lines)


def _show_table(table: Mapping[str, Any], results: Results) -> str:
    """Return a table: a line for each combination of values of `rows`, a column for the cell that fits its `where`."""
    cells = select(results.get(table["file"], {}).get(table.get("at", "cells"), []), table.get("where", {}))
    heads = [*table.get("heads", table["rows"]), *[column["title"] for column in table["columns"]]]
    lines = [_line(heads), _line(["---"] * len(heads))]
    for key in dict.fromkeys(tuple(cell[name] for name in table["rows"]) for cell in cells):
        own = select(cells, dict(zip(table["rows"], key, strict=True)))
        lines.append(_line([*map(_format, key), *[_pick(own, column) for column in table["columns"]]]))
    return "\n".join(lines) if cells else "Not measured."


def _pick(cells: Sequence[Cell], column: Mapping[str, Any]) -> str:
    found = select(cells, column.get("where", {}))
    value = found[0].get(column["value"]) if found else None
    return MISSING if value is None else _format(value)


def _show_machines(results: Results) -> Iterator[str]:
    by_machine: dict[str, list[str]] = {}
    for name, result in results.items():
        machine = result["machine"]
        how = ", a quick look" if result["quick"] else ""
        where = (
            f"{machine['cpu']}, {machine['cores']} cores, {machine['device']}, {machine['threads']} thread; "
            f"Python {machine['python']}, PyTorch {machine['torch']}, Opacus {machine['opacus']}"
        )
        by_machine.setdefault(where, []).append(f"{name} ({machine['measured']}{how})")
    lines = [f"- {where}: {', '.join(names)}." for where, names in by_machine.items()]
    yield "\n".join(lines) if lines else "Nothing was measured."


def _format(value: object) -> str:
    """Return a number with three digits that count, and anything else as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value) or MISSING
    return f"{value:,.0f}" if isinstance(value, int) or abs(value) >= 100 else f"{value:.3g}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    PAGE.write_text(render(read_spec(), read_results()), encoding="utf-8")
