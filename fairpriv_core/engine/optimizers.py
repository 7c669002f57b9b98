"""Optimisers over flat parameters (K, P): stochastic gradient descent, and Adam (Kingma and Ba, 2015)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

OPTIMIZERS = ("sgd", "adam")
_BETA_1, _BETA_2, _SMALL = 0.9, 0.999, 1e-8


class Optimizer(Protocol):
    """Updates parameters in place; its state goes into checkpoints."""

    def update(self, parameters: np.ndarray, gradient: np.ndarray) -> None:
        """Take one step along `gradient` (K, P), whose values are lost."""

    def state(self) -> dict[str, np.ndarray]:
        """Return the state by name; each array's first axis is the model."""

    def load(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from a state that `state` returned."""


def build_optimizer(name: str, rates: np.ndarray, parameters: np.ndarray) -> Optimizer:
    """Return the optimiser `name` (one of OPTIMIZERS) with learning rates (K, 1) for parameters (K, P)."""
    return Adam(rates, parameters) if name == "adam" else GradientDescent(rates)


class GradientDescent:
    """theta <- theta - rate * gradient."""

    def __init__(self, rates: np.ndarray) -> None:
        self._rates = rates

    def update(self, parameters: np.ndarray, gradient: np.ndarray) -> None:
        gradient *= self._rates
        parameters -= gradient

    def state(self) -> dict[str, np.ndarray]:
        return {}

    def load(self, state: Mapping[str, np.ndarray]) -> None:
        del state


class Adam:
    """Adam with bias correction."""

    def __init__(self, rates: np.ndarray, parameters: np.ndarray) -> None:
        self._rates = rates
        self._mean = np.zeros_like(parameters)
        self._square = np.zeros_like(parameters)
        self._steps = 0

    def update(self, parameters: np.ndarray, gradient: np.ndarray) -> None:
        self._steps += 1
        self._mean *= _BETA_1
        self._mean += (1.0 - _BETA_1) * gradient
        gradient *= gradient
        gradient *= 1.0 - _BETA_2
        self._square *= _BETA_2
        self._square += gradient
        spread = np.sqrt(self._square)
        spread /= (1.0 - _BETA_2**self._steps) ** 0.5
        spread += _SMALL
        step = np.divide(self._mean, spread, out=spread)
        step *= self._rates / (1.0 - _BETA_1**self._steps)
        parameters -= step

    def state(self) -> dict[str, np.ndarray]:
        return {
            "adam_mean": self._mean.copy(),
            "adam_square": self._square.copy(),
            "adam_steps": np.full(len(self._mean), self._steps),
        }

    def load(self, state: Mapping[str, np.ndarray]) -> None:
        self._mean[:] = state["adam_mean"]
        self._square[:] = state["adam_square"]
        self._steps = int(state["adam_steps"][0])
