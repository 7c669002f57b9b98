"""Events as values: JSON both ways, like counted with like, numbers out of range refused."""

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from fairpriv_core.errors import BadInput
from fairpriv_core.privacy.accountants import coarse_epsilon
from fairpriv_core.privacy.event import (
    Event,
    Gaussian,
    Laplace,
    Parallel,
    RandomizedResponse,
    SampledGaussian,
    covers,
    from_json,
    merge,
    subtract,
    to_json,
)

noises = some.sampled_from([0.0, 0.5, 1.0, 1e-3, 0.1 + 0.2, 1e9])
counts = some.integers(0, 50)
releases = some.one_of(
    some.builds(
        SampledGaussian,
        noises,
        some.sampled_from([1e-6, 1 / 3, 1.0]),
        counts,
        some.sampled_from(["add_remove", "replace"]),
    ),
    some.builds(Gaussian, noises, counts),
    some.builds(Laplace, noises, counts),
    some.builds(RandomizedResponse, noises),
)
compositions = some.lists(releases, max_size=6).map(tuple)
events = some.lists(
    releases | some.builds(Parallel, some.lists(compositions, max_size=3).map(tuple), some.booleans()), max_size=6
).map(tuple)

#: what every accountant has a price for: two compositions of these have at most 64 combinations of branches
branches = some.lists(some.builds(Gaussian, some.sampled_from([1.0, 3.0]), some.integers(0, 4)), max_size=3).map(tuple)
priced = some.lists(
    some.builds(Gaussian, some.sampled_from([1.0, 3.0]), some.integers(0, 4))
    | some.builds(Parallel, some.lists(branches, min_size=1, max_size=2).map(tuple), some.booleans()),
    max_size=3,
).map(tuple)


def test_json_is_as_announced() -> None:
    composition = (SampledGaussian(2.0, 0.01, 7, "replace"), Gaussian(3.0, 2), Laplace(4.0), RandomizedResponse(0.5))
    assert to_json((*composition, Parallel(((Gaussian(1.0),), ())))) == [
        {"kind": "sampled_gaussian", "noise_multiplier": 2.0, "sampling_rate": 0.01, "count": 7, "relation": "replace"},
        {"kind": "gaussian", "noise_multiplier": 3.0, "count": 2},
        {"kind": "laplace", "scale": 4.0, "count": 1},
        {"kind": "randomized_response", "epsilon": 0.5},
        {
            "kind": "parallel",
            "fixed": False,
            "branches": [[{"kind": "gaussian", "noise_multiplier": 1.0, "count": 1}], []],
        },
    ]
    assert from_json([{"kind": "parallel", "branches": [[]]}]) == (Parallel(((),)),)


@given(events, events)
def test_releases_merge_are_taken_away_and_cover_as_they_were_added(
    first: tuple[Event, ...], second: tuple[Event, ...]
) -> None:
    whole, merged = first + second, merge(first)
    assert from_json(json.loads(json.dumps(to_json(whole), allow_nan=False))) == whole, "JSON holds everything"
    assert merge(merged) == merged and merge(merged + second) == merge(whole), "whatever is merged first"
    assert Counter(subtract(whole, second)) == Counter(merged)
    assert covers(whole, first) and covers(merge(whole), merged)
    assert covers(first, second) == covers(merged, merge(second))
    assert covers(first, whole) == (Counter(merge(whole)) == Counter(merged)), "less does not cover it"


def test_no_more_is_taken_away_than_was_released() -> None:
    for part in ((Gaussian(1.0, 3),), (Gaussian(2.0),), (Parallel(((Gaussian(1.0),),), fixed=True),)):
        with pytest.raises(BadInput, match="more than what was released"):
            subtract((Gaussian(1.0, 2), Parallel(((Gaussian(1.0),),))), part)


@settings(max_examples=60, deadline=None)
@given(priced, priced, branches)
def test_what_covers_costs_no_less(
    first: tuple[Event, ...], second: tuple[Event, ...], more: tuple[Event, ...]
) -> None:
    grown = tuple(
        replace(event, branches=tuple(branch + more for branch in event.branches))
        if isinstance(event, Parallel)
        else event
        for event in first
    )
    assert covers(grown, first)
    for outer, inner in ((first, second), (grown, first), (grown + second, first)):
        if covers(outer, inner):
            assert coarse_epsilon(outer, 1e-5) >= coarse_epsilon(inner, 1e-5) - 1e-9


def test_parallel_releases_are_covered_branch_by_branch() -> None:
    def on_parts(*counts: int, fixed: bool = False) -> tuple[Event, ...]:
        """Return releases on two parts, the second with less noise."""
        noises = (5.0, 1.0)
        return (Parallel(tuple((Gaussian(noise, n),) for noise, n in zip(noises, counts, strict=True)), fixed=fixed),)

    assert covers(on_parts(3, 3), on_parts(3, 2)) and not covers(on_parts(3, 2), on_parts(3, 3))
    assert not covers(on_parts(4, 2), on_parts(3, 3)) and not covers(on_parts(3, 3), on_parts(3, 3, fixed=True))
    twice = on_parts(3, 3) + on_parts(1, 1)
    assert covers(twice, on_parts(2, 2)) and not covers(on_parts(9, 9), twice) and not covers((), twice)


def test_merge_counts_like_with_like_only() -> None:
    primal, dual = SampledGaussian(2.0, 0.1, 3, "replace"), Gaussian(2.0, 4)
    assert merge((primal, dual, primal, Gaussian(2.0, 0), Gaussian(2.5))) == (
        SampledGaussian(2.0, 0.1, 6, "replace"),
        dual,
        Gaussian(2.5),
    )
    unlike = (primal, SampledGaussian(2.0, 0.1, 3), SampledGaussian(2.0, 0.2, 3, "replace"))
    assert merge(unlike) == unlike
    assert merge((RandomizedResponse(1.0), RandomizedResponse(1.0))) == (RandomizedResponse(1.0),) * 2


@pytest.mark.parametrize("bad", [-1.0, float("nan"), float("inf"), "1", None])
def test_numbers_out_of_range_are_refused(bad: Any) -> None:
    for build in (Gaussian, Laplace, RandomizedResponse, lambda value: SampledGaussian(value, 0.5)):
        with pytest.raises(BadInput, match="must be a finite number"):
            build(bad)


def test_zero_counts_do_not_fix_an_order() -> None:
    first, second = (Gaussian(1.0, 0), Laplace(1.0)), (Gaussian(1.0, 3),)
    assert merge(merge(first) + second) == merge(first + second) == (Laplace(1.0), Gaussian(1.0, 3))


def test_rates_out_of_range_are_refused() -> None:
    for rate in [0.0, -0.1, 1.0000001, float("nan")]:
        with pytest.raises(BadInput, match=r"\(0, 1\]"):
            SampledGaussian(1.0, rate)


@pytest.mark.parametrize("count", [-1, 1.5, True])
def test_a_count_that_is_not_whole_is_refused(count: int) -> None:
    """A negative count would take back what another event has spent."""
    for build in (lambda: Gaussian(1.0, count), lambda: SampledGaussian(1.0, 0.5, count), lambda: Laplace(1.0, count)):
        with pytest.raises(BadInput, match="whole number"):
            build()
    with pytest.raises(BadInput, match="add_remove, replace"):
        SampledGaussian(1.0, 0.5, 1, "swap")  # type: ignore[arg-type]
