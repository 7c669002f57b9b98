"""What a data set has spent and what a launch would add, before it is launched: quick, for pages."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairpriv_core.ledger.report import cost_together, join_reasons, list_protected
from fairpriv_core.privacy.ledger import LedgerEntry, Total, compose, costs
from fairpriv_core.privacy.rdp import Cap, admits, read_gauge
from fairpriv_core.store.ledger import LedgerLine, count_lines
from fairpriv_core.store.runs import RunStore


@dataclass(frozen=True)
class Effect:
    """What a launch does to one protected thing. An epsilon is infinite where no bound holds.

    Attributes:
        column: the sensitive column; None for whole records.
        runs: how many lines count, those that wait or run included.
        spent: epsilon of what has been released.
        planned: with what waits and runs still to release.
        after: with the launch too.
        reason: why `after` is infinite, one sentence.
        cap: the cap on it, if there is one; `remaining`: of the cap, before the launch.
        fits: whether the cap lets the launch through.
    """

    column: str | None
    runs: int
    spent: float
    planned: float
    after: float
    reason: str | None
    cap: Cap | None
    remaining: float | None
    fits: bool


@dataclass(frozen=True)
class Page:
    """A data set's page in the ledger: its lines and its caps, by sensitive column or None for whole records."""

    data: str
    lines: Sequence[LedgerLine]
    caps: Mapping[str | None, Cap]


def read_page(store: RunStore, data: str) -> Page:
    """Return the page of the data set `data` (by `identify_data`); it names no run of others than the store's owner."""
    lines = [line if store.owner in (None, line.owner) else line.unnamed() for line in store.ledger.lines(data)]
    return Page(data, lines, store.ledger.caps(data))


def foresee_launch(page: Page, launch: LedgerEntry | None, *, delta: float) -> list[Effect]:
    """Return the effect of `launch` (None: of nothing) on all that is protected of a data set, at `delta`.

    Epsilons of several runs are at most about 1 % above those of the ledger; that of one run is the run's own.
    """
    lines, caps = page.lines, page.caps
    also = () if launch is None else launch.sensitive
    columns = dict.fromkeys([None, *also, *list_protected(page.data, lines, caps)])
    added = [] if launch is None else [launch]
    return [_foresee(column, lines, added, caps.get(column), delta) for column in columns]


def _foresee(
    column: str | None, lines: Sequence[LedgerLine], added: list[LedgerEntry], cap: Cap | None, delta: float
) -> Effect:
    """Return the effect on `column` of what is `added` to the ledger's lines."""
    spent = [line.spent for line in lines if line.spent is not None]
    planned = [line.planned for line in lines]
    entries = planned if cap is None else count_lines(lines, cap, column)
    total = compose(planned, column)  # thousands of lines: composed anew only where something differs
    after = compose([*planned, *added], column) if added else total
    runs, launched = _count(planned, column), _count(added, column)
    cost = _cost(total, runs, delta)
    return Effect(
        column=column,
        runs=runs,
        spent=cost if spent == planned else _cost(compose(spent, column), _count(spent, column), delta),
        planned=cost,
        after=_cost(after, runs + launched, delta),
        reason=join_reasons(after.unbounded),
        cap=cap,
        remaining=None if cap is None else read_gauge(cap, entries, column).remaining,
        fits=cap is None or all(admits(cap, entries, entry, column) for entry in added),
    )


def _count(entries: Sequence[LedgerEntry], column: str | None) -> int:
    return sum(costs(entry, column) for entry in entries)


def _cost(total: Total, runs: int, delta: float) -> float:
    """Return the epsilon of what `runs` entries cost together."""
    return math.inf if total.unbounded else cost_together(total, delta, alone=runs == 1)
