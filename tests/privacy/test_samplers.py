"""Exact samplers: the chances that are stated, by enumeration, against scipy, and far out in the tails."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from fairpriv_core.errors import BadInput, RunFailed
from fairpriv_core.privacy import noise
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.noise import UNIT, draw_laplace, draw_largest, draw_responses, release_laplace, survive
from fairpriv_core.privacy.randomness import Randomness


class Coins:
    """A stream that is told what to draw: the digits of one of all possible sequences; `chance` is that sequence's."""

    def __init__(self, digits: list[int]) -> None:
        self.digits, self.chance, self.asked = digits, Fraction(1), list[int]()

    def integers(self, low: int, high: int, size: int) -> np.ndarray:
        assert low == 0
        drawn = []
        for _ in range(size):
            place = len(self.asked)
            drawn.append(self.digits[place] if place < len(self.digits) else high - 1)  # fails at once
            self.asked.append(high)
            self.chance /= high
        return np.array(drawn, dtype=np.int64)


def enumerate_survival(loss: int, unit: int, *, most: int) -> tuple[Fraction, Fraction]:
    """Return the exact chance that `survive` says True within `most` draws, and that it is not done by then."""
    true, open_ended, waiting = Fraction(0), Fraction(0), [list[int]()]
    while waiting:
        digits = waiting.pop()
        coins = Coins(digits)
        answer = survive(coins, np.array([loss]), unit)  # type: ignore[arg-type]
        drawn = len(coins.asked)
        if drawn <= len(digits):
            true += coins.chance if answer[0] else 0
        elif len(digits) == most:
            open_ended += math.prod((Fraction(1, each) for each in coins.asked[:most]), start=Fraction(1))
        else:
            waiting += [[*digits, value] for value in range(coins.asked[len(digits)])]
    return true, open_ended


def test_a_coin_has_its_chance_to_the_last_digit() -> None:
    """Of every sequence of draws, each with its own chance."""
    for loss, unit in [(0, 3), (1, 3), (2, 3), (1, 2)]:
        true, rest = enumerate_survival(loss, unit, most=4)
        assert float(true) <= math.exp(-loss / unit) <= float(true + rest)
        assert rest < Fraction(1, 20)


def stream(seed: int = 5) -> np.random.Generator:
    return Randomness.replay(seed).stream("test")


def test_coins_fall_as_often_as_they_should() -> None:
    for loss in [0.0, 0.3, 1.0, 2.7, 9.0]:
        n, chance = 100_000, math.exp(-loss)
        found = survive(stream(), np.full(n, int(loss * UNIT)), UNIT).sum()
        assert abs(found - n * chance) <= 5 * math.sqrt(n * chance * (1 - chance)) + 1


@pytest.mark.parametrize("scale", [1, 3, 40])
def test_discrete_laplace_has_the_chances_of_its_law(scale: int) -> None:
    n = 200_000
    drawn, law = draw_laplace(stream(), scale, n), stats.dlaplace(1 / scale)
    values = np.arange(-3 * scale, 3 * scale + 1)
    counts = np.array([(drawn == value).sum() for value in values])
    inside = np.append(counts, n - counts.sum())
    probabilities = law.pmf(values)
    assert stats.chisquare(inside, n * np.append(probabilities, 1 - probabilities.sum())).pvalue > 1e-5


def test_laplace_tails_lie_where_they_should_and_at_every_step() -> None:
    """Far out floats inverted from 53 bits skip steps of the grid; here neighbouring steps come alike often."""
    n, width = 400_000, 2**21
    far = np.abs(draw_laplace(stream(), width, n))
    for times in (1.0, 4.0, 8.0):
        expected = n * math.exp(-times)
        assert abs((far > times * width).sum() - expected) < 5 * math.sqrt(expected) + 1
    ends = far[far > 5 * width] % 16
    assert stats.chisquare(np.bincount(ends, minlength=16)).pvalue > 1e-5


def test_tails_beyond_what_inversion_reaches_have_their_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """-log(u) of a float64 u ends at 53 log 2 = 36.7; a draw says at most 36.7 more. Here 60 scales may come, and do.

    The number of survivals is forced to 59 at least: all else is drawn as ever.
    """
    honest = noise._count_survivals
    monkeypatch.setattr(noise, "_count_survivals", lambda rng, size: 59 + honest(rng, size))
    drawn = np.abs(draw_laplace(stream(), 2**20, 20_000)) / 2.0**20 - 59
    assert drawn.min() >= 0 and stats.kstest(drawn, "expon").pvalue > 1e-5
    assert len(np.unique(drawn)) > 19_000


@pytest.mark.parametrize(
    ("sensitivity", "scale", "size"), [(2.0, 1.5, 8), (0.3, 0.05, 1), (1e-6, 200.0, 400), (1.0, 1e9, 2)]
)
def test_stated_epsilon_holds_of_values_rounded_to_the_grid(sensitivity: float, scale: float, size: int) -> None:
    """The noise's scale in steps over how many steps rounded values may lie apart is at least `scale`."""
    widths: list[int] = []
    rng = np.random.default_rng(0)

    def take(_: object, width: int, count: int) -> np.ndarray:
        widths.append(width)
        return np.zeros(count, dtype=np.int64)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(noise, "draw_laplace", take)
        for _ in range(50):
            one = rng.uniform(-4, 4, size) * sensitivity * max(scale, 1.0)
            parts = rng.dirichlet(np.ones(size)) * rng.choice([-1, 1], size)
            pair = [
                release_laplace(stream(), value, sensitivity=sensitivity, scale=scale)
                for value in (one, one + sensitivity * parts)
            ]
            apart = sum((abs(Fraction(a) - Fraction(b)) for a, b in zip(*pair, strict=True)), start=Fraction(0))
            step = Fraction(2) ** _grid_exponent(sensitivity, scale, size)
            assert all(Fraction(value) % step == 0 for value in np.concatenate(pair))
            assert Fraction(scale) * apart / step < widths[-1]
    assert max(widths) == min(widths)
    excess = widths[0] * float(step) / (sensitivity * scale) - 1
    assert 0 < excess < (2.0**-18 if scale < 2**20 else 2.0**-13)


def _grid_exponent(sensitivity: float, scale: float, size: int) -> int:
    fine = math.frexp(min(sensitivity, sensitivity * scale))[1] - 21 - math.frexp(float(size))[1]
    return max(fine, math.frexp(sensitivity * scale)[1] - 46)


def test_discrete_noise_has_no_larger_divergence_than_the_continuous_noise_that_is_counted() -> None:
    """At every epsilon, on a coarse grid, where a step too few would show."""
    for scale in [0.3, 1.0, 20.0]:
        apart = 16
        width = math.ceil(scale * (apart + 1))
        places = np.arange(-400 * width // 10 - 50, 400 * width // 10 + 50)
        masses = stats.dlaplace(1 / width).pmf(places)
        moved = stats.dlaplace(1 / width).pmf(places - apart)
        excess = []
        for epsilon in np.linspace(0, 1 / scale, 400):
            found = np.maximum(masses - math.exp(epsilon) * moved, 0).sum()
            excess.append(found - max(-math.expm1((epsilon - 1 / scale) / 2), 0.0))
        assert max(excess) <= 1e-12


def test_laplace_refuses_what_it_cannot_add() -> None:
    with pytest.raises(RunFailed, match="not finite"):
        release_laplace(stream(), np.array([np.nan]), sensitivity=1.0, scale=1.0)
    with pytest.raises(RunFailed, match="too large"):
        release_laplace(stream(), np.array([1e13]), sensitivity=1.0, scale=1.0)
    with pytest.raises(BadInput, match="scale must be smaller"):
        release_laplace(stream(), np.zeros(10), sensitivity=1.0, scale=1e15)
    assert release_laplace(stream(), np.array([0.1]), sensitivity=1.0, scale=0.0)[0] == 0.1
    assert release_laplace(stream(), np.zeros(0), sensitivity=1.0, scale=1.0).shape == (0,)


@pytest.mark.parametrize(("k", "epsilon"), [(2, 0.01), (2, 3.0), (5, 1.0), (3, 12.0)])
def test_responses_have_the_chances_of_randomised_response(k: int, epsilon: float) -> None:
    n = 200_000
    truth = np.arange(n) % k
    moved = (draw_responses(stream(), truth, k=k, epsilon=epsilon) - truth) % k
    keep = 1.0 / (1.0 + (k - 1) * math.exp(-epsilon))
    expected = n * np.array([keep, *[(1 - keep) / (k - 1)] * (k - 1)])
    assert stats.chisquare(np.bincount(moved, minlength=k), expected).pvalue > 1e-5


def test_a_large_epsilon_still_lets_answers_change_as_seldom_as_stated() -> None:
    """Of two million answers at epsilon 12 about 12 differ."""
    n, epsilon = 2_000_000, 12.0
    moved = draw_responses(stream(3), np.zeros(n, dtype=np.int64), k=2, epsilon=epsilon).sum()
    expected = n / (1 + math.exp(epsilon))
    assert abs(moved - expected) < 5 * math.sqrt(expected)
    assert draw_responses(stream(), np.zeros(1000, dtype=np.int64), k=2, epsilon=1e-300).sum() > 300


def test_the_largest_is_drawn_by_the_exponential_mechanism() -> None:
    scores, sensitivity, epsilon, draws = np.array([0.0, 0.1, 0.5, -1.0]), 0.2, 1.0, 2_000
    rng = stream()
    drawn = [draw_largest(rng, scores, sensitivity=sensitivity, epsilon=epsilon) for _ in range(draws)]
    probabilities = np.exp(scores * epsilon / (2 * sensitivity))
    expected = draws * probabilities / probabilities.sum()
    assert stats.chisquare(np.bincount(drawn, minlength=4), expected).pvalue > 1e-5
    far = np.array([0.0, 1e300, -1e300])
    assert {draw_largest(rng, far, sensitivity=1e-3, epsilon=1.0) for _ in range(50)} == {1}


def test_losses_of_neighbouring_scores_stay_within_epsilon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The chances are those of the losses that are drawn by, which are whole numbers: their ratio is exact."""
    taken: list[np.ndarray] = []

    def keep(_: object, n: int, k: int, loss: object) -> np.ndarray:
        taken.append(loss(np.arange(k)))  # type: ignore[operator]
        return np.zeros(n, dtype=np.int64)

    monkeypatch.setattr(noise, "_draw_by_loss", keep)
    rng, epsilon = np.random.default_rng(0), 0.7
    for _ in range(300):
        one = rng.normal(size=5)
        for scores in (one, one + rng.uniform(-1, 1, size=5), one + rng.choice([-1, 1], size=5)):
            draw_largest(stream(), scores, sensitivity=1.0000001, epsilon=epsilon)
        weights = [np.exp(-losses / UNIT) for losses in taken[-3:]]
        logs = [np.log(each / each.sum()) for each in weights]
        assert max(np.abs(logs[0] - other).max() for other in logs[1:]) <= epsilon


def test_nothing_but_the_stream_is_drawn_from() -> None:
    def draw() -> list[np.ndarray]:
        mechanism = Mechanism(Randomness.replay(3))
        return [
            mechanism.laplace(np.zeros(9), sensitivity=1.0, scale=2.0, purpose="t", index=0),
            mechanism.randomized_response(np.zeros(50, dtype=np.int64), k=3, epsilon=1.0, purpose="t", index=0),
            np.array(mechanism.noisy_max(np.arange(9.0), sensitivity=1.0, epsilon=1.0, purpose="t", index=0)),
        ]

    np.random.seed(1)
    first = draw()
    state = np.random.get_state()
    np.random.seed(2)
    assert all(np.array_equal(one, other) for one, other in zip(first, draw(), strict=True))
    np.random.seed(1)
    assert np.array_equal(np.random.get_state()[1], state[1])  # type: ignore[index]
