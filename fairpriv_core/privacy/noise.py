"""Noise as fine in the tails as in the middle: exact discrete samplers, normals of many steps, a release's grid.

Sum and noise are rounded to a grid whose step is the power of two at or below std * 2**-20. The low bits of a float64
sum depend on the value that the noise hides (Mironov, 2012); on the grid they are gone: a grid cell holds some 2**30 of
the values that the noise can take, whatever the value, and the rounding adds at most 2**-21 standard deviations of
error. The grid depends on the noise's scale alone, which is public.

The discrete samplers are after Canonne, Kamath and Steinke (2020), The Discrete Gaussian for Differential Privacy,
algorithms 1 and 2. A coin that falls with chance exp(-loss) is made of coins with rational chances alone, and those of
whole numbers drawn evenly: nothing here rounds a chance or a draw. What is rounded is named, before anything is drawn:
a loss, down to 2**-40, and Laplace's scale, up to whole grid steps.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from fractions import Fraction
from importlib import import_module

import numpy as np

from fairpriv_core import checks
from fairpriv_core.errors import BadInput, RunFailed

_GRID_BITS = 20
_LARGEST_IN_FLOAT = 2.0**50  # grid steps: with any noise, a value below it stays where rounding leaves the grid alone
_SMALLEST_SCALE = 2.0**-900
AT_ONCE = 2**16  # normals in a piece (512 KiB): memory further away costs as much as drawing them
_BLOCK = 64  # steps that share a stream
_NORMALS = "fairpriv_core.privacy.normals"  # needs torch, which is loaded by then; commands that release nothing do not
UNIT = 2**40  # a loss of 1
_MOST_LOSS = 2**20 * UNIT  # beyond it a coin never falls; capping moves no two losses further apart
_FINE = 20  # a grid step is at most 2**-20 of the scale, and of the sensitivity over the number of values
_WIDE = 45  # and at least 2**-45 of the scale
_LARGEST_WHOLE = 2.0**62  # grid steps in a value: with noise it is an int64
_MOST_STEPS = 2**47  # in a scale


def noise_scale(bound: float, noise_multiplier: float, name: str) -> float:
    """Return bound * noise_multiplier; BadInput, naming `name`, where that cannot scale noise in float64."""
    std = float(bound) * float(noise_multiplier)
    if bound > 0 and _SMALLEST_SCALE < std < 1 / _SMALLEST_SCALE:
        return std
    checks.positive(**{name: float(bound)})
    checks.not_negative(noise_multiplier=float(noise_multiplier))
    if noise_multiplier and not _SMALLEST_SCALE < std < 1 / _SMALLEST_SCALE:
        raise BadInput(f"{name} must give noise of a scale that float64 can hold, got {bound}.", field=name)
    return std


def release_on_grid(
    value: np.ndarray, std: float | np.ndarray, noise: np.ndarray, out: np.ndarray | None = None
) -> np.ndarray:
    """Return value + std * noise, rounded to the grid (ties to even): float64, of value's shape.

    It is written into `out`, float32 or float64, where one is given; the noise's place is used up. `std` is a number,
    or (K, 1) positive ones for the rows of `value` (K, P), each with a grid of its own. Between 2**52 and 2**53 grid
    steps float64 holds multiples of the grid alone, so adding 1.5 * 2**52 of them rounds.
    """
    exact, grid = np.asarray(value), _find_grid(std)
    if not _lies_within(exact, _LARGEST_IN_FLOAT * grid) and (np.any(std) or not np.isfinite(exact).all()):
        largest = float(np.max(std))
        what = f"too large for noise of standard deviation {largest:g}" if np.isfinite(exact).all() else "not finite"
        raise RunFailed(f"a sum over protected records is {what}; lower the learning rate or the clipping bound.")
    noisy: np.ndarray = noise.reshape(exact.shape)
    onto = noisy if out is None else out
    noisy *= std
    if np.ndim(std) or std:
        noisy += exact
        middle = 1.5 * 2.0**52 * grid
        noisy += middle
        np.subtract(noisy, middle, out=onto)
    else:
        np.add(noisy, exact, out=onto)
    return onto


def _lies_within(values: np.ndarray, bound: float | np.ndarray) -> bool:
    """Return whether every one of `values` (..., P) lies between +-bound; not where one is not a number."""
    if not values.size:
        return True
    if isinstance(bound, float) and float(np.vdot(values, values)) < bound * bound / 2.0:  # one pass, not two
        return True
    largest, least = values.max(axis=-1, keepdims=True), values.min(axis=-1, keepdims=True)
    return bool(((largest < bound) & (least > -bound)).all())


def _find_grid(std: float | np.ndarray) -> float | np.ndarray:
    if isinstance(std, np.ndarray):
        grids: np.ndarray = np.ldexp(1.0, np.frexp(std)[1] - 1 - _GRID_BITS)
        return grids
    return math.ldexp(1.0, math.frexp(std)[1] - 1 - _GRID_BITS) if std else math.inf


class StepNoise:
    """`size` standard normals a step; `open_stream` gives the stream of each block of steps.

    A step's normals are the same whichever steps were asked for before. Where they are few, those of several steps
    are drawn together.
    """

    def __init__(self, size: int, open_stream: Callable[[int], np.random.Generator]) -> None:
        self._size, self._open = size, open_stream
        self._together = min(max(AT_ONCE // max(size, 1), 1), _BLOCK)
        self._piece = np.empty(min(self._together * size, AT_ONCE))
        self._block, self._next = -1, 0  # the block whose stream is open, and the next of its steps to be drawn
        self._held = range(0)  # the steps of the block that are in `_piece`, whole

    def pieces(self, step: int) -> Iterator[np.ndarray]:
        """Yield a step's normals in order, AT_ONCE at most at a time; each piece is lost when the next is drawn."""
        block, row = divmod(operator.index(step), _BLOCK)
        if block != self._block or (row < self._next and row not in self._held):
            self._stream, self._block, self._next = self._open(block), block, 0
        while row >= self._next and self._size:
            yield from (piece for piece in self._draw() if row < self._next and not self._held)
        if row in self._held and self._size:
            place = row - self._held.start
            yield self._piece[place * self._size : (place + 1) * self._size]

    def _draw(self) -> Iterator[np.ndarray]:
        """Draw what comes next: one step piece by piece, or several as one piece, which is held."""
        steps = range(self._next, self._next + self._together)
        self._next, self._held = steps.stop, range(0) if self._size > AT_ONCE else steps
        fill, values = import_module(_NORMALS).fill_normals, self._together * self._size
        for start in range(0, values, AT_ONCE):
            piece = self._piece[: min(values - start, AT_ONCE)]
            fill(self._stream, piece)
            yield piece


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
    integers, waiting = np.empty(size, dtype=np.int64), np.arange(size)
    while waiting.size:
        part = stream.integers(0, scale, waiting.size)
        selected = survive(stream, part, scale)
        values = part + scale * _count_survivals(stream, waiting.size)
        negative = stream.integers(0, 2, waiting.size).astype(bool)
        selected &= ~(negative & (values == 0))  # 0 would come twice as often
        integers[waiting[selected]] = np.where(negative, -values, values)[selected]
        waiting = waiting[~selected]
    return integers


def release_laplace(stream: np.random.Generator, value: np.ndarray, *, sensitivity: float, scale: float) -> np.ndarray:
    """Return `value` (P,), which moves by at most `sensitivity` in L1, plus Laplace noise of pure epsilon 1 / scale.

    The value is rounded to a grid, and discrete noise on that grid is added. Rounding may move each coordinate by one
    step more, so the noise's scale is scale * (sensitivity / step + P + 1) steps: the last one keeps its privacy loss
    below that of continuous noise too, which accountants compose. Raises RunFailed for a value that is not finite or
    too large for the grid, BadInput for a scale that float64 cannot add.
    """
    exact = np.asarray(value, dtype=np.float64)
    if not np.isfinite(exact).all():
        raise RunFailed("a sum over protected records is not finite; lower the learning rate or the clipping bound.")
    if not scale or not exact.size:
        return exact.copy()
    fine = _FINE + exact.size.bit_length()
    exponent = max(_exponent(min(sensitivity, sensitivity * scale)) - fine, _exponent(sensitivity * scale) - _WIDE)
    width = math.ceil(Fraction(scale) * (Fraction(sensitivity) / Fraction(2) ** exponent + exact.size + 1))
    if width > _MOST_STEPS:
        raise BadInput(f"scale must be smaller for {exact.size} values at once, got {scale:g}.", field="scale")
    if np.abs(exact).max() >= math.ldexp(_LARGEST_WHOLE, exponent):
        raise RunFailed(
            f"a sum over protected records is too large for Laplace noise of scale {sensitivity * scale:g}."
        )
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


def draw_largest(stream: np.random.Generator, scores: np.ndarray, *, sensitivity: float, epsilon: float) -> int:
    """Return one place in `scores` (m,), with a chance in proportion to exp(epsilon * score / (2 * sensitivity)).

    Of `epsilon`, 2**-39 is kept for what rounding losses down to 2**-40 may add.
    """
    rate = max(Fraction(epsilon) - Fraction(2, UNIT), Fraction(0)) / (2 * Fraction(sensitivity))
    exact = [Fraction(score) for score in scores.tolist()]
    best = max(exact)
    losses = np.array([min(int(rate * (best - score) * UNIT), _MOST_LOSS) for score in exact], dtype=np.int64)
    return int(_draw_by_loss(stream, 1, len(exact), losses.__getitem__)[0])


def _draw_by_loss(stream: np.random.Generator, n: int, k: int, loss: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Return n values in 0..k-1, each with a chance in proportion to exp(-loss): any value, until one survives.

    `loss` gives the losses, over UNIT, of drawn values; the least is 0.
    """
    values, waiting = np.empty(n, dtype=np.int64), np.arange(n)
    while waiting.size:
        offered = stream.integers(0, k, waiting.size)
        selected = survive(stream, loss(offered), UNIT)
        values[waiting[selected]] = offered[selected]
        waiting = waiting[~selected]
    return values


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
    position, places = -1, []
    while position < trials:
        gaps = stream.geometric(rate, chunk)
        np.minimum(gaps, trials + 1, out=gaps)  # a gap past the end says no more than that; sums cannot overflow
        positions = position + np.cumsum(gaps)
        places.append(positions)
        position = int(positions[-1])
    successes = np.concatenate(places)
    return successes[: np.searchsorted(successes, trials)]
