"""DPSGD-F: groups whose gradients are clipped more often get larger bounds (Xu, Du and Wu, 2021)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.training import Fitted, Training
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import MethodInfo
from fairpriv_core.methods.noisy_sums import SumsWithCounts
from fairpriv_core.notions.catalog import notions


@dataclass(frozen=True)
class DpsgdF(SumsWithCounts):
    """C_k = C (1 + r_k / mean r), r_k the noisy share of group k with norms above C; noise sigma max_k C_k.

    The published variant counts the step's own sample with noise 10 sigma, first; the proved one counts beside the
    gradients, and a running mean of the noisy counts sets the next step's bounds.
    """

    info: ClassVar[MethodInfo] = MethodInfo(
        name="dpsgd_f",
        title="DPSGD-F",
        summary="DP-SGD with a clipping bound for each group, so that none is clipped more; protects whole records.",
        citation="Xu, Du and Wu (2021), Removing disparate impact on model accuracy in DP-SGD",
        threat_model="record",
        notions=tuple(notions()),
        variants=fields.VARIANTS,
        calibrates="noise_primal",
        max_labels=None,
        pursues_notion=False,
    )
    COUNT_NOISE: ClassVar[float | None] = 10.0
    UNPROVED: ClassVar[str] = (
        "The published accounting does not hold: counts and gradients are taken from one sample but counted as if each "
        "had a sample of its own."
    )

    network: str = fields.network()

    def sensitivities(self, n_train: int, groups: int) -> dict[str, float]:
        """Return the largest bound that a group can have, C (1 + groups), and that a record is counted once."""
        return {"gradients": self.clip_primal * (1.0 + groups), "counts": 1.0}

    @classmethod
    def fit_many(
        cls, methods: Sequence[Self], trains: Sequence[Dataset], trainings: Sequence[Training]
    ) -> list[Fitted]:
        """Train K models in one loop."""
        from fairpriv_core.methods.rules.dpsgd_f import train_dpsgd_f

        return train_dpsgd_f(methods, trains, trainings)
