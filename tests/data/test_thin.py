"""Leaving out training rows of larger groups: exact sizes, training rows alone, repeatable, and assumed public."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairpriv_core.data.dataset import Dataset, load_dataset, split_dataset
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.data.rows import match_groups, undersample_groups
from fairpriv_core.errors import BadInput
from fairpriv_core.seeds import public_generator

NAMES = ("a", "b", "c")


def make(sizes: tuple[int, ...] = (100, 400), ratio: float | None = None) -> Dataset:
    """Return rows of groups with these sizes; the one feature is the row's number."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    X = np.arange(len(group), dtype=np.float32)[:, None]
    y = np.arange(len(group)) % 2
    made = Dataset(X, y, group, ("row",), ("no", "yes"), NAMES[: len(sizes)], "made", "g", "0" * 64)
    return replace(made, group_ratio=ratio)


def count(part: Dataset) -> list[int]:
    return np.bincount(part.group, minlength=part.groups).tolist()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 300), min_size=2, max_size=3), st.floats(0.01, 1.0), st.integers(0, 2**31))
def test_every_larger_group_has_the_size_that_was_asked_for(sizes: list[int], ratio: float, seed: int) -> None:
    group = np.repeat(np.arange(len(sizes)), sizes)
    present = [size for size in sizes if size]
    most = round(min(present) / ratio) if present else 0
    if len(present) < 2 or most >= max(present):
        with pytest.raises(BadInput, match=r"^group_ratio "):
            undersample_groups(group, ratio, len(NAMES), public_generator(seed, "test"))
        return
    kept = undersample_groups(group, ratio, len(NAMES), public_generator(seed, "test"))
    assert np.bincount(group[kept], minlength=len(sizes)).tolist() == [min(size, most) for size in sizes]
    assert (np.diff(kept) > 0).all()


def test_only_training_rows_are_left_out() -> None:
    whole, thinned = split_dataset(make(), seed=3), split_dataset(make(ratio=0.5), seed=3)
    smallest = count(whole[0])[0]
    assert count(thinned[0]) == [smallest, 2 * smallest]
    assert set(thinned[0].X.ravel()) < set(whole[0].X.ravel())
    assert np.array_equal(thinned[1].X, whole[1].X)


def test_the_rows_follow_from_the_seed_and_of_a_higher_ratio_are_among_those_of_a_lower_one() -> None:
    rows = {
        (ratio, seed): set(split_dataset(make(ratio=ratio), seed=seed)[0].X.ravel())
        for ratio in (0.5, 1.0)
        for seed in (0, 1)
    }
    again = split_dataset(make(ratio=0.5), seed=0)[0]
    assert set(again.X.ravel()) == rows[0.5, 0] != rows[0.5, 1]
    assert rows[1.0, 0] < rows[0.5, 0] and rows[1.0, 1] < rows[0.5, 1]


def test_a_published_split_is_thinned_by_the_seed_too() -> None:
    official = np.arange(500) % 4 == 0
    parts = [
        split_dataset(replace(make(ratio=0.5), official_test=official), seed=seed, split="official") for seed in (0, 1)
    ]
    assert np.array_equal(parts[0][1].X, parts[1][1].X)
    assert not np.array_equal(parts[0][0].X, parts[1][0].X)


def test_rows_and_not_people_are_counted_where_a_person_has_several() -> None:
    dataset = replace(make((100, 400), 1.0), unit=np.arange(500) // 5)
    train, test = split_dataset(dataset, seed=0, split="people")
    assert count(train)[0] == count(train)[1] and train.unit is not None and test.unit is not None
    assert not set(train.unit) & set(test.unit)


@pytest.mark.parametrize("threat_model", ["attribute", "record"])
def test_it_is_taken_as_given_under_both_threat_models(threat_model: str) -> None:
    said = split_dataset(make(ratio=0.5), seed=0)[0].assumptions[threat_model][-1]
    for words in ("group ratio of 0.5 is assumed public", "same rows left out", "size of the smallest group"):
        assert words in said
    assert not any("left out" in one for one in split_dataset(make(), seed=0)[0].assumptions.get(threat_model, ()))


def test_nothing_to_leave_out_is_a_sentence_that_tells_no_size() -> None:
    with pytest.raises(BadInput, match=r"group_ratio 0\.2 leaves no row out: ") as refused:
        split_dataset(make(ratio=0.2), seed=0)
    with pytest.raises(BadInput) as other:
        split_dataset(make((300, 301), 0.2), seed=0)
    with pytest.raises(BadInput) as alone:
        undersample_groups(np.ones(10, dtype=np.int64), 0.2, len(NAMES), public_generator(0, "test"))
    assert str(refused.value) == str(other.value) == str(alone.value)


@pytest.mark.parametrize("ratio", [0.0, -0.5, 1.01, float("nan"), float("inf"), True])
def test_a_ratio_out_of_range_is_a_sentence(ratio: float) -> None:
    with pytest.raises(BadInput, match=r"group_ratio must lie in \(0, 1\], got"):
        DataSpec(dataset="synthetic", sensitive="group", group_ratio=ratio)


def test_the_digest_is_the_old_one_without_a_ratio_and_another_with_one() -> None:
    plain = load_dataset(DataSpec(dataset="synthetic", sensitive="group"))
    thinned = load_dataset(DataSpec(dataset="synthetic", sensitive="group", group_ratio=0.5))
    assert plain.digest == "2f1eb6873f28c0e5fe12b7cde76ac3505d66c6418a6c82b3db373da6a216eb96" != thinned.digest


def test_real_groups_have_the_ratio() -> None:
    spec = DataSpec(dataset="adult", sensitive="sex", group_ratio=0.8)
    sizes = count(split_dataset(load_dataset(spec), seed=0)[0])
    assert max(sizes) == round(min(sizes) / 0.8)


def test_rows_are_matched_to_the_shares_of_other_rows() -> None:
    group, like = np.repeat([0, 1, 2], [30, 70, 5]), np.repeat([0, 1], [50, 50])
    kept = match_groups(group, like, public_generator(0, "test"))
    assert np.bincount(group[kept], minlength=3).tolist() == [30, 30, 0]
