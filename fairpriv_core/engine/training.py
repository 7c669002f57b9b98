"""What a fit is given and returns, and how it talks to the run around it. Free of torch."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from fairpriv_core.engine.predict import Network
from fairpriv_core.notions.notion import Notion
from fairpriv_core.privacy.event import Events

if TYPE_CHECKING:  # it needs torch
    from fairpriv_core.privacy.mechanism import Mechanism


DEVICE = "FAIRPRIV_DEVICE"  # of the environment: where this machine's runs multiply
CPU = "cpu"


def find_device() -> str:
    """Return the device that this machine's runs multiply on: "cpu", or what the environment names, such as "cuda"."""
    return os.environ.get(DEVICE, "").strip() or CPU


@dataclass(frozen=True)
class Histogram:
    """Counts of a value per group.

    `edges` (bins + 1), `counts` group name -> (bins,), `bound` what clips the value, `clipped` share above it. Where
    it is not the same for all rows, `bound` is the largest, and `bounds` has those of each group.
    """

    edges: Sequence[float]
    counts: Mapping[str, Sequence[int]]
    bound: float | None = None
    bounds: Mapping[str, Sequence[float]] = field(default_factory=dict)
    clipped: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Snapshot:
    """What a fit shows of itself at the end of an epoch, computed on raw data: for the analyst alone.

    `network` and `parameters` are the model's by then, as in `Fitted`. `scalars` are named `loss`,
    `multiplier/<cell>`, `contribution/<group>`, …; `histograms` are named `gradient_norm` and `output`.
    """

    epoch: int
    step: int
    network: Network
    parameters: np.ndarray
    scalars: Mapping[str, float]
    histograms: Mapping[str, Histogram]


class Observer(Protocol):
    """The run's eyes and brake. `fit` calls it; what it raises (a pause, a stop) ends the fit."""

    def watches(self, epoch: int) -> bool:
        """Return whether it wants to be shown the end of an epoch, of which 0 is the first."""

    def due(self) -> bool:
        """Return whether a commit is due (by the clock); cheap, called at every step."""

    def show(self, snapshot: Snapshot) -> None:
        """Take the end of an epoch; evaluated at once, stored with the next commit."""

    def commit(self, *, step: int, events: Events, checkpoint: Mapping[str, np.ndarray]) -> None:
        """Store progress, what was released so far and the checkpoint in one transaction; may raise to end the fit."""


class Unwatched:
    """An observer that looks at nothing and stores nothing: a loop does not make what it would be shown."""

    def watches(self, epoch: int) -> bool:
        """It wants to see none."""
        return False

    def due(self) -> bool:
        """Nothing is ever due."""
        return False

    def show(self, snapshot: Snapshot) -> None:
        """Look away."""

    def commit(self, *, step: int, events: Events, checkpoint: Mapping[str, np.ndarray]) -> None:
        """Store nothing."""


@dataclass(frozen=True)
class Training:
    """What a fit is given besides its data.

    `checkpoint` is None, or the mapping that an earlier attempt committed: the fit then goes on from there and gives
    the same bits as one that was never stopped. `seed` is public; everything secret comes from `mechanism`. `given` is
    None, or the notes of an earlier fit on the same rows, whose release this one uses instead of making its own.
    `device` is where gradient methods multiply: "cpu", or another that PyTorch knows, such as "cuda".
    """

    notion: Notion
    seed: int
    mechanism: Mechanism
    observer: Observer
    checkpoint: Mapping[str, np.ndarray] | None = None
    given: Mapping[str, Any] | None = None
    device: str = CPU


@dataclass(frozen=True)
class Fitted:
    """A trained classifier: the network's description (see predict.py), flat parameters (float32), releases.

    `notes` are further exported values (multipliers, noisy counts), JSON only.
    """

    network: Network
    parameters: np.ndarray
    events: Events
    steps: int
    notes: Mapping[str, Any] = field(default_factory=dict)
