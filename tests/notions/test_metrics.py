"""Measured gaps against fairlearn, by hand, and by properties that hold for any data."""

from __future__ import annotations

import json
import math
import time
from random import Random

import numpy as np
import pytest
from fairlearn import metrics as oracle
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score, log_loss, precision_score, roc_auc_score

from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.metrics import measure, violation
from fairpriv_core.notions.rates import decide
from fairpriv_core.notions.scores import LARGEST_LOSS

GAPS = [notion.metric for notion in notions().values()]
LEVELS = [notion.metric for notion in notions().values() if notion.is_level]


def draw_rows(seed: int, n: int = 800, k: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    group = generator.integers(0, k, n)
    y = (generator.random(n) < 0.2 + 0.15 * group).astype(np.int64)
    score = np.round(np.clip(0.3 * y + 0.1 * group + generator.normal(0.25, 0.2, n), 0, 1), 2)
    return y, score, group


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    k = draw(st.integers(1, 4))
    n = draw(st.integers(1, 60))
    y = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    group = draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n))
    score = draw(st.lists(st.floats(0, 1), min_size=n, max_size=n))
    return np.array(y), np.array(score), np.array(group), k


@pytest.mark.parametrize("seed", range(3))
def test_gaps_and_ratios_agree_with_fairlearn(seed: int) -> None:
    y, score, group = draw_rows(seed)
    found = measure(y, score, group, ["a", "b", "c"])
    decision = (score > 0.5).astype(int)
    given_rows = {"y_true": y, "y_pred": decision, "sensitive_features": group}
    assert found["demographic_parity_gap"] == pytest.approx(oracle.demographic_parity_difference(**given_rows))
    assert found["demographic_parity_ratio"] == pytest.approx(oracle.demographic_parity_ratio(**given_rows))
    assert found["equalized_odds_gap"] == pytest.approx(oracle.equalized_odds_difference(**given_rows))
    assert found["equalized_odds_ratio"] == pytest.approx(oracle.equalized_odds_ratio(**given_rows))
    assert found["equal_opportunity_gap"] == pytest.approx(oracle.equal_opportunity_difference(**given_rows))
    frame = oracle.MetricFrame(metrics=lambda y_true, y_pred: float(np.mean(y_true == y_pred)), **given_rows)
    assert found["accuracy_parity_gap"] == pytest.approx(frame.difference())
    overall = oracle.demographic_parity_difference(**given_rows, method="to_overall")
    assert found["demographic_parity_population"] == pytest.approx(overall)
    assert found["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(y, decision))
    assert found["roc_auc"] == pytest.approx(roc_auc_score(y, score))


@pytest.mark.parametrize("seed", range(3))
def test_predictive_parity_calibration_and_the_worst_groups_loss_agree_with_scikit_learn(seed: int) -> None:
    y, score, group = draw_rows(seed)
    score = score.clip(0.01, 0.99)
    found = measure(y, score, group, ["a", "b", "c"])
    rows = [np.flatnonzero(group == each) for each in range(3)]
    precise = [precision_score(y[own], score[own] > 0.5) for own in rows]
    assert found["predictive_parity_gap"] == pytest.approx(max(precise) - min(precise))
    assert found["predictive_parity_ratio"] == pytest.approx(min(precise) / max(precise))
    assert [each["positive_predictive_value"] for each in found["groups"]] == pytest.approx(precise)
    assert found["worst_group_loss"] == pytest.approx(max(log_loss(y[own], score[own]) for own in rows))
    errors = []
    for own in rows:
        bins = np.minimum(np.floor(score[own] * 10), 9)
        off = [abs(score[own][bins == b].mean() - y[own][bins == b].mean()) * (bins == b).mean() for b in set(bins)]
        errors.append(sum(off))
    assert found["calibration_within_groups_gap"] == pytest.approx(max(errors))


def test_of_a_group_nobody_of_which_is_decided_positively_precision_is_undefined_and_says_so() -> None:
    y, group = np.array([1, 0, 1, 0]), np.array([0, 0, 1, 1])
    found = measure(y, np.array([0.9, 0.6, 0.1, 0.1]), group, ["a", "b"])
    for kind in ("gap", "population", "ratio"):
        assert found[f"predictive_parity_{kind}"] is None
        assert found["reasons"][f"predictive_parity_{kind}"] == "group 'b' has no rows predicted positive."
    assert found["groups"][1]["positive_predictive_value"] is None
    assert found["reasons"]["groups/b/positive_predictive_value"] == "group 'b' has no rows predicted positive."
    assert found["groups"][0]["positive_predictive_value"] == 0.5
    assert found["worst_group_loss"] is not None and found["calibration_within_groups_gap"] is not None


@pytest.mark.parametrize("huge", [1e300, -1e300, math.inf, math.nan])
def test_a_huge_score_costs_no_more_than_the_largest_loss(huge: float) -> None:
    y, score, group = np.array([1, 0, 1, 0]), np.array([0.9, huge, 0.6, 0.2]), np.array([0, 0, 1, 1])
    found = measure(y, score, group, ["a", "b"])
    for name in ("predictive_parity_gap", "calibration_within_groups_gap", "worst_group_loss"):
        assert math.isfinite(found[name])
    assert found["worst_group_loss"] <= LARGEST_LOSS and found["calibration_within_groups_gap"] <= 1.0


def test_one_group_has_no_gap_between_groups_but_a_loss_and_a_calibration_error() -> None:
    y, score, _ = draw_rows(5)
    found = measure(y, score, np.zeros(len(y), dtype=int), ["all"])
    assert found["predictive_parity_gap"] == 0.0 and found["predictive_parity_ratio"] == 1.0
    assert found["calibration_within_groups_gap"] > 0 and found["worst_group_loss"] > 0


def test_by_hand() -> None:
    y = np.array([1, 1, 0, 0, 1, 0, 0, 0])
    decision = np.array([1, 0, 0, 0, 1, 1, 1, 0])
    group = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    found = measure(y, decision.astype(float), group, ["F", "M"])
    assert found["accuracy"] == 5 / 8
    assert found["demographic_parity_gap"] == pytest.approx(3 / 4 - 1 / 4)
    assert found["equal_opportunity_gap"] == pytest.approx(1 - 1 / 2)
    assert found["equalized_odds_gap"] == pytest.approx(2 / 3), "the false positive rates are 0 and 2/3"
    assert found["accuracy_parity_gap"] == pytest.approx(3 / 4 - 2 / 4)
    assert found["constant_accuracy"] == 5 / 8
    assert found["positive_rate"] == 1 / 2
    # joint of (decision, group): 1/8, 3/8, 3/8, 1/8 and all marginals 1/2
    assert found["ermi"] == pytest.approx((1 / 64 + 9 / 64 + 9 / 64 + 1 / 64) * 4 - 1)
    assert found["groups"][1] | {} == found["groups"][1]
    assert {key: found["groups"][1][key] for key in ("name", "size", "selected", "positives", "correct")} == {
        "name": "M",
        "size": 4,
        "selected": 3,
        "positives": 1,
        "correct": 2,
    }
    assert violation("equalized_odds", found) == found["equalized_odds_gap"]
    assert violation(notions()["equalized_odds"], found) == found["equalized_odds_gap"]


def test_ermi_is_the_expectation_of_the_definition() -> None:
    y, score, group = draw_rows(7)
    decision = (score > 0.5).astype(int)
    found = measure(y, score, group, ["a", "b", "c"])

    def ermi(d: np.ndarray, g: np.ndarray) -> float:
        each = [np.mean((d == d[i]) & (g == g[i])) / (np.mean(d == d[i]) * np.mean(g == g[i])) for i in range(len(d))]
        return float(np.mean(each)) - 1

    assert found["ermi"] == pytest.approx(ermi(decision, group))
    by_label = sum(np.mean(y == label) * ermi(decision[y == label], group[y == label]) for label in (0, 1))
    assert found["ermi_equalized_odds"] == pytest.approx(by_label)


@settings(max_examples=60, deadline=None)
@given(tables(), st.randoms())
def test_shares_stay_in_range_undefined_has_a_reason_and_names_and_order_change_nothing(
    table: tuple[np.ndarray, np.ndarray, np.ndarray, int], random: Random
) -> None:
    y, score, group, k = table
    names = [f"g{i}" for i in range(k)]
    order, rows = list(range(k)), list(range(len(y)))
    random.shuffle(order)
    random.shuffle(rows)
    found = measure(y, score, group, names)
    moved = measure(y[rows], score[rows], np.argsort(order)[group][rows], [names[i] for i in order])
    json.dumps(found, allow_nan=False)
    for name in set(found) - {"groups", "reasons"}:
        value = found[name]
        assert (value is None) == (name in found["reasons"]), name
        if value is not None and not name.startswith(("ermi", "mean_log", "theil")):
            assert -1e-12 <= value <= (LARGEST_LOSS if name in LEVELS else 1) + 1e-12, name
        assert moved[name] == pytest.approx(value, abs=1e-12, nan_ok=True), name
    assert {each["name"]: each for each in moved["groups"]} == {each["name"]: each for each in found["groups"]}


@settings(max_examples=30, deadline=None)
@given(tables(), st.sampled_from([0.0, 1.0]))
def test_a_constant_classifier_has_no_gap_in_decisions(table, score) -> None:  # type: ignore[no-untyped-def]
    y, _, group, k = table
    found = measure(y, np.full(len(y), score), group, [f"g{i}" for i in range(k)])
    for name in ("demographic_parity_gap", "equalized_odds_gap", "equal_opportunity_gap"):
        assert found[name] in (0.0, None)
    assert found["ermi"] == pytest.approx(0.0)
    share = float(np.mean(y == int(score)))
    assert found["accuracy"] == pytest.approx(share)
    assert found["constant_accuracy"] == pytest.approx(max(share, 1 - share))


def test_an_empty_group_is_undefined_and_named() -> None:
    y, score, group = draw_rows(1, k=2)
    found = measure(y, score, group, ["a", "b", "Other"])
    for name in GAPS:
        assert found[name] is None
        assert "'Other'" in found["reasons"][name]
    assert found["groups"][2]["positive_rate"] is None
    assert found["groups"][2]["positive_rate_interval"] is None
    assert "'Other'" in found["reasons"]["groups/Other/positive_rate"]
    assert violation("demographic_parity", found) is None
    assert found["accuracy"] is not None


def test_an_empty_cell_leaves_the_other_notions_defined() -> None:
    y = np.array([1, 0, 0, 0])
    found = measure(y, np.array([1.0, 0, 0, 1]), np.array([0, 0, 1, 1]), ["a", "b"])
    assert found["demographic_parity_gap"] == 0.0
    assert found["equal_opportunity_gap"] is None
    assert found["reasons"]["equal_opportunity_gap"] == "group 'b' has no rows with label 1."
    assert found["groups"][1]["true_positive_rate"] is None


def test_ratio_of_zero_rates_is_undefined_not_fair() -> None:
    found = measure(np.array([1, 0, 1, 0]), np.zeros(4), np.array([0, 0, 1, 1]), ["a", "b"])
    assert found["demographic_parity_gap"] == 0.0
    assert found["demographic_parity_ratio"] is None
    assert "0 over 0" in found["reasons"]["demographic_parity_ratio"]


def test_scores_of_both_labels_and_a_tie() -> None:
    y, group = np.array([0, 1]), np.array([0, 1])
    both = measure(y, np.array([[0.9, 0.1], [0.2, 0.8]]), group, ["a", "b"])
    assert both["accuracy"] == 1.0
    tie = measure(y, np.array([0.5, 0.5]), group, ["a", "b"])
    assert tie["positive_rate"] == 0.0, "as with the largest of two equal outputs"
    assert measure(y, np.array([0.1, 0.3]), group, ["a", "b"], threshold=0.2)["accuracy"] == 1.0


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_a_score_that_is_not_finite_is_decided_as_the_first_label_and_changes_no_other(odd: float) -> None:
    y, group = np.array([0, 1, 1]), np.array([0, 1, 0])
    found = measure(y, np.array([0.1, 0.9, odd]), group, ["a", "b"])
    assert found == measure(y, np.array([0.1, 0.9, 0.0]), group, ["a", "b"])
    many = np.array([[0.1, 0.2, 0.7], [odd, odd, odd]])
    assert decide(many).tolist() == [2, 0] and decide(np.array([odd, 0.9])).tolist() == [0, 1]


@pytest.mark.long
def test_cheap_enough_for_every_epoch() -> None:
    y, score, group = draw_rows(0, n=11_000)
    score = score + np.random.default_rng(0).random(len(score)) * 1e-6
    measure(y, score, group, ["a", "b", "c"])
    spent = []
    for _ in range(5):
        start = time.perf_counter()
        measure(y, score, group, ["a", "b", "c"])
        spent.append(time.perf_counter() - start)
    assert min(spent) < 0.015
