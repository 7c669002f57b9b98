"""The work that all contenders do: random data of Bank's and Adult's shapes and of a large file, networks, batches."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairpriv_core.data.dataset import Dataset

# name -> rows, features, share of label 1, share of the smaller group
SHAPES = {"bank": (45_211, 48, 0.12, 0.04), "adult": (36_000, 102, 0.24, 0.33), "large": (10_000_000, 18, 0.3, 0.4)}
RATE, CLIP, NOISE = 0.002, 1.0, 2.0  # a step so short that noise never makes a network diverge


@dataclass(frozen=True)
class Work:
    """The data and the network that all the contenders train; `layers` hidden ones of `width` units, or a `module`."""

    data: Dataset
    layers: int
    batch: int
    width: int = 64
    device: str = "cpu"
    module: str = ""


def build_data(shape: str, *, rows: int | None = None) -> Dataset:
    """Return random rows of `shape`; the label follows the first feature."""
    n, features, positive, small = SHAPES[shape]
    n = n if rows is None else rows
    generator = np.random.default_rng(0)
    X = generator.standard_normal((n, features), dtype=np.float32)
    score = X[:, 0] + generator.standard_normal(n)
    y = (score > np.quantile(score, 1.0 - positive)).astype(np.int64)
    group = (generator.random(n) < small).astype(np.int64)
    names = tuple(f"x{i}" for i in range(features))
    return Dataset(X, y, group, names, ("no", "yes"), ("most", "few"), name=shape, sensitive="group", digest="")


def build_images(rows: int) -> Dataset:
    """Return random grey images of MNIST's size with ten labels, which are the groups too."""
    generator = np.random.default_rng(0)
    X, y = generator.random((rows, 28 * 28), dtype=np.float32), generator.integers(0, 10, rows)
    names, digits = tuple(f"x{i}" for i in range(28 * 28)), tuple("0123456789")
    data = Dataset(X, y, y, names, digits, digits, name="images", sensitive="label", digest="")
    return replace(data, image=(1, 28, 28))
