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
            losses.append(Lost(tuple(dict.fromkeys(lose)), among, _find_alone(among, decided or keys)))
    return losses


def foresee_keeping(store: RunStore, key: str) -> Lost | None:
    """Return what it would cost to let lists show an explored run: nothing where they then show all candidates."""
    for among in store.candidates([key]):
        listed = [each for each in among.keys if each not in among.unlisted]
        lose = _lose(among, [key, *listed])
        if key in lose and among.held is not None and among.held["selected"] == key:
            return None
        if key in lose:
            return Lost((key,), among, None)
    return None


def closes_choice(store: RunStore, key: str) -> bool:
    """Return whether deleting a run ends that one of those on its question can be chosen with its epsilon."""
    return any(among.is_open and key in among.keys for among in store.candidates([key]))


def keep_run(store: RunStore, key: str) -> None:
    """Let lists show an explored run, as a choice by what was released where no raw number of any was seen."""
    for among in store.candidates([key]):
        if not among.raw and len(among.keys) > 1:
            with suppress(BadInput):  # no one epsilon covers unlike runs: what leaves later is asked about then
                choose_seen(store, key, among.keys)
    store.keep(key)


def withdraw(store: RunStore, lost: Sequence[Lost]) -> None:
    """Write down that runs were chosen by raw numbers: they have no epsilon from then on. BadInput beyond a cap."""
    for each in lost:
        take_epsilon(store, each.lose, sorted(each.among.all))


def take_threshold(store: RunStore, key: str, threshold: float) -> str | None:
    """Let the model of run `key` leave with a threshold that raw numbers chose; return why it has no proved epsilon.

    That this model leaves tells that its run was liked. None on rows that everybody has. BadInput beyond a cap.
    """
    withdraw(store, foresee_choice(store, [key]))
    return choose_threshold(store, key, threshold)


def list_ways(store: RunStore, lost: Lost) -> list[str]:
    """Return by which numbers, released or noisy, one can be chosen among all that a choice is among."""
    open_ways = _WAYS if lost.among.is_open else ()
    return [by for by in open_ways if why_not(store, lost.lose[0], by) is None]


def refuse_choice(store: RunStore, lost: Sequence[Lost], *, all_leave: bool) -> None:
    """Raise BadInput where runs would lose their epsilon; it names the ways. `all_leave`: they can leave together."""
    for each in lost:
        others = len(each.among.all) - 1
        many = "another run that answers" if others == 1 else f"{others:,} other runs that answer"
        ways = [_WAYS[by].format(key=each.lose[0]) for by in list_ways(store, each)]
        ways += ["take all of them along"] * (all_leave and each.can_take_all)
        ways += [f"take {each.alone} alone, which was chosen among them"] * (each.alone is not None)
        ways += ["go on without an epsilon (--without-epsilon)"]
        named = ", or ".join(filter(None, (", ".join(ways[:-1]), ways[-1])))
        raise BadInput(
            f"raw numbers were shown of {many} the same question, so they chose what leaves, and run {each.lose[0]} "
            f"would lose its epsilon; {named}.",
            field="key",
        )


def _lose(among: Candidates, keys: Sequence[str]) -> list[str]:
    """Return which of `keys` lose their epsilon if of the candidates they alone leave."""
    mine = [key for key in among.keys if key in keys]
    held = among.held
    if not mine or not among.raw or among.all <= set(mine) or (held is not None and mine == [held["selected"]]):
        return []
    return [key for key in mine if key not in among.withdrawn]


def _find_alone(among: Candidates, keys: Sequence[str]) -> str | None:
    held = None if among.held is None else str(among.held["selected"])
    return held if held in keys and held in among.keys else None
