"""Unbalanced MNIST: the published images, but for the rare digit's training images that are not drawn."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from fairpriv_core.data.catalog import problems
from fairpriv_core.data.dataset import Dataset, load_dataset, split_dataset
from fairpriv_core.data.image_benchmarks import RARE, RARE_KEPT, keep_rare, read_idx
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.errors import BadInput, DataUnavailable
from fairpriv_core.methods.catalog import methods
from fairpriv_core.records.plan import check_method

TRAIN = [5_923, 6_742, 5_958, 6_131, 5_842, 5_421, 5_918, 6_265, 500, 5_949]
TEST = [980, 1_135, 1_032, 1_010, 982, 892, 958, 1_028, 974, 1_009]


@pytest.fixture(scope="module")
def digits(real_data: Path) -> Dataset:
    return load_dataset(DataSpec(dataset="mnist_unbalanced", sensitive="label"))


def write_idx(path: Path, values: np.ndarray, magic: int) -> Path:
    path.write_bytes(gzip.compress(struct.pack(f">{1 + values.ndim}i", magic, *values.shape) + values.tobytes()))
    return path


def test_counts_are_the_published_ones_but_for_the_rare_digit(digits: Dataset) -> None:
    assert digits.n == 64_649 and digits.image == (1, 28, 28) and digits.d == 784
    assert digits.label_names == digits.group_names == tuple("0123456789")
    assert np.array_equal(digits.y, digits.group)
    assert (digits.X.min(), digits.X.max()) == (0, 1)
    assert RARE_KEPT == 500 and "500" in " ".join(digits.assumptions["record"])


def test_the_split_is_the_published_one(digits: Dataset) -> None:
    train, test = split_dataset(digits, seed=5, split="official")
    assert (list(np.bincount(train.y)), list(np.bincount(test.y))) == (TRAIN, TEST)
    assert not any("assumed public: the split" in said for said in train.assumptions["record"])


def test_a_test_image_is_that_of_the_file(digits: Dataset, real_data: Path) -> None:
    published = read_idx(real_data / "mnist" / "t10k-images-idx3-ubyte.gz", 3)
    test = split_dataset(digits, seed=0, split="official")[1]
    assert np.array_equal(test.X[17], published[17].ravel() / np.float32(255))


def test_the_rare_images_are_drawn_alike_everywhere() -> None:
    label = np.tile(np.arange(10), 1_000)
    test = np.arange(10_000) >= 8_000
    kept = keep_rare(label, test)
    assert (np.diff(kept) > 0).all() and np.array_equal(kept, keep_rare(label, test))
    assert (label[kept[kept < 8_000]] == RARE).sum() == 500 and (label[kept[kept >= 8_000]] == RARE).sum() == 200
    assert len(kept) == 10_000 - 300
    assert list(kept[label[kept] == RARE][:8]) == [18, 28, 38, 48, 58, 68, 78, 88]


def test_idx_files_are_checked(tmp_path: Path) -> None:
    images = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    assert np.array_equal(read_idx(write_idx(tmp_path / "a.gz", images, 2051), 3), images)
    assert np.array_equal(read_idx(write_idx(tmp_path / "b.gz", images[0, 0], 2049), 1), images[0, 0])
    for path, dimensions in (
        (write_idx(tmp_path / "c.gz", images, 2049), 3),
        (write_idx(tmp_path / "d.gz", images[0, 0], 2051), 1),
    ):
        with pytest.raises(DataUnavailable, match=f"no idx file of {dimensions} dimensions"):
            read_idx(path, dimensions)
    (tmp_path / "e.gz").write_bytes(gzip.compress(b"short"))
    with pytest.raises(DataUnavailable, match="no idx file"):
        read_idx(tmp_path / "e.gz", 3)


def test_a_digit_against_the_others_needs_its_name(digits: Dataset) -> None:
    assert problems()["mnist_unbalanced"].classes_are_groups
    eight = load_dataset(DataSpec(dataset="mnist_unbalanced", positive="8", sensitive="label"))
    assert eight.label_names == ("not 8", "8") and eight.groups == 10 and eight.y.sum() == 500 + 974


def test_a_method_that_takes_labels_as_public_has_nothing_to_protect(digits: Dataset) -> None:
    with pytest.raises(BadInput, match="the label is the sensitive attribute, so choose a method that protects whole"):
        check_method(methods()["pf_ld"].info, digits)
    check_method(methods()["dp_sgd"].info, digits)
