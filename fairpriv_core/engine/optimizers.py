"""Optimisers over flat parameters (K, P): stochastic gradient descent, and Adam (Kingma and Ba, 2015)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

OPTIMIZERS = ("sgd", "adam")
_BETA_1, _BETA_2, _SMALL = 0.9, 0.999, 1e-8


class Optimizer(Protocol):
    """Updates parameters in place; its state goes into checkpoints."""

    def update(self, parameters: Tensor, gradient: Tensor) -> None:
        """Take one step along `gradient` (K, P)."""

    def state(self) -> dict[str, np.ndarray]:
        """Return the state by name; each array's first axis is the model."""

    def load(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from a state that `state` returned."""


def build_optimizer(name: str, rates: Tensor, parameters: Tensor) -> Optimizer:
    """Return the optimiser `name` (one of OPTIMIZERS) with learning rates (K, 1) for parameters (K, P)."""
    return Adam(rates, parameters) if name == "adam" else GradientDescent(rates)


class GradientDescent:
    """theta <- theta - rate * gradient."""

    def __init__(self, rates: Tensor) -> None:
        self._rates = rates

    def update(self, parameters: Tensor, gradient: Tensor) -> None:
        parameters.addcmul_(gradient, self._rates, value=-1.0)

    def state(self) -> dict[str, np.ndarray]:
        return {}

    def load(self, state: Mapping[str, np.ndarray]) -> None:
        del state


class Adam:
    """Adam with bias correction."""

    def __init__(self, rates: Tensor, parameters: Tensor) -> None:
        self._rates = rates
        self._mean = torch.zeros_like(parameters)
        self._square = torch.zeros_like(parameters)
        self._steps = 0

    def update(self, parameters: Tensor, gradient: Tensor) -> None:
        self._steps += 1
        self._mean.lerp_(gradient, 1.0 - _BETA_1)
        self._square.mul_(_BETA_2).addcmul_(gradient, gradient, value=1.0 - _BETA_2)
        scale = (1.0 - _BETA_2**self._steps) ** 0.5
        spread = self._square.sqrt().div_(scale).add_(_SMALL)
        step = self._mean / spread
        parameters.addcmul_(step, self._rates, value=-1.0 / (1.0 - _BETA_1**self._steps))

    def state(self) -> dict[str, np.ndarray]:
        return {
            "adam_mean": self._mean.numpy().copy(),
            "adam_square": self._square.numpy().copy(),
            "adam_steps": np.full(len(self._mean), self._steps),
        }

    def load(self, state: Mapping[str, np.ndarray]) -> None:
        self._mean.copy_(torch.from_numpy(state["adam_mean"]))
        self._square.copy_(torch.from_numpy(state["adam_square"]))
        self._steps = int(state["adam_steps"][0])
