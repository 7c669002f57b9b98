"""The runs that a choice is among: all that answer one question for one owner, those explored and deleted included.

Only runs count whose epsilon a choice can take away: finished, with a proved one of their own, on rows that are not
everybody's. Raw numbers of such a run stand in every list as soon as it has finished, so they count as shown from then
on. Of a run that is explored only Explore shows numbers, until it is kept or opened by its key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Table, select

from fairpriv_core.store.identity import find_same
from fairpriv_core.store.ledger import Choice, find_withdrawn, list_choices
from fairpriv_core.store.tables import run, tombstone

_OPENED = 2  # of `exploring`: its page was opened, where its raw numbers are


@dataclass(frozen=True)
class Candidates:
    """What one choice is among.

    `keys` are there, oldest first, `deleted` are not; `unlisted` are explored and not kept. `raw` says whether raw
    numbers of any were shown. `withdrawn` have lost their epsilon. `held` is what noise or released numbers chose among
    all of them that there were by then.
    """

    keys: tuple[str, ...]
    deleted: tuple[str, ...]
    unlisted: frozenset[str]
    raw: bool
    withdrawn: frozenset[str]
    held: Choice | None

    @property
    def all(self) -> frozenset[str]:
        """The keys of all candidates."""
        return frozenset((*self.keys, *self.deleted))

    @property
    def is_open(self) -> bool:
        """Whether one can still be chosen among all by released or noisy numbers."""
        holds = self.held is not None and set(self.held["candidates"]) == self.all
        return not self.deleted and not holds and len(self.keys) > 1


def find_candidates(connection: Connection, keys: Sequence[str], owner: str | None) -> list[Candidates]:
    """Return what a choice of the runs `keys` is among, for each question that they answer.

    Candidates are runs of `owner` and of those whose runs `keys` are; of everybody where `owner` is None, who sees all.
    """
    matches = connection.execute(select(run.c.question, run.c.owner).where(run.c.key.in_(keys))).all()
    questions = dict.fromkeys(question for question, _ in matches if question is not None)
    owners = None if owner is None else {owner, *(run_owner for _, run_owner in matches)}
    questions_read: set[str] = set()
    candidates = []
    for question in questions:
        if question in questions_read:
            continue
        data, _, about = question.partition("/")
        alike = [f"{same}/{about}" for same in sorted(find_same(connection, data))]
        questions_read.update(alike)
        candidates.append(_read(connection, alike, owners))
    return candidates


def _read(connection: Connection, alike: Sequence[str], owners: set[str] | None) -> Candidates:
    columns = (run.c.key, run.c.exploring, run.c.raw)
    runs = connection.execute(select(*columns).where(_among(run, alike, owners)).order_by(run.c.created, run.c.key))
    rows = runs.all()
    deleted = tuple(connection.scalars(select(tombstone.c.key).where(_among(tombstone, alike, owners))))
    keys = tuple(row.key for row in rows)
    everything = frozenset((*keys, *deleted))
    return Candidates(
        keys=keys,
        deleted=deleted,
        unlisted=frozenset(row.key for row in rows if row.exploring is not None),
        raw=bool(deleted) or any(row.exploring in (None, _OPENED) or row.raw for row in rows),
        withdrawn=everything & find_withdrawn(connection).keys(),
        held=_find_held(connection, everything),
    )


def _among(table: Table, alike: Sequence[str], owners: set[str] | None) -> ColumnElement[bool]:
    mine = table.c.question.in_(alike)
    return mine if owners is None else mine & table.c.owner.in_(owners)


def _find_held(connection: Connection, candidates: frozenset[str]) -> Choice | None:
    """Return the choice that holds: the first one that was made among the most candidates."""
    winner: Choice | None = None
    for choice in list_choices(connection):
        among = set(choice["candidates"])
        if among & candidates and (winner is None or among > set(winner["candidates"])):
            winner = choice
    return winner
