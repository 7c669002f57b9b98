"""All that the papers say, a row for each case of a claim, with how it stands here, and a sentence for each figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from fairpriv_core.grouping import group_by
from fairpriv_core.papers.preset import Paper, Preset
from fairpriv_core.papers.printed import Beside, count_beside, set_beside
from fairpriv_core.papers.results import Made
from fairpriv_core.papers.status import TITLES, Status, format_seeds_needed
from fairpriv_core.papers.values import Runs
from fairpriv_core.papers.verdicts import Finding, judge_all

_ANSWERS: dict[Status, str] = {"agrees": "yes", "differs": "no", "open": "open", "not_tested": "not tested"}
_IN_PART = "in part"
_MOST_NAMED = 60  # letters of cases' names in a sentence
_AT = "ε = "


@dataclass(frozen=True)
class ClaimRow:
    """One case of what a paper says.

    Attributes:
        says: what the paper says. reading: how we take it; "" where its words leave nothing open.
        case: its name; "" where a claim has one. source: where it stands.
        found: our numbers; "" without runs. compared: what they are.
        settles: what would settle an open one, or test one that is not tested; "" for the others.
        against: whether our runs come out against an open one, by settings that the paper does not print.
        seeds: that ours is of. seeds_needed: that would settle an open one; None where that cannot be told.
        own: how it stands with our proved variant, and its numbers; "" where it has none.
        keys: of the runs behind it.
    """

    preset: str
    says: str
    reading: str
    case: str
    source: str
    status: Status
    found: str
    compared: str
    settles: str
    against: bool
    seeds: int
    seeds_needed: int | None
    own: str
    keys: tuple[str, ...]

    @property
    def text(self) -> str:
        """What the paper says, how we take it, and the case."""
        reading, case = (f" ({self.reading})" if self.reading else ""), (f": {self.case}" if self.case else "")
        return f"{_begin(self.says)}{reading}{case}"


def list_claims(preset: Preset, runs: Runs) -> list[ClaimRow]:
    """Return a row for each case of each claim of a figure or table."""
    rows = []
    for verdict in judge_all(preset, runs):
        claim = verdict.claim
        for place, finding in enumerate(verdict.cases):
            own = verdict.own[place] if verdict.own else None
            row = ClaimRow(
                preset.id,
                claim.says,
                claim.reading,
                finding.case,
                claim.source,
                finding.status,
                finding.words,
                verdict.subject,
                _format_settles(finding),
                finding.against,
                finding.seeds,
                finding.seeds_needed,
                f"{TITLES[own.status]}: {own.words}" if own and own.words else "",
                tuple(dict.fromkeys(run.key for run in finding.runs)),
            )
            rows.append(row)
    return rows


def _format_settles(one: Finding) -> str:
    if one.status == "not_tested":
        return "settings at which it learns"
    if one.status != "open":
        return ""
    return (one.settles or format_seeds_needed(one.seeds, one.seeds_needed)) if one.seeds else "a first run"


def format_figure_verdict(preset: Preset, rows: Sequence[ClaimRow], runs: Runs) -> str:
    """Return what became of a figure or table here, in a reader's words: of its first statement, then of the others.

    `rows` are its claims by these runs.
    """
    if not rows:
        return count_beside(set_beside(preset, runs)).partition(".")[0] or "No statement of the paper is judged here"
    if {row.status for row in rows} == {"not_tested"}:
        return f"Not tested, as our models have not learned enough. A test takes {preset.test or 'other settings'}"
    statements = [list(own) for _, own in groupby(rows, key=lambda row: row.says)]
    first, answers = statements[0], [_answer_shortly(own) for own in statements[1:]]
    sentence = f"“{_begin(first[0].says)}”: {_answer(first)}"
    if not answers:
        return sentence
    counts = Counter(answers)
    rest = ", ".join(f"{counts[answer]} {answer}" for answer in (*_ANSWERS.values(), _IN_PART) if counts[answer])
    return f"{sentence}. Other statements: {rest}"


def _join(statuses: set[Status]) -> Status:
    """Return how a statement stands that must hold in several ways: as its worst; "not tested" where some are."""
    order: tuple[Status, ...] = ("differs", "open", "not_tested", "agrees")
    return next(status for status in order if status in statuses)


def _part_cases(rows: Sequence[ClaimRow]) -> dict[Status, list[str]]:
    """Return the cases of a statement by how they stand; one that is asked in several ways must hold in all."""
    cases = group_by(rows, lambda row: row.case)
    return group_by(cases, lambda case: _join({row.status for row in cases[case]}))


def _answer_shortly(rows: Sequence[ClaimRow]) -> str:
    by_status = _part_cases(rows)
    return _ANSWERS[next(iter(by_status))] if len(by_status) == 1 else _IN_PART


def _answer(rows: Sequence[ClaimRow]) -> str:
    """Return "yes", or where: "no at ε ≤ 1, yes at ε ≥ 3"; and where our runs come out against what is open."""
    cases = list(dict.fromkeys(row.case for row in rows))
    against = [case for case in cases if any(row.against for row in rows if row.case == case)]
    if not against:
        return _answer_cases(rows)
    if len(against) == len(cases):
        where = ""
    elif _are_many(cases):
        where = f" in {len(against)} of {len(cases)} cases"
    else:
        where = f" {_name_cases(against, cases)}"
    return f"{_answer_cases(rows)}; our runs came out against it{where}"


def _answer_cases(rows: Sequence[ClaimRow]) -> str:
    by_status, cases = _part_cases(rows), dict.fromkeys(row.case for row in rows)
    if len(by_status) == 1:
        (named,) = [*cases] if len(cases) == 1 else [""]
        return _ANSWERS[next(iter(by_status))] + (f" {_name_cases([named], [named])}" if named else "")
    if _are_many(cases):
        counts = ", ".join(
            f"{_ANSWERS[status]} in {len(by_status[status])}" for status in _ANSWERS if status in by_status
        )
        return f"{counts} of {len(cases)} cases"
    return ", ".join(f"{_ANSWERS[status]} {_name_cases(own, list(cases))}" for status, own in by_status.items())


def _are_many(cases: Iterable[str]) -> bool:
    return sum(map(len, cases)) > _MOST_NAMED and not all(case.startswith(_AT) for case in cases)


def _name_cases(own: Sequence[str], cases: Sequence[str]) -> str:
    """Return where cases are: budgets together, and those at an end of all as "ε ≤ 1" or "ε ≥ 3"."""
    if not all(case.startswith(_AT) for case in cases):
        return f"for {' and '.join(own)}"
    values, known = ([case.removeprefix(_AT) for case in names] for names in (own, cases))
    if len(values) > 1 and values == known[: len(values)]:
        return f"at ε ≤ {values[-1]}"
    if len(values) > 1 and values == known[-len(values) :]:
        return f"at ε ≥ {values[0]}"
    return f"at ε = {' and '.join(values)}"


def _begin(text: str) -> str:
    return text[:1].upper() + text[1:]


def list_printed(presets: Iterable[Preset], made: Mapping[str, Made]) -> list[Beside]:
    """Return the printed numbers beside ours of all figures and tables that have results."""
    return [row for preset in presets for row in set_beside(preset, _runs(preset, made)) if row.status]


def format_main_claim(paper: Paper, made: Mapping[str, Made]) -> str:
    """Return what a paper says above all, and how that stands here, as a sentence."""
    name, at = paper.main_claim
    preset = next(candidate for candidate in paper.presets if candidate.id == name)
    says = preset.claims[at].says
    rows = [row for row in list_claims(preset, _runs(preset, made)) if row.says == says]
    return f"“{_begin(says)}”: {_answer(rows)}."


def _runs(preset: Preset, made: Mapping[str, Made]) -> Runs:
    return made[preset.id].runs if preset.id in made else ()
