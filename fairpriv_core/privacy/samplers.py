"""Exact samplers of discrete noise: no chance is off by a rounding, so the tails are as fine as the middle.

After Canonne, Kamath and Steinke (2020), The Discrete Gaussian for Differential Privacy, algorithms 1 and 2. A coin
that falls with chance exp(-loss) is made of coins with rational chances alone, and those of whole numbers drawn
evenly: nothing here rounds a chance or a draw. What is rounded is named, before anything is drawn: a loss, down to
2**-40, and Laplace's scale, up to whole grid steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from fairpriv_core.errors import BadInput, RunFailed

UNIT = 2**40  # a loss of 1
_MOST_LOSS = 2**20 * UNIT  # beyond it a coin never falls; capping moves no two losses further apart
_FINE = 20  # a grid step is at most 2**-20 of the scale, and of the shift over the number of values
_WIDE = 45  # and at least 2**-45 of the scale
_LARGEST = 2.0**62  # grid steps in a value: with noise it is an int64
_MOST_STEPS = 2**47  # in a scale


def survive(stream: np.random.Generator, losses: np.ndarray, unit: int) -> np.ndarray:
    """Return for each of `losses` (n,) (whole numbers >= 0, over `unit`) True with chance exp(-loss / unit): (n,)."""
    whole, rest = np.divmod(losses, unit)
    alive = _survive_fraction(stream, rest, unit)
    while (tried := np.flatnonzero(alive & (whole > 0))).size:
        alive[tried] = _survive_fraction(stream, np.full(tried.size, unit), unit)
        whole[tried] -= 1
    return alive


def draw_laplace(stream: np.random.Generator, scale: int, size: int) -> np.ndarray:
    """Return `size` whole numbers (int64), x with a chance in proportion to exp(-|x| / scale); `scale` >= 1."""
    drawn, waiting = np.empty(size, dtype=np.int64), np.arange(size)
    while waiting.size:
        part = stream.integers(0, scale, waiting.size)
        kept = survive(stream, part, scale)
        values = part + scale * _count_survivals(stream, waiting.size)
        negative = stream.integers(0, 2, waiting.size).astype(bool)
        kept &= ~(negative & (values == 0))  # 0 would come twice as often
        drawn[waiting[kept]] = np.where(negative, -values, values)[kept]
        waiting = waiting[~kept]
    return drawn


def release_laplace(stream: np.random.Generator, value: np.ndarray, *, shift: float, scale: float) -> np.ndarray:
    """Return `value` (P,), which moves by at most `shift` in L1, with Laplace noise of pure epsilon 1 / scale: float64.

    The value is rounded to a grid, and discrete noise on that grid is added. Rounding may move each coordinate by one
    step more, so the noise's scale is scale * (shift / step + P + 1) steps: the last one keeps its privacy loss below
    that of continuous noise too, which accountants compose. Raises RunFailed for a value that is not finite or too
    large for the grid, BadInput for a scale that float64 cannot add.
    """
    exact = np.asarray(value, dtype=np.float64)
    if not np.isfinite(exact).all():
        raise RunFailed("a sum over protected records is not finite; lower the learning rate or the clipping bound.")
    if not scale or not exact.size:
        return exact.copy()
    fine = _FINE + exact.size.bit_length()
    exponent = max(_exponent(min(shift, shift * scale)) - fine, _exponent(shift * scale) - _WIDE)
    width = math.ceil(Fraction(scale) * (Fraction(shift) / Fraction(2) ** exponent + exact.size + 1))
    if width > _MOST_STEPS:
        raise BadInput(f"scale must be smaller for {exact.size} values at once, got {scale:g}.", field="scale")
    if np.abs(exact).max() >= math.ldexp(_LARGEST, exponent):
        raise RunFailed(f"a sum over protected records is too large for Laplace noise of scale {shift * scale:g}.")
    steps = np.rint(np.ldexp(exact, -exponent)).astype(np.int64)
    noise = draw_laplace(stream, width, exact.size).reshape(exact.shape)
    released: np.ndarray = np.ldexp((steps + noise).astype(np.float64), exponent)
    return released


def draw_responses(stream: np.random.Generator, truth: np.ndarray, *, k: int, epsilon: float) -> np.ndarray:
    """Return `truth` (n,) in 0..k-1, each kept with chance e^epsilon / (e^epsilon + k - 1), else any other value.

    `epsilon` is taken down to a multiple of 2**-40.
    """
    loss = min(int(Fraction(epsilon) * UNIT), _MOST_LOSS)
    moves = _draw_by_loss(stream, truth.size, k, lambda moved: np.where(moved == 0, 0, loss))  # whatever the truth
    responses: np.ndarray = (truth + moves) % k
    return responses


def draw_largest(stream: np.random.Generator, scores: np.ndarray, *, shift: float, epsilon: float) -> int:
    """Return one place in `scores` (m,), with a chance in proportion to exp(epsilon * score / (2 * shift)).

    Of `epsilon`, 2**-39 is kept for what rounding losses down to 2**-40 may add.
    """
    rate = max(Fraction(epsilon) - Fraction(2, UNIT), Fraction(0)) / (2 * Fraction(shift))
    exact = [Fraction(score) for score in scores.tolist()]
    best = max(exact)
    losses = np.array([min(int(rate * (best - score) * UNIT), _MOST_LOSS) for score in exact], dtype=np.int64)
    return int(_draw_by_loss(stream, 1, len(exact), losses.__getitem__)[0])


def _draw_by_loss(stream: np.random.Generator, n: int, k: int, loss: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Return n values in 0..k-1, each with a chance in proportion to exp(-loss): any value, until one survives.

    `loss` gives the losses, over UNIT, of drawn values; the least is 0.
    """
    drawn, waiting = np.empty(n, dtype=np.int64), np.arange(n)
    while waiting.size:
        offered = stream.integers(0, k, waiting.size)
        kept = survive(stream, loss(offered), UNIT)
        drawn[waiting[kept]] = offered[kept]
        waiting = waiting[~kept]
    return drawn


def _survive_fraction(stream: np.random.Generator, losses: np.ndarray, unit: int) -> np.ndarray:
    """Return True with chance exp(-loss / unit), of losses up to `unit` (CKS, algorithm 1).

    A coin of chance (loss / unit) / j is thrown for j = 1, 2, ... until it fails, and the answer is whether j is odd.
    """
    turn, odd, going = 1, np.ones(losses.size, dtype=bool), np.arange(losses.size)
    while going.size:
        going = going[stream.integers(0, turn * unit, going.size) < losses[going]]
        odd[going] = turn % 2 == 0
        turn += 1
    return odd


def _count_survivals(stream: np.random.Generator, size: int) -> np.ndarray:
    """Return how often (size,) a coin of chance exp(-1) falls before it first fails."""
    counts, going = np.zeros(size, dtype=np.int64), np.arange(size)
    while going.size:
        going = going[_survive_fraction(stream, np.ones(going.size, dtype=np.int64), 1)]
        counts[going] += 1
    return counts


def _exponent(value: float) -> int:
    """Return the largest whole e with 2**e <= value."""
    return math.frexp(value)[1] - 1
