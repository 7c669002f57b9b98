"""All that the papers say, a row for each case of a claim, with how it stands here and what would settle it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fairpriv_core.papers.preset import Paper, Preset
from fairpriv_core.papers.printed import Beside, set_beside
from fairpriv_core.papers.results import Made
from fairpriv_core.papers.status import TITLES, Status, say_needed
from fairpriv_core.papers.values import Runs
from fairpriv_core.papers.verdicts import judge, judge_all


@dataclass(frozen=True)
class ClaimRow:
    """One case of what a paper says.

    Attributes:
        text: what the paper says, how we take it, and the case. source: where it stands.
        found: our numbers; "" without runs.
        settles: what would settle an open one, or test one that is not tested; "" for the others.
        seeds: that ours is of. seeds_needed: that would settle an open one; None where that cannot be told.
    """

    preset: str
    text: str
    source: str
    status: Status
    found: str
    settles: str
    seeds: int
    seeds_needed: int | None


def list_claims(preset: Preset, runs: Runs) -> list[ClaimRow]:
    """Return a row for each case of each claim of a figure or table."""
    rows = []
    for claim, verdict in zip(preset.claims, judge_all(preset, runs), strict=True):
        reading = f" ({claim.reading})" if claim.reading else ""
        for one in verdict.cases:
            case = f": {one.case}" if one.case else ""
            text = f"{claim.says[:1].upper()}{claim.says[1:]}{reading}{case}"
            settles = _say_settles(one.status, one.seeds, one.seeds_needed)
            needed = one.seeds_needed
            rows.append(ClaimRow(preset.id, text, claim.source, one.status, one.words, settles, one.seeds, needed))
    return rows


def _say_settles(status: Status, seeds: int, needed: int | None) -> str:
    if status == "not_tested":
        return "settings at which it learns"
    if status != "open":
        return ""
    return say_needed(seeds, needed) if seeds else "a first run"


def count_claims(presets: Iterable[Preset], made: Mapping[str, Made]) -> Counter[str]:
    """Return how many cases of claims have each status; without results a claim is open."""
    return Counter(row.status for preset in presets for row in list_claims(preset, _runs(preset, made)))


def list_printed(presets: Iterable[Preset], made: Mapping[str, Made]) -> list[Beside]:
    """Return the printed numbers beside ours of all figures and tables that have results."""
    return [one for preset in presets for one in set_beside(preset, _runs(preset, made)) if one.status]


def say_main_claim(paper: Paper, made: Mapping[str, Made]) -> str:
    """Return what a paper says above all, and how that stands here, as a sentence."""
    name, at = paper.main_claim
    preset = next(one for one in paper.presets if one.id == name)
    verdict = judge(preset.claims[at], _runs(preset, made))
    says = preset.claims[at].says
    counts = Counter(one.status for one in verdict.cases)
    stands = ", ".join(f"{TITLES[status]} in {counts[status]}" for status in TITLES if counts[status])
    cases = len(verdict.cases)
    result = TITLES[verdict.cases[0].status] if cases == 1 else f"{stands} of {cases} cases"
    return f"“{says[:1].upper()}{says[1:]}”: {result}."


def _runs(preset: Preset, made: Mapping[str, Made]) -> Runs:
    return made[preset.id].runs if preset.id in made else ()
