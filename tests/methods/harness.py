"""What the contract tests of private methods are made of: small data, a mechanism that records, replays and forces.

Everything is measured at the mechanism's input and output during the real `fit`.
"""

from __future__ import annotations

import os
import zlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine import networks
from fairpriv_core.engine.layers import Convolution, Dense, LayeredShape, MaxPool, Relu
from fairpriv_core.engine.training import Fitted, Snapshot, Training, Unwatched
from fairpriv_core.methods.base import Method
from fairpriv_core.notions.catalog import notions
from fairpriv_core.privacy.event import Events
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness

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


@dataclass
class Watcher:
    """An observer that keeps what it is shown, and the checkpoints after the steps in `commits`."""

    watches = True
    commits: frozenset[int] = frozenset()
    stop_at: int | None = None
    shown: list[Snapshot] = field(default_factory=list)
    checkpoints: dict[int, dict[str, np.ndarray]] = field(default_factory=dict)
    _step: int = 0

    def due(self) -> bool:
        return bool(self.commits) or self.stop_at is not None

    def show(self, snapshot: Snapshot) -> None:
        self.shown.append(snapshot)

    def commit(self, *, step: int, events: Events, checkpoint: Mapping[str, np.ndarray]) -> None:
        if step in self.commits:
            self.checkpoints[step] = {name: value.copy() for name, value in checkpoint.items()}
        if step == self.stop_at:
            raise InterruptedError


def make_data(n: int = 200, d: int = 4, groups: int = 2, seed: int = 0) -> Dataset:
    """Return a small data set on which group and label both depend on the features."""
    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(n, d)).astype(np.float32)
    y = (rows[:, 0] + 0.5 * draw.normal(size=n) > 0).astype(np.int64)
    group = np.clip(np.floor(groups * (0.5 + 0.2 * rows[:, 1] + 0.05 * rows[:, 0])), 0, groups - 1).astype(np.int64)
    return Dataset(
        X=rows,
        y=y,
        group=group,
        feature_names=tuple(f"x{j}" for j in range(d)),
        label_names=("no", "yes"),
        group_names=tuple("ABCDEFG"[:groups]),
        name="small",
        sensitive="group",
        digest="0",
    )


def make_three(n: int = 200, groups: int = 2, seed: int = 0) -> Dataset:
    """Return a table as `make_data` does, with three labels."""
    data = make_data(n=n, groups=groups, seed=seed)
    y = np.digitize(data.X[:, 0] + 0.7 * data.X[:, 2], (-0.7, 0.6)).astype(np.int64)
    return replace(data, y=y, label_names=("low", "middle", "high"))


def make_images(n: int = 60, groups: int = 2, seed: int = 0, labels: int = 3) -> Dataset:
    """Return the smallest grey images that cnn_small takes, with a bright row for each label."""
    draw = np.random.default_rng(seed)
    y = draw.integers(0, labels, n)
    rows = draw.uniform(0.0, 0.3, (n, 14, 14)).astype(np.float32)
    rows[np.arange(n), 3 * y + 2] += 0.5
    return replace(
        make_data(n=n, groups=groups),
        X=rows.reshape(n, -1),
        y=y,
        group=draw.integers(0, groups, n),
        feature_names=tuple(f"p{j}" for j in range(196)),
        label_names=tuple("abcdefghij"[:labels]),
        image=(1, 14, 14),
    )


def shrink_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give cnn_small its kinds of layers in a twentieth of the size: what methods promise holds of any network.

    The first convolution keeps records' gradients, the second what they are made of (see tests/engine).
    """

    def build(image: networks.Image, outputs: int) -> LayeredShape:
        layers = (
            *(Convolution(4, side=6, stride=4), Relu(), MaxPool(2, stride=1)),
            *(Convolution(16, side=2), Relu(), Dense(4), Relu(), Dense(outputs)),
        )
        return LayeredShape(image, layers)

    monkeypatch.setattr(networks, "build_cnn_small", build)


def with_group(data: Dataset, group: np.ndarray) -> Dataset:
    """Return `data` with another sensitive column."""
    return replace(data, group=group.astype(np.int64))


def train(
    method: Method,
    datasets: Sequence[Dataset],
    mechanisms: Sequence[Mechanism],
    *,
    notion: str | None = None,
    seed: int = 0,
) -> list[Fitted]:
    """Train one model for each data set, all with one public seed and `notion` (or the first that the method takes)."""
    chosen = notions()[notion or method.info.notions[0]]
    trainings = [Training(chosen, seed, mechanism, Unwatched()) for mechanism in mechanisms]
    return type(method).fit_many([method] * len(datasets), datasets, trainings)
