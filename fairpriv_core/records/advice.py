"""Which method to take: the one that was worth most on tables like the one at hand.

The adviser reads what a person says (what is to be protected, whether the group may be known when decisions are made)
and public numbers: rows, groups, notion and budget. It reads no row and no group's size, so that its choice costs
nothing. Its evidence is `advice.parquet`, made by `examples/make_advice.py`: fits of every candidate on many tables.

*The rule.* Of each candidate the mean worth of its fits is taken over the tables, each weighted by how near it lies: by
rows times mu, which noise goes by, by rows, and by groups. The candidate with the largest mean is advised where it is
more than one standard error over tables above the usual method, which is advised elsewhere (Breiman et al. 1984).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from fairpriv_core import checks
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.base import Method, ThreatModel, parameters
from fairpriv_core.methods.catalog import DEFAULT_METHOD, DEFAULT_RECORD_METHOD, methods
from fairpriv_core.methods.shared.public_score import AUTOMATIC
from fairpriv_core.notions.catalog import notions, notions_of_means
from fairpriv_core.privacy.gaussian import gaussian_mu
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.records.parameters import read_method, read_method_table
from fairpriv_core.records.plan import DatasetCache
from fairpriv_core.stats import Mean, number, spread
from fairpriv_core.text import count_text

PATH = Path(__file__).with_name("advice.parquet")
AUTO = "auto"
#: of rule and evidence together; a config says which one chose its method
ADVISER = 1
USUAL: Mapping[ThreatModel, str] = {"attribute": DEFAULT_METHOD, "record": DEFAULT_RECORD_METHOD}
GAP = 0.04  # that the evidence's fits were asked for
#: what `auto` is told beside a config's own fields
ASKED = ("protect", "group_at_decision", "gap_target")
_UNSAID = (
    "method auto must know what is to be protected: say attribute (who is in which group) or record (all that a row "
    "says)."
)
_WIDTHS = (0.5, 0.7, 1.0)  # decades of rows times mu, decades of rows, doublings of the number of groups
_LIKE = 0.25  # a table is called like another from this weight on, that of the nearest being 1
_TELLING = 0.002  # a gain that is worth a sentence: 0.2 points
_DELTA = 1e-5  # of the evidence


@dataclass(frozen=True)
class Size:
    """What the adviser knows of a table: training rows, groups, labels, and whether a row is an image."""

    rows: int
    groups: int
    labels: int = 2
    image: bool = False


@dataclass(frozen=True)
class Question:
    """What a person asks for; `by_group` is whether the group may be known when the model decides."""

    protect: ThreatModel
    by_group: bool
    notion: str
    epsilon: float
    delta: float


@dataclass(frozen=True)
class Advice:
    """What is advised, and why, one sentence each.

    Attributes:
        name: of the candidate.
        settings: the method's table.
        worth: its mean worth on the tables, each weighted by how near it lies; see `find_worth`.
        gain: by how much it was worth more than the usual method there, with its interval over tables.
        reasons: what a person reads.
    """

    name: str
    settings: Mapping[str, Any]
    worth: float
    gain: Mean
    reasons: tuple[str, ...]


@cache
def list_candidates() -> Mapping[str, Mapping[str, Any]]:
    """Return the methods' tables that may be advised, by the name that the evidence has for each.

    They are all private methods that pursue a notion, as they ship, and once more with a learner of its own choosing
    where one has it.
    """
    able = {name: kind for name, kind in methods().items() if kind.info.threat_model and kind.info.pursues_notion}
    shipped = {name: {"name": name} for name in able}
    choosing = {
        f"{name}, {AUTOMATIC}": {"name": name, "learner": AUTOMATIC}
        for name, kind in able.items()
        if "learner" in parameters(kind) and AUTOMATIC in parameters(kind)["learner"][0].choices
    }
    return {**shipped, **choosing}


def find_worth(fits: pd.DataFrame) -> pd.Series:
    """Return what each fit is worth, in shares of the rows.

    A fit whose gap is at most what was asked, or not surely above it (95 %), is worth its height over the mixing line:
    what it is more accurate than drawing lots between plain training and one answer for all, at the same gap. Another
    is worth minus the accuracy that it lost against plain training, minus the gap that it missed by. One that gave no
    model is worth minus what plain training gains over one answer for all.
    """
    gained = (fits.plain_accuracy - fits.constant).clip(lower=0.0)
    along = (fits.gap / fits.plain_gap.where(fits.plain_gap > 0)).clip(upper=1.0).fillna(1.0)
    height = fits.accuracy - fits.constant - gained * along
    missed = -(fits.plain_accuracy - fits.accuracy) - (fits.gap - GAP)
    return height.where(fits.gap_low <= GAP, missed).where(fits.accuracy.notna(), -gained)


def advise(question: Question, size: Size, *, without: str = "") -> Advice:
    """Return the advice; `without` leaves a table's family out of the evidence, for trying the rule on it.

    BadInput where nothing that is advised takes such data or pursues the notion.
    """
    able = _list_able(question, size)
    means, weights = _weigh(question, size, without)
    able = [name for name in able if name in means.columns]
    found = {name: float(np.average(means[name], weights=weights)) for name in able}
    best, usual = max(found, key=found.__getitem__), USUAL[question.protect]
    gain, error = _find_gain(means[best] - means[usual], weights)
    if not found[best] - found[usual] > error:
        best, gain = usual, Mean(0.0, None, None, 0)
    told = _say_choice(best, question, found[best], gain, weights)
    if not question.by_group:
        told += _say_group(question, size, found[best], without)
    return Advice(best, list_candidates()[best], found[best], gain, told)


def _list_able(question: Question, size: Size) -> list[str]:
    """Return the candidates that may be advised."""
    if size.labels > 2 or size.image:
        what = "images" if size.image else f"rows of {size.labels} labels"
        raise BadInput(f"method auto knows tables of two labels alone, and these are {what}: name a method.")
    return [name for name, method in _read_candidates().items() if _suits(method, question)]


def _suits(method: Method, question: Question) -> bool:
    told = question.by_group or not method.decides_by_group()
    pursues = method.info.pursues(notions()[question.notion])
    return told and pursues and method.info.threat_model == question.protect


def _weigh(question: Question, size: Size, without: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the mean worth of each candidate on each table (tables, candidates), and how near each lies (tables,).

    A table's numbers are means over its budgets by nearness; its own weight is that of its nearest budget.
    """
    evidence = _read_evidence(_find_like(question.notion))
    evidence = evidence[evidence.family != without] if without else evidence
    place = _place(size.rows, gaussian_mu(question.epsilon, question.delta), size.groups)
    far = (evidence[["noise", "rows", "groups"]].to_numpy() - place) / _WIDTHS
    evidence = evidence.assign(weight=np.exp(-0.5 * np.square(far).sum(axis=1)))
    tables = evidence.groupby("table")
    names = [name for name in list_candidates() if name in evidence]
    sums = evidence[names].mul(evidence.weight, axis=0).groupby(evidence.table).sum()
    return sums.div(tables.weight.sum(), axis=0).dropna(axis=1), tables.weight.max().to_numpy()


def _place(rows: float, mu: float, groups: float) -> tuple[float, float, float]:
    return math.log10(rows * mu), math.log10(rows), math.log2(groups)


def _find_like(notion: str) -> str:
    """Return the notion of the evidence that another is most like: itself, or one that compares the same people."""
    known = _list_tried()
    if notion in known:
        return notion
    among = notions()[notion].conditions
    return max(known, key=lambda name: len({*notions()[name].conditions} & {*among}))


@cache
def _list_tried() -> tuple[str, ...]:
    return tuple(read_fits().notion.unique())


@cache
def _read_candidates() -> Mapping[str, Method]:
    return {name: read_method(settings) for name, settings in list_candidates().items()}


@lru_cache
def _read_evidence(notion: str) -> pd.DataFrame:
    """Return a line for each table and budget: where it lies, and the mean worth of each candidate over seeds."""
    fits = read_fits()
    fits = fits[fits.notion == notion]
    cells = fits.groupby(["table", "epsilon"])
    lines = fits.pivot_table(index=["table", "epsilon"], columns="setting", values="worth")
    at = [
        _place(rows, gaussian_mu(epsilon, _DELTA), groups)
        for (_, epsilon), rows, groups in cells[["rows", "groups"]].first().itertuples(name=None)
    ]
    lines[["noise", "rows", "groups"]] = at
    lines = lines.reset_index()
    lines["family"] = [name_family(table) for table in lines.table]
    return lines


def read_fits() -> pd.DataFrame:
    """Return the evidence: a row a fit, with its `worth`.

    An automatic learner's fit is that of the learner which it chooses, as was found for each split.
    """
    fits = pd.read_parquet(PATH).astype(dict.fromkeys(("table", "notion", "setting", "learner", "failed"), str))
    fits["worth"] = find_worth(fits)
    chosen = zip(fits.setting, fits.learner, strict=True)
    fits["setting"] = [name.replace(f", {learner}", ", automatic") for name, learner in chosen]
    return fits


def name_family(table: str) -> str:
    """Return what a table of the evidence was drawn from: tables of one family are left out together."""
    return table.partition(",")[0]


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


def _say_choice(best: str, question: Question, worth: float, gain: Mean, weights: np.ndarray) -> tuple[str, ...]:
    """Return what is advised, by how much it was worth more, and whether anything was worth it."""
    info, usual = _read_candidates()[best].info, _read_candidates()[USUAL[question.protect]].info
    like = count_text(int((weights >= _LIKE * weights.max()).sum()), "table")
    if info.name == usual.name:
        said = f"Recommended: {info.title}, the usual method. None was clearly better on the {like} most like yours."
    else:
        said = f"Recommended: {info.title}, the best on the {like} most like yours."
        said += f" It gained {spread(gain)} points of accuracy on {usual.title} there, at the same gap."
    if worth > 0:
        return (said,)
    return (said, "There no method was better than one answer for all, with so few rows for this ε: expect little.")


def _say_group(question: Question, size: Size, worth: float, without: str) -> tuple[str, ...]:
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
    question = Question(table["protect"], by_group == "yes", usual.notion, usual.epsilon, usual.delta)
    advice = advise(question, measure(usual))
    return {**raw, "method": {**advice.settings, **aim}, "adviser": ADVISER}, advice.reasons


def _require_known(notion: Any) -> None:
    """Raise BadInput for a notion that no evidence is like: its gap is not of means of decisions or errors."""
    if notion in notions() and notion not in notions_of_means():
        able = [name for name, kind in methods().items() if kind.info.pursues(notions()[notion])]
        other = f"name a method that pursues it, such as {able[0]}" if able else "no method pursues it"
        raise BadInput(f"method auto was not tried with notion '{notion}': {other}.", field="notion")


def read_size(datasets: DatasetCache, config: RunConfig) -> Size:
    """Return the size of a config's table."""
    return count_size(datasets.whole(config))


def count_size(data: Dataset) -> Size:
    """Return the size of a table of which three rows in four are trained on."""
    return Size(data.n * 3 // 4, data.groups, data.labels, data.image is not None)
