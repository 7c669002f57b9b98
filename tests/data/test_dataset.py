"""Synthetic data, the split, and what a Dataset promises."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairpriv_core.data.dataset import Dataset, load_dataset, split_dataset
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.errors import BadInput

DIGEST = "2f1eb6873f28c0e5fe12b7cde76ac3505d66c6418a6c82b3db373da6a216eb96"


def load(sensitive: str = "group") -> Dataset:
    return load_dataset(DataSpec(dataset="synthetic", sensitive=sensitive))


def make(y: np.ndarray, group: np.ndarray) -> Dataset:
    X = np.arange(len(y), dtype=np.float32)[:, None]
    return Dataset(X, y, group, ("row",), ("no", "yes"), ("a", "b"), "made", "g", "0" * 64)


def test_synthetic_is_the_same_everywhere() -> None:
    """The bytes do not depend on the machine: a changed digest means that the generator changed."""
    assert load().digest == DIGEST
    assert np.array_equal(load().X, load().X)


def test_synthetic_has_its_known_gap() -> None:
    dataset = load()
    rates = [dataset.y[dataset.group == index].mean() for index in range(2)]
    assert (dataset.n, dataset.group_names, dataset.label_names) == (8_000, ("A", "B"), ("no", "yes"))
    assert rates == pytest.approx([0.45, 0.25], abs=0.02)


def test_a_dataset_says_what_is_taken_as_public() -> None:
    dataset = load()
    assert "groups of group (A; B)" in dataset.assumptions["attribute"][0]
    assert any("this project's choice" in sentence for sentence in dataset.assumptions["record"])


def test_the_digest_binds_what_was_asked() -> None:
    positive_no = load_dataset(DataSpec(dataset="synthetic", sensitive="group", positive="no"))
    assert len({load().digest, load("region").digest, load("group+region").digest, positive_no.digest}) == 4
    assert np.array_equal(positive_no.y, 1 - load().y)


def test_the_usual_label_said_aloud_is_the_same_data() -> None:
    said = load_dataset(DataSpec(dataset="synthetic", label="label", positive="yes", sensitive="group"))
    assert said.digest == load().digest


def test_a_split_is_a_quarter_stratified_by_label_and_repeatable() -> None:
    dataset = load()
    train, test = split_dataset(dataset, seed=3, split="stratified")
    again = split_dataset(dataset, seed=3, split="stratified")
    other = split_dataset(dataset, seed=4, split="stratified")
    assert (train.n, test.n) == (6_000, 2_000)
    assert train.y.mean() == pytest.approx(test.y.mean(), abs=1e-3)
    assert np.array_equal(train.X, again[0].X) and not np.array_equal(test.X, other[1].X)


@pytest.mark.parametrize("split", ["rows", "stratified", "people"])
def test_a_split_never_looks_at_the_sensitive_attribute(split: str) -> None:
    generator = np.random.default_rng(0)
    y = generator.integers(0, 2, 1_001)
    unit = np.arange(1_001) // 2
    both = generator.integers(0, 2, 1_001), np.zeros(1_001, dtype=np.int64)
    one, two = (replace(make(y, group), unit=unit) for group in both)
    for seed in range(5):
        chosen = [split_dataset(data, seed=seed, split=split)[1].X for data in (one, two)]
        assert np.array_equal(*chosen)


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 200), st.integers(2, 200), st.integers(0, 2**31))
def test_a_split_uses_each_row_once(negatives: int, positives: int, seed: int) -> None:
    y = np.repeat([0, 1], [negatives, positives])
    for split in ("rows", "stratified", "people"):
        data = replace(make(y, y), unit=np.arange(len(y)) if split == "people" else None)
        train, test = split_dataset(data, seed=seed, split=split)
        assert sorted([*train.X[:, 0], *test.X[:, 0]]) == list(range(len(y)))
        assert test.n == -(-len(y) // 4)
        assert split != "stratified" or abs(int(test.y.sum()) - positives / 4) <= 1


def test_rows_of_nobody_are_not_split_by_people() -> None:
    with pytest.raises(BadInput, match=r"nothing says whose the rows of '.*' are.*use split rows"):
        split_dataset(make(np.arange(8) % 2, np.arange(8) % 2), seed=0, split="people")


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=2, max_size=100), st.integers(0, 2**31))
def test_who_has_several_rows_is_split_as_one(owners: list[int], seed: int) -> None:
    unit = np.array(owners)
    y = np.arange(len(unit)) % 2
    data = replace(make(y, y), unit=unit)
    train, test = split_dataset(data, seed=seed, split="people")
    assert train.unit is not None and test.unit is not None
    assert sorted([*train.X[:, 0], *test.X[:, 0]]) == list(range(len(unit)))
    assert not set(train.unit) & set(test.unit)
    assert len(set(test.unit)) == -(-len(set(owners)) // 4)
    other = replace(make(1 - y, np.zeros_like(y)), unit=unit)  # neither labels nor groups decide
    assert np.array_equal(split_dataset(other, seed=seed, split="people")[1].X, test.X)
    assert train.assumptions == data.assumptions


@pytest.mark.parametrize("row", [3, 500, 995])
def test_by_row_numbers_no_row_decides_on_which_side_another_is(row: int, tmp_path: Path) -> None:
    """One label is flipped or missing, one group is missing: 324 of 1,000 rows change sides where labels decide."""
    draw, path = np.random.default_rng(0), tmp_path / "people.csv"
    lines = [f"{draw.normal():.3f},{'fm'[draw.integers(2)]},{int(draw.random() < 0.25)}" for _ in range(1000)]
    income, sex, paid = lines[row].split(",")
    sides = []
    for changed in (lines[row], f"{income},{sex},{1 - int(paid)}", f"{income},{sex},", f"{income},,{paid}"):
        rows = [*lines[:row], changed, *lines[row + 1 :], "0.1,,1"]  # the last one lacks a group, so rows are numbered
        path.write_text("\n".join(["income,sex,paid", *rows]) + "\n")
        data = load_dataset(DataSpec(file=str(path), label="paid", sensitive="sex"))
        train, test = split_dataset(data, seed=1, split="rows")
        assert train.row is not None and test.row is not None
        sides.append([set(part.row.tolist()) - {row} for part in (train, test) if part.row is not None])
        assert not any("stratified" in said for said in train.assumptions["record"])
    assert all(side == sides[0] for side in sides)
    assert 0.24 < len(sides[0][1]) / 1000 < 0.26


def test_a_split_that_is_none_is_refused() -> None:
    with pytest.raises(BadInput, match="split must be one of rows, stratified, people, official, got 'half'"):
        split_dataset(load(), seed=0, split="half")
    with pytest.raises(BadInput, match="'synthetic' has no published split"):
        split_dataset(load(), seed=0, split="official")


def test_take_selects_every_field() -> None:
    dataset = load("group+region")
    part = dataset.take(dataset.y == 1)
    assert part.n == int(dataset.y.sum()) and set(part.y) == {1}
    assert (part.d, part.groups, part.labels) == (dataset.d, 6, 2)
    assert np.array_equal(part.group, dataset.group[dataset.y == 1])


def test_that_the_split_depends_on_labels_is_an_assumption_where_labels_are_protected() -> None:
    data = load_dataset(DataSpec(dataset="synthetic", sensitive="group"))
    train, _ = split_dataset(data, seed=0, split="stratified")
    added = [sentence for sentence in train.assumptions["record"] if sentence not in data.assumptions.get("record", ())]
    assert len(added) == 1 and "stratified by the label" in added[0]
    assert train.assumptions.get("attribute") == data.assumptions.get("attribute")
    moved = replace(data, y=np.where(np.arange(data.n) == 0, 1 - data.y, data.y))
    assert not np.array_equal(
        split_dataset(moved, seed=0, split="stratified")[0].X[1:], train.X[1:]
    )  # why it has to be said
