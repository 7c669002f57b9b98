"""Epsilon against numbers that must hold, closed forms, direct integration, and other people's accountants."""

import math
from dataclasses import replace
from functools import partial

import dp_accounting
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from opacus.accountants.analysis import rdp as opacus_rdp

from fairpriv_core.errors import BadInput, Unsupported
from fairpriv_core.privacy.accountants import (
    COARSE,
    FINE,
    accountants,
    coarse_epsilon,
    epsilon,
    rdp_epsilon,
    worst_cases,
)
from fairpriv_core.privacy.event import (
    Approximate,
    Event,
    Events,
    Gaussian,
    Laplace,
    Parallel,
    RandomizedResponse,
    Relation,
    SampledGaussian,
    to_json,
)
from fairpriv_core.privacy.gaussian import gaussian_epsilon
from fairpriv_core.privacy.pld import choose_cell, distribution, repeat
from tests.privacy.exact import delta_of, sampled_pair
from tests.privacy.recompute import epsilon_from_json

DELTA = 1e-5
SLOW = ("little_noise", "small")  # for accountants that compose one event after another
BANK = 256 / 45211
# Where the loss of one release is tiny and there are many, large and few, with and without a full-shift part.
COMPOSITIONS: dict[str, Events] = {
    "replace": (SampledGaussian(2.0, 0.0075, 6600, "replace"),),
    "add_remove": (SampledGaussian(2.0, BANK, 8850),),
    "pf_ld": (Gaussian(40.0), Gaussian(30.0, 29), SampledGaussian(14.0, 0.03, 2900, "replace")),
    "little_noise": (SampledGaussian(0.8, 0.01, 500, "replace"), Gaussian(3.0, 3)),
    "small": (SampledGaussian(60.0, 0.01, 2000, "replace"),),
    "mixture": (Gaussian(20.0, 20), SampledGaussian(1.0, BANK, 3540), Laplace(10.0)),
}


@pytest.mark.parametrize(
    ("event", "expected", "tolerance"),
    [
        (SampledGaussian(2.0, 0.0075, 6600, "replace"), 2.50, 0.01),
        (SampledGaussian(2.0, 0.0075, 6600, "add_remove"), 1.25, 0.01),
        (SampledGaussian(2.0, BANK, 8850, "add_remove"), 1.0772, 5e-4),
        (SampledGaussian(1.0, BANK, 8850, "add_remove"), 3.0145, 5e-4),
        (SampledGaussian(4.0, BANK, 8850, "add_remove"), 0.4759, 5e-4),
    ],
)
def test_known_numbers(event: Event, expected: float, tolerance: float) -> None:
    """The numbers that must hold, and the middle of prv-accountant's bounds (Gopi et al., 2021)."""
    assert epsilon((event,), DELTA) == pytest.approx(expected, abs=tolerance)


def test_releases_on_one_sample_are_one_event() -> None:
    """Two sums of multiplier 1 on one sample cost 7.99, not the 5.18 of two events."""
    joint, apart = ((1 / math.sqrt(2), 6600), (1.0, 2 * 6600))
    costs = [epsilon((SampledGaussian(noise, 0.0075, count),), DELTA) for noise, count in (joint, apart)]
    assert costs == pytest.approx([7.99, 5.18], abs=0.01)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if name in SLOW else ()) for name in COMPOSITIONS]
)
def test_the_number_is_reproduced_with_dp_accounting_alone(name: str) -> None:
    """From the JSON of a record; by an accountant that composes one event after another."""
    events = COMPOSITIONS[name]
    assert epsilon(events, DELTA) == pytest.approx(epsilon_from_json(to_json(events), DELTA), abs=5e-4)


@pytest.mark.parametrize("multiplier", [0.9, 5.0, 300.0])
@pytest.mark.parametrize("delta", [1e-5, 1e-9])
def test_gaussians_match_the_closed_form(multiplier: float, delta: float) -> None:
    """From above, and close; a replaced record at rate 1 is a Gaussian of twice the shift."""
    for events, mu in (
        ((Gaussian(multiplier),), 1 / multiplier),
        ((Gaussian(multiplier * 3, 9),), 1 / multiplier),
        ((Gaussian(multiplier * 2, 2), Gaussian(multiplier * math.sqrt(2))), 1 / multiplier),
        ((SampledGaussian(multiplier * 2, 1.0, 4),), 1 / multiplier),
        ((SampledGaussian(multiplier * 4, 1.0, 4, "replace"),), 1 / multiplier),
        ((SampledGaussian(multiplier * 8, 1.0, 8, "replace"), Gaussian(multiplier * math.sqrt(2))), 1 / multiplier),
    ):
        exact = gaussian_epsilon(mu, delta)
        assert exact - 1e-9 <= epsilon(events, delta) <= exact + 2e-4 + 0.01 * exact


def test_many_releases_never_fall_below_the_closed_form() -> None:
    """Fourier transforms of long compositions lose mass; what they may lose is taken off delta."""
    many = (SampledGaussian(2000.0, 1.0, 10**6),)
    for delta in (1e-5, 1e-8):
        exact = gaussian_epsilon(0.5, delta)
        assert exact <= epsilon(many, delta) <= exact + 0.05
    assert epsilon(many, 2e-9) >= gaussian_epsilon(0.5, 2e-9 - 2.0**-50 * 10**6)
    with pytest.raises(Unsupported, match="cannot be resolved"):
        epsilon(many, 1e-9)


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
@pytest.mark.parametrize(
    ("noise", "rate", "releases"),
    [(0.5, 0.01, 1), (1.0, 0.1, 1), (2.0, 0.5, 1), (0.8, 0.999, 1), (3.0, 1.0, 1), (1.0, 0.1, 2), (2.0, 0.5, 2)],
)
def test_direct_integration(relation: Relation, noise: float, rate: float, releases: int) -> None:
    """One and two releases of a sampled Gaussian by numerical integration of the pair's densities."""
    pair = sampled_pair(noise, rate, present=1.0, replaced=-1.0 if relation == "replace" else None)
    delta = 1e-5 if releases == 1 else 1e-3
    accounted = epsilon((SampledGaussian(noise, rate, releases, relation),), delta)
    assert delta_of(pair, accounted + 3e-4, releases=releases) <= delta
    assert delta_of(pair, accounted - 2e-3, releases=releases) >= delta


@pytest.mark.parametrize(
    ("present", "replaced"), [(1, 1), (1, 0.5), (1, 0), (1, -0.5), (1, -1), (0.3, -1), (0.5, None)]
)
def test_every_pair_in_the_ball_is_covered(present: float, replaced: float | None) -> None:
    """The antipodal pair bounds each other pair of contributions within the radius."""
    accounted = epsilon((SampledGaussian(0.7, 0.2, 2, "replace"),), 1e-3)
    pair = sampled_pair(0.7, 0.2, present=present, replaced=replaced)
    assert delta_of(pair, accounted + 3e-4, releases=2) <= 1e-3
    if (present, replaced) == (1, -1):
        assert delta_of(pair, accounted - 2e-3, releases=2) >= 1e-3


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
def test_optimistic_and_pessimistic_bounds_enclose_it(relation: Relation) -> None:
    named = dp_accounting.NeighboringRelation
    sides = []
    for pessimistic in (False, True):
        loss = pld.from_gaussian_mechanism(
            0.8,
            sampling_prob=0.05,
            value_discretization_interval=5e-4,
            pessimistic_estimate=pessimistic,
            use_connect_dots=False,
            neighboring_relation=named.REPLACE_ONE if relation == "replace" else named.ADD_OR_REMOVE_ONE,
        )
        sides.append(loss.self_compose(10).get_epsilon_for_delta(DELTA))
    accounted = epsilon((SampledGaussian(0.8, 0.05, 10, relation),), DELTA)
    assert sides[0] < accounted < sides[1]
    assert sides[1] - sides[0] < 0.006


def test_laplace_and_randomised_response() -> None:
    assert epsilon((Laplace(2.0),), 1e-9) == pytest.approx(0.5, abs=1e-3)
    assert epsilon((RandomizedResponse(0.7),), 1e-9) == pytest.approx(0.7, abs=1e-3)
    # delta = (e^E - e^epsilon) / (1 + e^E) for binary randomised response, in closed form
    exact = math.log(math.exp(0.7) - 0.1 * (1 + math.exp(0.7)))
    assert exact <= epsilon((RandomizedResponse(0.7),), 0.1) <= exact + 1e-3
    assert epsilon((RandomizedResponse(0.7), RandomizedResponse(0.7)), 1e-9) == pytest.approx(1.4, abs=1e-3)


def test_the_full_shift_is_not_doubled_under_replacement() -> None:
    sampled = SampledGaussian(200.0, 0.001, 1, "replace")
    for full in (Gaussian(1.3, 2), Laplace(3.0)):
        assert epsilon((full, sampled), DELTA) == pytest.approx(epsilon((full,), DELTA), abs=2e-3)


def test_a_release_without_noise_is_infinite() -> None:
    for event in (SampledGaussian(0.0, 0.5), Gaussian(0.0), Laplace(0.0), Parallel(((), (Gaussian(0.0),)))):
        assert epsilon((Gaussian(1.0), event), DELTA) == math.inf
        assert rdp_epsilon((Gaussian(1.0), event), DELTA) == math.inf
    assert epsilon((SampledGaussian(1e-9, 0.5), Gaussian(1e-300)), DELTA) == math.inf
    assert epsilon((RandomizedResponse(1e6),), DELTA) == math.inf
    assert epsilon((SampledGaussian(0.0, 0.5, 0), Gaussian(0.0, 0)), DELTA) == 0.0


def test_noise_whose_square_overflows_costs_next_to_nothing() -> None:
    """Every accountant is given what has a square: the same composition with the most noise that is counted."""
    for noise in [1e13, 1e160, 1e300]:
        for kind in [Gaussian, partial(SampledGaussian, sampling_rate=0.01), Laplace]:
            events = (kind(noise, count=10), Gaussian(noise))
            assert worst_cases(events) == worst_cases((kind(1e12, count=10), Gaussian(1e12)))
            assert epsilon(events, DELTA) == 0.0
            if kind in (Gaussian, Laplace):  # the series of a sampled one takes seconds at so much noise
                assert rdp_epsilon(events, DELTA) == pytest.approx(rdp_epsilon((Gaussian(1e12),), DELTA))


def test_what_is_only_approximate_takes_its_share_of_delta() -> None:
    for delta in (1e-6, 9e-6):
        exact = gaussian_epsilon(0.5, (DELTA - delta) / (1 - delta))
        assert exact <= epsilon((Gaussian(2.0), Approximate(delta)), DELTA) <= exact + 1e-3
    assert epsilon((Approximate(DELTA / 2),), DELTA) == 0.0
    assert epsilon((Approximate(DELTA / 2), Approximate(DELTA)), DELTA) == math.inf
    assert epsilon((Approximate(DELTA / 2), Parallel(((Gaussian(2.0),), (Approximate(DELTA),)))), DELTA) == math.inf
    with pytest.raises(BadInput, match="delta"):
        Approximate(1.0)


def test_a_billion_releases_take_little_memory() -> None:
    count = 10**9
    for rate in (1.0, 0.01):
        event = SampledGaussian(rate * math.sqrt(count), rate, count)
        assert gaussian_epsilon(1.0, DELTA) <= epsilon((event,), DELTA) <= 1.1 * gaussian_epsilon(1.0, DELTA)
        width = choose_cell((event,), FINE)
        (side, *_) = repeat(distribution(replace(event, count=1), width), count)
        assert len(side.masses) < 2**22


@pytest.mark.parametrize("account", [epsilon, rdp_epsilon])
def test_nothing_costs_nothing(account: type) -> None:
    assert account((), DELTA) == 0.0
    assert account((Parallel(()), Parallel(((), ()))), DELTA) == 0.0


def test_little_noise_and_long_runs_end_with_a_number() -> None:
    """Cells widen instead of filling the memory; the bound stays above what one coordinate reveals."""
    value = epsilon((SampledGaussian(0.05, 0.01, 1000),), DELTA)
    assert 3000 < value < 8000
    assert epsilon((SampledGaussian(0.5, 0.3, 10**6, "replace"),), DELTA) == math.inf


def test_parallel_counts_the_worst_branch_in_the_whole_composition() -> None:
    weak, strong = (Gaussian(20.0),), (SampledGaussian(4.0, 0.2, 30),)
    rest = Gaussian(8.0)
    whole = epsilon((Parallel((weak, strong, ())), rest), DELTA)
    assert whole == pytest.approx(max(epsilon((*weak, rest), DELTA), epsilon((*strong, rest), DELTA)), abs=1e-9)
    assert whole > max(epsilon(weak, DELTA), epsilon(strong, DELTA)) + 0.01
    nested = Parallel(((Parallel((weak, strong)),), weak))
    assert epsilon((nested, rest), DELTA) == pytest.approx(whole, abs=1e-9)
    twice = epsilon((Parallel((weak, strong)), Parallel((weak, strong))), DELTA)
    assert twice == pytest.approx(epsilon((SampledGaussian(4.0, 0.2, 60),), DELTA), abs=1e-9)


def test_parts_that_are_fixed_compose_under_replacement_too() -> None:
    train, evaluation = (SampledGaussian(2.0, 0.01, 400, "replace"), Gaussian(9.0)), (Gaussian(3.0),)
    whole = epsilon((Parallel((train, evaluation), fixed=True),), DELTA)
    assert whole == max(epsilon(train, DELTA), epsilon(evaluation, DELTA))
    nested = Parallel(((Parallel((train, ())),), evaluation), fixed=True)
    with pytest.raises(Unsupported, match="add/remove only"):
        epsilon((nested,), DELTA)


def test_like_splits_are_one_case_each_way_round() -> None:
    """Ten splits with the same two branches have eleven worst cases, not 1,024."""
    split = Parallel(((Gaussian(20.0),), (Laplace(40.0),)), fixed=True)
    several = epsilon((split,) * 10, 1e-3)
    assert several == max(epsilon((Gaussian(20.0, k), Laplace(40.0, 10 - k)), 1e-3) for k in range(11))


def test_what_does_not_compose_is_refused() -> None:
    class Unheard:
        pass

    replaced, added = SampledGaussian(1.0, 0.1, 1, "replace"), SampledGaussian(1.0, 0.1)
    many = tuple(Parallel(((Gaussian(1.0 + i),), (Laplace(1.0 + i),))) for i in range(12))
    for account in (epsilon, rdp_epsilon):
        for events, words in (
            ((Gaussian(1.0), Unheard()), "Unheard"),
            ((Parallel(((Unheard(),),)),), "Unheard"),
            ((replaced, added), "do not compose"),
            ((Parallel(((replaced,), ())),), "add/remove only"),
            ((replaced, Parallel(((Gaussian(1.0),), ()))), "add/remove only"),
            (many, "parallel branches"),
        ):
            with pytest.raises(Unsupported, match=words):
                account(events, DELTA)  # type: ignore[arg-type]


def test_delta_out_of_range_is_refused() -> None:
    for delta in [0.0, 1.0, -1e-5, math.nan, math.inf]:
        for account in (epsilon, rdp_epsilon):
            with pytest.raises(BadInput, match="delta"):
                account((Gaussian(1.0),), delta)


def paper_conversion(divergence: np.ndarray, orders: np.ndarray) -> float:
    return float(np.min(divergence + math.log(1 / DELTA) / (orders - 1)))


@pytest.mark.parametrize(
    ("noise", "rate", "count"), [(2.0, BANK, 8850), (1.0, 0.01, 1000), (0.7, 0.001, 500), (4.0, 1.0, 50)]
)
def test_renyi_matches_opacus(noise: float, rate: float, count: int) -> None:
    """Its divergences at a grid of our own, with the paper's conversion; a finer grid may only be a little better."""
    orders = np.concatenate([np.arange(1.05, 20, 0.05), np.arange(20, 400)])
    theirs = np.asarray(opacus_rdp.compute_rdp(q=rate, noise_multiplier=noise, steps=count, orders=orders))
    expected = paper_conversion(theirs, orders)
    assert rdp_epsilon((SampledGaussian(noise, rate, count),), DELTA) == pytest.approx(expected, rel=2e-3)


def test_renyi_of_gaussians_in_closed_form() -> None:
    """order / (2 sigma^2) + log(1/delta) / (order - 1), at its minimum; above the proved number."""
    mu = math.sqrt(1 / 4 + 9 / 25)
    expected = mu * mu / 2 + mu * math.sqrt(2 * math.log(1 / DELTA))
    events = (Gaussian(2.0), Gaussian(5.0, 9))
    assert rdp_epsilon(events, DELTA) == pytest.approx(expected, rel=1e-3)
    assert rdp_epsilon(events, DELTA) > epsilon(events, DELTA)


def test_renyi_refuses_what_it_does_not_bound() -> None:
    for event, words in (
        (SampledGaussian(1.0, 0.1, 5, "replace"), "add/remove only"),
        (RandomizedResponse(1.0), "RandomizedResponse"),
    ):
        with pytest.raises(Unsupported, match=words):
            rdp_epsilon((event,), DELTA)
    assert rdp_epsilon((Laplace(1.0),), DELTA) <= 1.0 + 1e-3


def test_the_catalogue_names_each_accountant() -> None:
    known = accountants()
    assert list(known) == ["pld", "rdp"]
    for name, accountant in known.items():
        assert accountant.name == name
        assert accountant.title and accountant.citation
    assert known["pld"].function((Gaussian(1.0),), DELTA) == epsilon((Gaussian(1.0),), DELTA)
    assert known["rdp"].function((Gaussian(1.0),), DELTA) == rdp_epsilon((Gaussian(1.0),), DELTA)


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_coarse_numbers_are_never_below_and_close(name: str) -> None:
    events = COMPOSITIONS[name]
    fine, coarse = epsilon(events, DELTA), coarse_epsilon(events, DELTA)
    assert fine <= coarse <= 1.02 * fine + 1e-3


def test_coarse_cells_are_unions_of_fine_ones() -> None:
    """So the coarse bound dominates the fine one, and is about as fast as PERFORMANCE wants."""
    assert math.log2(COARSE / FINE) == round(math.log2(COARSE / FINE)) > 0
    assert 5e-4 < COARSE <= 1e-3
