"""Privacy losses on a grid, never below the true ones: "connect the dots" (Doroshenko et al., 2022).

dp_accounting goes through cells, orders and tails one by one, which is most of the time that an epsilon takes. Here are
dp_accounting's formulas on arrays; its ranges and distribution functions are called as they are. A divergence is
largest at the exact inverse of the loss, so rounding of an inverse moves it by the square of the rounding alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from scipy import fft

from fairpriv_core.errors import Unsupported
from fairpriv_core.privacy.event import (
    Approximate,
    Event,
    Events,
    Gaussian,
    Laplace,
    RandomizedResponse,
    Relation,
    SampledGaussian,
)
from fairpriv_core.privacy.gaussian import approximate_mu

WIDEST = 0.25  # cells this wide mean an epsilon of some 100,000: as good as none
_MOST_CELLS = 2**20  # of a discretised distribution; beyond it the cells widen, and epsilon stays an upper bound
_FOURIER_ERROR = 2.0**-50  # of delta, a release: thirty times what we measured against the closed form
_FINEST = 12  # halvings of the interval at most
_LEAST_NOISE = 1e-3  # below it, and above the largest pure epsilon, a release counts as one without noise
_LARGEST_PURE = 500.0
_TAIL = 1e-15  # of the probability: what a composition with itself may leave out, counted as an infinite loss
_ORDERS = 20  # of Chernoff's bound, on each side: 1, 2, … over the number of cells
_MANY = 100_000  # releases; beyond them the best order is far below 1 over the cells, and more are tried


@dataclass(frozen=True)
class LossDistribution:
    """Privacy losses of one direction: `masses` (m,) at (`lowest` + 0 ... m - 1) times `width`, and one at infinity."""

    width: float
    lowest: int
    masses: np.ndarray
    infinite: float

    @property
    def places(self) -> np.ndarray:
        """Each mass's loss over the width (m,), whole numbers."""
        return self.lowest + np.arange(len(self.masses))


Sides = tuple[LossDistribution, ...]  # as a record leaves; and as one comes, where that differs


def gaussian_distribution(
    noise: float, interval: float, *, rate: float = 1.0, relation: Relation = "add_remove"
) -> Sides:
    """Return the losses of one release, sampled at `rate`; `noise` as `SampledGaussian` has it."""
    from dp_accounting.pld.privacy_loss_mechanism import AdjacencyType, GaussianPrivacyLoss

    if relation == "replace":
        sides = [AdjacencyType.REPLACE]
    else:
        sides = [AdjacencyType.REMOVE] if rate == 1 else [AdjacencyType.REMOVE, AdjacencyType.ADD]
    losses = [GaussianPrivacyLoss(noise, sampling_prob=rate, adjacency_type=side) for side in sides]
    return tuple(_discretise(loss, interval, partial(_invert, loss)) for loss in losses)


def laplace_distribution(scale: float, interval: float) -> Sides:
    """Return the losses of one release; `scale` is over the whole sensitivity."""
    from dp_accounting.pld.privacy_loss_mechanism import LaplacePrivacyLoss

    return (_discretise(LaplacePrivacyLoss(scale), interval, partial(_invert_laplace, scale)),)


def response_distribution(pure: float, interval: float) -> Sides:
    """Return the losses of binary randomised response, which bound every release of that pure epsilon."""
    lowest, highest = math.ceil(-pure / interval), math.ceil(pure / interval)
    masses = np.zeros(highest - lowest + 1)
    masses[0] += 1.0 / (1.0 + math.exp(pure))
    masses[-1] += math.exp(pure) / (1.0 + math.exp(pure))
    return (LossDistribution(interval, lowest, masses, 0.0),)


def repeat(losses: Sides, count: int) -> Sides:
    """Return the losses of `count` releases of `gaussian_distribution` or `laplace_distribution`."""
    return tuple(_repeat(side, count) for side in losses)


def compose(left: Sides, right: Sides) -> Sides:
    """Return the losses of both releases."""
    pairs = [(left[0], right[0]), (left[-1], right[-1])][: max(len(left), len(right))]
    return tuple(_convolve(one, other) for one, other in pairs)


def find_epsilon(losses: Sides, delta: float) -> float:
    """Return the least epsilon >= 0 at which the hockey-stick divergence is `delta` or less; maybe infinite."""
    return max(_find_epsilon(side, delta) for side in losses)


def _discretise(loss: Any, interval: float, invert: Callable[[np.ndarray], np.ndarray]) -> LossDistribution:
    bounds = loss.connect_dots_bounds()
    lower, upper = math.floor(bounds.epsilon_lower / interval), math.ceil(bounds.epsilon_upper / interval)
    epsilons = np.arange(lower, upper + 1) * interval
    cutoffs = invert(epsilons)
    above, below = loss.mu_upper_cdf(cutoffs), loss.mu_lower_log_cdf(cutoffs)
    deltas = np.clip(above - np.exp(epsilons + below), 0.0, 1.0)
    deltas = np.maximum.accumulate(deltas[::-1])[::-1]  # it falls but for rounding
    steps = np.diff(deltas)
    probabilities = np.zeros(len(deltas))
    probabilities[0] = 1.0 - deltas[0]
    probabilities[:-1] += steps / math.expm1(interval)
    probabilities[1:] += steps / math.expm1(-interval)
    return LossDistribution(interval, lower, np.maximum(probabilities, 0.0), deltas[-1])


def _invert(loss: Any, losses: np.ndarray) -> np.ndarray:
    """Return up to where the loss of Gaussian noise, which falls, is at least each of `losses`; maybe infinite."""
    rate, variance, side = loss.sampling_prob, loss.standard_deviation**2, loss.adjacency_type.name
    if side == "ADD":
        return np.asarray(0.5 + variance * _without_sampling(-losses, rate))
    if side == "REMOVE":
        return np.asarray(-0.5 - variance * _without_sampling(losses, rate))
    if rate == 1:
        return np.asarray(-0.5 * variance * losses)
    half = 0.5 * np.abs(losses)
    with np.errstate(divide="ignore"):  # at a loss of 0 the logarithm is -inf and the inverse 0
        sinh = half + np.log1p(-np.exp(-2.0 * half)) - math.log(2.0)
    scaled = sinh + 0.5 / variance + math.log1p(-rate) - math.log(rate)
    asinh = np.logaddexp(0.5 * np.logaddexp(0.0, 2.0 * scaled), scaled)
    return np.asarray(-np.sign(losses) * variance * (asinh + half))


def _without_sampling(losses: np.ndarray, rate: float) -> np.ndarray:
    """Return log(1 + (exp(loss) - 1) / rate), the loss of which sampling makes each of `losses`; -inf if none does."""
    if rate == 1:
        return losses
    above = losses - math.log1p(-rate)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(above > 0, losses - math.log(rate) + np.log(-np.expm1(-above)), -math.inf)


def _invert_laplace(scale: float, losses: np.ndarray) -> np.ndarray:
    shifts = losses * scale
    return np.where(shifts > 1, -math.inf, np.where(shifts <= -1, math.inf, -0.5 - 0.5 * shifts))


def _repeat(losses: LossDistribution, count: int) -> LossDistribution:
    """Return the composition of `losses` with themselves: by Fourier transform, on the range that Chernoff leaves."""
    size = len(losses.masses)
    low, high = 0.0, float((size - 1) * count)
    for order, total in _tilt(losses.masses, np.geomspace(1 / math.sqrt(count), 1, 20) if count > _MANY else []):
        bound = (count * math.log(total) + math.log(2.0 / _TAIL)) / order
        low, high = (low, min(high, math.ceil(bound))) if order > 0 else (max(low, math.floor(bound)), high)
    first, size_left = int(low), int(high - low) + 1
    length = fft.next_fast_len(max(size_left, size), real=True)
    wrapped = fft.irfft(fft.rfft(losses.masses, length) ** count, length)
    infinite = _TAIL - math.expm1(count * math.log1p(-losses.infinite))
    return LossDistribution(losses.width, losses.lowest * count + first, np.roll(wrapped, -first)[:size_left], infinite)


def _tilt(masses: np.ndarray, finer: Iterable[float]) -> Iterator[tuple[float, float]]:
    """Yield orders of Chernoff's bound, those that are `finer` too, each with its moment of `masses`.

    Whole orders follow from each other by a product, which takes far less than an exponential.
    """
    size = len(masses)
    places = np.arange(size) / size
    for sign in (-1.0, 1.0):
        step, tilted = np.exp(sign * places), masses
        for whole in range(1, _ORDERS + 1):
            tilted = tilted * step
            yield sign * whole / size, float(np.sum(tilted))
        for order in finer:
            yield sign * order / size, float(np.sum(np.exp(sign * order * places) * masses))


def _convolve(one: LossDistribution, other: LossDistribution) -> LossDistribution:
    """Return the composition without its tails: the lower one rounded up to what is kept, the upper one infinite."""
    size = len(one.masses) + len(other.masses) - 1
    length = fft.next_fast_len(size, real=True)
    masses = fft.irfft(fft.rfft(one.masses, length) * fft.rfft(other.masses, length), length)[:size]
    first = int(np.argmax(np.cumsum(masses) > _TAIL / 2))
    last = max(len(masses) - int(np.argmax(np.cumsum(masses[::-1]) > _TAIL / 2)), first + 1)
    infinite = one.infinite + other.infinite - one.infinite * other.infinite
    middle = masses[first:last]
    middle[0] += np.sum(masses[:first])
    return LossDistribution(one.width, one.lowest + other.lowest + first, middle, infinite + np.sum(masses[last:]))


def _find_epsilon(side: LossDistribution, delta: float) -> float:
    """Add masses up from the largest loss until epsilon is past the next one, or that one's exponential underflows."""
    if side.infinite > delta:
        return math.inf
    start = max(-side.lowest, 0)
    masses, losses = side.masses[start:][::-1], side.places[start:][::-1] * side.width
    above = np.cumsum(np.concatenate([[side.infinite], masses]))  # [i]: of the i largest losses
    scaled = np.concatenate([[0.0], np.cumsum(masses * np.exp(-losses))])
    with np.errstate(invalid="ignore", divide="ignore"):
        logs = np.log(above - delta) - np.log(scaled)
        past = (above[:-1] > delta) & (scaled[:-1] > 0) & (logs[:-1] >= losses)
    none = (above[1:] >= delta) & (scaled[1:] == 0)
    ends = np.flatnonzero(past | none)
    last = ends[0] if len(ends) else len(masses)
    if len(ends) and not past[last]:
        return float(losses[last])
    return float(logs[last]) if above[last] > scaled[last] + delta else 0.0


@lru_cache(maxsize=16)
def distribution(event: Event, interval: float) -> Sides:
    """Return the losses of one release, never below the true ones."""
    match event:
        case SampledGaussian(noise, rate, _, relation):
            return gaussian_distribution(noise, interval, rate=rate, relation=relation)
        case Gaussian(noise):
            return gaussian_distribution(noise, interval)
        case Laplace(scale):
            return laplace_distribution(scale, interval)
        case RandomizedResponse(pure):
            return response_distribution(pure, interval)
        case Approximate(delta):
            return (LossDistribution(interval, 0, np.array([1.0 - delta]), delta),)
    raise Unsupported(f"no accountant knows the event {type(event).__name__}.")


def resolved(events: Events, delta: float) -> float:
    """Return `delta` less what Fourier transforms of the composition may have lost of it; Unsupported past half."""
    error = _FOURIER_ERROR * sum(getattr(event, "count", 1) for event in events)
    if error > delta / 2:
        raise Unsupported(f"delta {delta:g} cannot be resolved for so many releases; it must be >= {2 * error:.2g}.")
    return delta - error


def has_no_noise(event: Event) -> bool:
    """Return whether a release has so little noise that it counts as one without."""
    match event:
        case SampledGaussian(noise) | Gaussian(noise) | Laplace(noise):
            return noise < _LEAST_NOISE
        case RandomizedResponse(pure):
            return pure > _LARGEST_PURE
    return False


def choose_cell(events: Events, interval: float) -> float:
    """Return `interval` times a power of two: narrow beside one release's loss, wide enough for the memory at hand.

    A release whose loss is small beside the cell is rounded to a far larger one, which counts when there are many.
    """
    mu, count = approximate_mu(events), sum(getattr(event, "count", 1) for event in events)
    narrow = min(interval, mu / (4 * math.sqrt(count)) if count else interval)
    wide = max([mu * (mu / 2 + 14) / _MOST_CELLS, *(4 * _reach(event) / _MOST_CELLS for event in events)], default=0.0)
    power = max(math.floor(math.log2(narrow / interval)), -_FINEST) if narrow > 0 else 0
    return interval * 2.0 ** max(power, math.ceil(math.log2(wide / interval)) if wide > 0 else power)


def _reach(event: Event) -> float:
    """Return about how far the privacy loss of one release goes, out to the tails that are kept."""
    match event:
        case SampledGaussian(noise, _, _, relation):
            sensitivity = 2 if relation == "replace" else 1
            return (sensitivity / noise) ** 2 + 20 * sensitivity / noise
        case Gaussian(noise):
            return noise**-2 + 20 / noise
        case Laplace(noise):
            return 2 / noise
    return 0.0
