"""From what attacks found to a lower bound on epsilon that holds with a stated confidence.

If a mechanism is (epsilon, delta)-differentially private, every test between two neighbouring data sets has
TPR <= e^epsilon FPR + delta and TNR <= e^epsilon FNR + delta. Counts on runs that played no part in building the test
bound the four rates by Clopper and Pearson (1934); what epsilon must then be at least follows, for every delta at once.

An accountant states more than one (epsilon, delta): all of them are a curve, and a test may lie above it though it
refutes no single point by much. `noise_bound` compares a test with the whole curve, after Nasr et al. (2023), Tight
Auditing of Differentially Private Machine Learning: the curve of a Gaussian where every row is used (Gaussian
differential privacy), of its sampled counterpart elsewhere. It refutes curves of more and more noise, and the epsilon
of the last one that stands is a lower bound *if the releases are what is counted but for how much noise they have*.
`one_run_bound` is the bound of Steinke, Nasr and Jagielski (2023), Privacy auditing with one (1) training run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from fairpriv_core import checks
from fairpriv_core.privacy.accountants import coarse_profile
from fairpriv_core.privacy.event import (
    Approximate,
    Event,
    Events,
    Gaussian,
    Laplace,
    Parallel,
    RandomizedResponse,
    SampledGaussian,
)

_HALVINGS = 40
_CURVE = (1e-5, 1e-4, 1e-3, 3e-3, 0.01, 0.02, 0.04, *np.arange(0.07, 0.96, 0.03).tolist())  # deltas along it
_MOST_NOISE, _LEAST_NOISE = 2.0**6, 2.0**-6  # over what is counted
_CLOSE = 1.003  # how near to the last curve that stands one must come


@dataclass(frozen=True)
class Test:
    """What one test did on runs that it was not built on.

    `attack` names its score, above `threshold` it says "second data set". Of `seconds` runs on the second data set it
    got `hits` right; of `firsts` runs on the first it took `alarms` for the second.
    """

    attack: str
    threshold: float
    hits: int
    seconds: int
    alarms: int
    firsts: int


def build_tests(scores: Mapping[str, np.ndarray], deltas: Sequence[float], *, alpha: float) -> list[Test]:
    """Return the tests that promise most at each of `deltas`, and of a Gaussian's whole curve, without repeats.

    `scores` maps an attack to its scores (2, N): of N runs on the first data set and of N on the second. Every fourth
    run chooses attack and threshold, the others are counted.
    """
    tuned = is_tuning(next(iter(scores.values())).shape[1])
    tests: dict[tuple[str, float], None] = {}
    for delta in (*deltas, None):
        promised = {name: _best_threshold(worlds[:, tuned], delta, alpha) for name, worlds in scores.items()}
        name = max(promised, key=lambda attack: promised[attack][1])
        tests[name, promised[name][0]] = None
    return [_count(name, threshold, scores[name][:, ~tuned]) for name, threshold in tests]


def is_tuning(runs: int) -> np.ndarray:
    """Return which runs (runs,) tests are built on: every fourth."""
    tuning: np.ndarray = np.arange(runs) % 4 == 0
    return tuning


def lower_bound(tests: Sequence[Test], delta: float, *, confidence: float, among: int) -> float:
    """Return an epsilon >= 0 below which (epsilon, delta) is refuted.

    All bounds that `among` tests give, whatever the deltas, hold together with at least `confidence`: each test is
    allowed an error of (1 - confidence) / among. Raises BadInput for a confidence or delta outside (0, 1).
    """
    checks.open_unit(confidence=confidence, delta=delta)
    checks.whole(low=max(len(tests), 1), among=among)
    alpha = (1.0 - confidence) / among
    return max([_refute(test, delta, alpha) for test in tests], default=0.0)


def noise_bound(tests: Sequence[Test], events: Events, *, confidence: float, among: int) -> float | None:
    """Return how much noise, over that of `events`, is refuted: with so much of it or more a test lies above the curve.

    Below 1, what is counted is refuted. None where nothing is refuted that has up to 64 times the noise. The error is
    that of `lower_bound`, with which it holds together: both follow from the same bounds on the tests' rates.
    """
    alpha = (1.0 - confidence) / among
    rates = [_rates(np.array([t.hits]), np.array([t.alarms]), t.seconds, t.firsts, alpha) for t in tests]
    mu = _find_mu(events)
    if mu is not None:
        distance = max((float((ndtri(low) - ndtri(high))[0]) for low, high in rates), default=0.0)
        noise = mu / distance if distance > 0 else math.inf
        return noise if 0 < noise < _MOST_NOISE else None
    epsilons = [max((float(_bound(*pair, delta)[0]) for pair in rates), default=0.0) for delta in _CURVE]

    def refuted(noise: float) -> bool:
        limits = coarse_profile(with_noise(events, noise), _CURVE)
        return any(low > high for low, high in zip(epsilons, limits, strict=True))

    if not any(epsilons) or not refuted(_MOST_NOISE):
        return None
    low, high = _LEAST_NOISE, _MOST_NOISE
    while high > _CLOSE * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if refuted(middle) else (middle, high)
    return high


def with_noise(events: Events, factor: float) -> Events:
    """Return `events` with `factor` times their noise; of randomised response, that part of its epsilon."""
    return tuple(_scale(event, factor) for event in events)


def _find_mu(events: Events) -> float | None:
    """Return the mu of the Gaussian that `events` equal; None where they equal none, or have no noise."""
    total = 0.0
    for event in events:
        match event:
            case Gaussian(noise, count) if noise:
                total += count / noise**2
            case SampledGaussian(noise, rate, count, relation) if noise and rate == 1:
                total += count * ((2.0 if relation == "replace" else 1.0) / noise) ** 2  # noise is over half of it
            case _:
                return None
    return math.sqrt(total)


def _scale(event: Event, factor: float) -> Event:
    match event:
        case SampledGaussian(noise) | Gaussian(noise):
            return replace(event, noise_multiplier=factor * noise)
        case Laplace(scale):
            return replace(event, scale=factor * scale)
        case RandomizedResponse(pure):
            return RandomizedResponse(pure / factor)
        case Approximate():
            return event
        case Parallel(branches):
            return replace(event, branches=tuple(with_noise(branch, factor) for branch in branches))


def one_run_p_value(*, canaries: int, guesses: int, correct: int, epsilon: float, delta: float) -> float:
    """Return the chance that an (epsilon, delta)-private run lets `correct` or more of `guesses` coins be guessed.

    Each of `canaries` fair coins decides about one record; the guesser abstains from the others. Steinke, Nasr and
    Jagielski (2023), appendix D: beta + 2 m delta alpha. At most 1.
    """
    from scipy.stats import binom

    chance = 1.0 / (1.0 + math.exp(-epsilon))
    at_least = float(binom.sf(correct - 1, guesses, chance))
    below = np.cumsum(binom.pmf(correct - np.arange(1, correct + 1), guesses, chance))  # P[v > W >= v - i]
    worst = float((below / np.arange(1, correct + 1)).max(initial=0.0))
    return min(at_least + 2.0 * canaries * delta * worst, 1.0)


def one_run_bound(*, canaries: int, guesses: int, correct: int, delta: float, confidence: float) -> float:
    """Return the largest epsilon that the p-value refutes with `confidence`; 0 where it refutes none."""
    checks.open_unit(confidence=confidence)
    checks.whole(high=canaries, guesses=guesses)
    checks.whole(high=guesses, correct=correct)

    def refuted(epsilon: float) -> bool:
        counts = {"canaries": canaries, "guesses": guesses, "correct": correct}
        return one_run_p_value(**counts, epsilon=epsilon, delta=delta) < 1.0 - confidence

    low, high = 0.0, 1.0
    if not refuted(low):
        return 0.0
    while refuted(high):
        low, high = high, 2.0 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


def _refute(test: Test, delta: float, alpha: float) -> float:
    low, high = _rates(np.array([test.hits]), np.array([test.alarms]), test.seconds, test.firsts, alpha)
    return float(_bound(low, high, delta)[0])


def _best_threshold(scores: np.ndarray, delta: float | None, alpha: float) -> tuple[float, float]:
    """Return the threshold with the largest bound on these runs, and that bound: of a Gaussian's mu without a delta."""
    first, second = np.sort(scores[0]), np.sort(scores[1])
    thresholds = np.unique(scores)
    hits = len(second) - np.searchsorted(second, thresholds, side="right")
    alarms = len(first) - np.searchsorted(first, thresholds, side="right")
    low, high = _rates(hits, alarms, len(second), len(first), alpha)
    bounds = ndtri(low) - ndtri(high) if delta is None else _bound(low, high, delta)
    best = int(bounds.argmax())
    return float(thresholds[best]), float(bounds[best])


def _count(name: str, threshold: float, scores: np.ndarray) -> Test:
    alarms, hits = ((scores > threshold).sum(axis=1)).tolist()
    return Test(name, threshold, hits, scores.shape[1], alarms, scores.shape[1])


def _rates(
    hits: np.ndarray, alarms: np.ndarray, seconds: int, firsts: int, alpha: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return what TPR is at least and FPR at most, together with confidence 1 - alpha."""
    from scipy.stats import beta

    low = np.where(hits > 0, beta.ppf(alpha / 2, np.maximum(hits, 1), seconds - hits + 1), 0.0)
    high = np.where(alarms < firsts, beta.ppf(1 - alpha / 2, alarms + 1, np.maximum(firsts - alarms, 1)), 1.0)
    return low, high


def _bound(low: np.ndarray, high: np.ndarray, delta: float) -> np.ndarray:
    """Return what epsilon is at least where TPR >= `low` and FPR <= `high`."""
    with np.errstate(divide="ignore"):
        hit = np.log(np.maximum(low - delta, 0.0)) - np.log(high)
        passed = np.log(np.maximum(1.0 - high - delta, 0.0)) - np.log(1.0 - low)
    bounds: np.ndarray = np.maximum(np.maximum(hit, passed), 0.0)
    return bounds
