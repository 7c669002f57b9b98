"""A paper's figure or table as a JSON document, and as text for a terminal or Markdown for the documentation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from fairpriv_core.papers.preset import Paper, Preset
from fairpriv_core.papers.results import Made
from fairpriv_core.report.figure import FigureData, Series
from fairpriv_core.report.paper_values import Runs
from fairpriv_core.report.papers import describe_runs, draw_preset, list_cells, set_beside
from fairpriv_core.report.verdicts import judge
from fairpriv_core.report.wording import number

Line = Mapping[str, str]
_HEAD = """# The papers, run again

Every figure and table of the four papers, as this software makes it: our numbers, the printed ones beside them, and
for each thing that a paper says of it a sentence made from our numbers. `fairpriv papers run ID` runs one again, with
`--full` at the paper's size; the page Papers draws them. Means over seeds with 95 % t intervals, on the test split.
This page is written by `python examples/make_papers_results.py` from fairpriv_core/papers/results.json. Numbers on
groups are raw: no ε covers them."""


def list_papers(papers: Mapping[str, Paper]) -> list[dict[str, Any]]:
    """Return each paper with its figures and tables, and what each waits for, as JSON."""
    return [
        {
            "id": paper.id,
            "title": paper.title,
            "citation": paper.citation,
            "presets": [
                {
                    "id": preset.id,
                    "title": preset.title,
                    "versions": {name: version.size for name, version in preset.versions.items()},
                    "waits_for": preset.waits_for or None,
                }
                for preset in paper.presets
            ],
        }
        for paper in papers.values()
    ]


def to_document(preset: Preset, version: str, runs: Runs) -> dict[str, Any]:
    """Return what was found of a preset as JSON: its lines, the printed numbers beside ours, and the verdicts."""
    verdicts = [judge(claim, runs) for claim in preset.claims]
    return {
        "id": preset.id,
        "title": preset.title,
        "version": version,
        "size": preset.versions[version].size,
        "keys": [run["key"] for run in runs],
        "lines": list_lines(preset, runs),
        "printed": [asdict(one) for one in set_beside(preset, runs)],
        "not_printed": preset.not_printed or None,
        "verdicts": [
            {"claim": v.claim.says, "source": v.claim.source, "standing": v.standing, "sentence": v.sentence}
            | {"keys": list(v.keys)}
            for v in verdicts
        ],
        "privacy": preset.privacy,
        "note": describe_runs(preset, runs),
    }


def render_papers(papers: Mapping[str, Paper], made: Mapping[str, Made]) -> str:
    """Return the documentation's page on the papers as Markdown, from the committed results."""
    parts = [_HEAD]
    for paper in papers.values():
        parts += [f"## {paper.title}", f"{paper.citation}."]
        parts += [_section(preset, made.get(preset.id)) for preset in paper.presets]
    return "\n\n".join(parts) + "\n"


def _section(preset: Preset, made: Made | None) -> str:
    """Return what was done, our numbers, the printed ones beside them, and the verdicts."""
    parts = [f"### {preset.title}", f"`{preset.id}`. {preset.shows}"]
    if preset.waits_for:
        return "\n\n".join([*parts, preset.waits_for])
    parts.append(preset.settings)
    if made is None:
        return "\n\n".join([*parts, f"Not run yet: `fairpriv papers run {preset.id}` runs it."])
    size = preset.versions[made.version].size
    parts.append(f"Made by this software on {made.day}: {size}. {describe_runs(preset, made.runs)}")
    parts.append(_table(list_lines(preset, made.runs)))
    beside = [
        {"what": one.label, "printed": one.printed, "ours": one.ours, "unit": one.unit, "where": one.source}
        for one in set_beside(preset, made.runs)
    ]
    parts.append(_table(beside) if beside else preset.not_printed)
    verdicts = [judge(claim, made.runs) for claim in preset.claims]
    parts += [f"- “{one.claim.says}” ({one.claim.source}) **{one.sentence}**" for one in verdicts]
    keys = "\n".join(f"- {number}: {', '.join(one.keys)}" for number, one in enumerate(verdicts, start=1) if one.keys)
    if keys:
        parts.append(f"<details><summary>Keys of the runs behind each sentence</summary>\n\n{keys}\n\n</details>")
    return "\n\n".join(part for part in [*parts, preset.privacy] if part)


def list_lines(preset: Preset, runs: Runs) -> list[dict[str, str]]:
    """Return a table's lines, or a figure's values: a line for each of its points."""
    figures = draw_preset(preset, runs)
    points = [_line(figure, each, at) for figure in figures for each in figure.series for at in range(len(each.y))]
    return points or list_cells(preset, runs)


def _line(figure: FigureData, series: Series, at: int) -> dict[str, str]:
    x, y = series.x[at], series.y[at]
    low, high = (ends[at] if ends else None for ends in (series.low, series.high))
    known = y is not None and low is not None and high is not None
    return {
        "figure": figure.title,
        "what": figure.x.label if figure.horizontal else figure.panels[series.panel].y.label,
        "series": series.name,
        "at": x if isinstance(x, str) else f"{figure.x.title} = {x:.3g}",
        "mean": number(y),
        "95 % interval": f"{number(low)} to {number(high)}" if known else "",
    }


def _table(lines: Sequence[Line]) -> str:
    if not lines:
        return ""
    heads = list(lines[0])
    rows = [heads, ["---"] * len(heads), *[[line[name] for name in heads] for line in lines]]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def describe_papers(listed: Sequence[Mapping[str, Any]]) -> str:
    """Return one line for each figure and table, under its paper."""
    lines = []
    for paper in listed:
        lines.append(f"{paper['title']} ({paper['citation']})")
        for preset in paper["presets"]:
            about = preset["waits_for"] or f"small: {preset['versions']['small']}"
            lines.append(f"  {preset['id']:<28} {preset['title']}. {about}")
    return "\n".join(lines)


def describe_document(document: Mapping[str, Any]) -> str:
    """Return what `to_document` gives as text for a terminal."""
    lines = [document["title"], f"{document['version']} version: {document['size']}"]
    lines += ["  " + ", ".join(text for text in line.values() if text) for line in document["lines"]]
    for one in document["printed"]:
        unit = f" {one['unit']}" if one["unit"] else ""
        lines.append(f"  {one['label']}: printed {one['printed']}{unit}, ours {one['ours']}{unit} ({one['source']})")
    lines += [document["not_printed"] or ""]
    lines += [f"{one['claim']}\n  {one['sentence']}" for one in document["verdicts"]]
    return "\n".join(line for line in [*lines, document["privacy"], document["note"]] if line)
