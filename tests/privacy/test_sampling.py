"""Secret samples are Poisson: each record by itself, at the rate that is accounted, anew in every step."""

import numpy as np
import pytest
from scipy import stats

from fairpriv_core.errors import BadInput, FairprivError
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.noise import draw_poisson_samples
from fairpriv_core.privacy.randomness import Randomness
from fairpriv_core.seeds import public_generator

N, STEPS = 400, 5000


def indicators(samples: list[np.ndarray], n: int) -> np.ndarray:
    """Return (steps, n): whether each record is in each step's sample."""
    inside = np.zeros((len(samples), n), dtype=bool)
    for row, sample in zip(inside, samples, strict=True):
        assert sample.dtype == np.int64
        assert (np.diff(sample) > 0).all()
        row[sample] = True
    return inside


@pytest.fixture(scope="module", params=[0.003, 0.05, 0.4, 0.9])
def drawn(request: pytest.FixtureRequest) -> tuple[float, np.ndarray]:
    rate: float = request.param
    samples = Mechanism(Randomness.replay(11)).sample(n=N, rate=rate, epoch=0, steps=STEPS)
    return rate, indicators(samples, N)


def test_inclusion_has_the_stated_rate_everywhere(drawn: tuple[float, np.ndarray]) -> None:
    """Over all, by record (first and last included) and by step, within 5 standard errors."""
    rate, inside = drawn
    spread = np.sqrt(rate * (1 - rate))
    assert abs(inside.mean() - rate) < 5 * spread / np.sqrt(inside.size)
    assert np.abs(inside.mean(axis=0) - rate).max() < 5 * spread / np.sqrt(STEPS)
    assert np.abs(inside.mean(axis=1) - rate).max() < 6.5 * np.sqrt(rate / N) * max(1.0, spread)


def test_sample_sizes_are_binomial(drawn: tuple[float, np.ndarray]) -> None:
    """A sample of fixed size, or one that is cut or padded, has another distribution of sizes."""
    rate, inside = drawn
    sizes = inside.sum(axis=1)
    assert abs(sizes.var() / (N * rate * (1 - rate)) - 1) < 0.12
    edges = np.unique(stats.binom.ppf(np.linspace(0.1, 0.9, 9), N, rate))
    expected = np.diff([0.0, *stats.binom.cdf(edges, N, rate), 1.0]) * STEPS
    observed = np.bincount(np.searchsorted(edges, sizes), minlength=len(expected))
    assert stats.chisquare(observed, expected).pvalue > 1e-4


def test_records_and_steps_are_independent(drawn: tuple[float, np.ndarray]) -> None:
    rate, inside = drawn
    centred = (inside - rate) / np.sqrt(rate * (1 - rate))
    for one, other in (
        (centred[:, :-1], centred[:, 1:]),
        (centred[:-1], centred[1:]),
        (centred[:-1, -1], centred[1:, 0]),
    ):
        assert abs((one * other).mean()) < 5 / np.sqrt(one.size)


def test_samples_of_epochs_models_and_runs_are_unrelated() -> None:
    mechanisms = [
        Mechanism(Randomness.replay(1)),
        Mechanism(Randomness.replay(1), model=1),
        Mechanism(Randomness.replay(2)),
    ]
    drawn = [indicators(m.sample(n=N, rate=0.3, epoch=0, steps=200), N) for m in mechanisms]
    drawn.append(indicators(mechanisms[0].sample(n=N, rate=0.3, epoch=1, steps=200), N))
    together = np.corrcoef([inside.ravel() for inside in drawn])
    assert np.abs(together - np.eye(4)).max() < 5 / np.sqrt(N * 200)


def test_samples_are_unrelated_to_the_public_seed() -> None:
    """Public batches come from `seed`; a replay seed of the same number gives unrelated samples."""
    inside = indicators(Mechanism(Randomness.replay(0)).sample(n=N, rate=0.3, epoch=0, steps=200), N)
    public = public_generator(0, "batches", 0).random((200, N)) < 0.3
    assert abs(np.corrcoef(inside.ravel(), public.ravel())[0, 1]) < 5 / np.sqrt(N * 200)


def test_rate_one_takes_everyone() -> None:
    samples = Mechanism(Randomness.fresh()).sample(n=7, rate=1.0, epoch=0, steps=3)
    assert [sample.tolist() for sample in samples] == [list(range(7))] * 3


def test_a_tiny_rate_takes_almost_no_one_and_never_overflows() -> None:
    samples = draw_poisson_samples(Randomness.fresh().stream("t"), n=10, rate=1e-300, steps=1000)
    assert sum(map(len, samples)) == 0
    few = draw_poisson_samples(Randomness.replay(1).stream("t"), n=10**9, rate=1e-7, steps=50)
    assert abs(sum(map(len, few)) - 5000) < 5 * np.sqrt(5000)
    assert max(sample.max() for sample in few) > 9e8


def test_one_record_and_one_step_work() -> None:
    samples = draw_poisson_samples(Randomness.replay(5).stream("t"), n=1, rate=0.5, steps=2000)
    assert {tuple(sample) for sample in samples} == {(), (0,)}
    assert abs(sum(map(len, samples)) - 1000) < 5 * np.sqrt(500)


def test_the_first_and_the_last_trial_have_their_chance() -> None:
    """Of a sequence so short that only its ends remain, over many streams."""
    randomness = Randomness.replay(9)
    inside = np.zeros(2)
    for index in range(4000):
        [sample] = draw_poisson_samples(randomness.stream("t", index), n=2, rate=0.25, steps=1)
        inside[sample] += 1
    assert np.abs(inside / 4000 - 0.25).max() < 5 * np.sqrt(0.25 * 0.75 / 4000)


class Stingy(np.random.Generator):
    """Gives gaps far shorter than expected, so that one chunk cannot reach the end."""

    def geometric(self, p: float, size: int) -> np.ndarray:  # type: ignore[override]
        return super().geometric(min(20 * p, 1.0), size)


def test_drawing_goes_on_until_the_last_step() -> None:
    """Too short a first draw would leave the last steps without a sample, silently."""
    bits = Randomness.replay(1).stream("t").bit_generator
    samples = draw_poisson_samples(Stingy(bits), n=1000, rate=0.01, steps=100)
    assert min(map(len, samples)) > 100


def test_an_epoch_is_drawn_once_and_steps_use_each_sample_once() -> None:
    mechanism = Mechanism(Randomness.fresh())
    mechanism.sample(n=10, rate=0.5, epoch=0, steps=2)
    with pytest.raises(FairprivError, match="only once"):
        mechanism.sample(n=10, rate=0.5, epoch=0, steps=2)
    release = {"radius": 1.0, "noise_multiplier": 1.0, "relation": "replace"}
    with pytest.raises(FairprivError, match="drawn at rate"):
        mechanism.sampled_gaussian(np.zeros(1), sampling_rate=0.4, step=0, **release)  # type: ignore[arg-type]
    for step in range(2):
        mechanism.sampled_gaussian(np.zeros(1), sampling_rate=0.5, step=step, **release)  # type: ignore[arg-type]
    with pytest.raises(FairprivError, match="every sample"):
        mechanism.sampled_gaussian(np.zeros(1), sampling_rate=0.5, step=2, **release)  # type: ignore[arg-type]


def test_samples_out_of_range_are_refused() -> None:
    for bad in [{"n": 0}, {"steps": 0}, {"rate": 0.0}, {"rate": 1.1}, {"rate": float("nan")}]:
        asked = {"n": 10, "rate": 0.5, "steps": 2} | bad
        with pytest.raises(BadInput, match=next(iter(bad))):
            Mechanism(Randomness.fresh()).sample(epoch=0, **asked)  # type: ignore[arg-type]
