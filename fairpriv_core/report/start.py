"""The results that the first page shows: made earlier by this software, committed with the config that repeats them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairpriv_core.data.problem import ENCODINGS
from fairpriv_core.methods.base import parameters
from fairpriv_core.methods.catalog import REFERENCE_METHOD, methods
from fairpriv_core.report import wording
from fairpriv_core.report.styles import method_style
from fairpriv_core.report.tables import Outcome, read_outcome
from fairpriv_core.stats import mean_interval

_SELDOM_SET = ("learner", "network", "surrogate", "warmup_epochs")
PATH = Path(__file__).with_name("start_results.json")


@dataclass(frozen=True)
class StartResults:
    """The committed results under one encoding.

    Attributes:
        outcomes: one for each run.
        encoding: how numbers became features.
        encodings: all that there are results of.
        data: the reference of the data, such as {"dataset": "adult", "sensitive": "sex"}.
        notion: the name of the notion that was pursued and is reported.
        delta: of every private run.
        command: what a person types to make the file again.
        configs: each setting once, without its seed: with it any run can be repeated.
        made: the day, "2026-11-20".
    """

    outcomes: tuple[Outcome, ...]
    encoding: str
    encodings: tuple[str, ...]
    data: Mapping[str, Any]
    notion: str
    delta: float
    command: str
    configs: tuple[Mapping[str, Any], ...]
    made: str


def read_start_results(encoding: str = ENCODINGS[0], *, path: Path = PATH) -> StartResults:
    """Return the committed results of an encoding; the file's form is what `examples/make_start_results.py` writes."""
    stored = json.loads(path.read_text(encoding="utf-8"))
    records = [{**run, "config": {**stored["configs"][run["setting"]], "seed": run["seed"]}} for run in stored["runs"]]
    outcomes = [read_outcome(record) for record in records]
    configs = [config for config in stored["configs"] if config["data"].get("encoding", ENCODINGS[0]) == encoding]
    first = configs[0]
    return StartResults(
        outcomes=tuple(outcome for outcome in outcomes if outcome.encoding == encoding),
        encoding=encoding,
        encodings=tuple(dict.fromkeys(outcome.encoding for outcome in outcomes)),
        data=first["data"],
        notion=first["notion"],
        delta=first["delta"],
        command=stored["command"],
        configs=tuple(configs),
        made=stored["made"],
    )


def say_cost(results: StartResults, epsilon: float) -> str:
    """Return what the title asks, at the stored ε nearest to `epsilon`: accuracy given up, and the gap, by method."""
    plain = [run for run in results.outcomes if run.method == REFERENCE_METHOD]
    accuracy, gap = _means(plain)
    at = min(_stored(results), key=lambda value: abs(math.log(value / epsilon)))
    runs: dict[str, list[Outcome]] = {}
    for run in results.outcomes:
        if run.epsilon == at:
            runs.setdefault(run.method, []).append(run)
    parts = [_say_method(own, accuracy) for own in runs.values()]
    return (
        f"{_say_place(results, epsilon, at)}Without privacy and fairness accuracy is {100 * accuracy:.1f} % and the "
        f"gap {100 * gap:.1f} points. At ε = {at:g}: {'; '.join(parts)}."
    )


def say_protected(results: StartResults) -> str:
    """Return which of the methods protects what."""
    titles: dict[str | None, list[str]] = {}
    for method, threat in {run.method: run.threat_model for run in results.outcomes}.items():
        titles.setdefault(threat, []).append(method_style(method).title)
    parts = [
        f"{' and '.join(names)} protect{'s' if len(names) == 1 else ''} {wording.protected(threat)}."
        for threat, names in titles.items()
        if threat is not None
    ]
    return " ".join([*parts, *(["The others protect nothing."] if None in titles else [])])


def describe_settings(results: StartResults) -> dict[str, str]:
    """Return each method's settings in words, by its title.

    What a method sets by itself is left out, and of what few people ever set all that is as usual.
    """
    budgets: dict[tuple[str, str], list[str]] = {}
    for config in results.configs:
        method = dict(config["method"])
        name = method.pop("name")
        known = parameters(methods()[name])
        usual = {own: known[own][1].default for own in _SELDOM_SET if own in known}
        told = {own: one for own, one in method.items() if one is not None and one != usual.get(own)}
        words = ", ".join(wording.setting_text(name, own, one) for own, one in told.items())
        budget = "" if config["epsilon"] is None else f"{config['epsilon']:g}"
        budgets.setdefault((method_style(name).title, words), []).append(budget)
    return {title: (f"ε = {', '.join(own)}; " if own[0] else "") + words for (title, words), own in budgets.items()}


def _stored(results: StartResults) -> list[float]:
    return sorted({run.epsilon for run in results.outcomes if run.epsilon is not None})


def _means(runs: Sequence[Outcome]) -> tuple[float, float]:
    return mean_interval(run.accuracy for run in runs).mean or 0.0, mean_interval(run.gap for run in runs).mean or 0.0


def _say_method(runs: Sequence[Outcome], plain: float) -> str:
    accuracy, gap = _means(runs)
    title, lost = method_style(runs[0].method).title, plain - accuracy
    change = "gains" if lost < 0 else "gives up"
    return f"{title} {change} {100 * abs(lost):.1f} points, gap {100 * gap:.1f}"


def _say_place(results: StartResults, epsilon: float, at: float) -> str:
    stored = _stored(results)
    if not stored[0] <= epsilon <= stored[-1]:
        return f"ε = {epsilon:g} lies outside the stored results, which reach from {stored[0]:g} to {stored[-1]:g}. "
    return "" if math.isclose(epsilon, at) else f"The stored ε nearest to {epsilon:g} is {at:g}. "
