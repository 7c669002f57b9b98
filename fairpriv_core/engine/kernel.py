"""The one training step's arithmetic for K models at once.

With one logit o, the gradients of loss and output are multiples of one per-record Jacobian: every method's update is
a weighted sum of the same rows, and methods differ only in the weights. One back-propagation of the unit seed gives
the deltas; norms follow in closed form; one weighted product a layer gives the sum ("book-keeping", Bu et al., 2022).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from fairpriv_core.engine.networks import NetworkShape
from fairpriv_core.engine.norms import jacobian_norms


@dataclass(frozen=True)
class Pass:
    """One forward and backward pass.

    `activations[l]` (K, B, in), `deltas[l]` (K, B, out), `logits` (K, B), `norms` (K, B).
    """

    activations: list[Tensor]
    deltas: list[Tensor]
    logits: Tensor
    norms: Tensor


@dataclass
class Kernel:
    """K networks of one shape over a flat buffer (K, P) that is updated in place."""

    shape: NetworkShape
    parameters: Tensor
    _layers: list[tuple[Tensor, Tensor]] = field(init=False)

    def __post_init__(self) -> None:
        self._layers = self.shape.views(self.parameters)

    def run(self, rows: Tensor) -> Pass:
        """Return the pass over `rows` (K, B, d)."""
        activations = [rows]
        for weights, biases in self._layers[:-1]:
            activations.append(torch.baddbmm(biases, activations[-1], weights.transpose(1, 2)).relu_())
        weights, biases = self._layers[-1]
        logits = torch.baddbmm(biases, activations[-1], weights.transpose(1, 2)).squeeze(2)
        deltas = self._unit_deltas(activations)
        return Pass(activations, deltas, logits, jacobian_norms(activations, deltas))

    def weighted_sum(self, passed: Pass, weights: Tensor, rows: slice) -> Tensor:
        """Return sum_j weights_j do_j over the records in `rows` of the pass: (K, P); `weights` (K, rows).

        A record of weight 0 contributes exactly nothing, even where its own gradient is not finite.
        """
        total = torch.empty_like(self.parameters)
        finite = torch.isfinite(passed.norms[:, rows])
        spotless = bool(finite.all())
        for (weight_sum, bias_sum), activation, delta in zip(
            self.shape.views(total), passed.activations, passed.deltas, strict=True
        ):
            scaled, inputs = delta[:, rows] * weights.unsqueeze(2), activation[:, rows]
            if not spotless:
                kept = (finite & (weights != 0)).unsqueeze(2)
                scaled, inputs = torch.where(kept, scaled, 0.0), torch.where(kept, inputs, 0.0)
            torch.bmm(scaled.transpose(1, 2), inputs, out=weight_sum)
            torch.sum(scaled, dim=1, keepdim=True, out=bias_sum)
        return total

    def _unit_deltas(self, activations: list[Tensor]) -> list[Tensor]:
        delta = torch.ones_like(activations[-1][:, :, :1])
        deltas = [delta]
        for (weights, _), activation in zip(self._layers[:0:-1], activations[:0:-1], strict=True):
            delta = torch.bmm(delta, weights).mul_(activation > 0)
            deltas.append(delta)
        return deltas[::-1]
