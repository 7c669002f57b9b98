"""Rows of larger groups left out at random, until the smallest group has a given share of each of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairpriv_core.errors import BadInput


def thin_groups(group: np.ndarray, ratio: float, names: Sequence[str], generator: np.random.Generator) -> np.ndarray:
    """Return the positions of the rows that stay, in their order; `group` (n,) counts in `names`.

    Of a group with more than m / ratio rows that many stay, rounded, where m is the size of the smallest group that has
    rows. With generators alike the rows that stay at a higher ratio also stay at a lower one.

    Raises:
        BadInput: fewer than two groups have rows, or no group has rows to leave out at that ratio.
    """
    sizes = np.bincount(group, minlength=len(names))
    present = sizes[sizes > 0]
    if len(present) < 2:
        only = "".join(names[int(place)] for place in np.flatnonzero(sizes))
        raise BadInput(
            f"group_ratio needs two groups with training rows, got one, '{only}'; leave it out.", field="group_ratio"
        )
    most = round(float(present.min()) / ratio)
    if most >= present.max():
        there = present.min() / present.max()
        raise BadInput(
            f"group_ratio {ratio:g} leaves no row out: the smallest group of the training rows is {there:.4f} times as "
            "large as the largest already; choose more than that, up to 1, or leave it out.",
            field="group_ratio",
        )
    drawn = [generator.permutation(np.flatnonzero(group == place))[:most] for place in range(len(names))]
    return np.sort(np.concatenate(drawn))


def match_groups(group: np.ndarray, like: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return positions of rows of `group` (n,), as many as can be, whose groups have the shares that `like` (m,) has.

    A group without rows on one of the two sides is left out of it.
    """
    k = int(max(group.max(), like.max())) + 1
    sizes, wanted = np.bincount(group, minlength=k), np.bincount(like, minlength=k)
    both = np.flatnonzero((sizes > 0) & (wanted > 0))
    scarce = both[np.argmin(sizes[both] / wanted[both])]
    kept = wanted * sizes[scarce] // wanted[scarce]
    return np.sort(np.concatenate([generator.permutation(np.flatnonzero(group == one))[: kept[one]] for one in both]))


def assume_thinned(ratio: float) -> str:
    """Return what an epsilon on thinned rows takes as given, whatever it protects."""
    return (
        f"Which training rows are left out to reach a group ratio of {ratio:g} is taken as given, although it depends "
        "on everyone's sensitive attribute and on how many rows each group has: epsilon compares data with the same "
        "rows left out. Whoever is known to be left out is known to be of a larger group, and the number of training "
        "rows tells the size of the smallest group; epsilon covers neither."
    )
