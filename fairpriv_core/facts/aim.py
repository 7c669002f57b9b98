"""Whether a run reached the gap that it was asked for, and whether there was one to close."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fairpriv_core.data.catalog import problems
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.facts.measures import CountTable, cut_interval, widen
from fairpriv_core.facts.run_facts import RunFacts
from fairpriv_core.methods.base import Method
from fairpriv_core.methods.fields import USUAL_GAP
from fairpriv_core.notions.cells import LABELS
from fairpriv_core.notions.noisy import Apart, Noise, find_apart, gap_interval
from fairpriv_core.notions.notion import Notion
from fairpriv_core.plain import Json
from fairpriv_core.records.release import Kind
from fairpriv_core.stats import Mean, mean_interval, number, spread

Verdict = Literal["yes", "maybe", "no", "unknown"]
VERDICTS: dict[Verdict, str] = {"no": "not reached", "maybe": "perhaps reached", "yes": "reached"}
_MOST_NAMED = 3
_MANY_GROUPS = 4


@dataclass(frozen=True)
class Reached:
    """Whether the gap is what was asked for, in one word and in a sentence.

    "yes" where the 95 % interval of the gap ends at what was asked for or below, "no" where it begins above, "maybe"
    where it does neither, "unknown" where there are no numbers, or none of two groups that are large enough. `asked`
    begins the sentence, `far` says how far groups are apart, and `small` which groups have too few rows.
    """

    verdict: Verdict
    sentence: str
    asked: str
    far: str
    small: str = ""


def judge_aim(runs: Sequence[RunFacts[Kind]], tables: Sequence[CountTable]) -> Reached | None:
    """Return whether finished runs of one setting reached the gap that they aimed at; None where they aimed at none.

    `runs` are the setting's seeds; `tables` are their counts as far as these may be shown, () for none. Groups with too
    few rows are named and not judged. Of several seeds the mean is judged.
    """
    first = runs[0]
    names, target, notion = first.data.groups, first.gap_target, first.notion
    if target is None:
        return None
    points = f"{100 * target:.4g}"
    request = f"You asked for {_call_gap(notion)} of at most {points} {'point' if points == '1' else 'points'}"
    gaps = [pair_gap for counts, noise in tables if (pair_gap := find_apart(counts, notion, noise))]
    if not gaps:
        why = "too few test rows tell" if tables else "no number that may be shown tells"
        return Reached("unknown", f"{request}; {why} whether it was reached.", request, "–")
    gap = fold_apart(gaps, answered=first.data.answered)
    small = sorted({names[group] for pair_gap in gaps for group in pair_gap.small})
    low, high = (gap.mean if end is None else end for end in (gap.low, gap.high))
    assert gap.mean is not None and low is not None and high is not None
    pairs = {pair_gap.pair for pair_gap in gaps}
    first_name, second_name = (names[group] for group in gaps[0].pair)
    data = first.config["data"]
    who = _call_pair(first_name, second_name, data) if len(pairs) == 1 else f"groups of {data['sensitive']}"
    verdict: Verdict = "yes" if high <= target else "no" if low > target else "maybe"
    far = f"{number(max(low, 0.0))} to {number(high)}" if verdict == "maybe" else spread(gap)
    sentence = f"{request}; {who} are {far} apart: {VERDICTS[verdict]}."
    left_out = _name_small(small, noisy=any(noise for _, noise in tables))
    return Reached(verdict, f"{sentence} {left_out}".strip(), request, far, left_out)


def _call_pair(first_name: str, second_name: str, data: Json) -> str:
    """Return how a sentence calls two groups of a config's `data`: "women and men", or "groups 'f' and 'm'"."""
    problem = problems().get(data["dataset"] or "")
    spoken = dict(problem.spoken) if problem else {}
    if first_name in spoken and second_name in spoken:
        return f"{spoken[first_name]} and {spoken[second_name]}"
    return f"groups '{first_name}' and '{second_name}'"


def _call_gap(notion: Notion) -> str:
    """Return a notion's gap with its article: "a gap", or "an equalized odds gap"."""
    if notion.conditions == (None,) and notion.compares == "decisions":
        return "a gap"
    title = notion.title.lower()
    return f"{'an' if title[0] in 'aeiou' else 'a'} {title} gap"


def fold_apart(gaps: Sequence[Apart], *, answered: bool) -> Mean:
    """Return the gap with its interval: one seed's over its rows and noise, of several the mean's over seeds.

    Where groups are `answered`, that of several is `widen`'s.
    """
    gap = gaps[0].gap
    if len(gaps) == 1:
        return Mean(gap.value, gap.low, gap.high, 1)
    mean = cut_interval(mean_interval(pair_gap.gap.value for pair_gap in gaps))
    return widen(mean, [(pair_gap.gap.low, pair_gap.gap.high) for pair_gap in gaps]) if answered else mean


def _name_small(names: Sequence[str], *, noisy: bool) -> str:
    """Return which groups have too few rows; "" where there are none."""
    if not names:
        return ""
    rows = f"too few {'noisy ' if noisy else ''}test rows to say"
    if len(names) == 1:
        return f"Group '{names[0]}' has {rows}."
    listed = [f"'{name}'" for name in names]
    subject = (
        f"Groups {', '.join(listed[:-1])} and {listed[-1]}" if len(names) <= _MOST_NAMED else f"{len(names)} groups"
    )
    return f"{subject} have {rows}."


def format_too_fine(
    notion: Notion, target: float | None, *, tested: int, groups: int, noise: Noise = 0.0
) -> str | None:
    """Return the sentence that so few test rows may not show a gap of `target`, even where there is none; None else.

    It takes groups as equally large, which leaves least in doubt, and their rates as a half, which leaves most. `noise`
    is as of `find_apart`.
    """
    if target is None or not notion.is_of_means:
        return None
    even = np.full((groups, LABELS, LABELS), tested / groups / LABELS**2)
    pair_gap = find_apart(even, notion, noise)
    if pair_gap is not None and pair_gap.gap.high <= target:
        return None
    rows = f"{tested:,} rows in {groups} equal groups"
    doubt = (
        "are too few to tell"
        if pair_gap is None
        else f"leave {number(pair_gap.gap.high)} points in doubt at rates of a half"
    )
    return f"The test rows may not show a gap as small as {100 * target:.4g} points: {rows} {doubt}."


def format_least_gap(method: Method, notion: Notion, data: Dataset, n_train: int) -> str | None:
    """Return which gap a run of `method` (calibrated) can show by what it releases; None where that is enough.

    Enough is what is asked for, with few groups. It reads how many groups are declared, and no group's size.
    """
    limit, target = method.least_gap(notion, data, n_train), getattr(method, "gap_target", None)
    if limit is None or (data.groups < _MANY_GROUPS and (target is None or limit.even <= target)):
        return None
    rows = f"with {n_train:,} rows in {data.groups} equal groups"
    if limit.even >= 1.0:
        return f"What is released can show no gap: {rows} its noise may hide any. Take a larger ε, or merge groups."
    uneven = f"it is {number(limit.uneven)}" if limit.uneven < 1.0 else "it can show none"
    sentence = (
        f"What is released can show a gap of about {number(limit.even)} points: {rows}. Where one is a quarter as "
        f"large, {uneven}."
    )
    if target is not None and limit.even > target:
        sentence += f" You ask for {100 * target:.4g}: ask for more, take a larger ε, or merge groups."
    keeps_gap = getattr(method, "aim", None) == "gap"  # and could keep a bound of it
    aims = " With aim = bound and learner = automatic that is what it aims at." if keeps_gap else ""
    return f"{sentence}{aims}"


def format_no_gap(plain: RunFacts[Kind], target: float | None, notion: Notion) -> str | None:
    """Return that plain training leaves a run no gap to close, as far as its test rows tell; None where it leaves one.

    A run that aims at no gap, `target` None, is held against the one that is usually accepted. `plain` is a run without
    privacy and fairness.
    """
    exact = plain.exact
    gap = None if exact is None else exact.read(notion.metric)
    interval = None if gap is None or exact is None else gap_interval(exact.table[0], notion)
    if interval is None or gap is None:
        return None
    between = f"(95 % interval {100 * interval.low:.2f} to {100 * interval.high:.2f})"
    size = f"{100 * gap.value:.2f} percentage points on the test rows {between}"
    if target is not None and gap.value <= target:
        return f"There is no gap to close here: plain training has a gap of {size}; {100 * target:.4g} are accepted."
    if interval.low <= 0:
        return f"There may be no gap to close here: plain training has a gap of {size}, which may as well be 0."
    if target is None and gap.value <= USUAL_GAP:
        usual = f"{100 * USUAL_GAP:.4g} are usually accepted"
        return f"There is no gap to close here: plain training has a gap of {size}; none is aimed at, and {usual}."
    return None
