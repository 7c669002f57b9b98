"""What must hold of epsilon whatever the releases: order, more releases, less noise, larger samples."""

import math

from hypothesis import given, settings
from hypothesis import strategies as some

from fairpriv_core.privacy.accountants import COARSE, epsilon, rdp_epsilon
from fairpriv_core.privacy.event import Events, Gaussian, Laplace, RandomizedResponse, Relation, SampledGaussian, merge

DELTA = 1e-5
SLACK = 1e-6  # of discretisation and transforms: cells differ between the compositions compared
quick = settings(max_examples=20, deadline=None)
noises = some.floats(2.0, 30.0)
rates = some.floats(1e-3, 0.1)
counts = some.integers(1, 1000)
relations = some.sampled_from(["replace", "add_remove"])


def cost(events: Events) -> float:
    return epsilon(events, DELTA, interval=COARSE)


def compositions(relation: Relation) -> some.SearchStrategy[Events]:
    sampled = some.builds(SampledGaussian, noises, rates, counts, some.just(relation))
    plain = some.builds(Gaussian, some.floats(3.0, 30.0), some.integers(1, 5))
    pure = some.builds(Laplace, some.floats(2.0, 30.0)) | some.builds(RandomizedResponse, some.floats(0.01, 0.5))
    return some.lists(sampled | plain | pure, min_size=1, max_size=3).map(tuple)


@quick
@given(relations, noises, rates, counts, some.integers(1, 500), some.floats(1.05, 4.0))
def test_more_releases_less_noise_and_larger_samples_cost_more(
    relation: Relation, noise: float, rate: float, count: int, more: int, factor: float
) -> None:
    base = cost((SampledGaussian(noise, rate, count, relation),))
    slack = 0.02 * base + 1e-3
    assert cost((SampledGaussian(noise, rate, count + more, relation),)) >= base - slack
    assert cost((SampledGaussian(noise / factor, rate, count, relation),)) >= base - slack
    assert cost((SampledGaussian(noise, min(rate * factor, 1.0), count, relation),)) >= base - slack
    assert cost((SampledGaussian(noise, rate, 4 * count, relation),)) > 1.2 * base or base < 0.01


@quick
@given(noises, rates, counts)
def test_replacement_costs_more_than_adding_and_less_than_twice_the_shift(
    noise: float, rate: float, count: int
) -> None:
    """Between the pair 0, +1 at the same noise and the pair 0, +1 at half the noise when all are in."""
    replaced = cost((SampledGaussian(noise, rate, count, "replace"),))
    assert replaced >= cost((SampledGaussian(noise, rate, count),)) - 1e-3
    assert replaced <= cost((Gaussian(noise / 2, count),)) + 1e-2


@quick
@given(relations.flatmap(compositions), some.randoms(use_true_random=False))
def test_order_and_counting_together_change_nothing(events: Events, random: some.DrawFn) -> None:
    shuffled = list(events)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert math.isclose(cost(events), cost(tuple(shuffled)), rel_tol=1e-9, abs_tol=SLACK)
    assert math.isclose(cost(events), cost(merge(events)), rel_tol=1e-9, abs_tol=SLACK)
    assert math.isclose(cost(events + events), cost(merge(events + events)), rel_tol=1e-9, abs_tol=SLACK)


@quick
@given(relations.flatmap(compositions))
def test_a_part_costs_no_more_than_the_whole_nor_the_whole_more_than_its_parts(events: Events) -> None:
    whole = cost(events)
    parts = [epsilon((event,), DELTA / len(events), interval=COARSE) for event in events]
    assert max(cost((event,)) for event in events) <= whole * 1.02 + 1e-3
    assert whole <= sum(parts) * 1.02 + 5e-3  # cells are coarse here, and a composition rounds more often


@settings(max_examples=8, deadline=None)
@given(noises, rates, counts, some.floats(1e-8, 1e-3))
def test_the_proved_number_is_below_renyi(noise: float, rate: float, count: int, delta: float) -> None:
    events = (SampledGaussian(noise, rate, count), Gaussian(10.0))
    assert epsilon(events, delta, interval=COARSE) <= rdp_epsilon(events, delta) * 1.02
