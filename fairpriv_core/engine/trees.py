"""Boosted trees as flat arrays: what such a model is stored as, without pickle, and how it predicts in numpy.

Node j sends a row to left_j where its value of feature_j is at most threshold_j, else to right_j; a leaf sends it to
itself. The logit is base and the sum over the trees of the value of the leaf that a row ends in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fairpriv_core import checks
from fairpriv_core.engine.predict import Described, as_both, to_chance
from fairpriv_core.errors import BadInput

_PER_NODE = ("feature", "threshold", "left", "right", "value")
_ROWS = 4096  # at once


@dataclass(frozen=True)
class TreesShape(Described):
    """So many `trees` of so many `nodes` together, none deeper than `depth`."""

    kind = "trees"
    inputs: int
    trees: int
    nodes: int
    depth: int

    def __post_init__(self) -> None:
        checks.whole(low=1, inputs=self.inputs, trees=self.trees, nodes=self.nodes)
        checks.whole(low=0, high=self.nodes, depth=self.depth)

    @property
    def size(self) -> int:
        return 1 + self.trees + len(_PER_NODE) * self.nodes

    def open(self, parameters: np.ndarray) -> Trees:
        """Return the trees that `Trees.flat` wrote; BadInput where a node names what is not there."""
        roots, nodes = np.split(parameters[1:], [self.trees])
        feature, threshold, left, right, value = nodes.reshape(len(_PER_NODE), self.nodes)
        for indices, count in ((roots, self.nodes), (left, self.nodes), (right, self.nodes), (feature, self.inputs)):
            if not ((indices >= 0) & (indices < count)).all():
                raise BadInput("the trees name nodes or columns that are not there.")
        roots, feature, left, right = (values.astype(np.int64) for values in (roots, feature, left, right))
        return Trees(self, float(parameters[0]), roots, feature, threshold, left, right, value)

    def scores(self, parameters: np.ndarray, rows: np.ndarray, group: np.ndarray | None) -> np.ndarray:
        return as_both(self.open(parameters).score(rows))


@dataclass(frozen=True)
class Trees:
    """The trees of `shape` (T of them, N nodes): `base`, `roots` (T,) and what each node has (N,).

    `roots`, `left`, `right`, `feature` are int64; `threshold` and `value` float32.
    """

    shape: TreesShape
    base: float
    roots: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    value: np.ndarray

    def flat(self) -> np.ndarray:
        """Return the parameters (P,) float32; indices are exact below 2^24 nodes."""
        parts = [np.array([self.base]), self.roots, *(getattr(self, name) for name in _PER_NODE)]
        return np.concatenate(parts).astype(np.float32)

    def add_up(self, rows: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield (which rows, their logits after each tree (rows, T) float64), a chunk of the rows (n, d) at a time.

        What is not finite in a row is read as 0.
        """
        for start in range(0, len(rows), _ROWS):
            part = np.asarray(rows[start : start + _ROWS], dtype=np.float32)
            part = np.nan_to_num(part, nan=0.0, posinf=0.0, neginf=0.0)
            places, own = np.tile(self.roots, (len(part), 1)), np.arange(len(part))[:, None]
            for _ in range(self.shape.depth):
                low = part[own, self.feature[places]] <= self.threshold[places]
                places = np.where(low, self.left[places], self.right[places])
            values = self.value[places].astype(np.float64)
            yield slice(start, start + len(part)), self.base + values.cumsum(axis=1)

    def score(self, rows: np.ndarray) -> np.ndarray:
        """Return the chance (n,) of label 1 of rows (n, d)."""
        score = np.empty(len(rows))
        for part, logits in self.add_up(rows):
            score[part] = to_chance(logits[:, -1])
        return score
