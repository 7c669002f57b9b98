"""What the numbers of a verdict are, in words: the quantities, what is expected of them, and what we allow."""

from __future__ import annotations

from collections.abc import Sequence

from fairpriv_core.papers.preset import Best, Check, Claim, Compare, Quantity, Reach, Trend, Value
from fairpriv_core.report.paper_values import Runs, amount, by_config, measure


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
