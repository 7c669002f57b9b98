"""The rule of training without privacy or fairness: the mean cross-entropy of public batches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.loop import Sampled
from fairpriv_core.engine.records import Feed, Indices, Records
from fairpriv_core.methods.rules.setting import Setting


@dataclass
class PlainRule:
    """weight = (p - y) / batch."""

    setting: Setting[Any]
    uses_batches: bool = True

    def samples(self, epoch: int, batches: list[Indices]) -> list[Indices] | None:
        return None

    def public_weights(self, records: Records) -> np.ndarray:
        return records.deviation / np.float32(records.count)

    def secret_update(self, sampled: Sampled) -> np.ndarray:
        raise AssertionError("no sample is drawn")

    def end_epoch(self, epoch: int, kernel: Kernel, feed: Feed) -> None:
        return None

    def watched(self, records: Records) -> dict[str, tuple[np.ndarray, float | None]]:
        return {"gradient_norm": (loss_gradient_norms(records), None)}

    def scalars(self, model: int) -> dict[str, float]:
        return {}

    def notes(self, model: int) -> dict[str, object]:
        return {}

    def state(self, model: int) -> dict[str, np.ndarray]:
        return {}

    def load(self, model: int, state: Mapping[str, np.ndarray]) -> None:
        return None


def loss_gradient_norms(records: Records) -> np.ndarray:
    """Return the norm of each record's gradient of the cross-entropy: |p - y| |do|."""
    lengths: np.ndarray = np.abs(records.deviation) * records.norms
    return lengths
