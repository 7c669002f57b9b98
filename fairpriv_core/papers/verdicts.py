"""What a paper says, held against our runs: a verdict on each case, made from the numbers, with the runs they are of.

A difference is taken seed by seed where both sides ran the same seeds. A case agrees where the 95 % interval lies
within the bounds, differs where it lies outside, and is open where it reaches across: the seeds do not settle it, and
how many would is said. A promise about single runs is judged by the share of them that break it. What is compared at an
accuracy that the paper does not name must hold at each that its authors' points span, and nothing differs by settings
that are ours because the paper's are lost. Runs that are less accurate than
always the same answer test nothing, but that they are less accurate than others, and none of them is the best. A number
that has no interval by its nature, such as a time, is judged by itself. What the paper had is judged apart from our
proved variants, which it never had.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise, product
from statistics import median

from fairpriv_core.papers.differences import (
    SettingRuns,
    compare,
    list_differences,
    list_pairs,
    list_reaching,
    list_settings,
    reach,
    used_by,
)
from fairpriv_core.papers.gains import CellGain, find_mean, list_gains
from fairpriv_core.papers.paired import count_pairs_needed, find_p
from fairpriv_core.papers.preset import (
    ACCURACY,
    Best,
    Check,
    Compare,
    Differ,
    MeanGain,
    PaperClaim,
    Preset,
    Quantity,
    Reach,
    Trend,
    Value,
)
from fairpriv_core.papers.status import (
    TITLES,
    Status,
    count_seeds_needed,
    count_times_needed,
    find_unlearned,
    stand,
    stand_by_count,
)
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
    with_half,
)
from fairpriv_core.stats import Mean


def name_subject(check: Check, cases: Sequence[Runs]) -> str:
    """Return what the numbers of a check are, as the beginning of a sentence; `cases`: the runs of each case."""
    if isinstance(check, Compare | Reach):
        text = _format_spread(check, cases) + _name_difference(check)
    elif isinstance(check, Trend):
        text = _name_trend(check)
    elif isinstance(check, Differ):
        text = _name_test(check)
    elif isinstance(check, MeanGain):
        text = _name_gain(check)
    else:
        text = _name_best(check)
    return text[:1].upper() + text[1:]


def _name_trend(check: Trend) -> str:
    value, along = check.what.value, _short(check.along)
    slack = f"a step back of up to {amount(check.slack)}{f' {value.unit}' if value.unit else ''} is allowed by us"
    way = "rise" if check.way == "up" else "fall"
    return f"{_inside(value)}{_unit(value)} of {check.what.name}, expected to {way} with {along}; {slack}"


def _name_test(check: Differ) -> str:
    what = f"{_inside(check.one.value)} of {check.one.name} and of {check.other.name}"
    return f"p of a paired t test over seeds of {what}, below {check.below:g} expected at each {_short(check.along)}"


def _name_gain(check: MeanGain) -> str:
    what = f"{_inside(check.one.value)} of {check.one.name} is below that of {check.other.name} (%)"
    level = f"each smallest where {_inside(check.level)} reaches its level"
    half = "half the interval is the mean of the gains' halves, as if all erred together"
    return f"mean gain, by which {what}, {level}; {half}; at least {amount(check.low)} expected"


def _name_best(check: Best) -> str:
    value = check.what.value
    where = f"expected where {check.along.title} is {check.low:g} to {check.high:g}"
    return f"{check.want} {_inside(value)}{_unit(value)} of {check.what.name}, {where}"


def _name_difference(check: Compare | Reach) -> str:
    value = check.one.value
    other = check.other.name if isinstance(check.other, Quantity) else amount(check.other)
    minus = "minus that of" if check.one.of == "spread" else "minus"
    as_ratio = isinstance(check, Compare) and check.as_ratio
    sign, unit = ("over that of", "") if as_ratio else (minus, _unit(value))
    level = ""
    if isinstance(check, Reach):
        span = " to ".join(dict.fromkeys(f"{end:g}" for end in (check.at_least[0], check.at_least[-1])))
        level = f", each smallest where {_inside(check.level)} reaches a level of {span} {check.level.unit}"
    ratio = ", a ratio of means with its interval by the delta method" if as_ratio else ""
    return f"{_inside(value)} of {check.one.name} {sign} {other}{unit}{level}{ratio}{_bounds(check)}"


def _format_spread(check: Compare | Reach, cases: Sequence[Runs]) -> str:
    """Return over what the standard deviation is that a check compares, "" where it compares means.

    With more settings than one in a side's runs it is over settings, at each seed.
    """
    spreads = [side for side in (check.one, check.other) if isinstance(side, Quantity) and side.of == "spread"]
    if not spreads:
        return ""
    sides = [by_config(measure(runs, side)[1]) for runs in cases for side in spreads]
    settings = max((len(side) for side in sides), default=0)
    over = f"{settings} settings, seed by seed" if settings > 1 else "seeds, with an interval by Fisher's F"
    return f"standard deviation, over {over}, of "


def _bounds(check: Compare | Reach) -> str:
    failing = check.failing if isinstance(check, Compare) else None
    where = "" if failing is None else f" at every run but {100.0 * failing:g} %" if failing else " at every run"
    return _format_bounds(check) + where


def _format_bounds(check: Compare | Reach) -> str:
    if check.low is not None and check.high is not None:
        return f", {amount(check.low)} to {amount(check.high)} expected"
    if check.high is not None:
        return f", at most {amount(check.high)} expected"
    return "" if check.low is None else f", at least {amount(check.low)} expected"


def _short(value: Value) -> str:
    return value.title.partition(",")[0]


def _inside(value: Value) -> str:
    """Return a value's title as it stands inside a sentence; "ROC-AUC" stays."""
    title = value.title
    return title if title[1:2].isupper() else title[:1].lower() + title[1:]


def _unit(value: Value) -> str:
    return f" ({value.unit})" if value.unit else ""


_SPAN = "the accuracy at which the paper compares"
_STEP = 0.5  # percent, between levels that are shown beyond those that are judged


@dataclass(frozen=True)
class Finding:
    """One case of a claim: how it stands, and the numbers that say so.

    Attributes:
        case: its name; "" where a claim has one.
        status: "open" without runs too.
        on_average: whether it holds of the means alone.
        words: the numbers, or why nothing is tested; "" without runs.
        seeds: how many the numbers are of.
        seeds_needed: with how many it would be settled, if mean and spread stay; None where that cannot be told.
        runs: that all this was made from.
        settles: what would settle an open one in place of seeds; "" for seeds.
        against: whether it would differ, had the paper printed our settings.
    """

    case: str
    status: Status
    on_average: bool = False
    words: str = ""
    seeds: int = 0
    seeds_needed: int | None = None
    runs: Runs = ()
    settles: str = ""
    against: bool = False


@dataclass(frozen=True)
class Verdict:
    """A claim, how each of its cases stands with what the paper had, and what says so.

    Attributes:
        claim: what the paper says, and how we take it.
        subject: what the numbers are; "" without runs.
        cases: of the paper alone. own: those of our proved variant; none where there is none.
    """

    claim: PaperClaim
    subject: str
    cases: tuple[Finding, ...]
    own: tuple[Finding, ...]


def judge_all(preset: Preset, runs: Runs) -> list[Verdict]:
    """Return the verdict on each claim of a figure or table."""
    return [judge(claim, runs) for claim in preset.claims]


def judge(claim: PaperClaim, runs: Runs) -> Verdict:
    """Return the verdict on a claim from run records."""
    findings = _look_at_cases(claim, claim.check, runs)
    own = [] if claim.ours is None else _look_at_cases(claim, claim.ours, runs)
    samples = [finding.runs for finding in findings if finding.runs]
    return Verdict(claim, name_subject(claim.check, samples) if samples else "", tuple(findings), tuple(own))


def _look_at_cases(claim: PaperClaim, check: Check, runs: Runs) -> list[Finding]:
    findings = [_look(check_at(check, case), case.name, choose(runs, case.where)) for case in claim.cases]
    if not claim.lost:
        return findings
    return [
        replace(finding, status="open", settles=claim.lost, against=True) if finding.status == "differs" else finding
        for finding in findings
    ]


def _look(check: Check, case: str, runs: Runs) -> Finding:
    """Return how a case stands; runs that have learned less than the constant answer test nothing."""
    if isinstance(check, Compare):
        finding = _look_at_difference(check, case, runs)
    elif isinstance(check, Reach):
        finding = _look_at_reach(check, case, runs)
    elif isinstance(check, MeanGain):
        finding = _look_at_gain(check, case, runs)
    elif isinstance(check, Differ):
        finding = _look_at_test(check, case, runs)
    else:
        finding = _look_at_trend(check, case, runs) if isinstance(check, Trend) else _look_at_best(check, case, runs)
    value = check.what.value if isinstance(check, Trend | Best) else check.one.value
    if unlearned := find_unlearned(_list_learners(check, finding.runs), value):
        finding = replace(finding, status="not_tested", words=unlearned)
    elif unlearned := find_unlearned(finding.runs, value):
        finding = replace(finding, words=f"{finding.words}, and the first is {unlearned}")
    return finding if finding.status == "open" else replace(finding, seeds_needed=None)


def _list_learners(check: Check, runs: Runs) -> Runs:
    """Return the runs that must have learned: where one side is said to be less accurate, those of the other."""
    if not isinstance(check, Compare) or not isinstance(check.other, Quantity):
        return runs
    is_lower = check.one.value == ACCURACY and check.one.of == "mean" and check.low is None
    return choose(runs, check.other.where) if is_lower else runs


def _look_at_difference(check: Compare, case: str, runs: Runs) -> Finding:
    if check.failing is not None:
        return _look_at_runs(check, case, runs, check.failing)
    difference, bare = compare(runs, runs, check), not has_interval(check.one.value)
    words = with_half(difference) + (" (it has no interval)" if bare else "")
    return _settle(case, difference, _limits(check), words, used_by(runs, check), bare=bare)


def _settle(
    case: str, number: Mean, limits: tuple[float, float], words: str, runs: Runs, *, bare: bool = False
) -> Finding:
    """Return how a case stands, of which a number must lie within `limits`."""
    if number.mean is None:
        return Finding(case, "open")
    holds, needed = limits[0] <= number.mean <= limits[1], count_seeds_needed(number, *limits)
    return Finding(case, stand(number, *limits, bare=bare), holds, words, number.n, needed, runs)


def _look_at_runs(check: Compare, case: str, runs: Runs, limit: float) -> Finding:
    """Look at single runs: by how many the bounds are broken, beside the share that may break them."""
    sample, differences = used_by(runs, check), list_differences(runs, check)
    if not differences:
        return Finding(case, "open")
    low, high = _limits(check)
    failures, seeds = sum(not low <= difference <= high for difference in differences), _count_seeds(sample)
    status, least, most = stand_by_count(failures, len(differences), limit)
    worst = max(differences) if check.low is None else min(differences)
    share = f"{failures} of {len(differences)} runs fail, worst {amount(worst)}"
    words = f"{share} ({100.0 * least:.1f} to {100.0 * most:.1f} %, {100.0 * limit:g} % allowed)" if limit else share
    times = count_times_needed(failures, len(differences), limit)
    return Finding(case, status, failures <= limit * len(differences), words, seeds, times and times * seeds, sample)


def _look_at_reach(check: Reach, case: str, runs: Runs) -> Finding:
    """Look at each level, and beyond those that are judged as far as both sides reach."""
    sides = [list_settings(runs, side, check.level) for side in (check.one, check.other)]
    best = min(max((setting.level.mean or 0.0 for setting in side), default=0.0) for side in sides)
    top = check.at_least[-1]
    beyond = [top + _STEP * step for step in range(1, 1 + max(0, math.floor((best - top) / _STEP)))]
    known: dict[tuple[int, int], Finding] = {}
    by_level = {level: _look_at_level(check, case, level, sides, known) for level in (*check.at_least, *beyond)}
    judged = {level: by_level[level] for level in check.at_least}
    ends = "; ".join(
        f"at {level:g} %, {judged[level].words}"
        for level in dict.fromkeys((check.at_least[0], top))
        if judged[level].runs
    )
    return _join_levels(
        case, list(judged.values()), f"{_format_levels(by_level)}; {ends}" if len(by_level) > 1 else ends
    )


def _join_levels(case: str, findings: Sequence[Finding], words: str) -> Finding:
    """Return how a case stands at all its levels: open where these do not say the same."""
    used = list({run.key: run for one in findings for run in one.runs}.values())
    if not used:
        return Finding(case, "open")
    statuses = {one.status for one in findings}
    status = findings[0].status if len(statuses) == 1 else "open"
    waits = [one.seeds_needed for one in findings if one.status == "open"]
    settles = _SPAN if {"agrees", "differs"} <= statuses else ""
    needed = None if settles or None in waits else max((one for one in waits if one is not None), default=None)
    seeds = min(one.seeds for one in findings if one.runs)
    return Finding(case, status, all(one.on_average for one in findings), words, seeds, needed, used, settles)


def _format_levels(levels: Mapping[float, Finding]) -> str:
    """Return how a case stands along the levels: "agrees up to 82.5 %, differs from 83 %"."""
    parts = [(status, [x for x, _ in own]) for status, own in groupby(levels.items(), key=lambda item: item[1].status)]
    texts = []
    for place, (status, xs) in enumerate(parts):
        span = f"at {xs[0]:g}" if len(xs) == 1 else f"{xs[0]:g} to {xs[-1]:g}"
        if len(parts) > 1 and place in (0, len(parts) - 1):
            span = f"from {xs[0]:g}" if place else f"up to {xs[-1]:g}"
        texts.append(f"{TITLES[status]} {span} %")
    return ", ".join(texts)


def _look_at_level(
    check: Reach, case: str, level: float, sides: Sequence[Sequence[SettingRuns]], known: dict[tuple[int, int], Finding]
) -> Finding:
    """Look at the two settings that are taken; open where one that other seeds might pick says the opposite.

    `known` has what was found of two settings before.
    """

    def look(one: Runs, other: Runs) -> Finding:
        key = (id(one) if one else 0, id(other) if other else 0)
        if key not in known:
            known[key] = _look_at_settings(check, case, one, other)
        return known[key]

    one, other = (reach(settings, level) for settings in sides)
    finding = look(one, other)
    may = [list_reaching(settings, level) for settings in sides]
    statuses = {look(*pair).status for pair in product(*may) if pair != (one, other)}
    if finding.status == "open" or not {"agrees", "differs"} <= statuses | {finding.status}:
        return finding
    needed = _count_for_level([(own, level) for own in (*may[0], *may[1]) if own], check.level)
    words = f"{finding.words}, and the opposite at a setting that other seeds might pick"
    return replace(finding, status="open", words=words, seeds_needed=needed)


def _count_for_level(settings: Iterable[tuple[Runs, float]], level: Value) -> int | None:
    """Return with how many seeds it would be settled which of the settings reach their levels; None for too many."""
    waits = [count_seeds_needed(fold(own, level), least, math.inf) for own, least in settings]
    return None if None in waits else max(wait for wait in waits if wait is not None)


def _look_at_settings(check: Reach, case: str, one: Runs, other: Runs) -> Finding:
    rival = check.other
    if one and (other or not isinstance(rival, Quantity)):
        difference = compare(one, other, Compare(check.one, rival, check.low, check.high))
        first, second = measure(one, check.one)[0].mean, _find_mean(other, rival)
        words = f"{amount(first)} minus {amount(second)} is {with_half(difference)}"
        return _settle(case, difference, _limits(check), words, [*one, *other])
    if not one and not other:
        return Finding(case, "open")
    lacking = rival.name if one and isinstance(rival, Quantity) else check.one.name
    better = bool(one) == (check.high is not None)
    words = f"no setting of {lacking} gets there"
    sample = [*one, *other]
    return Finding(case, "agrees" if better else "differs", better, words, _count_seeds(sample), None, sample)


def _find_mean(runs: Runs, side: Quantity | float) -> float | None:
    return measure(runs, side)[0].mean if isinstance(side, Quantity) else side


def _look_at_gain(check: MeanGain, case: str, runs: Runs) -> Finding:
    """Look at the mean gain over the cells, at the lowest and at the highest level of each."""
    findings = [_look_at_gains(check, case, list_gains(check, runs, at)) for at in (0, -1)]
    ends = zip(("lowest", "highest"), findings, strict=True)
    return _join_levels(case, findings, "; ".join(f"at the {end} levels {finding.words}" for end, finding in ends))


def _look_at_gains(check: MeanGain, case: str, cells: Sequence[CellGain]) -> Finding:
    """Look at the mean gain at one level a cell; open where settings that other seeds might pick say the opposite.

    Each cell has its own choice of settings, so that all choices are covered by the best and the worst of each cell.
    """
    if not cells:
        return Finding(case, "open")
    sample = [run for cell in cells for run in cell.runs]
    gains = [cell.gain.mean for cell in cells if cell.gain.mean is not None]
    if len(gains) < len(cells):
        lacking = "; ".join(cell.name for cell in cells if cell.gain.mean is None)
        words = f"no mean, as no setting of a side gets there ({lacking})"
        return Finding(case, "open", words=words, seeds=_count_seeds(sample), runs=sample)
    mean = find_mean([cell.gain for cell in cells])
    words = f"{with_half(mean)}, over {len(cells)} gains whose median is {amount(median(gains))}"
    finding = _settle(case, mean, (check.low, math.inf), words, sample)
    agrees = finding.status == "agrees"
    opposite = sum(cell.worst if agrees else cell.best for cell in cells) / len(cells)
    if finding.status == "open" or (opposite >= check.low) == agrees:
        return finding
    needed = _count_for_level([(own, cell.at_least) for cell in cells for own in cell.may], check.level)
    words = f"{words}, and the opposite at settings that other seeds might pick"
    return replace(finding, status="open", words=words, seeds_needed=needed)


def _look_at_trend(check: Trend, case: str, runs: Runs) -> Finding:
    """Look at the change over all values, and at each step against the slack.

    It agrees where the whole change is settled and no mean goes back by more than the slack; it differs where the
    interval of the whole change, or of a step back beyond the slack, settles that.
    """
    sample = measure(runs, check.what)[1]
    points = [(x, at) for x, at in by_setting(sample, check.along) if x is not None]
    if len(points) < 2:
        return Finding(case, "open")
    sign = 1.0 if check.way == "up" else -1.0
    whole = _signed(check.what, points[-1][1], points[0][1], sign)
    steps = [_signed(check.what, after[1], before[1], sign) for before, after in pairwise(points)]
    back = [step for step in steps if step.mean is None or step.mean < -check.slack]
    holds = not back and (whole.mean or 0.0) > 0
    against = any(stand(step, -check.slack, math.inf) == "differs" for step in back)
    status = stand(whole, 0.0, math.inf)
    status = "differs" if against else "open" if status == "agrees" and back else status
    waits = [count_seeds_needed(step, -check.slack, math.inf) for step in back] or [
        count_seeds_needed(whole, 0.0, math.inf)
    ]
    needed = min((seeds for seeds in waits if seeds is not None), default=None)
    means = " → ".join(amount(fold(at, check.what.value).mean) for _, at in points)
    words = f"{means} ({check.along.title.partition(',')[0]} {points[0][0]:g} to {points[-1][0]:g})"
    return Finding(case, status, holds, words, whole.n, needed, sample)


def _look_at_test(check: Differ, case: str, runs: Runs) -> Finding:
    sides = Compare(check.one, check.other)
    sample = used_by(runs, sides)
    settings = dict(by_setting(sample, check.along))
    level = settings.pop(None, [])  # of a side without that setting: the same at each of its values
    points = [(x, list_pairs([*at, *level], [*at, *level], sides)) for x, at in settings.items()]
    tests = [(p, x, pairs) for x, pairs in points if (p := find_p(pairs)) is not None]
    if not tests:
        return Finding(case, "open")
    p, x, _ = max(tests, key=lambda point: point[0])
    words = f"p is at most {p:.2g}, at {_short(check.along)} = {x:g}"
    seeds = min(len(pairs) for _, _, pairs in tests)
    if p < check.below:
        return Finding(case, "agrees", True, words, seeds, runs=sample)
    waits = [count_pairs_needed(pairs, check.below) for _, _, pairs in tests]
    counts = [count for count in waits if count is not None]
    return Finding(case, "open", False, words, seeds, max(counts) if len(counts) == len(waits) else None, sample)


def _look_at_best(check: Best, case: str, runs: Runs) -> Finding:
    sample = measure(runs, check.what)[1]
    settings = [(x, at) for x, at in by_setting(sample, check.along) if x is not None]
    unlearned = [x for x, at in settings if find_unlearned(at, check.what.value)]
    points = [(x, fold(at, check.what.value).mean, at) for x, at in settings if x not in unlearned]
    sign = 1.0 if check.want == "smallest" else -1.0
    known = [(sign * mean, x, at) for x, mean, at in points if mean is not None]
    inside = [point for point in known if check.low <= point[1] <= check.high]
    outside = [point for point in known if point not in inside]
    if not inside or not outside:
        return Finding(case, "open", runs=sample)
    best, first, second = (min(part, key=lambda point: point[0]) for part in (known, inside, outside))
    ahead = _signed(check.what, second[2], first[2], sign)
    words = f"{amount(abs(best[0]))} at {check.along.title} = {best[1]:g}"
    if unlearned:
        names = " and ".join(f"{x:g}" for x in unlearned)
        words += f" (left out, as less accurate than always the same answer: {names})"
    needed = count_seeds_needed(ahead, 0.0, math.inf)
    learned = [run for _, _, at in known for run in at]
    return Finding(case, stand(ahead, 0.0, math.inf), best in inside, words, ahead.n, needed, learned)


def _signed(what: Quantity, one: Runs, other: Runs, sign: float) -> Mean:
    """Return `sign` times the difference of a quantity between two lists of runs."""
    difference = compare(one, other, Compare(what, Quantity("", what.value)))
    if difference.mean is None or difference.low is None or difference.high is None:
        return Mean(None if difference.mean is None else sign * difference.mean, None, None, difference.n)
    low, high = sorted((sign * difference.low, sign * difference.high))
    return Mean(sign * difference.mean, low, high, difference.n)


def _count_seeds(runs: Runs) -> int:
    return len({run.seed for run in runs})


def _limits(check: Compare | Reach) -> tuple[float, float]:
    return (-math.inf if check.low is None else check.low), (math.inf if check.high is None else check.high)
