"""Things of one kind together, in the order in which they come."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")
K = TypeVar("K")


def group_by(things: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Return the things of each key, by first appearance.

    >>> group_by(["ant", "bee", "ape"], lambda word: word[0])
    {'a': ['ant', 'ape'], 'b': ['bee']}
    """
    things_by_key: dict[K, list[T]] = {}
    for thing in things:
        things_by_key.setdefault(key(thing), []).append(thing)
    return things_by_key
