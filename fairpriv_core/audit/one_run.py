"""The canary audit in one training run: many records, a fair coin each, and an attacker who guesses the coins.

Steinke, Nasr and Jagielski (2023), Privacy auditing with one (1) training run, Algorithm 1: white-box, with abstention.
The bound holds whatever the scores are by which the attacker guesses. Of a release over a secret sample that is the
likelihood ratio of one canary, the others taken for absent. A release that reads all rows (counts, means) holds all
canaries at once: of those the score is the best linear guess of a coin, with the noise and the other coins in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairpriv_core.audit.attack import Train, compare_releases, null, regroup, replay
from fairpriv_core.audit.observe import GAUSSIAN, LAPLACE, RecordingMechanism, Release
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.seeds import public_generator

_LEAST = 1e-6  # of a bound: the noise that a release without noise is taken to have


@dataclass(frozen=True)
class Guesses:
    """`correct` of `guesses` guesses were right; of the other canaries the attacker abstained."""

    canaries: int
    guesses: int
    correct: int


def guess_coins(train: Train, data: Dataset, canaries: int, *, nulled: bool, seed: int, together: int = 200) -> Guesses:
    """Train once on `data`, where coins decide about the last `canaries` records, and guess the coins.

    A coin makes its record null or, without `nulled`, of group 1 in place of 0. The attacker guesses the half of which
    it is surest, as many each way: a share that is tried beside others would have to share the error with them.
    `together` canaries are looked at in one loop.
    """
    change = null if nulled else regroup
    rows = np.arange(data.n - canaries, data.n)
    coins = public_generator(seed, "coins of canaries").integers(0, 2, canaries).astype(bool)
    reference = replace(data, group=np.where(np.arange(data.n) >= rows[0], 0, data.group))
    mechanism = RecordingMechanism(seed + 1)
    train([change(reference, rows[coins])], [mechanism])
    seen, others = mechanism.releases, np.arange(rows[0])

    def look(each: Sequence[Dataset], forced: Sequence[np.ndarray]) -> list[list[Release]]:
        return replay(train, each, [seen] * len(each), forced=forced)

    none, every = look([reference, change(reference, rows)], [others, others])
    read_all = [place for place, one in enumerate(seen) if not one.sampled and one.kind in (GAUSSIAN, LAPLACE)]
    rest = [place for place in range(len(seen)) if place not in read_all]
    scores, moves = [], []
    for start in range(0, canaries, together):
        some = list(rows[start : start + together, None])
        first = look([reference] * len(some), some)
        second = look([change(reference, row) for row in some], some)
        for pair in zip(first, second, strict=True):
            taken = ([one[place] for place in rest] for one in (seen, *pair, none))
            scores.append(compare_releases(*taken))
            moves.append([pair[1][place].value - pair[0][place].value for place in read_all])
    guesses = np.array(scores, dtype=np.float64)
    if read_all:
        guesses += _guess_linearly([seen[place] for place in read_all], [none, every], read_all, moves)
    order, each_way = np.argsort(guesses, kind="stable"), canaries // 4
    correct = int((~coins[order[:each_way]]).sum() + coins[order[-each_way:]].sum())
    return Guesses(canaries, 2 * each_way, correct)


def _guess_linearly(
    seen: Sequence[Release],
    ends: Sequence[Sequence[Release]],
    places: Sequence[int],
    moves: Sequence[Sequence[np.ndarray]],
) -> np.ndarray:
    """Return how much more likely each coin is (canaries,) by the releases at `places`, which read all rows.

    `moves` are what each canary's coin adds to them, `ends` the runs where no coin and where every coin fell so. Each
    other coin adds half of its move, and a variance of a quarter of its square.
    """
    scales = [max(one.scale, _LEAST * one.bound) * (np.sqrt(2.0) if one.kind == LAPLACE else 1.0) for one in seen]
    middles = [(ends[0][place].value + ends[1][place].value) / 2.0 for place in places]
    away = np.concatenate(
        [(one.out.ravel() - middle) / scale for one, middle, scale in zip(seen, middles, scales, strict=True)]
    )
    each = [np.concatenate([part / scale for part, scale in zip(own, scales, strict=True)]) for own in moves]
    stacked = np.array(each)
    guesses: np.ndarray = np.linalg.solve(np.eye(len(stacked)) + stacked @ stacked.T / 4.0, stacked @ away)
    return guesses
