"""Whether a run reached the gap that it was asked for, and whether there was one: by test rows. Raw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.noisy import gap_interval
from fairpriv_core.notions.rates import TWO

USUAL_GAP = 0.04  # what a person accepts who has set nothing: where the slider stands on Train


@dataclass(frozen=True)
class Reached:
    """Whether the gap is what was asked for, in one word and in a sentence.

    "yes" where the gap of the test rows is at most that, "maybe" where it is more and their 95 % interval, or too few
    rows, leave it open, else "no".
    """

    verdict: Literal["yes", "maybe", "no"]
    sentence: str


def judge_aim(record: Mapping[str, Any]) -> Reached | None:
    """Return whether a run reached the gap that it aimed at; None where it aimed at none or has no gap.

    `record` is a record's JSON.
    """
    config, measured = record["config"], record["metrics"]
    target, notion = config["method"].get("gap_target"), notions()[config["notion"]]
    gap = None if measured is None else measured[notion.metric]
    if target is None or gap is None:
        return None
    asked, shown = f"at most {100 * target:.4g} were asked for.", f"{100 * gap:.2f} percentage points on the test rows"
    found = gap_interval(count_decisions(measured), notion)
    if found is None:
        return Reached("maybe", f"Gap: {shown}; {asked} A group has too few test rows to say more.")
    shown = f"{shown} (95 % interval {100 * found.low:.2f} to {100 * found.high:.2f})"
    if gap <= target:
        return Reached("yes", f"Gap reached: {shown}; {asked}")
    if found.low <= target:
        return Reached("maybe", f"Gap perhaps reached: {shown}; {asked}")
    return Reached("no", f"Gap not reached: {shown}; {asked}")


def say_closed(plain: Mapping[str, Any], config: Mapping[str, Any]) -> str | None:
    """Return that plain training leaves a run no gap to close, as far as its test rows tell; None where it leaves one.

    A run that aims at no gap is held against the one that is usually accepted.

    `plain` is the record's JSON of a run without privacy and fairness, `config` that of the run's config.
    """
    measured, target, notion = plain["metrics"], config["method"].get("gap_target"), notions()[config["notion"]]
    gap = None if measured is None else measured[notion.metric]
    found = None if gap is None else gap_interval(count_decisions(measured), notion)
    if found is None or gap is None:
        return None
    between = f"(95 % interval {100 * found.low:.2f} to {100 * found.high:.2f})"
    shown = f"{100 * gap:.2f} percentage points on the test rows {between}"
    if target is not None and gap <= target:
        return f"There is no gap to close here: plain training has a gap of {shown}; {100 * target:.4g} are accepted."
    if found.low <= 0:
        return f"There may be no gap to close here: plain training has a gap of {shown}, which may as well be 0."
    if target is None and gap <= USUAL_GAP:
        usual = f"{100 * USUAL_GAP:.4g} are usually accepted"
        return f"There is no gap to close here: plain training has a gap of {shown}; none is aimed at, and {usual}."
    return None


def count_decisions(measured: Mapping[str, Any]) -> np.ndarray:
    """Return the counts (k, l, l) over group, label and decision of a record's `metrics`."""
    groups = measured["groups"]
    if "confusion" in groups[0]:
        return np.array([group["confusion"] for group in groups])
    counts = np.zeros((len(groups), TWO, TWO), dtype=np.int64)
    for table, group in zip(counts, groups, strict=True):
        positives, selected = group["positives"], group["selected"]
        both = (group["correct"] - group["size"] + positives + selected) // 2  # rightly selected
        table[:] = [[group["size"] - positives - selected + both, selected - both], [positives - both, both]]
    return counts
