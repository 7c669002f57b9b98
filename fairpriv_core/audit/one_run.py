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
    releases, other_rows = mechanism.releases, np.arange(rows[0])

    def look(datasets: Sequence[Dataset], forced: Sequence[np.ndarray]) -> list[list[Release]]:
        return replay(train, datasets, [releases] * len(datasets), forced=forced)

    all_tails, all_heads = look([reference, change(reference, rows)], [other_rows, other_rows])
    read_all = [place for place, run in enumerate(releases) if not run.sampled and run.kind in (GAUSSIAN, LAPLACE)]
    sampled_places = [place for place in range(len(releases)) if place not in read_all]
    scores, moves = [], []
    for start in range(0, canaries, together):
        some = list(rows[start : start + together, None])
        first = look([reference] * len(some), some)
        second = look([change(reference, row) for row in some], some)
        for pair in zip(first, second, strict=True):
            parts = ([run[place] for place in sampled_places] for run in (releases, *pair, all_tails))
            scores.append(compare_releases(*parts))
            moves.append([pair[1][place].value - pair[0][place].value for place in read_all])
    guesses = np.array(scores, dtype=np.float64)
    if read_all:
        guesses += _guess_linearly([releases[place] for place in read_all], [all_tails, all_heads], read_all, moves)
    order, each_way = np.argsort(guesses, kind="stable"), canaries // 4
    correct = int((~coins[order[:each_way]]).sum() + coins[order[-each_way:]].sum())
    return Guesses(canaries, 2 * each_way, correct)


def _guess_linearly(
    releases: Sequence[Release],
    ends: Sequence[Sequence[Release]],
    places: Sequence[int],
    moves: Sequence[Sequence[np.ndarray]],
) -> np.ndarray:
    """Return how much more likely each coin is (canaries,) by the releases at `places`, which read all rows.

    `moves` are what each canary's coin adds to them, `ends` the runs where no coin and where every coin fell so. Each
    other coin adds half of its move, and a variance of a quarter of its square.
    """
    scales = [item.noise_scale * (np.sqrt(2.0) if item.kind == LAPLACE else 1.0) for item in releases]
    middles = [(ends[0][place].value + ends[1][place].value) / 2.0 for place in places]
    away = np.concatenate(
        [(item.out.ravel() - middle) / scale for item, middle, scale in zip(releases, middles, scales, strict=True)]
    )
    moves_in_noise = [np.concatenate([part / scale for part, scale in zip(own, scales, strict=True)]) for own in moves]
    stacked = np.array(moves_in_noise)
    guesses: np.ndarray = np.linalg.solve(np.eye(len(stacked)) + stacked @ stacked.T / 4.0, stacked @ away)
    return guesses
