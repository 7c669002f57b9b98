"""Random data of the shapes that the papers time: Bank's and Adult's."""

from __future__ import annotations

import numpy as np

from fairpriv_core.data.dataset import Dataset

# name -> rows, features, share of label 1, share of the smaller group
SHAPES = {"bank": (45_211, 48, 0.12, 0.04), "adult": (36_000, 102, 0.24, 0.33)}


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
