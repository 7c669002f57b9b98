"""F-LD: fair, not private, by Lagrangian duality (Tran, Fioretto and Van Hentenryck, 2021, Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from fairpriv_core import checks
from fairpriv_core.engine.loop import Rule
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import MethodInfo, NotPrivate, Style
from fairpriv_core.methods.shared.lagrangian import LagrangianRule
from fairpriv_core.methods.shared.setting import Setting, TrainsByRule


@dataclass(frozen=True)
class FLd(NotPrivate, TrainsByRule):
    """Primal steps on J + sum_i lambda_i |violation_i|, a dual step after each epoch.

    With a gap aimed at the violations are of decisions and the multipliers signed (see multipliers.py).
    """

    info: ClassVar[MethodInfo] = MethodInfo(
        name="f_ld",
        title="F-LD",
        style=Style("blue", "dash", "circle"),
        summary="Pursues the chosen notion by Lagrangian duality; not private.",
        citation="Tran, Fioretto and Van Hentenryck (2021), Differentially private and fair deep learning, Algorithm 1",
        threat_model=None,
        source="paper",
        pursued=("decisions", "errors"),
        weighs_rows=True,
    )

    epochs: int = fields.shared("epochs")
    batch_size: int | None = fields.shared("fitting_batch_size")
    learning_rate: float = fields.shared("learning_rate", 0.002)
    optimizer: str = fields.shared("optimizer")
    hidden_layers: int = fields.shared("hidden_layers")
    width: int = fields.shared("width")
    network: str = fields.shared("network")
    multiplier_max: float = fields.shared("multiplier_max")
    dual_step: float = fields.shared("dual_step")
    gap_target: float | None = fields.gap_target(multiplier_max=2.0)

    def __post_init__(self) -> None:
        fields.check_network(self)
        checks.not_negative(multiplier_max=self.multiplier_max)
        checks.positive(dual_step=self.dual_step)
        fields.check_gap_target(self.gap_target)

    def idle_reason(self) -> str | None:
        """Why multipliers stay 0; None where they move."""
        return fields.format_idle({"multiplier_max": self.multiplier_max}, self.epochs)

    @classmethod
    def rule(cls, setting: Setting[Any]) -> Rule:
        return LagrangianRule(setting, private=False)
