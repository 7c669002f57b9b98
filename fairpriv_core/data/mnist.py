"""Handwritten digits from their published idx files, and the copy of them in which one digit is rare."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import numpy as np

from fairpriv_core.data.download import find_edition
from fairpriv_core.data.pixels import Pictures, Pixels
from fairpriv_core.data.problem import Problem
from fairpriv_core.data.table import Codes
from fairpriv_core.errors import DataUnavailable
from fairpriv_core.seeds import public_generator

DIGITS = tuple("0123456789")
#: of this digit's training images RARE_KEPT are kept, drawn with RARE_SEED
RARE, RARE_KEPT, RARE_SEED = 8, 500, 8
_MAGIC = {3: 2051, 1: 2049}


def read_unbalanced(problem: Problem, _: bool) -> Pictures:
    """Return all published images but those of the rare digit's training images that are not drawn."""
    files = find_edition(problem.editions)
    images = [read_idx(path, 3) for source, path in files if "images" in source.path]
    labels = [read_idx(path, 1) for source, path in files if "labels" in source.path]
    digits = np.concatenate(labels).astype(np.int64)
    test = np.arange(len(digits)) >= len(labels[0])
    kept = keep_rare(digits, test)
    sealed = hashlib.sha256("".join(source.sha256 for source, _ in files).encode())
    sealed.update(repr((RARE, RARE_KEPT, RARE_SEED)).encode())
    return Pictures(
        Pixels(np.concatenate(images)[:, None][kept]),
        {problem.labels[0].column.name: Codes(digits[kept], DIGITS)},
        sealed.hexdigest(),
        official_test=test[kept],
    )


def keep_rare(digits: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Return the positions that stay, rising; `digits` (n,) and `test` (n,), the mask of the published test images."""
    rare = np.flatnonzero((digits == RARE) & ~test)
    drawn = public_generator(RARE_SEED, "mnist_unbalanced").permutation(rare)[:RARE_KEPT]
    return np.sort(np.concatenate([np.setdiff1d(np.arange(len(digits)), rare), drawn]))


def read_idx(path: Path, dimensions: int) -> np.ndarray:
    """Return the uint8 array of a gzipped idx file; DataUnavailable where it is none of `dimensions` dimensions."""
    with gzip.open(path) as file:
        content = file.read()
    head = np.frombuffer(content, dtype=">i4", count=1 + dimensions) if len(content) >= 4 + 4 * dimensions else [0]
    shape = tuple(int(size) for size in head[1:])
    if head[0] != _MAGIC[dimensions] or len(content) != 4 + 4 * dimensions + int(np.prod(shape)):
        raise DataUnavailable(f"{path} is no idx file of {dimensions} dimensions; delete it.", field="dataset")
    return np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * dimensions).reshape(shape)
