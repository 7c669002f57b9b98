"""The results that the first page shows: made earlier by this software, committed with the config that repeats them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fairpriv_core.data.catalog import problems
from fairpriv_core.data.problem import DataJson
from fairpriv_core.facts import wording
from fairpriv_core.facts.tables import Outcome, fold_outcomes, read_outcome
from fairpriv_core.figures.figure import FigureData, from_zero
from fairpriv_core.figures.origin import find_origin
from fairpriv_core.figures.over_epsilon import trade_off
from fairpriv_core.figures.styles import method_style
from fairpriv_core.methods.base import parameters
from fairpriv_core.methods.catalog import REFERENCE_METHOD, methods
from fairpriv_core.notions.catalog import notions
from fairpriv_core.stats import mean_interval, number, spread
from fairpriv_core.text import delta_text

_SELDOM_SET = ("learner", "network", "surrogate", "warmup_epochs")
PATH = Path(__file__).with_name("start_results.json")


@dataclass(frozen=True)
class StartResults:
    """The committed results.

    Attributes:
        outcomes: one for each run.
        data: the reference of the data, such as {"dataset": "adult", "sensitive": "sex"}.
        notion: the name of the notion that was pursued and is reported.
        delta: of every private run.
        command: what a person types to make the file again.
        configs: each setting once, without its seed: with it any run can be repeated.
        made: the day, "2026-11-20".
    """

    outcomes: tuple[Outcome, ...]
    data: DataJson
    notion: str
    delta: float
    command: str
    configs: tuple[Mapping[str, Any], ...]
    made: str

    @property
    def title(self) -> str:
        """What a heading calls the data."""
        return problems()[self.data["dataset"] or ""].title.partition(" (")[0]

    @property
    def budgets(self) -> list[float]:
        """Each ε that there are runs of."""
        return sorted({run.epsilon for run in self.outcomes if run.epsilon is not None})


def read_start_results() -> StartResults:
    """Return the committed results; the file's form is what `examples/make_start_results.py` writes."""
    document = json.loads(PATH.read_text(encoding="utf-8"))
    records = [
        {**run, "config": {**document["configs"][run["setting"]], "seed": run["seed"]}} for run in document["runs"]
    ]
    first = document["configs"][0]
    return StartResults(
        outcomes=tuple(map(read_outcome, records)),
        data=first["data"],
        notion=first["notion"],
        delta=first["delta"],
        command=document["command"],
        configs=tuple(document["configs"]),
        made=document["made"],
    )


def format_costs(results: StartResults, epsilon: float) -> str:
    """Return what privacy and fairness together cost at the stored ε nearest to `epsilon`, as a heading."""
    at = _find_nearest(results, epsilon)
    accuracy, gap = (_mean(results, None, which) for which in ("accuracy", "gap"))
    loss, gap_after = accuracy - _mean(results, at, "accuracy"), _mean(results, at, "gap")
    nearest = "" if math.isclose(at, epsilon) else " (the nearest stored)"
    answers = f"{number(abs(loss))} {'fewer' if loss > 0 else 'more'} right answers in 100"
    moves = f"{'falls' if gap_after < gap else 'rises'} from {number(gap)} to {number(gap_after)} points"
    return f"What it costs on {results.title}: at ε = {at:g}{nearest}, {answers}, and the gap {moves}"


def draw_costs(results: StartResults, epsilon: float) -> FigureData:
    """Return accuracy and gap over ε with names at the lines' ends, and a mark at `epsilon` within their range."""
    notion = notions()[results.notion].title
    mark = epsilon if results.budgets[0] <= epsilon <= results.budgets[-1] else None
    figure = trade_off(fold_outcomes(results.outcomes, {}), dataset=results.title, notion=notion, epsilon=mark)
    at = _find_nearest(results, epsilon)
    caption = f"{_format_change(results, at)} {format_protected(results)} {figure.own}"
    accuracy, gap = figure.panels
    span = from_zero([end for series in figure.series if series.panel == 1 for end in (*series.y, *series.high)])
    return replace(
        figure,
        name="costs",
        panels=(accuracy, replace(gap, y=replace(gap.y, range=span))),
        title=format_costs(results, epsilon),
        series=tuple(replace(series, name=_name_role(series.style), labelled=True) for series in figure.series),
        caption=caption,
        own=caption,
        origin=find_origin([results.data]),
    )


def format_protected(results: StartResults) -> str:
    """Return which method is which line, and what its ε covers."""
    private = {run.method: run for run in results.outcomes if run.threat_model is not None}
    covered = {name: wording.protected(run.threat_model) for name, run in private.items()}
    parts = [
        f"{_name_role(name).capitalize()}: {method_style(name).title}, which protects {what}."
        for name, what in covered.items()
    ]
    accounting = " or ".join(dict.fromkeys(wording.ACCOUNTED[run.variant or "proved"] for run in private.values()))
    return f"{' '.join(parts)} δ = {delta_text(results.delta)}, {accounting}."


def format_settings(results: StartResults) -> dict[str, str]:
    """Return each method's settings in words, by its title.

    Settings that a method makes itself are left out, and so are rare ones at their defaults.
    """
    budgets: dict[tuple[str, str], list[str]] = {}
    for config in results.configs:
        method = dict(config["method"])
        name = method.pop("name")
        parameters_by_name = parameters(methods()[name])
        usual = {own: parameters_by_name[own][1].default for own in _SELDOM_SET if own in parameters_by_name}
        settings = {own: value for own, value in method.items() if value is not None and value != usual.get(own)}
        words = ", ".join(wording.setting_text(name, own, value) for own, value in settings.items())
        budget = "" if config["epsilon"] is None else f"{config['epsilon']:g}"
        budgets.setdefault((method_style(name).title, words), []).append(budget)
    return {title: (f"ε = {', '.join(own)}; " if own[0] else "") + words for (title, words), own in budgets.items()}


def _name_role(name: str) -> str:
    """Return what a line stands for, by what its method does."""
    info = methods()[name].info
    if info.threat_model is None:
        return "no protection"
    return "private and fair" if info.pursues_notion else "private only"


def _find_nearest(results: StartResults, epsilon: float) -> float:
    return min(results.budgets, key=lambda value: abs(math.log(value / epsilon)))


def _list_values(results: StartResults, epsilon: float | None, which: str) -> dict[int, float]:
    """Return accuracy or gap of the private and fair runs at `epsilon`, without one of the reference, by seed."""
    return {
        run.seed: getattr(run, which)
        for run in results.outcomes
        if run.epsilon == epsilon and (run.method == REFERENCE_METHOD or methods()[run.method].info.pursues_notion)
    }


def _mean(results: StartResults, epsilon: float | None, which: str) -> float:
    values = _list_values(results, epsilon, which).values()
    return math.fsum(values) / len(values)


def _format_change(results: StartResults, at: float) -> str:
    """Return how far accuracy and gap moved, with their intervals over seeds."""
    moves = []
    for which in ("accuracy", "gap"):
        before, after = (_list_values(results, epsilon, which) for epsilon in (None, at))
        moves.append(mean_interval(after[seed] - before[seed] for seed in after.keys() & before.keys()))
    accuracy, gap = moves
    return (
        f"At ε = {at:g} against no protection, over {accuracy.n} seeds: accuracy {spread(accuracy)}, "
        f"gap {spread(gap)} points (95 % intervals)."
    )
