"""Plain training: neither private nor fair. The reference that every other method is read against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.loop import Rule, Sampled
from fairpriv_core.engine.rows import Feed, Indices, Records
from fairpriv_core.engine.watch import Bound
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import MethodInfo, NotPrivate, Style
from fairpriv_core.methods.shared.setting import Setting, SettingRule, TrainsByRule


@dataclass(frozen=True)
class Plain(NotPrivate, TrainsByRule):
    """Mini-batch training of the mean cross-entropy; the notion is reported, not pursued."""

    info: ClassVar[MethodInfo] = MethodInfo(
        name="none",
        title="No privacy, no fairness",
        style=Style("grey", "dot", "circle"),
        summary="Trains for accuracy alone: no privacy, no fairness.",
        citation="reference without privacy or fairness (N and CLF in Tran, Fioretto and Van Hentenryck, 2021)",
        threat_model=None,
        max_labels=None,
        uses_groups=False,
        weighs_rows=True,
    )

    epochs: int = fields.shared("epochs")
    batch_size: int | None = fields.shared("fitting_batch_size")
    learning_rate: float = fields.shared("learning_rate", 0.002)
    optimizer: str = fields.shared("optimizer")
    hidden_layers: int = fields.shared("hidden_layers")
    width: int = fields.shared("width")
    network: str = fields.shared("network")

    def __post_init__(self) -> None:
        fields.check_network(self)

    @classmethod
    def rule(cls, setting: Setting[Any]) -> Rule:
        return PlainRule(setting)


class PlainRule(SettingRule):
    """weight = (p - y) / batch."""

    samples_batches: ClassVar[bool] = False
    uses_batches: ClassVar[bool] = True

    def __init__(self, setting: Setting[Any]) -> None:
        self.setting = setting

    def samples(self, epoch: int, batches: list[Indices]) -> list[Indices] | None:
        return None

    def public_weights(self, records: Records) -> np.ndarray:
        return records.deviation / np.float32(records.count)

    def secret_update(self, sampled: Sampled) -> np.ndarray:
        raise AssertionError("no sample is drawn")

    def end_epoch(self, epoch: int, kernel: Kernel, feed: Feed) -> None:
        return None

    def watched(self, records: Records) -> dict[str, tuple[np.ndarray, Bound]]:
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
