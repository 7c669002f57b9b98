"""More than two labels: against brute force over rows, fairlearn and scikit-learn, and properties of any data."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import numpy as np
import pytest
from fairlearn import metrics as oracle
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score, confusion_matrix

from fairpriv_core.notions import metrics
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.cells import NO_CELL, build_cells
from fairpriv_core.notions.metrics import ermi, measure, violation
from fairpriv_core.notions.rates import count_cells, decide
from fairpriv_core.notions.scores import LARGEST_LOSS

NAMES = ("young", "middle", "old")
DEFINED = ("demographic_parity", "equalized_odds", "accuracy_parity")
Rows = tuple[np.ndarray, np.ndarray, np.ndarray]


def draw_rows(seed: int, n: int = 900, k: int = 3, labels: int = 3) -> Rows:
    """Return labels, scores (n, l) and groups, each depending on the others."""
    generator = np.random.default_rng(seed)
    group = generator.integers(0, k, n)
    y = (group + generator.integers(0, labels, n) * (generator.random(n) < 0.8)) % labels
    score = generator.random((n, labels)) + 0.6 * np.eye(labels)[y] + 0.2 * np.eye(labels)[group % labels]
    return y, score / score.sum(axis=1, keepdims=True), group


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray, int, int]:
    k, labels, n = draw(st.integers(1, 4)), draw(st.integers(3, 5)), draw(st.integers(1, 40))
    each = [draw(st.lists(st.integers(0, most - 1), min_size=n, max_size=n)) for most in (labels, labels, k)]
    y, decision, group = (np.array(column) for column in each)
    return y, decision, group, k, labels


def brute_gap(hit: np.ndarray, group: np.ndarray, inside: np.ndarray) -> float:
    """Return the largest difference between two groups in the share of `hit` among the rows `inside`."""
    shares = [hit[inside & (group == one)].mean() for one in np.unique(group)]
    return float(max(abs(one - other) for one, other in product(shares, shares)))


@pytest.mark.parametrize("seed", range(2))
def test_gaps_are_the_largest_over_classes_groups_and_labels(seed: int) -> None:
    y, score, group = draw_rows(seed)
    decision, everyone = score.argmax(axis=1), np.ones(len(y), dtype=bool)
    found = measure(y, score, group, "abc", label_names=NAMES)
    parity = [brute_gap(decision == label, group, everyone) for label in range(3)]
    odds = [brute_gap(decision == label, group, y == true) for label in range(3) for true in range(3)]
    assert found["demographic_parity_gap"] == pytest.approx(max(parity))
    assert found["equalized_odds_gap"] == pytest.approx(max(odds))
    assert found["accuracy_parity_gap"] == pytest.approx(brute_gap(decision == y, group, everyone))
    given_rows = {"y_true": y, "sensitive_features": group}
    for name, fold in (("difference", max), ("ratio", min)):
        measured = getattr(oracle, f"demographic_parity_{name}")
        each = [measured(y_pred=(decision == label).astype(int), **given_rows) for label in range(3)]
        stated = found["demographic_parity_gap" if name == "difference" else "demographic_parity_ratio"]
        assert stated == pytest.approx(fold(each))
    overall = [
        oracle.demographic_parity_difference(y_pred=(decision == label).astype(int), method="to_overall", **given_rows)
        for label in range(3)
    ]
    assert found["demographic_parity_population"] == pytest.approx(max(overall))
    assert violation("equalized_odds", found) == found["equalized_odds_gap"]


def test_metrics_of_all_rows() -> None:
    y, score, group = draw_rows(4)
    decision = score.argmax(axis=1)
    found = measure(y, score, group, "abc", label_names=NAMES)
    assert found["accuracy"] == pytest.approx(np.mean(decision == y))
    assert found["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(y, decision))
    assert found["constant_accuracy"] == pytest.approx(np.bincount(y).max() / len(y))
    assert found["largest_decided"] == pytest.approx(np.bincount(decision).max() / len(y))
    each = [
        np.mean((decision == decision[i]) & (group == group[i]))
        / (np.mean(decision == decision[i]) * np.mean(group == group[i]))
        for i in range(len(y))
    ]
    assert found["ermi"] == pytest.approx(np.mean(each) - 1)
    by_label = sum(
        np.mean(y == true) * ermi(count_cells(decision[y == true], y[y == true], group[y == true], 3, 3).sum(axis=1))
        for true in range(3)
    )
    assert found["ermi_equalized_odds"] == pytest.approx(by_label)


def test_classes_and_groups_say_how_each_fares() -> None:
    y, score, group = draw_rows(5)
    decision = score.argmax(axis=1)
    found = measure(y, score, group, "abc", label_names=NAMES)
    assert [each["name"] for each in found["classes"]] == list(NAMES)
    for label, told in enumerate(found["classes"]):
        assert told["size"] == np.sum(y == label)
        assert told["accuracy"] == pytest.approx(np.mean(decision[y == label] == label))
        assert told["decided"] == pytest.approx(np.mean(decision == label))
        assert told["accuracy_low"] < told["accuracy"] < told["accuracy_high"]
        assert told["accuracy_interval"] == [told["accuracy_low"], told["accuracy_high"]]
    for index, told in enumerate(found["groups"]):
        inside = group == index
        assert (told["size"], told["correct"]) == (inside.sum(), np.sum((decision == y)[inside]))
        assert told["confusion"] == confusion_matrix(y[inside], decision[inside]).tolist()
        for label, name in enumerate(NAMES):
            assert told["decided"][name] == pytest.approx(np.mean(decision[inside] == label))
        assert "positive_rate" not in told and sum(told["decided"].values()) == pytest.approx(1.0)


def test_what_needs_a_positive_label_is_undefined_with_a_reason() -> None:
    found = measure(*draw_rows(6), "abc", label_names=NAMES)
    for name in ("roc_auc", "positive_rate", "base_rate"):
        assert found[name] is None and "of 3 labels none is positive" in found["reasons"][name]
    for kind in ("gap", "population", "ratio"):
        assert found[f"equal_opportunity_{kind}"] is None
        assert found["reasons"][f"equal_opportunity_{kind}"] == (
            "equal opportunity is about the positive label, and of 3 labels none is positive."
        )
    assert all(found[f"{name}_gap"] is not None for name in DEFINED)


def test_where_groups_are_classes_their_accuracies_are_the_classes() -> None:
    """FairDP-A's unbalanced MNIST: ten groups that are the ten labels."""
    y, score, _ = draw_rows(7, n=2000, k=10, labels=10)
    digits = [str(digit) for digit in range(10)]
    found = measure(y, score, y, digits, label_names=digits)
    assert [each["accuracy"] for each in found["groups"]] == [each["accuracy"] for each in found["classes"]]
    accuracies = [each["accuracy"] for each in found["classes"]]
    assert found["accuracy_parity_gap"] == pytest.approx(max(accuracies) - min(accuracies))
    assert found["gini"] > 0 and found["theil"] > 0
    assert found["equalized_odds_gap"] is None
    assert found["reasons"]["equalized_odds_gap"] == "group '1' has no rows with label '0'."


def test_a_model_that_decides_one_class_for_everybody() -> None:
    y, _, group = draw_rows(8)
    found = measure(y, np.tile([0.2, 0.5, 0.3], (len(y), 1)), group, "abc", label_names=NAMES)
    assert found["largest_decided"] == 1.0 and found["ermi"] == pytest.approx(0.0)
    assert found["demographic_parity_gap"] == found["equalized_odds_gap"] == 0.0
    assert found["demographic_parity_ratio"] == 1.0, "what nobody is decided for has no ratio"
    assert [each["decided"] for each in found["classes"]] == [0.0, 1.0, 0.0]
    assert [each["accuracy"] for each in found["classes"]] == [0.0, 1.0, 0.0]


def test_an_absent_class_has_no_accuracy() -> None:
    found = measure(np.array([0, 1, 0, 1]), np.eye(3)[[0, 2, 0, 1]], np.array([0, 0, 1, 1]), "ab", label_names=NAMES)
    assert found["classes"][2]["accuracy"] is None and found["classes"][2]["decided"] == 0.25
    assert found["reasons"]["classes/old/accuracy"] == "class 'old' has no rows."
    assert found["balanced_accuracy"] is None and found["reasons"]["balanced_accuracy"] == "no row has label 'old'."
    assert found["demographic_parity_gap"] == 0.5 and found["accuracy"] == 0.75


def test_a_tie_goes_to_the_lowest_class() -> None:
    assert decide(np.array([[0.4, 0.4, 0.2], [0.2, 0.4, 0.4]])).tolist() == [0, 1]


@settings(max_examples=60, deadline=None)
@given(tables(), st.randoms())
def test_shares_stay_in_range_undefined_has_a_reason_and_names_change_nothing(table: Any, random: Any) -> None:
    y, decision, group, k, labels = table
    label_names, group_names = [f"c{i}" for i in range(labels)], [f"g{i}" for i in range(k)]
    new_label, new_group = list(range(labels)), list(range(k))
    random.shuffle(new_label)
    random.shuffle(new_group)
    found = measure(y, np.eye(labels)[decision], group, group_names, label_names=label_names)
    to_label, to_group = np.array(new_label), np.array(new_group)
    renamed = measure(
        to_label[y],
        np.eye(labels)[to_label[decision]],
        to_group[group],
        [group_names[new_group.index(i)] for i in range(k)],
        label_names=[label_names[new_label.index(i)] for i in range(labels)],
    )
    json.dumps(found, allow_nan=False)
    for name in set(found) - {"groups", "classes", "reasons"}:
        value = found[name]
        assert (value is None) == (name in found["reasons"]), name
        if value is not None and not name.startswith(("ermi", "mean_log", "theil")):
            assert -1e-12 <= value <= (LARGEST_LOSS if name == "worst_group_loss" else 1) + 1e-12, name
        assert renamed[name] == pytest.approx(value, abs=1e-12), name
    before, after = ({each["name"]: each for each in one["classes"]} for one in (found, renamed))
    assert after == before
    decided = [{each["name"]: each["decided"] for each in one["groups"]} for one in (found, renamed)]
    assert decided[0] == decided[1]


def test_of_many_classes_the_worst_groups_loss_is_the_cross_entropy_and_what_needs_a_positive_one_is_undefined() -> (
    None
):
    draw = np.random.default_rng(3)
    score = draw.dirichlet(np.ones(3), 600)
    y, group = draw.integers(0, 3, 600), draw.integers(0, 2, 600)
    found = measure(y, score, group, ["a", "b"], label_names=NAMES)
    each = [np.minimum(-np.log(score[group == g, y[group == g]]), LARGEST_LOSS).mean() for g in range(2)]
    assert found["worst_group_loss"] == pytest.approx(max(each))
    for name in ("predictive_parity_gap", "predictive_parity_ratio", "calibration_within_groups_gap"):
        assert found[name] is None and "of 3 labels none is positive" in found["reasons"][name]


@settings(max_examples=60, deadline=None)
@given(tables())
def test_a_class_that_never_occurs_adds_nothing_to_two(table: Any) -> None:
    """Two labels as they are, and as two of three: what is defined of both is the same."""
    y, decision, group, k, _ = table
    y, decision, names = y % 2, decision % 2, [f"g{i}" for i in range(k)]
    two = measure(y, decision.astype(float), group, names)
    three = measure(y, np.eye(3)[decision], group, names)
    same = ("accuracy", "constant_accuracy", "demographic_parity_gap", "demographic_parity_population", "ermi")
    for name in (*same, "accuracy_parity_gap", "accuracy_parity_ratio", "gini", "theil"):
        assert three[name] == pytest.approx(two[name], abs=1e-12), name
    of_all = metrics.overall(count_cells(decision, y, group, k))
    for name in ("accuracy", "balanced_accuracy", "constant_accuracy", "ermi", "ermi_equalized_odds"):
        assert of_all[name] == pytest.approx(np.nan if two[name] is None else two[name], abs=1e-12, nan_ok=True), name


def test_cells_of_many_labels() -> None:
    odds = build_cells(notions()["equalized_odds"], ["a", "b"], 3)
    assert odds.of.tolist() == [[0, 2, 4], [1, 3, 5]] and odds.conditions.shape == (6, 3)
    assert odds.names[3] == "b, label 1" and odds.conditions[3].tolist() == [0.0, 1.0, 0.0]
    assert build_cells(notions()["demographic_parity"], ["a", "b"], 3).of.tolist() == [[0] * 3, [1] * 3]
    assert (build_cells(notions()["equal_opportunity"], ["a", "b"], 3).of == NO_CELL).all()
