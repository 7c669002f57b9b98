"""Which method to take: the one that was worth most on tables like the one at hand.

The adviser reads what a person says (what is to be protected, whether the group may be known when decisions are made)
and public numbers: rows, groups, notion and budget. It reads no row and no group's size, so that its choice costs
nothing. Its evidence is that of evidence.py.

*The rule.* Of each candidate the mean worth of its fits is taken over the tables, each weighted by how near it lies.
The candidate with the largest mean is advised where it is more than one standard error over tables above the usual
method, which is advised elsewhere (Breiman et al. 1984). Candidates are those that do what is asked: under `record`,
and wherever a gap is named, they can aim at a gap.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from fairpriv_core import checks
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.base import Method, ThreatModel, parameters
from fairpriv_core.methods.catalog import DEFAULT_METHOD, DEFAULT_RECORD_METHOD, methods
from fairpriv_core.notions.catalog import notions, notions_of_means
from fairpriv_core.privacy.gaussian import gaussian_mu
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.records.evidence import GAP, Size, count_like, list_candidates, read_candidates, weigh_fits
from fairpriv_core.records.parameters import read_method_table
from fairpriv_core.stats import Mean, number, spread
from fairpriv_core.text import count_text

AUTO = "auto"
#: of rule and evidence together; a config says which one chose its method
ADVISER = 2
USUAL: Mapping[ThreatModel, str] = {"attribute": DEFAULT_METHOD, "record": DEFAULT_RECORD_METHOD}
#: what `auto` is told beside a config's own fields
ASKED = ("protect", "group_at_decision", "gap_target")
_UNSAID = (
    "method auto must know what is to be protected: say attribute (who is in which group) or record (all that a row "
    "says)."
)
_UNANSWERED = (
    "groups are randomised answers here, and no method that protects whole records reads them: say protect attribute."
)
_TELLING = 0.002  # a gain that is worth a sentence: 0.2 points


@dataclass(frozen=True)
class Question:
    """What a person asks for.

    `by_group` is whether the group may be known when the model decides, `names_gap` whether a gap is named to aim at.
    """

    protect: ThreatModel
    by_group: bool
    notion: str
    epsilon: float
    delta: float
    names_gap: bool = False


@dataclass(frozen=True)
class Advice:
    """What is advised, and why, one sentence each.

    Attributes:
        name: of the candidate.
        settings: the method's table.
        worth: its mean worth on the tables, each weighted by how near it lies; see `find_worth`.
        reasons: what a person reads.
    """

    name: str
    settings: Mapping[str, Any]
    worth: float
    reasons: tuple[str, ...]


def advise(question: Question, size: Size, *, without: str = "") -> Advice:
    """Return the advice; `without` leaves a family of tables out of the evidence, for trying the rule on it.

    BadInput for data that the evidence has nothing like, and for a budget that is none.
    """
    checks.positive(epsilon=question.epsilon)
    checks.open_unit(delta=question.delta)
    if not size.is_like_evidence:
        what = "images" if size.image else f"rows of {size.labels} labels"
        raise BadInput(f"method auto knows tables of two labels alone, and these are {what}: name a method.")
    fits = weigh_fits(question.notion, size, gaussian_mu(question.epsilon, question.delta), without=without)
    means, weights = _average(fits)
    able = [name for name, method in read_candidates().items() if name in means and _suits(method, question, size)]
    if not able:
        raise BadInput(_UNANSWERED, field="protect")
    found = {name: float(np.average(means[name], weights=weights)) for name in able}
    best, usual = max(found, key=found.__getitem__), USUAL[question.protect]
    if size.answered:
        told = _format_reader(best)
    else:
        gain, error = _find_gain(means[best] - means[usual], weights)
        best = best if found[best] - found[usual] > error else usual
        told = _format_choice(best, usual, gain, fits)
    if found[best] <= 0:
        told += (f"On {_name_tables(fits)} it was worth no more than one answer for all: expect little.",)
    if not question.by_group:
        told += _format_group(question, size, found[best], without)
    return Advice(best, list_candidates()[best], found[best], told)


def _suits(method: Method, question: Question, size: Size) -> bool:
    if size.answered and not method.info.reads_answers:
        return False
    if "gap_target" not in parameters(method) and (question.names_gap or question.protect == "record"):
        return False  # docs/results/adviser.md says why
    told = question.by_group or not method.decides_by_group()
    pursues = method.info.pursues(notions()[question.notion])
    return told and pursues and method.info.threat_model == question.protect


def _average(fits: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the mean worth of each candidate on each table (tables, candidates), and how near each lies (tables,).

    A table's means are over its budgets by nearness; its own weight is that of its nearest budget.
    """
    names = [fits.table, fits.setting]
    means = (fits.worth * fits.weight).groupby(names).sum() / fits.weight.groupby(names).sum()
    return means.unstack().dropna(axis=1), fits.weight.groupby(fits.table).max().to_numpy()


def _find_gain(gains: pd.Series, weights: np.ndarray) -> tuple[Mean, float]:
    """Return the weighted mean over tables with its 95 % t interval, and its standard error, infinite of one table.

    Tables count as many as their weights amount to.
    """
    mean = float(np.average(gains, weights=weights))
    count = float(weights.sum() ** 2 / np.square(weights).sum())
    if count < 2:
        return Mean(mean, None, None, 1), math.inf
    variance = float(np.average(np.square(gains - mean), weights=weights)) * count / (count - 1)
    error = math.sqrt(variance / count)
    half = float(stdtrit(count - 1, 0.975)) * error
    return Mean(mean, mean - half, mean + half, round(count)), error


def _format_choice(best: str, usual: str, gain: Mean, fits: pd.DataFrame) -> tuple[str, ...]:
    """Return what is advised, for what it was tried, and by how much it was worth more than the usual method."""
    title, other = (read_candidates()[name].info.title for name in (best, usual))
    tables = _name_tables(fits)
    tried = f"(tried: {notions()[fits.notion.iloc[0]].title.lower()}, a gap of {100 * GAP:.4g} points)"
    if best == usual:
        return (f"Recommended: {title}, the usual method. None was clearly better on {tables} {tried}.",)
    better = f"It did {spread(gain)} points better than {other} there: accuracy at an equal gap, missed gaps deducted."
    return (f"Recommended: {title}, the best on {tables} {tried}. {better}",)


def _format_reader(best: str) -> tuple[str, ...]:
    """Return why a method is advised on randomised answers."""
    title = read_candidates()[best].info.title
    return (f"Recommended: {title}. Groups are randomised answers here, and other methods take them as true.",)


def _name_tables(fits: pd.DataFrame) -> str:
    return f"the {count_text(count_like(fits), 'table')} most like yours"


def _format_group(question: Question, size: Size, worth: float, without: str) -> tuple[str, ...]:
    """Return what deciding by group would gain; () where that is nothing."""
    other = advise(replace(question, by_group=True), size, without=without)
    if other.worth - worth < _TELLING:
        return ()
    title = methods()[str(other.settings["name"])].info.title
    gain = number(other.worth - worth)
    return (f"If the group may be known at decision time, {title} would gain about {gain} points.",)


def settle_method(
    raw: Mapping[str, Any], measure: Callable[[RunConfig], Size], *, data: DataSpec | None = None
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the fields of a config with the advised method in place of `auto`, and why; others as they are.

    `auto` takes `protect`, `group_at_decision` and `gap_target`. `measure` reads the table; `data` as for
    `build_config`. BadInput where what is to be protected is not said, or other settings are wrong.
    """
    table = read_method_table(raw.get("method"))
    if table.get("name") != AUTO:
        for name in set(table) & {"protect", "group_at_decision"}:
            raise BadInput(
                f"{name} is for method {AUTO}, which chooses by it, got '{table[name]}' for method "
                f"'{table.get('name')}'.",
                field=name,
            )
        return dict(raw), ()
    checks.known_names("setting of method 'auto'", tuple(table), ("name", *ASKED))
    if table.get("protect") is None:
        raise BadInput(_UNSAID, field="protect")
    by_group = table.get("group_at_decision", "no")
    checks.one_of(tuple(USUAL), protect=table["protect"])
    checks.one_of(("yes", "no"), group_at_decision=by_group)
    _require_known(raw.get("notion"))
    aim = {name: table[name] for name in ("gap_target",) if name in table}
    usual = build_config({**raw, "method": {"name": USUAL[table["protect"]], **aim}}, data=data)
    assert usual.epsilon is not None
    question = Question(table["protect"], by_group == "yes", usual.notion, usual.epsilon, usual.delta, bool(aim))
    advice = advise(question, measure(usual))
    return {**raw, "method": {**advice.settings, **aim}, "adviser": ADVISER}, advice.reasons


def _require_known(notion: Any) -> None:
    """Raise BadInput for a notion that no evidence is like: its gap is not of means of decisions or errors."""
    if notion in notions() and notion not in notions_of_means():
        able = [name for name, kind in methods().items() if kind.info.pursues(notions()[notion])]
        other = f"name a method that pursues it, such as {able[0]}" if able else "no method pursues it"
        raise BadInput(f"method auto was not tried with notion '{notion}': {other}.", field="notion")
