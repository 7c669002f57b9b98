"""What a paper says, held against our runs: one sentence each, made from the numbers, with the runs they are of.

A difference is taken seed by seed where both sides ran the same seeds. A case agrees where the 95 % interval lies
within the bounds, disagrees where it lies outside, and is open where it reaches across: the seeds do not settle it. A
number that has no interval by its nature, such as a time, is judged by itself. What the paper had is judged apart from
our proved variants, which it never had.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from fairpriv_core.papers.differences import compare, list_differences, reach, used_by
from fairpriv_core.papers.preset import Best, Check, Claim, Compare, Part, Preset, Quantity, Reach, Trend, Value
from fairpriv_core.papers.printed import note_unlike
from fairpriv_core.papers.values import (
    Runs,
    amount,
    by_config,
    by_setting,
    check_at,
    choose,
    fold,
    has_interval,
    measure,
    say_alike,
    with_half,
)
from fairpriv_core.stats import Mean


def tell_claim(claim: Claim) -> str:
    """Return what the paper says, in our words, and how we take it."""
    reading = f" We take it as: {claim.reading}." if claim.reading else ""
    return f"The paper says that {claim.says} ({claim.source}).{reading}"


def name_subject(check: Check, cases: Sequence[Runs]) -> str:
    """Return what the numbers of a check are, as the beginning of a sentence; `cases`: the runs of each case."""
    if isinstance(check, Compare | Reach):
        text = _say_spread(check, cases) + _name_difference(check)
    elif isinstance(check, Trend):
        text = _name_trend(check)
    else:
        text = _name_best(check)
    return text[:1].upper() + text[1:]


def _name_trend(check: Trend) -> str:
    value, along = check.what.value, check.along.title.partition(",")[0]
    allowed = f"a step back of up to {amount(check.slack)}{f' {value.unit}' if value.unit else ''} is allowed by us"
    way = "rise" if check.way == "up" else "fall"
    return f"{_inside(value)}{_unit(value)} of {check.what.name}, expected to {way} with {along}; {allowed}"


def _name_best(check: Best) -> str:
    value = check.what.value
    where = f"expected where {check.along.title} is {check.low:g} to {check.high:g}"
    return f"{check.want} {_inside(value)}{_unit(value)} of {check.what.name}, {where}"


def _name_difference(check: Compare | Reach) -> str:
    value = check.one.value
    other = check.other.name if isinstance(check.other, Quantity) else amount(check.other)
    minus = "minus that of" if check.one.of == "spread" else "minus"
    sign, unit = ("over that of", "") if check.as_ratio else (minus, _unit(value))
    level = ""
    if isinstance(check, Reach):
        level = f", each smallest where {_inside(check.level)} is at least {amount(check.at_least)} {check.level.unit}"
    ratio = ", a ratio of means with its interval by the delta method" if check.as_ratio else ""
    return f"{_inside(value)} of {check.one.name} {sign} {other}{unit}{level}{ratio}{_bounds(check)}"


def _say_spread(check: Compare | Reach, cases: Sequence[Runs]) -> str:
    """Return over what the standard deviation is that a check compares, "" where it compares means.

    With more settings than one in a side's runs it is over settings and seeds together.
    """
    spreads = [side for side in (check.one, check.other) if isinstance(side, Quantity) and side.of == "spread"]
    if not spreads:
        return ""
    sides = [by_config(measure(runs, side)[1]) for runs in cases for side in spreads]
    settings = max((len(side) for side in sides), default=0)
    over = f"{settings} settings and all seeds together" if settings > 1 else "seeds"
    return f"standard deviation, over {over}, of "


def _bounds(check: Compare | Reach) -> str:
    if check.low is not None and check.high is not None:
        return f", {amount(check.low)} to {amount(check.high)} expected"
    if check.high is not None:
        return f", at most {amount(check.high)} expected"
    return "" if check.low is None else f", at least {amount(check.low)} expected"


def _inside(value: Value) -> str:
    """Return a value's title as it stands inside a sentence; "ROC-AUC" stays."""
    title = value.title
    return title if title[1:2].isupper() else title[:1].lower() + title[1:]


def _unit(value: Value) -> str:
    return f" ({value.unit})" if value.unit else ""


Standing = Literal["agrees", "mixed", "disagrees", "open"]
State = Literal["agrees", "disagrees", "open"]
_OURS = "Ours, proved, which the paper does not have"
_NO_RUNS = "Open: no finished run to judge by."


@dataclass(frozen=True)
class Verdict:
    """A claim, how it stands with what the paper had, and what says so.

    Attributes:
        told: what the paper says, and how we take it. source: where it stands.
        standing: of the paper alone; "mixed" where its cases differ.
        sentence: the verdict on the paper, with its numbers.
        ours: the sentence on our proved variant; "" where there is none.
        note: which printed numbers of the claim's sides ours do not reproduce; "" for none.
        keys: of the runs that all this was made from.
    """

    statement: str
    source: str
    standing: Standing
    sentence: str
    ours: str
    note: str
    keys: tuple[str, ...]


@dataclass(frozen=True)
class _Finding:
    """One case: its state (None: runs are missing), whether it holds on average, its numbers and its runs."""

    case: str
    state: State | None
    on_average: bool
    words: str
    runs: Runs


def judge_all(preset: Preset, runs: Runs) -> list[Verdict]:
    """Return the verdict on each claim of a figure or table."""
    return [judge(claim, runs, note_unlike(preset.printed, claim.check, runs)) for claim in preset.claims]


def judge(claim: Claim, runs: Runs, note: str = "") -> Verdict:
    """Return the verdict on a claim from run records."""
    found = _look_at_cases(claim, claim.check, runs)
    own = [] if claim.ours is None else _look_at_cases(claim, claim.ours, runs)
    used = [run for one in (*found, *own) for run in one.runs]
    return Verdict(
        tell_claim(claim),
        claim.source,
        _standing([one.state for one in found if one.state]),
        _tell(claim.check, found),
        "" if claim.ours is None else f"{_OURS}: {_tell(claim.ours, own)}",
        note,
        tuple(dict.fromkeys(str(run["key"]) for run in used)),
    )


def _look_at_cases(claim: Claim, check: Check, runs: Runs) -> list[_Finding]:
    return [_look(check_at(check, case), case, choose(runs, case.where)) for case in claim.cases]


def _standing(states: Sequence[State]) -> Standing:
    if not states:
        return "open"
    return states[0] if len(set(states)) == 1 else "mixed"


def _tell(check: Check, found: Sequence[_Finding]) -> str:
    """Return the sentences on all cases of a check."""
    known = [one for one in found if one.state]
    if not known:
        return _NO_RUNS
    mixed = len({one.state for one in known}) > 1
    cases = [(f"{one.case}: " if one.case else "") + one.words + (f" ({one.state})" if mixed else "") for one in known]
    alike = say_alike([run for one in known for run in one.runs])
    subject = name_subject(check, [one.runs for one in known])
    return f"{_lead(known, len(found))}. {subject}: {'; '.join(cases)}{f' ({alike})' if alike else ''}."


def _lead(known: Sequence[_Finding], cases: int) -> str:
    """Return how many cases agree, disagree and are open."""
    counts = Counter(one.state for one in known)
    seeds = len({run["config"]["seed"] for one in known for run in one.runs})
    with_seeds = f"with {seeds} seed{'s' if seeds > 1 else ''}"
    holding = sum(one.on_average for one in known if one.state == "open")
    missing = f" ({cases - len(known)} without runs)" if len(known) < cases else ""
    if counts["open"] == len(known) == cases == 1:
        return f"Open {with_seeds}: on average it {'holds' if holding else 'does not hold'}, not settled"
    of = f"of {len(known)} case{'s' if len(known) > 1 else ''}{missing}"
    if counts["open"] == len(known):
        return f"Open {with_seeds}: on average it holds in {holding} {of}, none settled"
    if cases == 1:
        return "Agrees" if counts["agrees"] else "Disagrees"
    parts = [f"{state} in {counts[state]}" for state in ("agrees", "disagrees") if counts[state]]
    parts += [f"open in {counts['open']}"] if counts["open"] else []
    statement = (
        f" ({with_seeds}; on average it holds in {holding} of the {counts['open']} open)" if counts["open"] else ""
    )
    text = f"{', '.join(parts)} {of}{statement}"
    return text[:1].upper() + text[1:]


def _look(check: Check, case: Part, runs: Runs) -> _Finding:
    if isinstance(check, Compare):
        return _look_at_difference(check, case, runs)
    if isinstance(check, Reach):
        return _look_at_reach(check, case, runs)
    return _look_at_trend(check, case, runs) if isinstance(check, Trend) else _look_at_best(check, case, runs)


def _look_at_difference(check: Compare, case: Part, runs: Runs) -> _Finding:
    found, used = compare(runs, runs, check), used_by(runs, check)
    if found.mean is None:
        return _nothing(case)
    low, high = _limits(check)
    holds, words = low <= found.mean <= high, with_half(found)
    each = list_differences(runs, check) if check.every else []
    if each:
        worst = max(each) if check.low is None else min(each)
        holds = all(low <= one <= high for one in each)
        return _Finding(case.name, "agrees" if holds else "disagrees", holds, f"{words}, worst {amount(worst)}", used)
    bare = check.one.of == "spread" or not has_interval(check.one.value)
    return _Finding(
        case.name,
        _state(found, low, high, bare=bare),
        holds,
        f"{words} (it has no interval)" if bare else words,
        used,
    )


def _look_at_reach(check: Reach, case: Part, runs: Runs) -> _Finding:
    one, other = reach(runs, check.one, check), reach(runs, check.other, check)
    if one and other:
        found = compare(one, other, Compare(check.one, check.other, check.low, check.high, check.as_ratio))
        first, second = (measure(own, side)[0].mean for own, side in ((one, check.one), (other, check.other)))
        if found.mean is None:
            return _nothing(case)
        low, high = _limits(check)
        sign = "over" if check.as_ratio else "minus"
        words = f"{amount(first)} {sign} {amount(second)} is {with_half(found)}"
        state = _state(found, low, high, bare=False)
        return _Finding(case.name, state, low <= found.mean <= high, words, [*one, *other])
    if not one and not other:
        return _nothing(case)
    missing, better = check.other.name if one else check.one.name, bool(one) == (check.high is not None)
    words = f"no setting of {missing} gets there"
    return _Finding(case.name, "agrees" if better else "disagrees", better, words, [*one, *other])


def _look_at_trend(check: Trend, case: Part, runs: Runs) -> _Finding:
    """Look at the change over all values, and at each step against the slack.

    It agrees where the whole change is settled and no mean goes back by more than the slack; it disagrees where the
    interval of the whole change, or of a step back beyond the slack, settles that.
    """
    used = measure(runs, check.what)[1]
    points = [(x, at) for x, at in by_setting(used, check.along) if x is not None]
    if len(points) < 2:
        return _nothing(case)
    sign = 1.0 if check.way == "up" else -1.0
    whole = _signed(check.what, points[-1][1], points[0][1], sign)
    steps = [_signed(check.what, after[1], before[1], sign) for before, after in pairwise(points)]
    keeps = all(step.mean is not None and step.mean >= -check.slack for step in steps)
    against = (whole.high is not None and whole.high <= 0) or any(
        step.high is not None and step.high < -check.slack for step in steps
    )
    settled = whole.low is not None and whole.low > 0
    means = " → ".join(amount(fold(at, check.what.value).mean) for _, at in points)
    words = f"{means} ({check.along.title.partition(',')[0]} {points[0][0]:g} to {points[-1][0]:g})"
    state: State = "disagrees" if against else "agrees" if settled and keeps else "open"
    return _Finding(case.name, state, keeps and (whole.mean or 0.0) > 0, words, used)


def _look_at_best(check: Best, case: Part, runs: Runs) -> _Finding:
    used = measure(runs, check.what)[1]
    points = [(x, fold(at, check.what.value).mean, at) for x, at in by_setting(used, check.along) if x is not None]
    sign = 1.0 if check.want == "smallest" else -1.0
    known = [(sign * mean, x, at) for x, mean, at in points if mean is not None]
    inside = [point for point in known if check.low <= point[1] <= check.high]
    outside = [point for point in known if point not in inside]
    if not inside or not outside:
        return _nothing(case)
    best, first, second = (min(part, key=lambda point: point[0]) for part in (known, inside, outside))
    ahead = _signed(check.what, second[2], first[2], sign)
    words = f"{amount(abs(best[0]))} at {check.along.title} = {best[1]:g}"
    won, lost = ahead.low is not None and ahead.low > 0, ahead.high is not None and ahead.high <= 0
    state: State = "agrees" if won else "disagrees" if lost else "open"
    return _Finding(case.name, state, best in inside, words, used)


def _signed(what: Quantity, one: Runs, other: Runs, sign: float) -> Mean:
    """Return `sign` times the difference of a quantity between two lists of runs."""
    found = compare(one, other, Compare(what, Quantity("", what.value)))
    if found.mean is None or found.low is None or found.high is None:
        return Mean(None if found.mean is None else sign * found.mean, None, None, found.n)
    low, high = sorted((sign * found.low, sign * found.high))
    return Mean(sign * found.mean, low, high, found.n)


def _nothing(case: Part) -> _Finding:
    return _Finding(case.name, None, False, "", [])


def _limits(check: Compare | Reach) -> tuple[float, float]:
    return (-math.inf if check.low is None else check.low), (math.inf if check.high is None else check.high)


def _state(found: Mean, low: float, high: float, *, bare: bool) -> State:
    """Return where the interval lies; `bare`: a number that has none by its nature stands for itself."""
    ends = (found.mean, found.mean) if bare else (found.low, found.high)
    if ends[0] is None or ends[1] is None:
        return "open"
    if low <= ends[0] and ends[1] <= high:
        return "agrees"
    return "disagrees" if ends[1] < low or ends[0] > high else "open"
