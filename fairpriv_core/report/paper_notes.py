"""What stands under a paper's figure or table: data, seeds, each line's ε, which settings differ, and what is raw."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial

from fairpriv_core.papers.preset import ACCURACY, SECONDS, Part, Plot, Preset, Table, Value
from fairpriv_core.report import wording
from fairpriv_core.report.paper_values import (
    ALWAYS,
    Runs,
    by_setting,
    choose,
    count_alike,
    list_paths,
    say_alike,
    shown,
)
from fairpriv_core.text import delta_text, epsilon_text

_METHOD, _VARIANT = "config/method/name", "config/method/variant"


def describe_runs(preset: Preset, runs: Runs) -> str:
    """Return the sentences under a figure or table."""
    if not runs:
        return "No finished run yet."
    alike = say_alike(runs)
    parts = [
        _tell_data(runs),
        _tell_seeds(preset, runs),
        _describe_budgets(preset, runs),
        *_describe_settings(preset, runs),
        f"{alike[:1].upper()}{alike[1:]}." if alike else "",
        wording.RAW if is_raw(preset) else "",
    ]
    return " ".join(part for part in parts if part)


def describe_drawing(preset: Preset, runs: Runs) -> str:
    """Return the sentences under a drawing, or under several that show the runs."""
    return " ".join(part for part in (describe_runs(preset, runs), _say_knobs(preset.drawing, runs)) if part)


def describe_each(preset: Preset, shown_by: Sequence[Runs]) -> list[str]:
    """Return what is said of each of several figures alone, by the runs that it shows: what is not the same of all.

    `describe_drawing` says of all their runs what is left out here.
    """
    alike = any(count_alike(runs)[0] for runs in shown_by)
    tells = (
        _tell_data,
        partial(_tell_seeds, preset),
        lambda runs: f"ε: {budget_text(runs)}.",
        lambda runs: " ".join(_describe_settings(preset, runs)),
        partial(_say_knobs, preset.drawing),
        _tell_alike if alike else lambda _: "",
    )
    said = [[tell(runs) for runs in shown_by] for tell in tells]
    unlike = [each for each in said if len(set(each)) > 1]
    return [" ".join(text for text in texts if text) for texts in zip(*unlike, strict=True)] or [""] * len(shown_by)


def is_raw(preset: Preset) -> bool:
    """Return whether a preset shows more of protected groups than an accuracy or a time."""
    return any(path not in (*ALWAYS, ACCURACY.path, SECONDS.path) for path in list_paths(preset))


def tells_budgets(table: Table) -> bool:
    """Return whether each line of a table is of one method, so that it has an ε."""
    return all(_METHOD in row.where for row in table.rows)


def budget_text(runs: Runs) -> str:
    """Return the ε of runs of one method: "2.35 proved", "3.06 by the paper, not proved", "none"."""
    if not any(run.get("threat_model") for run in runs):
        return "none" if runs else "–"
    proved, claimed = _range(runs, published=False), _range(runs, published=True)
    said = (f"{proved} proved" if proved else "", f"{claimed} by the paper, not proved" if claimed else "")
    return ", ".join(text for text in said if text) or "not proved"


def name_data(runs: Runs) -> list[str]:
    """Return the names of the data sets of runs."""
    return sorted({str(run["config"]["data"]["dataset"]).replace("_", " ") for run in runs})


def _tell_data(runs: Runs) -> str:
    groups = sorted({str(run["config"]["data"]["sensitive"]).lower() for run in runs})
    return f"Data: {' and '.join(name_data(runs))}, by {' and '.join(groups)}."


def _tell_seeds(preset: Preset, runs: Runs) -> str:
    seeds = {run["config"]["seed"] for run in runs}
    return wording.ONE_SEED if len(seeds) == 1 else f"Means over {len(seeds)} seeds{_intervals(list_paths(preset))}."


def _tell_alike(runs: Runs) -> str:
    same, models = count_alike(runs)
    return f"Nearly the same answer for all: {same} of {models} models."


def _intervals(paths: Sequence[str]) -> str:
    return "" if SECONDS.path in paths else " with 95 % intervals"


def _describe_budgets(preset: Preset, runs: Runs) -> str:
    """Return delta, what ε protects, and the ε of each line by who accounts for it."""
    private = [run for run in runs if run.get("threat_model")]
    if not private:
        return ""
    deltas = " or ".join(delta_text(delta) for delta in sorted({run["config"]["delta"] for run in private}))
    protects = " or ".join(wording.protected(model) for model in sorted({run["threat_model"] for run in private}))
    told = f"δ = {deltas}; ε protects {protects}."
    if isinstance(preset.drawing, Table) and tells_budgets(preset.drawing):
        return f"{told} Each line has its ε beside it; where that is by the paper, it is not proved to hold."
    for published, lead in ((False, "ε, proved"), (True, "ε by the paper's own accounting, not proved to hold")):
        names: dict[str, list[str]] = {}
        for part in _parts(preset):
            names.setdefault(_range(choose(private, part.where), published=published), []).append(part.name)
        named = ", ".join(f"{found} ({'; '.join(own)})" for found, own in names.items() if found)
        told += f" {lead}: {named}." if named else ""
    return told


def find_knob(plot: Plot, runs: Runs) -> Value | None:
    """Return the setting that tells the points of a series apart; None where its runs have none."""
    choices = (plot.along,) if isinstance(plot.along, Value) else plot.along
    return next((each for each in choices if any(shown(run, each) is not None for run in runs)), None)


def _say_knobs(drawing: Plot | Table | None, runs: Runs) -> str:
    """Return the sentence on what the numbers at points are, with the lines that have each where they differ."""
    if not isinstance(drawing, Plot) or drawing.kind != "points":
        return ""
    named: dict[str, list[str]] = {}
    for part in drawing.series:
        own = choose(runs, part.where)
        along = find_knob(drawing, own)
        if along is not None and len(by_setting(own, along)) > 1:
            named.setdefault(along.title, []).append(part.name)
    if len(named) == 1:
        return f"Numbers at points: {next(iter(named))}."
    told = "; ".join(f"{title} ({' and '.join(names)})" for title, names in named.items())
    return f"Numbers at points: {told}." if told else ""


def _parts(preset: Preset) -> Sequence[Part]:
    """Return what a preset calls its methods: a figure's series, a table's lines, or its columns."""
    drawing = preset.drawing
    if isinstance(drawing, Table):
        return drawing.rows if tells_budgets(drawing) else tuple(part for part, _ in drawing.columns)
    return drawing.series if isinstance(drawing, Plot) else ()


def _range(runs: Runs, *, published: bool) -> str:
    """Return the ε of the runs that have one by that accounting, from the smallest to the largest; "" for none."""
    chosen = [run for run in runs if (run.get("variant") == "published") == published]
    name = "epsilon_published" if published else "epsilon"
    values = sorted(run[name] for run in chosen if run.get(name) is not None)
    ends = list(dict.fromkeys(epsilon_text(value) for value in values[:1] + values[-1:]))
    return " to ".join(ends)


def _describe_settings(preset: Preset, runs: Runs) -> list[str]:
    """Return for the methods that are shown in both variants in which settings these differ."""
    found: dict[str, list[str]] = {}
    for part in _parts(preset):
        if part.where.get(_VARIANT) == "published":
            own, proved = choose(runs, part.where), choose(runs, {**part.where, _VARIANT: "proved"})
            names = ", ".join(_differing(own, proved)) if own and proved else ""
            found.setdefault(names, []).append(part.name.partition(", as published")[0])
    return [
        f"{' and '.join(methods)}: the proved variant has other settings than the published one ({names}), so where "
        "the two lie apart, that need not be the accounting's doing."
        for names, methods in found.items()
        if names
    ]


def _differing(one: Runs, other: Runs) -> list[str]:
    """Return the names of the method's settings whose values are not the same in both lists of runs."""
    values = [_settings(runs) for runs in (one, other)]
    return sorted(name.replace("_", " ") for name in values[0] if values[0][name] != values[1].get(name))


def _settings(runs: Runs) -> Mapping[str, set[str]]:
    found: dict[str, set[str]] = {}
    for run in runs:
        for name, value in run["config"]["method"].items():
            if name != "variant":
                found.setdefault(name, set()).add(json.dumps(value, sort_keys=True))
    return found
