"""The privacy loss of one release, discretised pessimistically by "connect the dots" (Doroshenko et al., 2022)."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from dp_accounting.pld import common
from dp_accounting.pld import privacy_loss_distribution as pld

from fairpriv_core.errors import Unsupported
from fairpriv_core.privacy.dots import gaussian_losses, laplace_losses
from fairpriv_core.privacy.event import Event, Events, Gaussian, Laplace, RandomizedResponse, SampledGaussian
from fairpriv_core.privacy.gaussian import approximate_mu

_MOST_CELLS = 2**20  # of a discretised distribution; beyond it the cells widen, and epsilon stays an upper bound
_FOURIER_ERROR = 2.0**-50  # of delta, a release: thirty times what we measured against the closed form
_FINEST = 12  # halvings of the interval at most
WIDEST = 0.25  # cells this wide mean an epsilon of some 100,000: as good as none
_LEAST_NOISE = 1e-3  # below it, and above the largest pure epsilon, a release counts as one without noise
_LARGEST_PURE = 500.0


@lru_cache(maxsize=16)
def distribution(event: Event, interval: float) -> Any:
    """Return the pessimistic privacy-loss distribution of one release."""
    match event:
        case SampledGaussian(noise, rate, _, relation):
            return gaussian_losses(noise, interval, rate=rate, relation=relation)
        case Gaussian(noise):
            return gaussian_losses(noise, interval)
        case Laplace(scale):
            return laplace_losses(scale, interval)
        case RandomizedResponse(pure):
            return pld.from_privacy_parameters(common.DifferentialPrivacyParameters(pure, 0), interval)
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
            shift = 2 if relation == "replace" else 1
            return (shift / noise) ** 2 + 20 * shift / noise
        case Gaussian(noise):
            return noise**-2 + 20 / noise
        case Laplace(noise):
            return 2 / noise
    return 0.0
