"""What a paper claims, held against our runs: one sentence each, made from the numbers, with the runs they are of.

A difference is taken seed by seed where both sides ran the same seeds. A verdict is on means; where the 95 % interval
of a difference reaches across the bound, the sentence says that the seeds do not settle it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from fairpriv_core.papers.preset import Best, Check, Claim, Compare, Part, Quantity, Reach, Trend, Value
from fairpriv_core.report.differences import compare, list_pairs, reach, used_by
from fairpriv_core.report.paper_values import Runs, answers_alike, by_setting, choose, fold, measure
from fairpriv_core.report.tables import Mean
from fairpriv_core.report.wording import number

Standing = Literal["agrees", "agrees in part", "disagrees", "open"]


@dataclass(frozen=True)
class Verdict:
    """A claim, how it stands, the sentence that says so, and the keys of the runs that it was made from."""

    claim: Claim
    standing: Standing
    sentence: str
    keys: tuple[str, ...]


@dataclass(frozen=True)
class _Finding:
    """One case: whether it holds (None: runs are missing), whether the seeds settle it, its numbers and its runs."""

    case: str
    holds: bool | None
    settled: bool
    words: str
    runs: Runs


def judge(claim: Claim, runs: Runs) -> Verdict:
    """Return the verdict on a claim from run records."""
    found = [_look(claim.check, case, choose(runs, case.where)) for case in claim.cases]
    known = [one for one in found if one.holds is not None]
    keys = tuple(dict.fromkeys(str(run["key"]) for one in known for run in one.runs))
    if not known:
        return Verdict(claim, "open", "Open: no finished run to judge by.", ())
    holding = sum(bool(one.holds) for one in known)
    standing: Standing = "agrees in part" if 0 < holding < len(known) else "agrees" if holding else "disagrees"
    cases = "; ".join(f"{one.case}: {one.words}" if one.case else one.words for one in known)
    sentence = f"{_lead(standing, holding, known, len(found))}: {_subject(claim.check)}: {cases}{_alike(known)}."
    return Verdict(claim, standing, sentence, keys)


def _look(check: Check, case: Part, runs: Runs) -> _Finding:
    if isinstance(check, Compare):
        return _look_at_difference(check, case, runs)
    if isinstance(check, Reach):
        return _look_at_reach(check, case, runs)
    return _look_at_trend(check, case, runs) if isinstance(check, Trend) else _look_at_best(check, case, runs)


def _look_at_difference(check: Compare, case: Part, runs: Runs) -> _Finding:
    found, each = compare(runs, runs, check), list_pairs(runs, runs, check)
    if found.mean is None:
        return _nothing(case)
    low, high = _limits(check)
    used, words = used_by(runs, check), _with_half(found)
    if check.every and each:
        worst = max(each) if check.low is None else min(each)
        return _Finding(
            case.name, all(low <= one <= high for one in each), True, f"{words}, worst {_minus(worst)}", used
        )
    holds = low <= found.mean <= high
    return _Finding(case.name, holds, _is_settled(found, low, high, holds=holds), words, used)


def _look_at_reach(check: Reach, case: Part, runs: Runs) -> _Finding:
    one, other = reach(runs, check.one, check), reach(runs, check.other, check)
    if one and other:
        ends = Compare(check.one, check.other, check.low, check.high, check.as_ratio)
        found = compare(one, other, ends)
        means = [number(measure(own, side)[0].mean) for own, side in ((one, check.one), (other, check.other))]
        if found.mean is None:
            return _nothing(case)
        low, high = _limits(check)
        holds = low <= found.mean <= high
        words = f"{means[0]} and {means[1]}, {_with_half(found)}"
        return _Finding(case.name, holds, _is_settled(found, low, high, holds=holds), words, [*one, *other])
    if not one and not other:
        return _nothing(case)
    missing = check.other.name if one else check.one.name
    return _Finding(
        case.name, bool(one) == (check.high is not None), True, f"no setting of {missing} gets there", [*one, *other]
    )


def _look_at_trend(check: Trend, case: Part, runs: Runs) -> _Finding:
    used = measure(runs, check.what)[1]
    points = [(x, fold(at, check.what.value).mean, at) for x, at in by_setting(used, check.along) if x is not None]
    means = [mean for _, mean, _ in points if mean is not None]
    if len(means) < 2:
        return _nothing(case)
    sign = 1.0 if check.way == "up" else -1.0
    steps = [sign * (after - before) for before, after in pairwise(means)]
    holds = sign * (means[-1] - means[0]) > 0 and min(steps) >= -check.slack
    ends = Compare(check.what, Quantity("", check.what.value))
    change = compare(points[-1][2], points[0][2], ends)
    words = f"{' → '.join(number(mean) for mean in means)} ({check.along.title} {points[0][0]:g} to {points[-1][0]:g})"
    return _Finding(case.name, holds, _is_settled(change, 0.0, 0.0, holds=False), words, used)


def _look_at_best(check: Best, case: Part, runs: Runs) -> _Finding:
    used = measure(runs, check.what)[1]
    points = [(x, fold(at, check.what.value).mean, at) for x, at in by_setting(used, check.along) if x is not None]
    known = [(mean if check.want == "smallest" else -mean, x, at) for x, mean, at in points if mean is not None]
    inside = [point for point in known if check.low <= point[1] <= check.high]
    outside = [point for point in known if point not in inside]
    if not inside or not outside:
        return _nothing(case)
    best, first, second = (min(part, key=lambda point: point[0]) for part in (known, inside, outside))
    gap = compare(first[2], second[2], Compare(check.what, Quantity("", check.what.value)))
    words = f"{number(abs(best[0]))} at {check.along.title} = {best[1]:g}"
    return _Finding(case.name, best in inside, _is_settled(gap, 0.0, 0.0, holds=False), words, used)


def _nothing(case: Part) -> _Finding:
    return _Finding(case.name, None, True, "", [])


def _limits(check: Compare | Reach) -> tuple[float, float]:
    return (-math.inf if check.low is None else check.low), (math.inf if check.high is None else check.high)


def _is_settled(found: Mean, low: float, high: float, *, holds: bool) -> bool:
    """Return whether the interval lies on one side of the bounds; a number without an interval settles what it can."""
    if found.low is None or found.high is None:
        return found.n != 1
    inside = low <= found.low and found.high <= high
    return inside if holds else found.high < low or found.low > high


def _lead(standing: Standing, holding: int, known: Sequence[_Finding], cases: int) -> str:
    """Return how the sentence begins."""
    lead = standing[0].upper() + standing[1:]
    if cases > 1:
        lead = (
            f"{lead.removesuffix(' in part')} in {holding} of {len(known)} cases" if holding else f"{lead} in all cases"
        )
    if len(known) < cases:
        lead += f" ({cases - len(known)} without runs)"
    unsettled = sum(not one.settled for one in known)
    if not unsettled:
        return lead
    which = "which" if cases == 1 else f"{unsettled} of which"
    return f"{lead}, {which} the seeds do not settle"


def _alike(known: Sequence[_Finding]) -> str:
    """Return the clause on models that do not tell people apart: they are fair, and as accurate as one answer is."""
    runs = {run["key"]: run for one in known for run in one.runs}
    same = sum(answers_alike(run) for run in runs.values())
    return f" (of these {len(runs)} models {same} give nearly everybody the same answer)" if same else ""


def _subject(check: Check) -> str:
    """Return what the numbers of the sentence are."""
    if isinstance(check, Compare | Reach):
        return _difference_words(check)
    value = check.what.value
    lead = f"{check.want} " if isinstance(check, Best) else ""
    return f"{lead}{_inside(value)}{_unit(value)} of {check.what.name}"


def _difference_words(check: Compare | Reach) -> str:
    value, spread = check.one.value, "spread over seeds of " if check.one.of == "spread" else ""
    other = check.other.name if isinstance(check.other, Quantity) else number(check.other)
    sign, unit = ("over", "") if check.as_ratio else ("minus", _unit(value))
    level = ""
    if isinstance(check, Reach):
        level = f", each smallest where {_inside(check.level)} is at least {number(check.at_least)} {check.level.unit}"
    return f"{spread}{_inside(value)} of {check.one.name} {sign} {other}{unit}{level}{_bounds(check)}"


def _bounds(check: Compare | Reach) -> str:
    if check.low is not None and check.high is not None:
        return f", {_minus(check.low)} to {_minus(check.high)} expected"
    if check.high is not None:
        return f", at most {_minus(check.high)} expected"
    return "" if check.low is None else f", at least {_minus(check.low)} expected"


def _inside(value: Value) -> str:
    """Return a value's title as it stands inside a sentence; "ROC-AUC" stays."""
    title = value.title
    return title if title[1:2].isupper() else title[:1].lower() + title[1:]


def _unit(value: Value) -> str:
    return f" ({value.unit})" if value.unit else ""


def _with_half(found: Mean) -> str:
    return _minus(found.mean) + ("" if found.half is None else f" ± {number(found.half)}")


def _minus(value: float | None) -> str:
    return number(value).replace("-", "−")
