"""The inverse question: the smallest ε that reaches a wanted accuracy and gap, out of runs that are stored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fairpriv_core.errors import BadInput
from fairpriv_core.facts.tables import TableRow, format_claim
from fairpriv_core.figures.frontier import format_gap
from fairpriv_core.figures.styles import method_style
from fairpriv_core.grouping import group_by
from fairpriv_core.text import count_text, half_text, percent_text, points_text

RAW_CHOICE = "This answer uses exact fairness numbers; publishing it is not covered by any ε."
_SLACK = 1e-9  # a slider's 0.83 reaches a mean of 0.83


@dataclass(frozen=True)
class Answer:
    """What the stored rows of one claim say; shares in [0, 1].

    Attributes:
        threat_model, variant, delta: the claim: what ε protects, how it was accounted, at which δ.
        rows: how many settings were looked at.
        found: the row with the smallest ε that reaches both; None where none does.
        nearest: `found`, or the row that misses by least; None where no row has the numbers.
        accuracy_short, gap_over: by how much `nearest` misses, 0 where it does not.
    """

    threat_model: str | None
    variant: str | None
    delta: float | None
    rows: int
    found: TableRow | None
    nearest: TableRow | None
    accuracy_short: float = 0.0
    gap_over: float = 0.0


def smallest_epsilon(
    rows: Iterable[TableRow], *, accuracy: float | None = None, gap: float | None = None
) -> tuple[Answer, ...]:
    """Return one answer for each claim among `rows` (of one data set, its groups and one notion), by first appearance.

    A row reaches `accuracy` where its mean is at least that, and `gap` where its mean is at most that (shares in
    [0, 1]; None asks nothing). Claims (what is protected, how it was accounted, δ) are never mixed: their ε mean
    different things. Rows without ε are left out. The nearest row misses by the smallest sum of both shortfalls.

    Raises:
        BadInput: the rows are of several data sets, groups or notions.
    """
    private = [row for row in rows if row.epsilon is not None]
    if len({(row.data, row.notion) for row in private}) > 1:
        raise BadInput("runs on different data, groups or notions do not answer one question.")
    claims = group_by(private, lambda row: (row.threat_model, row.variant, row.delta))
    return tuple(_answer(same, accuracy, gap) for same in claims.values())


def format_answer(answer: Answer, *, accuracy: float | None = None, gap: float | None = None) -> str:
    """Return an answer as sentences: ε with its claim, means with intervals, and by how much they miss."""
    request = " and ".join(_list_conditions(accuracy, gap)) or "Anything"
    settings = count_text(answer.rows, "stored setting")
    if answer.nearest is None:
        return f"{request}: none of {settings} has these numbers."
    row = answer.nearest
    accuracy_text = f"{percent_text(row.accuracy.mean)}{half_text(row.accuracy.half)}"
    has, seeds = f"accuracy {accuracy_text}, {format_gap(row)}", f"{row.note.rstrip('.')}."
    name = method_style(row.method).title
    if answer.found is not None:
        return f"{request}: the smallest ε of {settings} is {format_claim(row)}. {name} has {has} there. {seeds}"
    misses = " and ".join(_list_misses(answer))
    sentence = f"{request}: none of {settings} reaches it. The nearest misses by {misses}"
    return f"{sentence}: {name} at {format_claim(row)} has {has}. {seeds}"


def _answer(rows: Sequence[TableRow], accuracy: float | None, gap: float | None) -> Answer:
    misses = {row.keys[0]: _miss(row, accuracy, gap) for row in rows}
    complete = [row for row in rows if misses[row.keys[0]] is not None]
    reached = [row for row in complete if misses[row.keys[0]] == (0.0, 0.0)]
    best = min(reached, key=lambda row: (_budget(row), -(row.accuracy.mean or 0.0), row.gap.mean or 0.0), default=None)
    nearest = best or min(complete, key=lambda row: (sum(misses[row.keys[0]] or ()), _budget(row)), default=None)
    short, over = (misses[nearest.keys[0]] if nearest is not None else None) or (0.0, 0.0)
    first = rows[0]
    return Answer(first.threat_model, first.variant, first.delta, len(rows), best, nearest, short, over)


def _miss(row: TableRow, accuracy: float | None, gap: float | None) -> tuple[float, float] | None:
    """Return by how much a row misses the accuracy and the gap; None where it lacks a number that is asked for."""
    if (accuracy is not None and row.accuracy.mean is None) or (gap is not None and row.gap.mean is None):
        return None
    short = 0.0 if accuracy is None else accuracy - (row.accuracy.mean or 0.0)
    over = 0.0 if gap is None else (row.gap.mean or 0.0) - gap
    return (short if short > _SLACK else 0.0), (over if over > _SLACK else 0.0)


def _budget(row: TableRow) -> float:
    return row.epsilon or 0.0


def _list_conditions(accuracy: float | None, gap: float | None) -> list[str]:
    conditions = [] if accuracy is None else [f"Accuracy of at least {percent_text(accuracy)}"]
    return (
        conditions if gap is None else [*conditions, f"{'a' if conditions else 'A'} gap of at most {points_text(gap)}"]
    )


def _list_misses(answer: Answer) -> list[str]:
    misses = [f"{points_text(answer.accuracy_short)} of accuracy"] if answer.accuracy_short else []
    return [*misses, f"{points_text(answer.gap_over)} of gap"] if answer.gap_over else misses
