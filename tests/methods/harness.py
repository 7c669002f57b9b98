"""What the contract tests of private methods are made of: small data, a mechanism that records, replays and forces.

Everything is measured at the mechanism's input and output during the real `fit`. What the contract itself is tried on
is that of fairpriv_core/audit/trials.py.
"""

from __future__ import annotations

import dataclasses
import os
import zlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from fairpriv_core.audit.trials import Watcher, make_images, make_rows, make_three, train, with_group
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine import networks
from fairpriv_core.engine.layers import Convolution, Dense, LayeredShape, MaxPool, Relu
from fairpriv_core.methods import sf_pate
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness

__all__ = [
    "RecordingMechanism",
    "Release",
    "Watcher",
    "make_data",
    "make_images",
    "make_three",
    "make_unfair",
    "shrink_networks",
    "train",
    "with_group",
]
make_data = make_rows
_made: dict[str, int] = defaultdict(int)  # mechanisms, by test


def _next_seed() -> int:
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    _made[test] += 1
    return zlib.crc32(f"{test} {_made[test]}".encode()) & 0x7FFFFFFF


@dataclass(frozen=True)
class Release:
    """One release as the mechanism saw it: what went in, what it was told bounds it, what came out."""

    kind: str
    index: tuple[str, int]
    value: np.ndarray
    bound: float
    out: np.ndarray


class RecordingMechanism(Mechanism):
    """The project's mechanism, observed.

    `forced` gives the sample of (epoch, step within the epoch) instead of a random one; `replayed` gives the outputs
    of an earlier run, release by release, so that the run takes the same course whatever its sensitive data are. Every
    mechanism of a test has noise of its own, the same each time the test runs.
    """

    def __init__(
        self,
        *,
        forced: Callable[[int, int], np.ndarray] | None = None,
        replayed: Sequence[Release] | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(Randomness.replay(_next_seed() if seed is None else seed))
        self.releases: list[Release] = []
        self._forced = forced
        self._replayed = None if replayed is None else list(replayed)

    def sample(self, *, epoch: int, steps: int, **how: Any) -> list[np.ndarray]:
        drawn = super().sample(epoch=epoch, steps=steps, **how)
        return drawn if self._forced is None else [self._forced(epoch, step) for step in range(steps)]

    def sampled_gaussian(
        self, total: np.ndarray, *, radius: float, step: int, part: str = "", **how: Any
    ) -> np.ndarray:
        out = super().sampled_gaussian(total, radius=radius, step=step, part=part, **how)
        return self._record("sum", (part, step), total, radius, out)

    def gaussian(self, value: np.ndarray, *, sensitivity: float, purpose: str, index: int, **how: Any) -> np.ndarray:
        out = super().gaussian(value, sensitivity=sensitivity, purpose=purpose, index=index, **how)
        return self._record("gaussian", (purpose, index), value, sensitivity, out)

    def laplace(self, value: np.ndarray, *, sensitivity: float, purpose: str, index: int, **how: Any) -> np.ndarray:
        out = super().laplace(value, sensitivity=sensitivity, purpose=purpose, index=index, **how)
        return self._record("laplace", (purpose, index), value, sensitivity, out)

    def randomized_response(self, values: np.ndarray, *, purpose: str, index: int, **how: Any) -> np.ndarray:
        out = super().randomized_response(values, purpose=purpose, index=index, **how)
        return self._record("randomized response", (purpose, index), values, 0.0, out)

    def noisy_max(self, scores: np.ndarray, *, sensitivity: float, purpose: str, index: int, **how: Any) -> int:
        out = super().noisy_max(scores, sensitivity=sensitivity, purpose=purpose, index=index, **how)
        return int(self._record("noisy max", (purpose, index), scores, sensitivity, np.array(out)))

    def _record(
        self, kind: str, index: tuple[str, int], value: np.ndarray, bound: float, out: np.ndarray
    ) -> np.ndarray:
        if self._replayed is not None:
            earlier = self._replayed.pop(0)
            assert (earlier.kind, earlier.index) == (kind, index), "the replayed run releases something else"
            out = earlier.out
        self.releases.append(Release(kind, index, np.array(value, dtype=np.float64), bound, out.copy()))
        return out.copy()


def make_unfair(groups: int, rows: int = 3000) -> Dataset:
    """Return data on which every notion's gap of the best model is large; x tells something of the group."""
    draw = np.random.default_rng(0)
    group = draw.integers(0, groups, rows)
    far = group / (groups - 1)
    X = np.stack([draw.normal(size=rows) + 1.2 * far, far + 0.8 * draw.normal(size=rows)], axis=1)
    noise = draw.normal(size=rows) * (0.6 + 0.6 * far) - 0.4 * far
    y = (X[:, 0] + noise > 0.8).astype(np.int64)
    return dataclasses.replace(make_data(n=10, d=2, groups=groups), X=X.astype(np.float32), y=y, group=group)


def shrink_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give cnn_small its kinds of layers in a twentieth of the size: what methods promise holds of any network.

    The first convolution keeps records' gradients, the second what they are made of (see tests/engine). Votes are read
    in one epoch instead of twenty: a fit that is resumed after each step reads them as often.
    """

    def build(image: networks.Image, outputs: int) -> LayeredShape:
        layers = (
            *(Convolution(4, side=6, stride=4), Relu(), MaxPool(2, stride=1)),
            *(Convolution(16, side=2), Relu(), Dense(4), Relu(), Dense(outputs)),
        )
        return LayeredShape(image, layers)

    monkeypatch.setattr(networks, "build_cnn_small", build)
    monkeypatch.setattr(sf_pate, "_READING", dataclasses.replace(sf_pate._READING, epochs=1))
