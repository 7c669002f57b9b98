"""What stands under a paper's figure or table: data, seeds, each line's ε, which settings differ, and what is raw."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from fairpriv_core.papers.preset import ACCURACY, SECONDS, Part, Plot, Preset, Table
from fairpriv_core.report import wording
from fairpriv_core.report.paper_values import ALWAYS, Runs, choose, list_paths, say_alike

_METHOD, _VARIANT = "config/method/name", "config/method/variant"


def describe_runs(preset: Preset, runs: Runs) -> str:
    """Return the sentences under a figure or table."""
    if not runs:
        return "No finished run yet."
    seeds = {run["config"]["seed"] for run in runs}
    alike = say_alike(runs)
    parts = [
        _tell_data(runs),
        wording.ONE_SEED if len(seeds) == 1 else f"Means over {len(seeds)} seeds{_intervals(list_paths(preset))}.",
        _describe_budgets(preset, runs),
        *_describe_settings(preset, runs),
        f"{alike[:1].upper()}{alike[1:]}." if alike else "",
        wording.RAW if is_raw(preset) else "",
    ]
    return " ".join(part for part in parts if part)


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


def _intervals(paths: Sequence[str]) -> str:
    return "" if SECONDS.path in paths else " with 95 % intervals"


def _describe_budgets(preset: Preset, runs: Runs) -> str:
    """Return delta, what ε protects, and the ε of each line by who accounts for it."""
    private = [run for run in runs if run.get("threat_model")]
    if not private:
        return ""
    deltas = " or ".join(wording.delta_text(delta) for delta in sorted({run["config"]["delta"] for run in private}))
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
    ends = list(dict.fromkeys(wording.epsilon_text(value) for value in values[:1] + values[-1:]))
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
