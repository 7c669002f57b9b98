"""The numbers of run records that a paper's figure or claim speaks of: found by path, folded over seeds."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import stdev

from fairpriv_core.grouping import group_by
from fairpriv_core.papers.paper_run import PaperRun
from fairpriv_core.papers.preset import (
    ACCURACY,
    Best,
    Check,
    Differ,
    Drawing,
    MeanGain,
    PaperTable,
    Part,
    Plot,
    Preset,
    Quantity,
    Reach,
    Trend,
    Value,
    Where,
)
from fairpriv_core.stats import Mean, mean_interval
from fairpriv_core.text import number_text

Runs = Sequence[PaperRun]  # newest first
#: kept of every run, whatever a preset shows: what an accuracy has to beat, and whether the model tells people apart
ALWAYS = ("metrics/constant_accuracy", "same_answer")
_TIME = "seconds_per_epoch"
_ALIKE = 0.95


def shown(run: PaperRun, value: Value) -> float | None:
    """Return a run's number as it is shown; None where it is undefined."""
    number = run.read(value.path)
    if number is None or not math.isfinite(number):
        return None
    return value.scale * float(1.0 - number if value.complement else number)


def choose(runs: Runs, *wheres: Where) -> list[PaperRun]:
    """Return the runs that have all of the given values; what is asked of settings alone is asked once of each."""
    conditions = [
        (path, values if isinstance(values, tuple) else (values,)) for where in wheres for path, values in where.items()
    ]
    if not all(path.startswith("config/") and path != "config/seed" for path, _ in conditions):
        return [run for run in runs if all(run.read(path) in among for path, among in conditions)]
    verdicts: dict[object, bool] = {}  # by setting, which committed results have
    selection = []
    for run in runs:
        setting = id(run) if run.setting is None else run.setting
        if setting not in verdicts:
            verdicts[setting] = all(run.read(path) in among for path, among in conditions)
        if verdicts[setting]:
            selection.append(run)
    return selection


def value_at(value: Value, part: Part) -> Value:
    """Return a value with the step of a column or a case in its paths."""
    mark = value.mark and replace(value.mark, path=_fill(value.mark.path, part))
    return replace(value, path=_fill(value.path, part), mark=mark)


def check_at(check: Check, case: Part) -> Check:
    """Return a check with the step of a case in the paths of its values."""
    if isinstance(check, Trend | Best):
        return replace(check, what=_quantity_at(check.what, case))
    one = _quantity_at(check.one, case)
    if isinstance(check, Differ | MeanGain):
        return replace(check, one=one, other=_quantity_at(check.other, case))
    other = _quantity_at(check.other, case) if isinstance(check.other, Quantity) else check.other
    if isinstance(check, Reach):
        return replace(check, one=one, other=other, level=value_at(check.level, case))
    return replace(check, one=one, other=other)


def _quantity_at(quantity: Quantity, case: Part) -> Quantity:
    return replace(quantity, value=value_at(quantity.value, case))


def _fill(path: str, part: Part) -> str:
    return path.replace("*", part.step)


def fold(runs: Runs, value: Value) -> Mean:
    """Return the mean of a value over runs that differ by seed alone, with its 95 % t interval, as it is shown.

    Times have none: runs that train together are given equal shares.
    """
    mean = mean_interval(shown(run, value) for run in runs)
    return mean if has_interval(value) else Mean(mean.mean, None, None, mean.n)


def has_interval(value: Value) -> bool:
    """Return whether a value differs from seed to seed by itself."""
    return value.path != _TIME


def depends_on_learning(value: Value) -> bool:
    """Return whether a value says something of what was learned: a time and the error of a release do not."""
    return value.path != _TIME and not value.path.startswith("errors/")


def answers_alike(run: PaperRun) -> bool:
    """Return whether a run's model gives 95 of 100 test rows or more the same answer."""
    share = run.read("same_answer")
    return share is not None and share >= _ALIKE


def count_alike(runs: Runs) -> tuple[int, int]:
    """Return how many models hardly tell people apart, and of how many."""
    by_key = {run.key: run for run in runs}
    return sum(answers_alike(run) for run in by_key.values()), len(by_key)


def format_same_answers(runs: Runs) -> str:
    """Return the clause on models that hardly tell people apart, as fair and as accurate as one answer; or ""."""
    same, models = count_alike(runs)
    give = "gives" if same == 1 else "give"
    who = "this one model" if models == 1 else f"of these {models:,} models {same:,}"
    return f"{who} {give} 95 of 100 people or more the same answer" if same else ""


def amount(value: float | None) -> str:
    """Return a number as the papers' figures and tables have it: a true minus, and no minus before zero.

    >>> amount(-0.9), amount(-0.001), amount(None)
    ('−0.90', '0.00', '–')
    """
    text = number_text(value).replace("-", "−")
    return "0.00" if text == "−0.00" else text


def place(x: str | float) -> str:
    """Return where a point lies on its axis: three digits that count, and whole numbers in full.

    >>> place(32768.0), place(0.853412)
    ('32,768', '0.853')
    """
    if isinstance(x, str):
        return x
    return f"{x:,.0f}" if abs(x) >= 1000 else f"{x:.3g}"


def with_half(mean: Mean) -> str:
    """Return a mean with half its 95 % interval, a dash where there is none."""
    return amount(mean.mean) + ("" if mean.half is None else f" ± {amount(mean.half)}")


def measure(runs: Runs, quantity: Quantity) -> tuple[Mean, list[PaperRun]]:
    """Return a quantity and the runs that it is of; a spread has no interval."""
    selection = [run for run in choose(runs, quantity.where) if shown(run, quantity.value) is not None]
    if quantity.of == "mean":
        return fold(selection, quantity.value), selection
    values = [number for run in selection if (number := shown(run, quantity.value)) is not None]
    spread = stdev(values) if len(values) > 1 else None
    return Mean(spread, None, None, len(values)), selection


def by_setting(runs: Runs, along: Value) -> list[tuple[float | None, list[PaperRun]]]:
    """Return the runs at each value of a setting, smallest first; None, for those without it, last."""
    runs_by_value = group_by(runs, lambda run: shown(run, along))
    return sorted(runs_by_value.items(), key=lambda item: math.inf if item[0] is None else item[0])


def by_config(runs: Runs) -> list[list[PaperRun]]:
    """Return the runs of each setting, which differ by seed alone; committed results have a setting's number."""
    return list(group_by(runs, _name_setting).values())


def _name_setting(run: PaperRun) -> object:
    setting = {name: value for name, value in run.config.items() if name != "seed"}
    return json.dumps(setting, sort_keys=True) if run.setting is None else run.setting


def list_paths(preset: Preset) -> list[str]:
    """Return the paths of all results of a run that a preset shows or judges; settings are in its config."""
    judged = [
        check_at(check, case)
        for claim in preset.claims
        for check in (claim.check, claim.ours)
        for case in claim.cases
        if check is not None
    ]
    checks = [*[number.ours for number in preset.printed], *judged]
    values = [*_drawn(preset.drawing), *[value for check in checks for value in _judged(check)]]
    shown_paths = [value.path for value in values if not value.path.startswith("config/")]
    if any(has_interval(value) for value in values):  # times alone say nothing of what was learned
        shown_paths.append(ACCURACY.path)
    marks = [value.mark.path for value in values if value.mark]
    return list(dict.fromkeys([*shown_paths, *ALWAYS, *marks]))


def _drawn(drawing: Drawing | None) -> list[Value]:
    if isinstance(drawing, Plot):
        columns = [Part("", step=str(step)) for step in drawing.steps] or drawing.columns
        return [drawing.x, *[value_at(row, column) for row in drawing.rows for column in columns]]
    return [value for _, value in drawing.columns] if isinstance(drawing, PaperTable) else []


def _judged(check: Check | Quantity) -> list[Value]:
    parts = [check, *[getattr(check, name, None) for name in ("one", "other", "what")]]
    return [part.value for part in parts if isinstance(part, Quantity)] + [
        value for value in [getattr(check, "level", None)] if isinstance(value, Value)
    ]
