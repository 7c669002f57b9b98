"""The cap: what it lets in never costs more than it says, whatever came before."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from fairpriv_core.errors import BadInput
from fairpriv_core.privacy.accountants import coarse_epsilon
from fairpriv_core.privacy.calibrate import calibrate
from fairpriv_core.privacy.event import Approximate, Event, Events, Gaussian, Laplace, Parallel, SampledGaussian
from fairpriv_core.privacy.gaussian import gaussian_epsilon
from fairpriv_core.privacy.ledger import LedgerEntry, compose
from fairpriv_core.privacy.rdp import Cap, admits, read_gauge

DELTA = 1e-5


def run(events: Events, *, threat: str = "record", split: str = "seed 0") -> LedgerEntry:
    return LedgerEntry("run", threat, events, ("sex",), ("age",), split)  # type: ignore[arg-type]


def gaussian(epsilon: float) -> LedgerEntry:
    return run((Gaussian(calibrate(lambda noise: (Gaussian(noise),), epsilon=epsilon, delta=DELTA)),))


releases = some.sampled_from(
    [Gaussian(8.0), Gaussian(25.0, 3), SampledGaussian(2.0, 0.02, 400), SampledGaussian(0.8, 0.001, 200), Laplace(5.0)]
)


@settings(max_examples=15)
@given(some.lists(releases, max_size=14), some.sampled_from([0.3, 1.0, 3.0]), some.sampled_from([None, "sex"]))
def test_what_is_let_in_stays_within_the_cap(asked: list, epsilon: float, column: str | None) -> None:
    cap, entries = Cap(epsilon, DELTA), list[LedgerEntry]()
    for event in asked:
        candidate = run((event,))
        if admits(cap, entries, candidate, column):
            entries.append(candidate)
    events = compose(entries, column).events
    assert (coarse_epsilon(events, DELTA) if events else 0.0) <= 1.02 * epsilon


def test_it_lets_in_nearly_as_much_as_the_exact_accountant() -> None:
    """Each run costs 0.3; 9 of them compose to 1.0 and 65 to 3.0."""
    model = (SampledGaussian(13.71, 0.0075, 6600, "replace"),)
    for epsilon, exact in ((1.0, 9), (3.0, 65)):
        entries: list[LedgerEntry] = []
        while admits(Cap(epsilon, DELTA), entries, run(model, threat="attribute"), "sex"):
            entries.append(run(model, threat="attribute"))
        assert 0.7 * exact < len(entries) <= exact


def test_the_first_run_may_take_the_whole_cap_and_nothing_after_it() -> None:
    cap, first = Cap(1.0, DELTA), gaussian(1.0)
    assert admits(cap, [], first, None)
    assert not admits(cap, [], gaussian(1.01), None)
    assert not admits(cap, [first], run((Gaussian(1000.0),)), None)
    assert read_gauge(cap, [], None).remaining == 1.0 and read_gauge(cap, [first], None).remaining == 0.0


def test_what_remains_is_what_still_fits() -> None:
    cap, spent = Cap(2.0, DELTA), [gaussian(0.8), gaussian(0.5)]
    gauge = read_gauge(cap, spent, None)
    assert gauge.spent == pytest.approx(
        gaussian_epsilon(math.hypot(*[1 / e.events[0].noise_multiplier for e in spent]), DELTA)
    )
    assert 0.5 < gauge.remaining < 2.0
    assert admits(cap, spent, gaussian(gauge.remaining * 0.998), None)
    assert not admits(cap, spent, gaussian(gauge.remaining * 1.005), None)


def test_without_a_bound_nothing_remains_but_what_costs_nothing() -> None:
    cap, clear = Cap(5.0, DELTA), run((Gaussian(9.0),), threat="attribute")
    gauge = read_gauge(cap, [clear], None)
    assert (gauge.spent, gauge.remaining) == (math.inf, 0.0)
    assert not admits(cap, [clear], gaussian(0.1), None) and not admits(cap, [], clear, None)
    assert admits(
        cap, [run((Gaussian(0.1),))], LedgerEntry("n", None, (), ("sex",), (), "s", reads_sensitive=False), "sex"
    )


def test_evaluation_on_the_same_split_is_beside_training() -> None:
    evaluated = run((Parallel(((Gaussian(9.0),), (Gaussian(9.0),)), fixed=True),))
    plain = run((Gaussian(9.0),))
    cap = Cap(2.0, DELTA)
    assert read_gauge(cap, [evaluated], None) == read_gauge(cap, [plain], None)
    assert read_gauge(cap, [evaluated, plain], None).spent > read_gauge(cap, [evaluated], None).spent


def test_the_orders_depend_on_the_cap_alone() -> None:
    cap = Cap(1.0, DELTA)
    low, best = cap.orders
    assert 1 < low < best and (cap.budgets > 0).all() and (cap.budgets < 1).all()
    assert Cap(0.1, DELTA).orders[1] > best > Cap(8.0, DELTA).orders[1]


def test_a_cap_out_of_range_is_refused() -> None:
    for epsilon, delta in [(0.0, DELTA), (-1.0, DELTA), (1.0, 0.0), (1.0, 1.0)]:
        with pytest.raises(BadInput):
            Cap(epsilon, delta)


def spend_all(cap: Cap) -> float:
    """Return the delta that the cap's orders spend together, each by the conversion solved for delta.

    Canonne, Kamath and Steinke (2020), Proposition 12, as printed: a mechanism of Rényi divergence B at order a is
    (epsilon, delta)-private with delta = exp((a - 1)(B - epsilon)) (1 - 1/a)^a / (a - 1).
    """
    return sum(
        math.exp((a - 1) * (budget - cap.epsilon)) * (1 - 1 / a) ** a / (a - 1)
        for a, budget in zip(cap.orders, cap.budgets.tolist(), strict=True)
    )


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_the_orders_share_delta(epsilon: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Either order may let a run in, so two bad events are possible: their deltas are nine tenths of the cap's."""
    cap = Cap(epsilon, DELTA)
    assert spend_all(cap) == pytest.approx(0.9 * DELTA, rel=1e-6)
    monkeypatch.setattr(Cap, "_share", property(lambda self: self.delta))
    assert spend_all(cap) > 1.9 * DELTA, "each order given the whole delta is caught"


def test_what_is_only_approximate_has_a_tenth_of_delta() -> None:
    cap = Cap(1.0, DELTA)

    def entry(*events: Event) -> LedgerEntry:
        return LedgerEntry("a", "record", events, (), None, "")

    spent = [entry(Gaussian(20.0), Approximate(0.06 * DELTA))]
    assert admits(cap, spent, entry(Gaussian(20.0), Approximate(0.03 * DELTA)), None)
    assert not admits(cap, spent, entry(Gaussian(20.0), Approximate(0.05 * DELTA)), None)
    assert read_gauge(cap, spent, None) == read_gauge(cap, [entry(Gaussian(20.0))], None)
