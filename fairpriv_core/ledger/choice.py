"""An act of choice: some of the runs on one question leave, and the others do not.

docs/ledger.md has the argument. What leaves says which runs were liked, and raw numbers decided that: the runs that
leave lose their epsilon. They keep it where all that answer the question leave, where nobody has seen a raw number of
any, or where the one that leaves was chosen by released or noisy numbers among all that there were.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from fairpriv_core.errors import BadInput
from fairpriv_core.ledger.selection import choose_seen, choose_threshold, take_epsilon, why_not
from fairpriv_core.store.candidates import Candidates
from fairpriv_core.store.runs import RunStore

_WAYS = {
    "released": "choose by released numbers first (fairpriv select {key} --by released)",
    "noisy": "choose with noise first (fairpriv select {key} --by noisy --epsilon 0.5)",
}


@dataclass(frozen=True)
class Lost:
    """What an act would cost: the runs that `lose` their epsilon, and what they are chosen among.

    `alone` is what keeps its epsilon if it leaves alone: noise or released numbers chose it; None without one.
    """

    lose: tuple[str, ...]
    among: Candidates
    alone: str | None

    @property
    def can_take_all(self) -> bool:
        """Whether nothing is chosen where all that answer the question leave."""
        return not self.among.deleted


def foresee_choice(store: RunStore, keys: Sequence[str], *, decided: Sequence[str] = ()) -> list[Lost]:
    """Return what it would cost if of all runs `keys` left; `decided` are those of them that are said to be chosen.

    One for each question on own data; () where nothing is lost.
    """
    losses = []
    for among in store.candidates(keys):
        lose = [*_lose(among, keys), *(_lose(among, decided) if decided else ())]
        if lose:
            selected = None if among.held is None else str(among.held["selected"])
            alone = selected if selected in (decided or keys) and selected in among.keys else None
            losses.append(Lost(tuple(dict.fromkeys(lose)), among, alone))
    return losses


def foresee_keeping(store: RunStore, key: str) -> Lost | None:
    """Return what it would cost to let lists show an explored run: nothing where they then show all candidates."""
    for among in store.candidates([key]):
        listed = [candidate for candidate in among.keys if candidate not in among.unlisted]
        lose = _lose(among, [key, *listed])
        if key in lose and among.held is not None and among.held["selected"] == key:
            return None
        if key in lose:
            return Lost((key,), among, None)
    return None


def closes_choice(store: RunStore, key: str) -> bool:
    """Return whether no run on the question of run `key` could be chosen with its epsilon once that run is deleted."""
    return any(among.is_open and key in among.keys for among in store.candidates([key]))


def keep_run(store: RunStore, key: str) -> None:
    """Let lists show an explored run, as a choice by what was released where no raw number of any was seen."""
    for among in store.candidates([key]):
        if not among.raw and len(among.keys) > 1:
            with suppress(BadInput):  # no one epsilon covers unlike runs: what leaves later is asked about then
                choose_seen(store, key, among.keys)
    store.keep(key)


def withdraw(store: RunStore, losses: Sequence[Lost]) -> None:
    """Write down that runs were chosen by raw numbers: they have no epsilon from then on. BadInput beyond a cap."""
    for loss in losses:
        take_epsilon(store, loss.lose, sorted(loss.among.all))


def take_threshold(store: RunStore, key: str, threshold: float) -> str | None:
    """Let the model of run `key` leave with a threshold that raw numbers chose; return why it has no proved epsilon.

    That this model leaves tells that its run was liked. None on rows that everybody has. BadInput beyond a cap.
    """
    withdraw(store, foresee_choice(store, [key]))
    return choose_threshold(store, key, threshold)


def list_ways(store: RunStore, loss: Lost) -> list[str]:
    """Return by which numbers, released or noisy, one can be chosen among all that a choice is among."""
    open_ways = _WAYS if loss.among.is_open else ()
    return [by for by in open_ways if why_not(store, loss.lose[0], by) is None]


def refuse_choice(store: RunStore, losses: Sequence[Lost], *, all_leave: bool) -> None:
    """Raise BadInput where runs would lose their epsilon; it names the ways. `all_leave`: they can leave together."""
    for loss in losses:
        n_others = len(loss.among.all) - 1
        runs = "another run that answers" if n_others == 1 else f"{n_others:,} other runs that answer"
        ways = [_WAYS[by].format(key=loss.lose[0]) for by in list_ways(store, loss)]
        ways += ["take all of them along"] * (all_leave and loss.can_take_all)
        ways += [f"take {loss.alone} alone, which was chosen among them"] * (loss.alone is not None)
        ways += ["go on without an epsilon (--without-epsilon)"]
        advice = ", or ".join(filter(None, (", ".join(ways[:-1]), ways[-1])))
        raise BadInput(
            f"raw numbers were shown of {runs} the same question, so they chose what leaves, and run {loss.lose[0]} "
            f"would lose its epsilon; {advice}.",
            field="key",
        )


def _lose(among: Candidates, keys: Sequence[str]) -> list[str]:
    """Return which of `keys` lose their epsilon if of the candidates they alone leave."""
    mine = [key for key in among.keys if key in keys]
    choice = among.held
    if not mine or not among.raw or among.all <= set(mine) or (choice is not None and mine == [choice["selected"]]):
        return []
    return [key for key in mine if key not in among.withdrawn]
