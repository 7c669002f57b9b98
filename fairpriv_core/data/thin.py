"""Rows of larger groups left out at random, until the smallest group has a given share of each of them."""

from __future__ import annotations

import numpy as np

from fairpriv_core.errors import BadInput


def thin_groups(group: np.ndarray, ratio: float, groups: int, generator: np.random.Generator) -> np.ndarray:
    """Return the positions of the rows that stay, in their order; `group` (n,) is in 0..`groups` - 1.

    Of a group with more than m / ratio rows that many stay, rounded, where m is the size of the smallest group that has
    rows. With generators alike the rows that stay at a higher ratio also stay at a lower one.

    Raises:
        BadInput: no group has rows to leave out at that ratio; how large the groups are is not said.
    """
    sizes = np.bincount(group, minlength=groups)
    most = round(float(sizes[sizes > 0].min(initial=len(group))) / ratio)
    if most >= sizes.max():
        raise BadInput(
            f"group_ratio {ratio:g} leaves no row out: the groups of the training rows are that much alike already; "
            "choose a larger ratio, up to 1, or leave it out.",
            field="group_ratio",
        )
    drawn = [generator.permutation(np.flatnonzero(group == place))[:most] for place in range(groups)]
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
