"""What noisy counts say: right without noise, covering with it, silent where there is too little."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.metrics import measure
from fairpriv_core.notions.noisy import LEAST_DEVIATIONS, LEAST_ROWS, Flips, measure_noisy, noisy_interval
from fairpriv_core.notions.rates import count_cells
from fairpriv_core.notions.scores import UNPAID
from fairpriv_core.stats import wilson_interval

NAMES = ("a", "b", "c")
UNPAID_FOR = {"calibration_within_groups_gap", "worst_group_loss"}  # counts of decisions tell nothing of scores


def probabilities(groups: int) -> np.ndarray:
    """Return the population's share of each (group, label, decision)."""
    size, base = np.array([0.6, 0.3, 0.1])[:groups], np.array([0.3, 0.12, 0.2])[:groups]
    right, wrong = np.array([0.6, 0.55, 0.5])[:groups], np.array([0.1, 0.03, 0.05])[:groups]
    negative = np.stack([1 - wrong, wrong], axis=1) * (1 - base)[:, None]
    positive = np.stack([1 - right, right], axis=1) * base[:, None]
    table = np.stack([negative, positive], axis=1) * size[:, None, None]
    return np.asarray(table / table.sum())


OF_THREE_LABELS = np.array([[[20, 5, 4], [3, 12, 3], [2, 2, 9]], [[9, 3, 2], [4, 10, 2], [1, 2, 7]]]) / 100


def listed(found: dict) -> dict:
    """Return every number that has an interval: (value, interval) by name."""
    pairs = {name: (found[name], found[f"{name}_interval"]) for name in found if f"{name}_interval" in found}
    for group in found["groups"]:
        of = {name: (group[name], group[f"{name}_interval"]) for name in group if f"{name}_interval" in group}
        pairs |= {f"{group['name']}/{name}": pair for name, pair in of.items()}
    return pairs


def test_without_noise_it_says_what_raw_metrics_say() -> None:
    generator = np.random.default_rng(0)
    group, y = generator.integers(0, 3, 4000), generator.integers(0, 2, 4000)
    score = np.clip(0.3 * y + 0.1 * group + generator.normal(0.2, 0.2, 4000), 0, 1)
    counts = count_cells((score > 0.5).astype(int), y, group, 3)
    raw, noisy = measure(y, score, group, NAMES), measure_noisy(counts, 1e-9, NAMES)
    for name in listed({**noisy, "groups": []}).keys() - UNPAID_FOR:
        assert noisy[name] == pytest.approx(raw[name], abs=1e-9), name
    for one, other in zip(raw["groups"], noisy["groups"], strict=True):
        rates = ("positive_rate", "true_positive_rate", "false_positive_rate", "positive_predictive_value", "accuracy")
        for name in ("size", *rates):
            assert other[name] == pytest.approx(one[name], abs=1e-9)
        assert other["positive_rate_interval"] == pytest.approx(one["positive_rate_interval"], abs=1e-9)
    assert (
        noisy["reasons"] == dict.fromkeys(UNPAID_FOR, UNPAID)
        and json.loads(json.dumps(noisy, allow_nan=False)) == noisy
    )


def test_without_noise_the_interval_is_wilsons() -> None:
    for successes, trials in ((3, 40), (0, 50), (70, 70)):
        interval = noisy_interval(successes, trials, variances=(0.0, 0.0))
        assert interval == pytest.approx(wilson_interval(successes, trials), abs=1e-12)


@pytest.mark.parametrize(
    ("n", "noise", "table", "least"),
    [
        (11_306, 37.0, probabilities(2), 12),
        (4_000, 8.0, probabilities(3), 12),
        (4_000, 6.0, OF_THREE_LABELS, 7),
        pytest.param(11_306, 2.7, probabilities(2), 12, marks=pytest.mark.long),
        pytest.param(2_000, 10.0, probabilities(2), 12, marks=pytest.mark.long),
    ],
)
def test_intervals_cover_noise_and_sampling(n: int, noise: float, table: np.ndarray, least: int) -> None:
    """400 test sets drawn from a known population, each with fresh noise; at `least` so many numbers are defined."""
    generator, names = np.random.default_rng(7), NAMES[: len(table)]
    truth = {name: value for name, (value, _) in listed(measure_noisy(table * 1e9, 1e-6, names)).items()}
    hits: dict[str, list[bool]] = {name: [] for name in truth}
    for _ in range(400):
        counts = generator.multinomial(n, table.ravel()).reshape(table.shape)
        found = measure_noisy(counts + generator.normal(0, noise, table.shape), noise, names)
        for name, (value, interval) in listed(found).items():
            if isinstance(value, float):
                assert 0 <= interval[0] <= value <= interval[1] <= 1
                hits[name].append(interval[0] <= truth[name] <= interval[1])
    shares = {name: np.mean(hit) for name, hit in hits.items() if len(hit) > 200}
    assert len(shares) >= least and min(shares.values()) > 0.92, shares


def test_an_interval_of_sampling_alone_would_not_cover() -> None:
    """What the noise adds is needed: Wilson's interval on the noisy counts misses far too often."""
    generator, table = np.random.default_rng(7), probabilities(2)
    missed = 0
    truth = table[1, :, 1].sum() / table[1].sum()
    for _ in range(300):
        cell = generator.multinomial(2_000, table.ravel()).reshape(table.shape)[1] + generator.normal(0, 15, (2, 2))
        low, high = noisy_interval(cell[:, 1].sum(), cell.sum(), variances=(0.0, 0.0))
        missed += not low <= truth <= high
    assert missed / 300 > 0.15


def test_too_little_is_none_with_a_reason() -> None:
    counts = np.array([[[300.0, 100.0], [200.0, 100.0]], [[5.0, 2.0], [-1.0, 9.0]]])
    found = measure_noisy(counts, 2.0, ("many", "few"))
    assert found["demographic_parity_gap"] is None and found["demographic_parity_gap_interval"] is None
    assert found["reasons"]["demographic_parity_gap"] == "group 'few' has too few noisy rows."
    assert found["groups"][1]["accuracy"] is None and "groups/few/accuracy" in found["reasons"]
    assert found["groups"][0]["accuracy"] is not None and found["accuracy"] is not None
    drowned = measure_noisy(counts, 200.0, ("many", "few"))
    assert drowned["accuracy"] is None and drowned["groups"][0]["accuracy"] is None
    none_positive = np.array([[[300.0, 0.0], [200.0, -3.0]], [[400.0, -2.0], [100.0, 0.0]]])
    found = measure_noisy(none_positive, 2.0, ("many", "few"))
    assert found["demographic_parity_gap"] == 0.0
    assert found["demographic_parity_ratio"] is None and "every group" in found["reasons"]["demographic_parity_ratio"]


def test_of_a_group_with_few_noisy_rows_decided_positively_no_precision_is_told() -> None:
    counts = np.array([[[300.0, 100.0], [200.0, 100.0]], [[400.0, -2.0], [100.0, 3.0]]])
    found = measure_noisy(counts, 2.0, ("many", "few"))
    assert found["predictive_parity_gap"] is None and found["predictive_parity_gap_interval"] is None
    assert found["reasons"]["predictive_parity_gap"] == "group 'few' has too few noisy rows."
    assert found["groups"][0]["positive_predictive_value"] == 0.5
    assert found["groups"][1]["positive_predictive_value"] is None and found["demographic_parity_gap"] is not None


def test_a_rate_that_noise_makes_0_for_certain_bounds_no_ratio() -> None:
    """A model that hardly ever says yes: noise takes one group's number far below 0, and its interval to [0, 0]."""
    counts = np.array([[[900.0, 30.0], [300.0, 9.0]], [[500.0, -40.0], [200.0, -30.0]]])
    found = measure_noisy(counts, 10.0, NAMES[:2])
    assert found["groups"][1]["positive_rate_interval"] == [0.0, 0.0]
    assert found["demographic_parity_ratio"] == found["demographic_parity_ratio_interval"][0] == 0.0


def test_without_noise_it_says_what_raw_metrics_say_of_many_labels() -> None:
    generator = np.random.default_rng(2)
    group, y = generator.integers(0, 3, 9000), generator.integers(0, 4, 9000)
    score = generator.random((9000, 4)) + 0.5 * np.eye(4)[y] + 0.2 * np.eye(4)[group]
    counts = count_cells(score.argmax(axis=1), y, group, 3, 4)
    labels = ("w", "x", "y", "z")
    raw, noisy = measure(y, score, group, NAMES, label_names=labels), measure_noisy(counts, 1e-9, NAMES, labels)
    undefined = tuple(name for name, notion in notions().items() if notion.needs_positive and notion.is_rate)
    known = listed({**noisy, "groups": []}).keys() - UNPAID_FOR
    defined = [name for name in known if not name.startswith(undefined)]
    assert "equalized_odds_ratio" in defined
    for name in defined:
        assert noisy[name] == pytest.approx(raw[name], abs=1e-9), name
    for kind in ("groups", "classes"):
        for one, other in zip(raw[kind], noisy[kind], strict=True):
            for name in ("size", "accuracy", "accuracy_interval", "decided"):
                assert other[name] == pytest.approx(one[name], abs=1e-9)
    assert set(noisy["reasons"]) == {f"{name}_{kind}" for name in undefined for kind in ("gap", "ratio")} | UNPAID_FOR
    assert noisy["reasons"]["worst_group_loss"] == UNPAID
    assert "none is positive" in noisy["reasons"]["calibration_within_groups_gap"]
    assert json.loads(json.dumps(noisy, allow_nan=False)) == noisy


@pytest.mark.parametrize(
    ("noise", "size", "rate"), [(3.0, 21, 0.02), (6.0, 42, 0.1), (20.0, 99, 0.02), (60.0, 420, 0.8)]
)
def test_an_interval_near_the_limit_holds_as_often_as_is_said(noise: float, size: int, rate: float) -> None:
    """Where a group is shown only because of its noise, in some 7 draws of 100."""
    draw, draws, whole = np.random.default_rng(0), 8000, 2 if noise == 20.0 else 4
    parts, limit = whole // 2, max(LEAST_ROWS, LEAST_DEVIATIONS * noise * math.sqrt(whole))
    inside = draw.binomial(size, rate, draws)
    numerator = inside + draw.normal(0, noise * math.sqrt(parts), draws)
    denominator = numerator + size - inside + draw.normal(0, noise * math.sqrt(whole - parts), draws)
    shown = denominator >= limit
    assert 0.05 < shown.mean() < 0.09
    pairs = zip(numerator[shown].tolist(), denominator[shown].tolist(), strict=True)
    found = [noisy_interval(*pair, variances=(noise**2 * parts, noise**2 * whole)) for pair in pairs]
    assert np.mean([low <= rate <= high for low, high in found]) >= 0.76


def test_near_the_limit_intervals_by_answers_hold_less_often_as_their_statement_says() -> None:
    """Of a group of 0.85 of the size from which it is shown, over draws of people and flips in which it is."""
    draw, n, k = np.random.default_rng(0), 4000, 2
    flips = Flips(1.0 / (math.e + 1.0))
    deviation = math.sqrt(n * flips.misreport * (1.0 - flips.misreport)) / (1.0 - k * flips.misreport)
    share, rates, held = 0.85 * LEAST_DEVIATIONS * deviation / n, np.array([0.5, 0.1]), []
    for _ in range(1200):
        group = (draw.random(n) < share).astype(np.int64)
        decided = (draw.random(n) < rates[group]).astype(np.int64)
        answer = np.where(draw.random(n) < flips.misreport, 1 - group, group)
        counts = flips.undo(count_cells(decided, draw.integers(2, size=n), answer, k, 2))
        found = measure_noisy(counts, flips, ("many", "few"))
        low, high = found["groups"][1]["positive_rate_interval"] or (None, None)
        if low is not None:
            held.append(low <= rates[1] <= high)
    assert len(held) > 250 and 0.8 <= np.mean(held) <= 0.92
    assert "near that limit, an interval that is shown may hold with 85 % chance alone" in found["statement"]
