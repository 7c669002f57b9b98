"""The rule by which defaults are chosen does what its text says, and what ships is what it chose."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from benchmarks.candidates import DESIGNS, Design
from benchmarks.defaults import CHOSEN, CONFIRMED, EPSILONS, NOTIONS, choose, judge, score, sieve

NAME, DATA = "pf_ld", ("small", "large")
REFERENCE = {"constant": 0.75, "plain": [0.85, 0.2], "fair": [0.0, -0.01, 0.01], "rows": 5000}
Fit = Callable[[str, float, int], dict[str, Any]]


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return a function that gives whom the rule takes of made-up fits, each by benchmark, ε and seed."""

    def take(candidates: dict[str, Fit], judged_by: tuple[int, ...] = CHOSEN) -> Any:
        seeds = (*CHOSEN, *CONFIRMED)
        monkeypatch.setitem(DESIGNS, NAME, Design({name: {} for name in candidates}, data=DATA))
        results: dict[str, Any] = {}
        for data, notion in product(DATA, NOTIONS):
            results[f"reference · {data} · {notion}"] = {"fits": [{"seed": seed, **REFERENCE} for seed in seeds]}
            for name, fit in candidates.items():
                fits = [{"epsilon": epsilon, **fit(data, epsilon, seed)} for epsilon, seed in product(EPSILONS, seeds)]
                results[f"{NAME} · {data} · {notion} · as shipped · {name}"] = {"fits": fits}
        return judge(results, NAME, judged_by)

    return take


def make_fit(accuracy: float, gap: float, height: float = 0.0) -> Fit:
    return lambda data, epsilon, seed: {
        "seed": seed,
        "accuracy": accuracy,
        "gap": gap,
        "height": [height, height - 0.01, height + 0.01],
    }


def take(standings: Any) -> str:
    return str(choose(standings, pursues=True)[0].name)


def test_a_gap_buys_nothing_along_the_mixing_line() -> None:
    small, large = ({"accuracy": accuracy, "gap": gap} for accuracy, gap in ((0.80, 0.04), (0.815, 0.07)))
    assert score(small, REFERENCE, pursues=True) == pytest.approx(score(large, REFERENCE, pursues=True))
    assert score(small, REFERENCE, pursues=False) < score(large, REFERENCE, pursues=False)
    beyond = {"accuracy": 0.86, "gap": 0.3}
    assert score(beyond, REFERENCE, pursues=True) == pytest.approx(0.01)


def test_who_misses_the_gap_is_out_however_accurate(judged: Any) -> None:
    standings = judged({"shipped": make_fit(0.80, 0.035), "accurate": make_fit(0.85, 0.07)})
    assert [each.met for each in standings] == [32, 0] and take(standings) == "shipped"
    both = judged({"shipped": make_fit(0.80, 0.035), "accurate": make_fit(0.81, 0.035)})
    assert take(both) == "accurate"


def test_who_is_below_the_constant_answer_on_one_data_set_is_out(judged: Any) -> None:
    def sinks(data: str, epsilon: float, seed: int) -> dict[str, Any]:
        return make_fit(0.70 if (data, epsilon) == ("small", 0.1) else 0.85, 0.03)(data, epsilon, seed)

    def fails(data: str, epsilon: float, seed: int) -> dict[str, Any]:
        return (
            {"seed": seed, "accuracy": None}
            if (data, seed) == ("small", 0)
            else make_fit(0.85, 0.03)(data, epsilon, seed)
        )

    for other in (sinks, fails):
        standings = judged({"shipped": make_fit(0.80, 0.03), "other": other})
        assert standings[1].below_constant > 0 and take(standings) == "shipped"
        assert take(judged({"shipped": other, "other": make_fit(0.80, 0.03)})) == "other"


def test_below_the_line_counts_unless_the_best_non_private_learner_is_there_too(
    judged: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    candidates = {"shipped": make_fit(0.80, 0.03), "low": make_fit(0.81, 0.03, height=-0.05)}
    assert take(judged(candidates)) == "shipped"
    monkeypatch.setitem(REFERENCE, "fair", [-0.05, -0.06, -0.04])
    assert take(judged(candidates)) == "low"


def test_what_noise_has_put_in_front_replaces_nothing(judged: Any) -> None:
    draw = np.random.default_rng(0)

    def noisy(data: str, epsilon: float, seed: int) -> dict[str, Any]:
        return make_fit(float(draw.normal(0.8, 0.01)), 0.03)(data, epsilon, seed)

    standings = judged({"shipped": noisy, "alike": noisy})
    assert len(sieve(standings, pursues=True)) == 2 and take(standings) == "shipped"


def test_the_fits_of_other_seeds_have_no_say(judged: Any) -> None:
    def differs(data: str, epsilon: float, seed: int) -> dict[str, Any]:
        return make_fit(0.85 if seed in CHOSEN else 0.70, 0.03)(data, epsilon, seed)

    candidates = {"shipped": make_fit(0.80, 0.03), "other": differs}
    assert take(judged(candidates)) == "other"
    assert take(judged(candidates, CONFIRMED)) == "shipped"
