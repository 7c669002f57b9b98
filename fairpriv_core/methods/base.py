"""What every method is: a frozen dataclass of hyper-parameters, what it declares, and what its `fit` is given and returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.notions.notion import Notion
from fairpriv_core.privacy.event import Events
from fairpriv_core.privacy.mechanism import Mechanism

ThreatModel = Literal["attribute", "record"]
Variant = Literal["proved", "published"]


@dataclass(frozen=True)
class MethodInfo:
    """What a method can do; forms, tests and tables read this instead of testing names.

    `threat_model` is None for a method that is not private. `calibrates` names the field that calibration sets, or
    is None. `max_groups` and `max_labels` are None where there is no limit.
    """

    name: str
    title: str
    summary: str
    citation: str
    threat_model: ThreatModel | None
    notions: tuple[str, ...]
    variants: tuple[Variant, ...] = ()
    calibrates: str | None = None
    max_groups: int | None = None
    max_labels: int | None = 2
    needs_group_at_prediction: bool = False


@dataclass(frozen=True)
class Parameter:
    """How a form shows one hyper-parameter: its help, valid range (inclusive), scale and the paper's value."""

    title: str
    help: str
    low: float | None = None
    high: float | None = None
    log: bool = False
    choices: tuple[str, ...] = ()
    paper: str | None = None
    expert: bool = False
    unit: str = ""


def parameter(
    default: Any,
    title: str,
    help: str,
    **shown: Any,
) -> Any:
    """Declare a hyper-parameter: a dataclass field whose metadata says how a form shows it."""
    return field(default=default, metadata={"parameter": Parameter(title=title, help=help, **shown)})


def parameters(method: type[Method] | Method) -> dict[str, tuple[Parameter, Field[Any]]]:
    """Return each hyper-parameter of `method` by name, in order of declaration, with its dataclass field."""
    return {
        item.name: (item.metadata["parameter"], item)
        for item in fields(method)  # type: ignore[arg-type]
        if item.default is not MISSING and "parameter" in item.metadata
    }


@dataclass(frozen=True)
class Histogram:
    """Counts of a value per group: `edges` (bins + 1), `counts` group name -> (bins,), `bound` drawn in, `clipped` share per group."""

    edges: tuple[float, ...]
    counts: Mapping[str, tuple[int, ...]]
    bound: float | None = None
    clipped: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Snapshot:
    """What a fit shows of itself at the end of an epoch, computed on raw data: for the analyst alone.

    `predict` maps encoded rows (m, d) to probabilities (m, l). `scalars` are named `loss`, `multiplier/<cell>`, …;
    `histograms` are named `gradient_norm` and `output`.
    """

    epoch: int
    step: int
    predict: Callable[[np.ndarray], np.ndarray]
    scalars: Mapping[str, float]
    histograms: Mapping[str, Histogram]


class Observer(Protocol):
    """The run's eyes and brake. `fit` calls it; what it raises (a pause, a stop) ends the fit."""

    def due(self) -> bool:
        """Return whether a commit is due (by the clock); cheap, called at every step."""

    def show(self, snapshot: Snapshot) -> None:
        """Take the end of an epoch; evaluated at once, stored with the next commit."""

    def commit(self, *, step: int, events: Events, checkpoint: Mapping[str, np.ndarray]) -> None:
        """Store progress, what was released so far and the checkpoint in one transaction; may raise to end the fit."""


@dataclass(frozen=True)
class Training:
    """What a fit is given besides its data.

    `checkpoint` is None, or the mapping that an earlier attempt committed: the fit then goes on from there and gives
    the same bits as one that was never stopped. `seed` is public; everything secret comes from `mechanism`.
    """

    notion: Notion
    seed: int
    mechanism: Mechanism
    observer: Observer
    checkpoint: Mapping[str, np.ndarray] | None = None


@dataclass(frozen=True)
class Fitted:
    """A trained classifier: the network's description (JSON), its flat parameters (float32), and what was released.

    `notes` are further exported values (multipliers, noisy counts), JSON only.
    """

    network: Mapping[str, Any]
    parameters: np.ndarray
    events: Events
    steps: int
    notes: Mapping[str, Any] = field(default_factory=dict)


class Method(Protocol):
    """A frozen dataclass of hyper-parameters; change is by copy."""

    info: ClassVar[MethodInfo]

    def event(self, n_train: int) -> Events:
        """Return what `fit` will release on `n_train` rows; pure. () for a method that is not private."""

    def published_epsilon(self, n_train: int, delta: float) -> float | None:
        """Return what the paper's accounting claims for the same noise, rate and steps; None where it makes no claim."""

    def calibrated(self, *, epsilon: float, delta: float, n_train: int) -> Self:
        """Return a copy whose noise makes the chosen variant's epsilon at most `epsilon`; itself if not private."""

    def unproved_reason(self) -> str | None:
        """Return why no finite epsilon is proved for these settings, in one sentence; None where one is proved."""

    def assumptions(self) -> tuple[str, ...]:
        """Return what the stated epsilon takes as given, one sentence each."""

    def fit(self, train: Dataset, training: Training) -> Fitted:
        """Train; raises RunFailed where the run cannot go on."""
