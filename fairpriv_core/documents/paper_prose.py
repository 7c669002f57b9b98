"""A paper's figure or table as a JSON document, and as text for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from fairpriv_core.figures.figure import FigureData, Series
from fairpriv_core.figures.paper_figures import draw_preset, format_run_sentences, is_raw, list_cells
from fairpriv_core.papers.preset import Paper, Preset
from fairpriv_core.papers.printed import Beside, count_beside, part_readings, set_beside
from fairpriv_core.papers.results import Made, read_made
from fairpriv_core.papers.scoreboard import ClaimRow, format_figure_verdict, list_claims
from fairpriv_core.papers.status import TITLES
from fairpriv_core.papers.values import Runs, amount, place
from fairpriv_core.records.record import RAW

_MOST_SEEDS = 12  # that are named one by one


def list_papers(papers: Mapping[str, Paper]) -> list[dict[str, object]]:
    """Return each paper with its figures and tables, the day of its committed results, and what it waits for."""
    results = read_made()
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
                    "made": results[preset.id].day if preset.id in results else None,
                    "waits_for": preset.waits_for or None,
                    "claims": _claims(preset, results),
                }
                for preset in paper.presets
            ],
        }
        for paper in papers.values()
    ]


def _claims(preset: Preset, results: Mapping[str, Made]) -> list[dict[str, object]]:
    return [_claim(row) for row in list_claims(preset, results[preset.id].runs if preset.id in results else ())]


def _claim(row: ClaimRow) -> dict[str, object]:
    return {"text": row.text, "status": row.status, "seeds": row.seeds, "seeds_needed": row.seeds_needed}


def list_cases(rows: Sequence[ClaimRow]) -> list[dict[str, str]]:
    """Return what a paper says as lines of a table, a line a case."""
    return [
        {
            "what it says": f"{row.says[:1].upper()}{row.says[1:]}",
            "where": row.case,
            "here": TITLES[row.status],
            "ours": row.found,
            "how we take it": row.reading,
            "what is compared": row.compared,
            "what would settle it": row.settles,
            "our proved variant": row.own,
        }
        for row in rows
    ]


def to_document(preset: Preset, version: str, runs: Runs, asked: Sequence[str] = ()) -> dict[str, object]:
    """Return what was found of a preset as JSON: its lines, the printed numbers beside ours, and the cases of claims.

    `asked`: the options by which its runs are others than the version's.
    """
    beside, rows = set_beside(preset, runs), list_claims(preset, runs)
    return {
        "id": preset.id,
        "title": preset.title,
        "sentence": f"{format_figure_verdict(preset, rows, runs)}.",
        "settings": preset.settings,
        "version": version,
        "size": preset.versions[version].size,
        "asked": list(asked),
        "seeds": sorted({run.seed for run in runs}),
        "keys": [run.key for run in runs],
        "lines": list_lines(preset, runs),
        "printed": [asdict(number) for number in beside],
        "printed_note": count_beside(beside) or None,
        "not_printed": preset.not_printed or None,
        "claims": [_claim(row) | {"found": row.found, "source": row.source, "keys": list(row.keys)} for row in rows],
        "cases": list_cases(rows),
        "privacy": preset.privacy,
        "note": f"{format_run_sentences(preset, runs)} {RAW * is_raw(preset, runs)}".rstrip(),
    }


def list_lines(preset: Preset, runs: Runs) -> list[dict[str, str]]:
    """Return a table's lines, or a figure's values: a line for each of its points."""
    figures = draw_preset(preset, runs)
    points = [
        _line(figure, series, at) for figure in figures for series in figure.series for at in range(len(series.y))
    ]
    return points or list_cells(preset, runs)


def _line(figure: FigureData, series: Series, at: int) -> dict[str, str]:
    x, y = series.x[at], series.y[at]
    low, high = (ends[at] if ends else None for ends in (series.low, series.high))
    has_ends = y is not None and low is not None and high is not None
    return {
        "figure": figure.title.partition(": ")[2],
        "what": figure.x.label if figure.horizontal else figure.panels[series.panel].y.label,
        "series": series.name,
        "at": x if isinstance(x, str) else f"{figure.x.title} = {place(x)}",
        "mean": amount(y),
        "95 % interval": f"{amount(low)} to {amount(high)}" if has_ends else "",
    }


def list_beside(beside: Sequence[Beside]) -> list[dict[str, str]]:
    """Return the printed numbers beside ours as lines of a table, the most important first; a column a reading."""
    readings = part_readings(beside)
    return [
        {"what": own[0].label, "printed": own[0].printed}
        | {
            f"{what}{f', {name}' * bool(name)}": text
            for name, number in zip(readings, own, strict=True)
            for what, text in (("ours", number.ours), ("the same?", number.verdict))
        }
        | {"unit": own[0].unit, "where it is printed": own[0].source}
        for own in zip(*readings.values(), strict=True)
    ]


def format_papers(entries: Sequence[Mapping[str, Any]]) -> str:
    """Return one line for each figure and table, under its paper."""
    lines = []
    for paper in entries:
        lines.append(f"{paper['title']} ({paper['citation']})")
        for preset in paper["presets"]:
            results = f"results of {preset['made']}" if preset["made"] else "no results yet"
            about = preset["waits_for"] or f"{results}; small: {preset['versions']['small']}"
            lines.append(f"  {preset['id']:<28} {preset['title']}. {about}")
    return "\n".join(lines)


def _format_seeds(seeds: Sequence[int]) -> str:
    return f"{len(seeds)} seeds from {min(seeds)} to {max(seeds)}"


def format_document(document: Mapping[str, Any]) -> str:
    """Return what `to_document` gives as text for a terminal."""
    options = f", with {' '.join(document['asked'])}" if document["asked"] else ""
    lines = [document["title"], document["sentence"]]
    lines += [f"{document['version']} version: {document['size']}{options}"]
    seeds = document["seeds"]
    lines += [f"seeds {', '.join(map(str, seeds))}" if len(seeds) <= _MOST_SEEDS else _format_seeds(seeds)]
    lines += ["  " + ", ".join(text for text in line.values() if text) for line in document["lines"]]
    for entry in document["printed"]:
        unit = f" {entry['unit']}" if entry["unit"] else ""
        reading = f", {entry['reading']}" if entry["reading"] else ""
        numbers = f"printed {entry['printed']}{unit}, ours{reading} {entry['ours']}{unit}"
        lines.append(f"  {entry['label']}: {numbers}, {entry['verdict']} ({entry['source']})")
    lines += [document["printed_note"] or document["not_printed"] or ""]
    for entry in document["cases"]:
        more = {
            name: text for name, text in entry.items() if name not in ("here", "what it says", "where", "ours") and text
        }
        where = f" ({entry['where']})" if entry["where"] else ""
        lines += [f"{entry['what it says']}{where}: {entry['here']}", f"  {entry['ours']}"]
        lines += [f"  {name}: {text}" for name, text in more.items()]
    lines += [document["settings"], document["privacy"], document["note"]]
    return "\n".join(line for line in lines if line.strip())
