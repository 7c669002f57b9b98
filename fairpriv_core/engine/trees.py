"""Boosted trees as flat arrays: what such a model is stored as, without pickle, and how it predicts in numpy.

Node j sends a row to left_j where its value of feature_j is at most threshold_j, else to right_j; a leaf sends it to
itself. The logit is base and the sum over the trees of the value of the leaf that a row ends in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from fairpriv_core.errors import BadInput

TREES_KIND = "trees"
_PER_NODE = ("feature", "threshold", "left", "right", "value")
_ROWS = 4096  # at once


@dataclass(frozen=True)
class Trees:
    """T trees of N nodes together over `inputs` features, none deeper than `depth`.

    `roots` (T,) and `left`, `right`, `feature` (N,) are int64; `threshold` and `value` (N,) float32.
    """

    inputs: int
    depth: int
    base: float
    roots: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    value: np.ndarray

    def to_json(self) -> dict[str, Any]:
        """Return the description that is stored with `flat`."""
        sizes = {"trees": len(self.roots), "nodes": len(self.value), "depth": self.depth}
        return {"kind": TREES_KIND, "inputs": self.inputs, **sizes}

    def flat(self) -> np.ndarray:
        """Return the parameters (P,) float32; indices are exact below 2^24 nodes."""
        parts = [np.array([self.base]), self.roots, *(getattr(self, name) for name in _PER_NODE)]
        return np.concatenate(parts).astype(np.float32)

    @classmethod
    def read(cls, network: Mapping[str, Any], parameters: np.ndarray) -> Self:
        """Return the trees that `to_json` and `flat` described; BadInput for another number of parameters."""
        if len(parameters) != count_trees(network):
            raise BadInput(f"the trees need {count_trees(network)} parameters, got {len(parameters)}.")
        trees, nodes = network["trees"], network["nodes"]
        feature, threshold, left, right, value = parameters[1 + trees :].reshape(len(_PER_NODE), nodes)
        roots, *indices = (part.astype(np.int64) for part in (parameters[1 : 1 + trees], feature, left, right))
        own = {"feature": indices[0], "threshold": threshold, "left": indices[1], "right": indices[2], "value": value}
        return cls(network["inputs"], network["depth"], float(parameters[0]), roots, **own)

    def add_up(self, rows: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield (which rows, their logits after each tree (rows, T) float64), a chunk of the rows (n, d) at a time.

        What is not finite in a row is read as 0. BadInput for rows of another width.
        """
        if rows.shape[1] != self.inputs:
            raise BadInput(f"the model takes {self.inputs} encoded columns, got {rows.shape[1]}.")
        for start in range(0, len(rows), _ROWS):
            part = np.asarray(rows[start : start + _ROWS], dtype=np.float32)
            part = np.nan_to_num(part, nan=0.0, posinf=0.0, neginf=0.0)
            places, own = np.tile(self.roots, (len(part), 1)), np.arange(len(part))[:, None]
            for _ in range(self.depth):
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


def count_trees(network: Mapping[str, Any]) -> int:
    """Return how many parameters trees have."""
    return int(1 + network["trees"] + len(_PER_NODE) * network["nodes"])


def to_chance(logits: np.ndarray) -> np.ndarray:
    """Return the chances that belong to logits."""
    chance: np.ndarray = 0.5 * (1.0 + np.tanh(0.5 * logits))
    return chance
