"""Plain training: neither private nor fair. The reference that every other method is read against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.training import Fitted, Training
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import FitsMany, MethodInfo, NotPrivate
from fairpriv_core.notions.catalog import notions


@dataclass(frozen=True)
class Plain(NotPrivate, FitsMany):
    """Mini-batch training of the mean cross-entropy; the notion is reported, not pursued."""

    info: ClassVar[MethodInfo] = MethodInfo(
        name="none",
        title="Plain",
        summary="Trains for accuracy alone: no privacy, no fairness.",
        citation="reference without privacy or fairness (N and CLF in Tran, Fioretto and Van Hentenryck, 2021)",
        threat_model=None,
        notions=tuple(notions()),
        max_labels=None,
        pursues_notion=False,
        uses_groups=False,
    )

    epochs: int = fields.epochs(20)
    batch_size: int = fields.batch_size(256)
    learning_rate: float = fields.learning_rate(0.002)
    optimizer: str = fields.optimizer("adam")
    hidden_layers: int = fields.hidden_layers(0)
    width: int = fields.width(64)
    network: str = fields.network()

    def __post_init__(self) -> None:
        fields.check_network(self)

    def steps(self, n_train: int) -> int:
        """Return epochs times batches an epoch."""
        return fields.count_steps(self, n_train)

    @classmethod
    def fit_many(
        cls, methods: Sequence[Self], trains: Sequence[Dataset], trainings: Sequence[Training]
    ) -> list[Fitted]:
        """Train K models in one loop."""
        from fairpriv_core.methods.rules.trainers import train_plain

        return train_plain(methods, trains, trainings)
