"""The first sentence on a result: what changed, or what is, with its interval; then two or three reasons.

Everything here is said of numbers that `measured.py` reads. A "before" is compared only with an "after" of numbers
that may be shown to the same people, and a difference whose interval includes 0 is said to be none that can be told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from fairpriv_core.data.catalog import problems
from fairpriv_core.facts.aim import VERDICTS, Reached
from fairpriv_core.facts.measured import Measured, difference, subtract
from fairpriv_core.facts.measures import KINDS, find_worst
from fairpriv_core.facts.run_facts import RunFacts
from fairpriv_core.methods.catalog import REFERENCE_METHOD, methods
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.notion import Compares, Notion
from fairpriv_core.records.release import Kind
from fairpriv_core.stats import Mean, number, spread
from fairpriv_core.text import count_text, short_epsilon_text

_FEW, _MANY = 100, 10_000  # of so many people a share is told, by how sure it is
_SURE = 0.01  # half an interval of a share that is told of many people
_FROM: dict[Kind, str] = {
    "public": "{title} is public data: exact numbers of its test rows.",
    "released": "From noisy counts that ε covers.",
    "raw": "Raw, for the analyst: no ε covers these numbers. Do not publish them.",
}


_KINDS: dict[Kind, str] = {"public": "exact and public", "released": "by noisy counts", "raw": "exact and raw"}
_ANSWERED = "Gaps are estimates from randomised answers, within ε."
_NOTHING = "Nothing that was measured may be shown."
_FOLLOWS = "Accuracy is exact: it follows from the released model and from what ε takes as public."


@dataclass(frozen=True)
class About:
    """What a headline speaks of, as sentences call it.

    `published` are rows that everybody has, `answered` those whose groups are randomised answers.
    """

    title: str
    published: bool
    answered: bool
    attribute: str
    groups: tuple[str, ...]
    names: Mapping[str, str]
    predicted: str | None
    positive: str | None
    notion: Notion

    @property
    def gap(self) -> str:
        """The gap by name: "the gap between women and men"."""
        plain = self.notion.conditions == (None,) and self.notion.compares == "decisions"
        kind = "gap" if plain else f"{self.notion.title.lower()} gap"
        if not self.notion.is_rate:
            return f"the largest {kind} of a group of {self.attribute}"
        if len(self.groups) == 2:
            return f"the {kind} between {self.call(self.groups[0])} and {self.call(self.groups[1])}"
        return f"the largest {kind} between two groups of {self.attribute}"

    @property
    def people(self) -> str:
        """The groups by name: "women and men", of more than two "the groups of race"."""
        if len(self.groups) == 2 and all(group in self.names for group in self.groups):
            return f"{self.call(self.groups[0])} and {self.call(self.groups[1])}"
        return f"the groups of {self.attribute}"

    def call(self, group: str) -> str:
        """Return how a sentence calls a group."""
        return self.names.get(group, group)


@dataclass(frozen=True)
class Headline:
    """What comes first on a result.

    `outcome` says whether what was asked for was reached, "" where nothing was, and `failed` that it was not. Then come
    the sentence, the reasons below it, where the numbers are from, and `note`, which says so.
    """

    outcome: str
    failed: bool
    sentence: str
    reasons: tuple[str, ...]
    kind: Kind
    note: str


def read_about(run: RunFacts[Kind]) -> About:
    """Return what a run's headline speaks of."""
    config_data, data = run.config["data"], run.data
    problem = problems().get(config_data.get("dataset") or "")
    names = dict(problem.spoken) if problem else {}
    usual = problem is not None and config_data.get("label") in (None, problem.labels[0].column.name)
    predicted = f"predicted '{data.positive}'"
    return About(
        title="The file" if problem is None else problem.title,
        published=data.published,
        answered=data.answered,
        attribute=" and ".join(data.sensitive_columns or (data.sensitive,)),  # not how values are grouped
        groups=data.groups,
        names=names,
        predicted=None if data.positive is None else names.get(data.positive, predicted) if usual else predicted,
        positive=data.positive,
        notion=run.notion,
    )


def write_headline(
    settings: Sequence[Measured], about: About, *, before: Measured | None = None, more: Sequence[str | None] = ()
) -> Headline:
    """Return the headline on one setting or several that answer one question.

    `before` is what they are held against, such as training without privacy and fairness; None takes it from among
    several settings. `more` are further reasons, None for none.
    """
    before = before or _find_before(settings)
    shown = [one for one in settings if one is not before] or list(settings)
    kind = find_worst([one.kind for one in shown])
    if before is not None and (before in shown or find_worst([before.kind, kind]) != kind):
        before = None  # its numbers are for fewer people than those of the others
    if len(shown) == 1:
        sentences = [
            _format_one(shown[0], about, before),
            _format_worse(shown[0], before),
            _format_people(shown[0], about),
        ]
    else:
        sentences = _format_several(shown, about, before)
    sentence, *reasons = [one for one in (*sentences, *more) if one]
    where = _FOLLOWS if kind == "public" and not about.published else _FROM[kind].format(title=about.title)
    where = _ANSWERED if kind == "released" and about.answered else where
    where = where if any(one.accuracy.n or one.gap.n for one in shown) else _NOTHING
    note = " ".join((where, *_format_spread(shown, about)))
    outcome, failed = _format_outcome(shown)
    return Headline(outcome, failed, sentence, tuple(reasons), kind, note)


def _format_outcome(shown: Sequence[Measured]) -> tuple[str, bool]:
    """Return whether settings reached what they were asked for, and whether one of them did not."""
    judged = [(one, one.reached) for one in shown if one.reached is not None]
    useless = [one for one in shown if _is_useless(one)]
    failed = bool(useless) or any(reached.verdict == "no" for _, reached in judged)
    sentences = [judged[0][1].sentence] if len(judged) == 1 == len(shown) else _list_reached(judged)
    if useless:
        who = "" if len(shown) == 1 else f" of {' and '.join(one.name for one in useless)}"
        constant = number(useless[0].constant or 0.0)
        sentences.append(f"The accuracy{who} is below the {constant} % of one answer for everybody.")
    return " ".join(sentences), failed


def _list_reached(judged: Sequence[tuple[Measured, Reached]]) -> list[str]:
    """Return a sentence for each gap that was asked for: which settings missed it, and which reached it."""
    sentences = []
    for request in dict.fromkeys(reached.asked for _, reached in judged):
        alike = [pair for pair in judged if pair[1].asked == request]
        sentences.append(f"{request}: {'; '.join(_list_verdicts(alike))}.")
    return [*sentences, *dict.fromkeys(reached.small for _, reached in judged if reached.small)]


def _list_verdicts(judged: Sequence[tuple[Measured, Reached]]) -> list[str]:
    clauses = []
    for verdict, words in VERDICTS.items():
        those = [f"{one.name} at {reached.far}" for one, reached in judged if reached.verdict == verdict]
        clauses += [f"{words} by {' and '.join(those)}"] if those else []
    unknown = [one.name for one, reached in judged if reached.verdict == "unknown"]
    return [*clauses, f"not to be told of {' and '.join(unknown)}"] if unknown else clauses


def _is_useless(setting: Measured) -> bool:
    """Return whether one answer for everybody is right more often, beyond the interval."""
    if setting.constant is None or setting.accuracy.mean is None:
        return False
    return (setting.accuracy.mean if setting.accuracy.high is None else setting.accuracy.high) < setting.constant


def call_people(group: str, about: About) -> str:
    """Return whom a group's share is of: "women", "women whose true label is '1'" or "women predicted '1'"."""
    people = about.names.get(group) or f"people in group '{group}'"
    if about.notion.compares == "labels":
        return f"{people} {about.predicted}"
    label = about.notion.conditions[-1]  # the positive label's, where it is among them
    if label is None or about.notion.compares == "errors" or about.positive is None:
        return people
    return f"{people} whose true label is {'' if label else 'not '}'{about.positive}'"


def format_prediction(about: About) -> str:
    """Return what is counted of people: "are predicted to earn above 50,000 dollars a year"."""
    phrases: dict[Compares, str] = {"errors": "are predicted rightly", "labels": f"are truly '{about.positive}'"}
    return phrases.get(about.notion.compares, f"are {about.predicted}")


def may_be_before(one: Measured, others: Iterable[Measured]) -> bool:
    """Return whether others may be held against a setting: trained for accuracy alone, and not with more protected.

    What protecting whole records costs is no cost of protecting an attribute.
    """
    guarded = methods()[one.method].info.threat_model
    return not one.pursues and all(guarded in (None, methods()[other.method].info.threat_model) for other in others)


def _find_before(settings: Sequence[Measured]) -> Measured | None:
    """Return the one setting among several that the others may be held against, the plain one first; None without."""
    others = {one.method: one for one in settings}.values()  # a store has thousands of settings of a few methods
    candidates = [one for one in settings if may_be_before(one, others)] if len(settings) > 1 else []
    return next((one for one in candidates if one.method == REFERENCE_METHOD), candidates[0] if candidates else None)


def _format_one(after: Measured, about: About, before: Measured | None) -> str:
    """Return what changed from one method to another, or without a `before` what is."""
    gap = _format_move(after, before, "gap", about.gap)
    accuracy = _format_move(after, before, "accuracy", "accuracy")
    parts = [gap or f"{about.gap} may not be shown", accuracy or "accuracy may not be shown"]
    parts = parts if gap else parts[::-1]
    instead = "" if before is None else f" instead of {_call_setting(before)}"
    side = _call_setting(after)
    bare = before is not None and any(_lacks_interval(after, before, which) for which in ("gap", "accuracy"))
    return f"{side[0].upper()}{side[1:]}{instead}: {'; '.join(parts)}.{' No interval compares them.' if bare else ''}"


def _lacks_interval(after: Measured, before: Measured, which: Literal["accuracy", "gap"]) -> bool:
    moved = difference(after, before, which)
    return moved.mean is not None and moved.low is None


def _call_setting(setting: Measured) -> str:
    """Return a method with its ε, as a sentence calls it: "PF-LD at ε = 1", "plain training"."""
    if setting.method == REFERENCE_METHOD:
        return "plain training"
    info = methods()[setting.method].info
    if setting.epsilon is None:
        return info.title if info.threat_model is None else f"{info.title} with no proved ε"
    claim = " as published, not proved" if setting.published else ""
    return f"{info.title} at ε = {short_epsilon_text(setting.epsilon)}{claim}"


def _format_move(after: Measured, before: Measured | None, which: Literal["accuracy", "gap"], name: str) -> str | None:
    now: Mean = getattr(after, which)
    was: Mean | None = None if before is None else getattr(before, which)
    unit = "%" if which == "accuracy" else "points"
    if now.mean is None:
        return None
    if was is None or was.mean is None or before is None:
        none = which == "gap" and now.low is not None and now.low <= 0
        return f"{name} is {spread(now)} {unit}{', which may be none at all' if none else ''}"
    moved = difference(after, before, which)
    if moved.low is None or moved.high is None:
        return f"{name} was {spread(was)} and is {spread(now)} {unit}"
    if moved.low <= 0 <= moved.high:
        return f"{name} does not clearly change: it was {number(was.mean)} and is {spread(now)} {unit}"
    return f"{name} {'falls' if moved.high < 0 else 'rises'} from {number(was.mean)} to {spread(now)} {unit}"


def _format_worse(after: Measured, before: Measured | None) -> str | None:
    """Return which gaps of other notions rose, beyond their intervals; None where none is known to."""
    worse = []
    for name, now in after.gaps.items():
        was = None if before is None else before.gaps.get(name)
        moved = None if was is None else subtract(now, was)
        if was is not None and moved is not None and moved.low is not None and moved.low > 0:
            worse.append(f"{notions()[name].title.lower()} from {number(was.mean or 0.0)} to {spread(now)} points")
    return f"A gap that rose: {'; '.join(worse)}." if worse else None


def _format_several(settings: Sequence[Measured], about: About, before: Measured | None) -> list[str | None]:
    """Return between which settings gap and accuracy lie, noisy and exact numbers apart, then both without fairness."""
    kinds = [kind for kind in KINDS if any(one.kind == kind for one in settings)]
    sentences: list[str | None] = []
    for kind in kinds:
        own = [one for one in settings if one.kind == kind]
        how = f", {_KINDS[kind]}" if len(kinds) > 1 else ""
        sentences.append(
            f"{count_text(len(own), 'setting')}{_format_budgets(own)}{how}: {_format_range(own, 'gap', about.gap)}."
        )
        sentences.append(f"{_format_range(own, 'accuracy', 'Accuracy')}.")
    if before is not None and before.gap.mean is not None and before.accuracy.mean is not None:
        plain = before.method == REFERENCE_METHOD
        start = "Without privacy and fairness" if plain else f"Without fairness ({before.name})"
        sentences.append(f"{start}, gap and accuracy are {spread(before.gap)} points and {spread(before.accuracy)} %.")
    return sentences


def _format_budgets(settings: Sequence[Measured]) -> str:
    budgets = sorted({one.epsilon for one in settings if one.epsilon is not None})
    ends = list(dict.fromkeys(map(short_epsilon_text, budgets[:1] + budgets[-1:])))
    private = sum(one.epsilon is not None for one in settings)
    some = "" if private == len(settings) else f", {private} of them"
    return f"{some} at ε = {' to '.join(ends)}" if budgets else ""


def _format_range(settings: Sequence[Measured], which: Literal["accuracy", "gap"], name: str) -> str:
    known = [one for one in settings if getattr(one, which).mean is not None]
    unit = "%" if which == "accuracy" else "points"
    if not known:
        return f"{name} may not be shown"
    ordered = sorted(known, key=lambda one: float(getattr(one, which).mean))
    low, high = ordered[0], ordered[-1]
    if low is high:
        return f"{name} is {spread(getattr(low, which))} {unit} ({low.name})"
    if spread(getattr(low, which)) == spread(getattr(high, which)):
        return f"{name} is {spread(getattr(low, which))} {unit} in each"
    moved = difference(high, low, which)
    alike = ", with no clear difference" if moved.low is not None and moved.low <= 0 else ""
    called = low.name != high.name
    ends = [f"{spread(getattr(one, which))} {unit}{f' ({one.name})' if called else ''}" for one in (low, high)]
    return f"{name} ranges from {' to '.join(ends)}{alike}"


def _format_people(setting: Measured, about: About) -> str | None:
    """Return the shares that the gap is between in people: of two groups both, of more the smallest and largest."""
    if len(setting.groups) < 2 or about.predicted is None:
        return None
    pair = setting.groups
    if len(pair) > 2:
        pair = min(pair, key=lambda group: group.share), max(pair, key=lambda group: group.share)
    sure = all(group.interval and group.interval[1] - group.interval[0] < 2 * _SURE for group in pair)
    of, places = (_MANY, -1) if sure else (_FEW, 0)
    first, second = (
        f"f {of:,} {call_people(group.name, about)} about {round(group.share * of, places):,.0f}" for group in pair
    )
    return f"O{first} {format_prediction(about)}, o{second}."


def _format_spread(settings: Sequence[Measured], about: About) -> tuple[str, ...]:
    """Return what the intervals are over; () where there is none."""
    counts = {one.gap.n for one in settings if one.gap.low is not None}
    counts |= {one.accuracy.n for one in settings if one.accuracy.low is not None}
    noise = (
        f" and the {'flips' if about.answered else 'noise'}" if any(one.kind == "released" for one in settings) else ""
    )
    words = [f"the sampling of test rows{noise}"] if 1 in counts or (about.answered and counts) else []
    words += ["seeds"] if max(counts, default=0) > 1 else []
    return (f"±: 95 % interval, over {' or over '.join(words)}.",) if words else ()
