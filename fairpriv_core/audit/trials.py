"""What methods are tried on: small public data that is made up, settings that train in a moment, and one way to train.

Rows, images of three kinds and a table of three labels, so that every network and every notion comes to its turn.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import numpy as np

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.networks import FOR_IMAGES
from fairpriv_core.engine.training import Fitted, Snapshot, Training, Unwatched
from fairpriv_core.methods.base import Method, parameters
from fairpriv_core.notions.catalog import notions
from fairpriv_core.privacy.event import Events
from fairpriv_core.privacy.mechanism import Mechanism

EPSILON, DELTA, ROWS = 4.0, 1e-5, 200
_SHORT = {"epochs": 3, "batch_size": 25, "sampling_rate": 0.2, "iterations": 4, "rounds": 4}
_DEEP = {"hidden_layers": 2, "width": 5}
_STRAINED = {"batch_size": 80, "clip_primal": 0.1, "clip_dual": 0.4, "multiplier_max": 3.0, "dual_step": 20.0}
HARD_ROWS = 640  # so many that each cell of a small group has the rows that it needs
SHAPES = ("four groups", "a small group", "equal gradients", "opposite gradients", "rows of all lengths")
Make = Callable[..., Dataset]  # takes n, groups and seed


@dataclass(frozen=True)
class Trial:
    """A method with its settings, and what makes the data that it is tried on."""

    name: str
    method: Method
    make: Make


@dataclass
class Watcher:
    """An observer that keeps what it is shown, and the checkpoints after the steps in `commits`."""

    commits: frozenset[int] = frozenset()
    stop_at: int | None = None
    shown: list[Snapshot] = field(default_factory=list)
    checkpoints: dict[int, dict[str, np.ndarray]] = field(default_factory=dict)

    def watches(self, epoch: int) -> bool:
        """It is shown every epoch."""
        return True

    def due(self) -> bool:
        """A commit is due at every step where any is wanted."""
        return bool(self.commits) or self.stop_at is not None

    def show(self, snapshot: Snapshot) -> None:
        """Keep the end of an epoch."""
        self.shown.append(snapshot)

    def commit(self, *, step: int, events: Events, checkpoint: Mapping[str, np.ndarray]) -> None:
        """Keep a copy of the checkpoint; InterruptedError at the step to stop at."""
        if step in self.commits:
            self.checkpoints[step] = {name: value.copy() for name, value in checkpoint.items()}
        if step == self.stop_at:
            raise InterruptedError


def make_rows(n: int = ROWS, d: int = 4, groups: int = 2, seed: int = 0) -> Dataset:
    """Return a small table on which group and label both depend on the features."""
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


def make_three(n: int = ROWS, groups: int = 2, seed: int = 0) -> Dataset:
    """Return a table as `make_rows` does, with three labels."""
    data = make_rows(n=n, groups=groups, seed=seed)
    y = np.digitize(data.X[:, 0] + 0.7 * data.X[:, 2], (-0.7, 0.6)).astype(np.int64)
    return dataclasses.replace(data, y=y, label_names=("low", "middle", "high"))


def make_images(n: int = 60, groups: int = 2, seed: int = 0, labels: int = 3) -> Dataset:
    """Return the smallest grey images that cnn_small takes, with a bright row for each label."""
    draw = np.random.default_rng(seed)
    y = draw.integers(0, labels, n)
    rows = draw.uniform(0.0, 0.3, (n, 14, 14)).astype(np.float32)
    rows[np.arange(n), 3 * y + 2] += 0.5
    return dataclasses.replace(
        make_rows(n=n, groups=groups),
        X=rows.reshape(n, -1),
        y=y,
        group=draw.integers(0, groups, n),
        feature_names=tuple(f"p{j}" for j in range(196)),
        label_names=tuple("abcdefghij"[:labels]),
        image=(1, 14, 14),
    )


def with_group(data: Dataset, group: np.ndarray) -> Dataset:
    """Return `data` with another sensitive column."""
    return dataclasses.replace(data, group=group.astype(np.int64))


def make_hard(shape: str, make: Make, rows: int = HARD_ROWS) -> Dataset:
    """Return data that are hard on a bound, of one of SHAPES; groups are drawn unless they are what is hard."""
    data = make(n=rows, groups=4 if shape == "four groups" else 2)
    features: dict[str, np.ndarray] = {
        "equal gradients": np.full_like(data.X, 30.0),
        "opposite gradients": np.full_like(data.X, 50.0) * np.where(np.arange(rows) % 2, 1, -1)[:, None],
        "rows of all lengths": data.X * np.geomspace(1e-3, 1e6, rows)[:, None],
    }
    random_group = np.random.default_rng(5).integers(0, data.groups, rows)
    group = {"a small group": np.arange(rows) % 7 == 0, "opposite gradients": np.arange(rows) % 2}
    hard = dataclasses.replace(data, X=features.get(shape, data.X).astype(np.float32))
    return with_group(hard, group.get(shape, random_group))


def make_alike(rows: int, columns: int = 20) -> Dataset:
    """Return rows whose gradients all point about the same way and are longer than any usual bound."""
    data = make_rows(n=rows, d=columns)
    features = 5.0 * (1.0 + 0.3 * np.random.default_rng(0).normal(size=data.X.shape))
    group = np.arange(rows) % 2
    return dataclasses.replace(data, X=features.astype(np.float32), y=np.zeros(rows, dtype=np.int64), group=group)


def with_row(data: Dataset, row: int, value: float) -> Dataset:
    """Return `data` with `value` in every feature of one row."""
    features = data.X.copy()
    features[row] = value
    return dataclasses.replace(data, X=features)


def with_everybody(method: Method, rows: int) -> Method:
    """Return `method` with one step of all `rows`."""
    everybody = {"epochs": 1, "batch_size": rows, "sampling_rate": 1.0, "clip_primal": 1.0, "learning_rate": 1e-5}
    settings = {name: value for name, value in everybody.items() if name in parameters(method)}
    changed: Any = method
    return cast(Method, dataclasses.replace(changed, **settings))


def strain(method: Method) -> Method:
    """Return `method` so that what bounds contributions acts: clipped close, multipliers at their largest."""
    declared = parameters(method)
    settings = {name: value for name, value in _STRAINED.items() if name in declared and getattr(method, name)}
    changed: Any = method
    return cast(Method, dataclasses.replace(changed, **settings))


def train(
    method: Method,
    datasets: Sequence[Dataset],
    mechanisms: Sequence[Mechanism],
    *,
    notion: str | None = None,
    seed: int = 0,
) -> list[Fitted]:
    """Train one model for each data set, all with one public seed and `notion` (or the first that the method takes)."""
    pursued = notions()[notion or method.info.notions[0]]
    trainings = [Training(pursued, seed, mechanism, Unwatched()) for mechanism in mechanisms]
    return type(method).fit_many([method] * len(datasets), datasets, trainings)


def list_examples(kind: type[Method]) -> tuple[Method, ...]:
    """Return a method as it stands and with hidden layers, in each variant, short, with noise for an epsilon of 4.

    What is empty stays so, but for a batch size: that which fits so few rows is a single row.
    """
    examples: dict[Any, None] = {}
    for variant in kind.info.variants or (None,):
        for layers in ({}, _DEEP):
            settings: dict[str, object] = {**_SHORT, **layers, **({} if variant is None else {"variant": variant})}
            if variant == "published":  # papers pursue equality
                settings["gap_target"] = None
            blank: Any = kind()
            own = {
                name: value
                for name, value in settings.items()
                if name in parameters(kind) and (name == "batch_size" or getattr(blank, name) is not None)
            }
            short = dataclasses.replace(blank, **own)
            examples[short.calibrated(epsilon=EPSILON, delta=DELTA, n_train=ROWS)] = None
    return tuple(examples)


def list_trials(name: str, examples: Sequence[Any]) -> Iterator[Trial]:
    """Yield each example on a table, on images and on three labels, where its method takes them."""
    yield from (Trial(f"{name}-{i}", method, make_rows) for i, method in enumerate(examples))
    first = examples[0]
    if takes_images(first):
        make = partial(make_images, labels=labels_of(first))
        convolved = dict.fromkeys(on_images(method) for method in examples if trains_network(method))
        yield from (Trial(f"{name}-images-{i}", method, make) for i, method in enumerate(convolved))
    if first.info.max_labels is None:
        deep = {key: value for key, value in {"hidden_layers": 2, "width": 6}.items() if key in parameters(first)}
        yield Trial(f"{name}-three-labels", dataclasses.replace(with_large_batches(first), **deep), make_three)


def takes_images(method: Method | type[Method]) -> bool:
    """Return whether a method has networks for images."""
    return "network" in parameters(method)


def trains_network(method: Method) -> bool:
    """Return whether a method trains a network, in batches; a learner of another kind knows tables alone."""
    return getattr(method, "learner", "network") == "network"


def labels_of(method: Method | type[Method]) -> int:
    """Return how many labels the method's images have: three where it tells more than two apart."""
    return 3 if method.info.max_labels is None else 2


def on_images(method: Any) -> Any:
    """Return `method` with a convolutional network."""
    return dataclasses.replace(with_large_batches(method), network=FOR_IMAGES, **list_layers(method))


def list_layers(method: Method) -> dict[str, object]:
    """Return the defaults of those fields that only the project's own tables' networks have."""
    return {
        name: parameters(method)[name][1].default for name in ("hidden_layers", "width") if name in parameters(method)
    }


def with_large_batches(method: Any) -> Any:
    """Return `method` with few steps an epoch, as a step through layers takes its time."""
    return dataclasses.replace(method, batch_size=60) if "batch_size" in parameters(method) else method
