"""Secret Poisson samples of many steps at once."""

from __future__ import annotations

import numpy as np


def draw_poisson_samples(stream: np.random.Generator, *, n: int, rate: float, steps: int) -> list[np.ndarray]:
    """Return for each step the sorted int64 indices of the records (of n) that are in, each with chance `rate`.

    The steps are one sequence of steps * n Bernoulli trials laid end to end; only its successes are drawn, so the
    cost is that of the records drawn, not of those left out.
    """
    if rate >= 1:
        return [np.arange(n, dtype=np.int64) for _ in range(steps)]
    successes = _successes(stream, rate, steps * n)
    starts = np.arange(steps, dtype=np.int64) * n
    parts = np.split(successes, np.searchsorted(successes, starts[1:]))
    return [part - start for part, start in zip(parts, starts, strict=True)]


def thin_samples(stream: np.random.Generator, samples: list[np.ndarray], keep: np.ndarray) -> list[np.ndarray]:
    """Return each of `samples` with record i left in with chance keep[i], every time anew; `keep` (n,) in [0, 1]."""
    return [sample[stream.random(sample.size) < keep[sample]] for sample in samples]


def _successes(stream: np.random.Generator, rate: float, trials: int) -> np.ndarray:
    """Return the sorted positions of the successes among `trials` Bernoulli trials."""
    chunk = int(trials * rate + 6 * np.sqrt(trials * rate)) + 16
    position, found = -1, []
    while position < trials:
        gaps = stream.geometric(rate, chunk)
        np.minimum(gaps, trials + 1, out=gaps)  # a gap past the end says no more than that; sums cannot overflow
        positions = position + np.cumsum(gaps)
        found.append(positions)
        position = int(positions[-1])
    successes = np.concatenate(found)
    return successes[: np.searchsorted(successes, trials)]
