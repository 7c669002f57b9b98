"""FairDP with adaptive clipping: a bound for each group or class, where bias and variance balance (FairDP, 2021).

Algorithm 1 with C_k the minimiser of eq. 5, exactly. The printed noise does not say which C_k it is scaled to; here it
is the largest, which every contribution needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from fairpriv_core import checks
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.training import Fitted, Training
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import MethodInfo, parameter
from fairpriv_core.methods.noisy_sums import AdaptiveBounds
from fairpriv_core.notions.catalog import notions

KINDS = ("class", "group")


@dataclass(frozen=True)
class FairDpAdaptive(AdaptiveBounds):
    """Published: eq. 5 over the sample's own norms. Proved: over a noisy histogram of norms for each kind of record.

    The histogram is counted beside the gradients; a running mean of it, the shares that it implies and the released
    gradients' norm set the next step's bounds.
    """

    info: ClassVar[MethodInfo] = MethodInfo(
        name="fairdp_adaptive",
        title="FairDP (adaptive clipping)",
        summary="DP-SGD that balances clipping bias and noise for each group; protects whole records.",
        citation="FairDP (2021), Fair differential privacy can mitigate the disparate impact on model accuracy, eq. 5",
        threat_model="record",
        notions=tuple(notions()),
        variants=fields.VARIANTS,
        calibrates="noise_primal",
        max_labels=None,
        pursues_notion=False,
    )
    UNPROVED: ClassVar[str] = (
        "The published accounting does not hold: the clipping bounds, and with them the noise, are chosen from the "
        "sample's own gradients without noise, as the paper's footnote 1 says."
    )

    network: str = fields.network()
    clip_by: str = parameter(
        "class",
        "Bounds by",
        "Whether each class (label) or each sensitive group has a bound.",
        choices=KINDS,
        paper="class",
    )
    lipschitz: float = parameter(
        1e-4,
        "Lipschitz constant L",
        "Of the loss, in eq. 5. Small: less bias is accepted for less noise.",
        low=1e-6,
        high=100.0,
        log=True,
        expert=True,
        paper="1",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of(KINDS, clip_by=self.clip_by)
        checks.positive(lipschitz=self.lipschitz)

    @property
    def slope(self) -> float:
        """2 (1 + 1 / (mu L)), the factor of |grad f| eta in eq. 5."""
        return 2.0 * (1.0 + 1.0 / (self.learning_rate * self.lipschitz))

    @classmethod
    def fit_many(
        cls, methods: Sequence[Self], trains: Sequence[Dataset], trainings: Sequence[Training]
    ) -> list[Fitted]:
        """Train K models in one loop."""
        from fairpriv_core.methods.rules.fairdp_adaptive import train_fairdp_adaptive

        return train_fairdp_adaptive(methods, trains, trainings)
