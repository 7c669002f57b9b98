"""What several runs cost together: every rule of docs/ledger.md, and its numbers by brute force where there are any."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy.stats import norm

from fairpriv_core.privacy.accountants import coarse_epsilon, epsilon
from fairpriv_core.privacy.event import (
    Approximate,
    Events,
    Gaussian,
    Laplace,
    Parallel,
    RandomizedResponse,
    SampledGaussian,
)
from fairpriv_core.privacy.gaussian import gaussian_epsilon
from fairpriv_core.privacy.ledger import LedgerEntry, as_replacement, composable, compose, share_sample
from tests.privacy.exact import delta_of, sampled_pair

DELTA = 1e-5
PF_LD: Events = (Gaussian(20.0), SampledGaussian(9.0, 0.02, 600, "replace"))
DP_SGD: Events = (SampledGaussian(2.0, 0.02, 600),)


def entry(key: str = "a", threat: str | None = "attribute", events: Events = PF_LD, **given: object) -> LedgerEntry:
    values = {"sensitive": ("sex",), "clear": ("age", "race", "income"), "split": "seed 0", **given}
    return LedgerEntry(key, threat, events, **values)  # type: ignore[arg-type]


def cost(*entries: LedgerEntry, column: str | None = "sex") -> float:
    return compose(entries, column).epsilon(DELTA)


def test_everything_launched_adds_up() -> None:
    assert cost() == 0.0
    assert cost(entry(), entry("b")) == epsilon((Gaussian(20.0, 2), SampledGaussian(9.0, 0.02, 1200, "replace")), DELTA)
    assert cost(entry(threat="record", events=DP_SGD), column=None) == epsilon(DP_SGD, DELTA)


@pytest.mark.parametrize(
    ("one", "column", "says"),
    [
        (entry(), None, "all features and labels in clear"),
        (entry(threat=None, events=()), None, "not private"),
        (entry(threat=None, events=()), "sex", "not private"),
        (entry(threat=None, events=(), reads_sensitive=False), "race", "'race' in clear"),
        (entry(), "race", "'race' in clear"),
        (entry(), "income", "'income' in clear"),
        (entry(clear=None), "anything", "'anything' in clear"),
        (entry(unbounded="the published accounting does not hold."), "sex", "published accounting"),
        (entry(threat="record", events=DP_SGD, unbounded="its noise can be repeated."), "sex", "repeated"),
        (entry(threat="record", events=DP_SGD, unbounded="its noise can be repeated."), None, "repeated"),
    ],
)
def test_what_has_no_bound_says_why(one: LedgerEntry, column: str | None, says: str) -> None:
    total = compose([entry("fine", "record", DP_SGD), one], column)
    assert total.epsilon(DELTA) == math.inf
    assert len(total.unbounded) == 1 and total.unbounded[0].startswith("run a: ") and says in total.unbounded[0]


def test_what_does_not_depend_on_a_column_costs_it_nothing() -> None:
    for one, column in [
        (entry(threat=None, events=(), reads_sensitive=False), "sex"),
        (entry(), "hobby"),
        (entry(threat=None, events=()), "hobby"),
    ]:
        assert cost(one, column=column) == 0.0


def test_crossed_attributes_are_in_both_ledgers() -> None:
    crossed = entry(sensitive=("sex", "race"), clear=("age", "income"))
    assert cost(crossed) == cost(crossed, column="race") == epsilon(PF_LD, DELTA)


def test_a_record_release_counts_under_replacement_for_every_column() -> None:
    one = entry(threat="record", events=DP_SGD, clear=None)
    expected = epsilon((SampledGaussian(2.0, 0.02, 600, "replace"),), DELTA)
    assert cost(one) == cost(one, column="race") == expected > 1.5 * cost(one, column=None)


@pytest.mark.parametrize(("present", "replaced"), [(1, -1), (1, 0), (1, 0.5), (-0.3, 0.8)])
def test_a_sampled_gaussian_keeps_its_multiplier(present: float, replaced: float) -> None:
    """One release, exactly: whatever two contributions within the clip, the converted event bounds them."""
    accounted = epsilon(as_replacement((SampledGaussian(0.7, 0.2),)), 1e-3)
    pair = sampled_pair(0.7, 0.2, present=present, replaced=replaced)
    assert delta_of(pair, accounted + 3e-4) <= 1e-3
    if (present, replaced) == (1, -1):
        assert delta_of(pair, accounted - 2e-3) >= 1e-3
        assert delta_of(pair, epsilon((SampledGaussian(0.7, 0.2),), 1e-3) + 0.2) > 1e-3


def test_a_full_shift_at_most_doubles() -> None:
    """Over random pairs of contributions of length 1 the distance comes near 2, and counts (one-hot) make it sqrt 2."""
    generator = np.random.default_rng(0)
    pairs = generator.normal(size=(2000, 2, 2))
    pairs /= np.linalg.norm(pairs, axis=2, keepdims=True)
    distances = np.linalg.norm(pairs[:, 0] - pairs[:, 1], axis=1)
    onehot = np.linalg.norm(np.eye(4)[0] - np.eye(4)[3])
    accounted = epsilon(as_replacement((Gaussian(3.0),)), DELTA)
    assert accounted == pytest.approx(gaussian_epsilon(2 / 3, DELTA), abs=5e-4)
    assert gaussian_epsilon(distances.max() / 3, DELTA) <= accounted < gaussian_epsilon(2 / 3, DELTA) + 5e-4
    assert distances.max() > 1.999 and onehot == pytest.approx(math.sqrt(2))
    assert epsilon((Gaussian(3.0),), DELTA) < gaussian_epsilon(onehot / 3, DELTA) < accounted
    assert epsilon(as_replacement((Laplace(4.0),)), 1e-9) == pytest.approx(0.5, abs=1e-3)
    assert as_replacement((RandomizedResponse(0.3),)) == (RandomizedResponse(0.6),)
    rare = Approximate(1e-6)  # a rare value may show that it left, and another that it came
    assert as_replacement((rare,)) == (Approximate(2e-6),)


def test_a_replaced_value_may_change_the_part() -> None:
    """A record that leaves one part for another changes both: by brute force over the two parts' outputs."""
    noise, rate, delta = 1.0, 0.5, 1e-3
    branch = (SampledGaussian(noise, rate),)
    x = np.linspace(-8, 9, 1201)
    absent, present = norm.pdf(x, 0, noise), (1 - rate) * norm.pdf(x, 0, noise) + rate * norm.pdf(x, 1, noise)
    area = (x[1] - x[0]) ** 2
    one, other = np.outer(present, absent) * area, np.outer(absent, present) * area

    def excess(value: float) -> float:
        return float(np.maximum(one - math.exp(value) * other, 0.0).sum()) - delta

    converted = as_replacement((Parallel((branch, branch)),))
    assert converted == as_replacement((Parallel((branch,)),)), "like branches may be listed once"
    accounted = epsilon(converted, delta)
    assert excess(epsilon(branch, delta)) > 0, "the worst branch alone is too little"
    assert excess(accounted) <= 0
    third = as_replacement((Parallel((branch, (Gaussian(5.0),), ())),))
    [parallel] = third
    assert isinstance(parallel, Parallel) and parallel.fixed and len(parallel.branches) == 6


def test_parts_of_a_fixed_split_stay_parts() -> None:
    split = Parallel((DP_SGD, (Gaussian(3.0),)), fixed=True)
    assert as_replacement((split,)) == (Parallel((as_replacement(DP_SGD), (Gaussian(1.5),)), fixed=True),)


def test_training_and_evaluation_on_one_split_combine_by_the_larger() -> None:
    evaluated = (Parallel((PF_LD, (Gaussian(5.0),)), fixed=True),)
    several = [entry("a", events=evaluated), entry("b", events=evaluated), entry("c")]
    training = (Gaussian(20.0, 3), SampledGaussian(9.0, 0.02, 1800, "replace"))
    assert cost(*several) == max(epsilon(training, DELTA), epsilon((Gaussian(5.0, 2),), DELTA))


def test_other_splits_compose() -> None:
    """Who is tested under one seed is trained on under another."""
    evaluated = (Parallel(((Gaussian(6.0),), (Gaussian(5.0),)), fixed=True),)
    one, other = entry("a", events=evaluated), entry("b", events=evaluated, split="seed 1")
    assert cost(one, other) == epsilon((Gaussian(5.0, 2),), DELTA) > cost(one)
    unlike = [entry(str(seed), events=evaluated, split=f"seed {seed}") for seed in range(9)]
    assert cost(*unlike) == epsilon((Gaussian(5.0, 9),), DELTA)


def test_more_cases_than_can_be_tried_count_in_sequence() -> None:
    several = [
        entry(str(k), events=(Parallel(((Gaussian(9.0 + k),), (Laplace(50.0 + k),)), fixed=True),), split=f"seed {k}")
        for k in range(8)
    ]
    events = (*(Gaussian(9.0 + k) for k in range(8)), *(Laplace(50.0 + k) for k in range(8)))
    assert cost(*several) == pytest.approx(epsilon(events, DELTA), abs=1e-9)


def test_a_shared_release_counts_once() -> None:
    release = (Gaussian(4.0),)
    several = [
        entry(str(k), events=(Gaussian(4.0), *DP_SGD), threat="record", shared={"r1": release}) for k in range(5)
    ]
    assert cost(*several, column=None) == epsilon((Gaussian(4.0), SampledGaussian(2.0, 0.02, 3000)), DELTA)
    other = replace(several[0], key="new", shared={"r2": release})
    assert cost(*several, other, column=None) == epsilon((Gaussian(4.0, 2), SampledGaussian(2.0, 0.02, 3600)), DELTA)
    whole = [replace(one, events=release) for one in several]
    assert cost(*whole, column=None) == epsilon(release, DELTA)
    assert cost(*whole) == epsilon((Gaussian(2.0),), DELTA)


def test_a_release_that_is_not_among_those_made_is_not_shared() -> None:
    several = [entry(str(k), shared={"r": (Gaussian(1.0),)}) for k in range(2)]
    assert cost(*several) == cost(*[replace(one, shared={}) for one in several])


def test_a_shared_sample_is_one_gaussian_a_step() -> None:
    """40 models on one sample: 161; on samples of their own: 23.3."""
    model = (SampledGaussian(2.0, 0.0075, 6600, "replace"),)
    shared = [entry(str(k), events=model, stream="s") for k in range(40)]
    assert cost(*shared) == pytest.approx(161, abs=1)
    assert cost(*[replace(one, stream=None) for one in shared]) == pytest.approx(23.3, abs=0.1)


def test_models_of_unlike_length_and_noise_share_while_both_run() -> None:
    short, long = SampledGaussian(3.0, 0.1, 10), SampledGaussian(4.0, 0.2, 25)
    assert share_sample([[short], [long]]) == (SampledGaussian(2.4, 0.2, 10), SampledGaussian(4.0, 0.2, 15))
    changing = [SampledGaussian(3.0, 0.1, 10), SampledGaussian(4.0, 0.1, 5)]
    assert share_sample([changing]) == (SampledGaussian(3.0, 0.1, 15),)
    assert share_sample([[SampledGaussian(0.0, 0.1)], [short]])[0] == SampledGaussian(0.0, 0.1)


def test_entries_survive_json() -> None:
    one = entry(shared={"r": (Gaussian(1.0, 2),)}, stream="s", unbounded="why.", reads_sensitive=False)
    for each in (one, replace(one, clear=None, threat_model=None)):
        assert LedgerEntry.from_json(json.loads(json.dumps(each.to_json(), allow_nan=False))) == each


releases = some.sampled_from(
    [Gaussian(9.0), Gaussian(30.0, 4), SampledGaussian(5.0, 0.1, 30), Parallel(((Gaussian(7.0),), (Gaussian(8.0),)))]
)
entries = some.builds(
    entry,
    some.sampled_from("abc"),
    some.just("record"),
    some.lists(releases, max_size=2).map(tuple),
    split=some.sampled_from(["seed 0", "seed 1"]),
)


@settings(max_examples=25)
@given(some.lists(entries, max_size=3), entries, some.sampled_from([None, "sex"]))
def test_a_further_run_never_costs_less(before: list[LedgerEntry], one: LedgerEntry, column: str | None) -> None:
    def account(several: list[LedgerEntry]) -> float:
        return coarse_epsilon(composable(compose(several, column).events), DELTA)

    assert account([*before, one]) >= max(account(before), account([one])) - 1e-9
