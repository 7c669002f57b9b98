"""What every rule is built from: K methods of one kind, their training sets, and how a loop is started on them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, is_dataclass
from functools import cached_property
from typing import Any, Generic, Self, TypeVar, cast

import numpy as np

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.clipping import clip_positive, clip_weights
from fairpriv_core.engine.loop import Rule, Schedule, train
from fairpriv_core.engine.networks import AnyShape, build_network
from fairpriv_core.engine.rows import Feed, Records
from fairpriv_core.engine.training import Fitted, Training
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.base import FitsMany
from fairpriv_core.methods.fields import (
    DrawsSamples,
    TrainsNetwork,
    check_labels,
    count_batch,
    count_outputs,
    count_steps,
    equally_many,
    network_of,
    surrogate_of,
)
from fairpriv_core.methods.shared.poisson_shares import PoissonShares
from fairpriv_core.methods.shared.releases import Private, Release, Sample
from fairpriv_core.notions.cells import Cells, build_cells
from fairpriv_core.notions.surrogates import Surrogate
from fairpriv_core.privacy.mechanism import Mechanism

M_co = TypeVar("M_co", bound=TrainsNetwork, covariant=True)


@dataclass(frozen=True)
class Setting(Generic[M_co]):
    """K methods that may differ in anything but the network's shape, the schedule, the notion and the groups."""

    methods: Sequence[M_co]
    trains: Sequence[Dataset]
    trainings: Sequence[Training]

    def __post_init__(self) -> None:
        equally_many([train.n for train in self.trains])
        check_labels(self.methods[0].info, self.trains[0])

    @cached_property
    def n(self) -> int:
        """The number of training rows, the same for every model."""
        return self.trains[0].n

    @cached_property
    def target(self) -> Surrogate:
        """The h that training takes for the notion's, the same for every model."""
        return surrogate_of(self.methods[0], self.trainings[0].notion.target)

    @property
    def cells(self) -> Cells:
        """The cells that the notion constrains."""
        return build_cells(self.trainings[0].notion, self.trains[0].group_names, self.trains[0].labels)

    @property
    def shape(self) -> AnyShape:
        """The network's shape, the same for every model; BadInput where it cannot be trained on these data."""
        first, train = self.methods[0], self.trains[0]
        size = {"hidden_layers": first.hidden_layers, "width": first.width}
        outputs = count_outputs(first.info, train.labels)
        return build_network(network_of(first), train.image, inputs=train.d, outputs=outputs, **size)

    @cached_property
    def rates(self) -> list[float]:
        """Each method's chance of a row to be in a step's secret sample."""
        return [float(method.rate(self.n)) for method in cast(Sequence[DrawsSamples], self.methods)]

    def column(self, name: str) -> np.ndarray:
        """Return the hyper-parameter `name` of each method as (K, 1) float32."""
        return np.array([[getattr(method, name)] for method in self.methods], dtype=np.float32)

    def bounds(self, name: str) -> np.ndarray:
        """Return the clipping bound `name` of each method (K, 1), as it was set."""
        return np.array([[getattr(method, name)] for method in self.methods], dtype=np.float64)

    def clip_derivatives(self, derivatives: np.ndarray, records: Records, bounds: np.ndarray) -> np.ndarray:
        """Return the notion's dh/do (K, B), scaled down where a gradient of h is longer than its bound, (K, 1)."""
        clip = clip_weights if self.target == "loss" else clip_positive
        return clip(derivatives, records.norms, bounds)

    @cached_property
    def sums(self) -> list[tuple[Release, Sample]]:
        """What each method declares of its steps' sums over secret samples."""
        methods = enumerate(cast(Sequence[Private], self.methods))
        declared = [method.releases(self.n, self.trains[k].groups) for k, method in methods]
        return [next((release, release.sample) for release in own if release.sample is not None) for own in declared]

    @cached_property
    def noises(self) -> list[float]:
        """Each method's noise multiplier of these sums; 0 where it releases none."""
        return [
            own.level(method) if own.made else 0.0 for method, (own, _) in zip(self.methods, self.sums, strict=True)
        ]

    def release_sums(
        self, totals: np.ndarray, *, radii: Sequence[float], step: int, noises: Sequence[float] | None = None
    ) -> np.ndarray:
        """Release the K sums (K, P) of a step as declared, each in the ball of its radius and with its own noise.

        See `Mechanism.sum_together`.
        """
        return Mechanism.sum_together(
            [training.mechanism for training in self.trainings],
            totals,
            radii=radii,
            noise_multipliers=self.noises if noises is None else noises,
            sampling_rates=[sample.rate for _, sample in self.sums],
            relation=self.sums[0][1].relation,
            step=step,
        )

    def draw_samples(self, k: int, epoch: int, steps: int, *, needed: bool = True) -> list[np.ndarray]:
        """Return the secret samples of model k in an epoch: where none is needed and no other model has them, empty."""
        mechanism = self.trainings[k].mechanism
        if not needed and mechanism.stream_name is None:
            return [np.zeros(0, dtype=np.int64)] * steps
        return mechanism.sample(n=self.n, rate=self.rates[k], epoch=epoch, steps=steps)

    def release(self, k: int, name: str, value: np.ndarray, **how: Any) -> np.ndarray:
        """Release a function of all rows of model k, as its method declares it; see `Private.release`."""
        return cast(Private, self.methods[k]).release(name, value, self.trains[k], self.trainings[k], **how)

    def run(self, rule: Rule) -> list[Fitted]:
        """Train the K models under `rule`."""
        first = self.methods[0]
        rates = tuple(method.learning_rate for method in self.methods)
        size = first.sample_size(self.n) if isinstance(first, PoissonShares) else count_batch(first, self.n)
        pace = getattr(first, "schedule", "constant")
        schedule = Schedule(first.epochs, size, first.optimizer, rates, pace)
        return train(rule, shape=self.shape, schedule=schedule, feed=Feed(self.trains), trainings=self.trainings)


class SettingRule:
    """Base of a rule whose `__init__(self, setting)` builds it; BadInput for a class that would be built otherwise."""

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        check_built(cls)

    def __new__(cls, *_args: Any, **_named: Any) -> Self:
        check_built(cls)  # a decorator may have made it a dataclass since
        return super().__new__(cls)


def check_built(kind: type[SettingRule]) -> None:
    """Raise BadInput where a rule would not be built by `__init__(self, setting)`."""
    if is_dataclass(kind) or hasattr(kind, "__post_init__"):
        fault = "is a dataclass" if is_dataclass(kind) else "has __post_init__, which is never called"
        raise BadInput(f"rule {kind.__qualname__} {fault}; write __init__(self, setting) in a plain class.")


class TrainsByRule(FitsMany):
    """Mixin of a method whose K models share a loop, and whose rule says what happens in it."""

    def steps(self, n_train: int) -> int:
        """Return epochs times batches an epoch."""
        return count_steps(cast(TrainsNetwork, self), n_train)

    @classmethod
    @abstractmethod
    def rule(cls, setting: Setting[Any]) -> Rule:
        """Return what the models are trained by, at the beginning of a fit."""

    @classmethod
    def fit_many(cls, methods: Sequence[Any], trains: Sequence[Dataset], trainings: Sequence[Training]) -> list[Fitted]:
        """Train K models in one loop; RunFailed where their rule says so or training diverges."""
        setting: Setting[Any] = Setting(methods, trains, trainings)
        return setting.run(cls.rule(setting))
