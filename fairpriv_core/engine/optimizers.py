"""Optimisers over flat parameters (K, P): stochastic gradient descent, and Adam (Kingma and Ba, 2015).

Also how learning rates follow the number of a step.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Protocol

import numpy as np

OPTIMIZERS = ("sgd", "adam")
SCHEDULES = ("constant", "halved", "inverse_sqrt")
_BETA_1, _BETA_2, _SMALL = 0.9, 0.999, 1e-8


class Optimizer(Protocol):
    """Updates parameters in place; its state goes into checkpoints."""

    def update(self, parameters: np.ndarray, gradient: np.ndarray, factor: float = 1.0) -> None:
        """Take one step along `gradient` (K, P), whose values are lost, at `factor` times the learning rates."""

    def state(self) -> dict[str, np.ndarray]:
        """Return the state by name; each array's first axis is the model."""

    def load(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from a state that `state` returned."""


def build_optimizer(name: str, rates: np.ndarray, parameters: np.ndarray) -> Optimizer:
    """Return the optimiser `name` (one of OPTIMIZERS) with learning rates (K, 1) for parameters (K, P)."""
    return Adam(rates, parameters) if name == "adam" else GradientDescent(rates)


def rate_factor(schedule: str, step: int, steps: int) -> float:
    """Return what learning rates are multiplied by at `step`, 0 to steps - 1, under one of SCHEDULES: in (0, 1].

    "halved" has 1/2 in the second half of the steps, "inverse_sqrt" 1 / sqrt(t) at step t = 1, 2, ...
    """
    if schedule == "halved":
        return 1.0 if 2 * step < steps else 0.5
    return 1.0 / math.sqrt(step + 1) if schedule == "inverse_sqrt" else 1.0


class GradientDescent:
    """theta <- theta - rate * gradient."""

    def __init__(self, rates: np.ndarray) -> None:
        self._rates = rates

    def update(self, parameters: np.ndarray, gradient: np.ndarray, factor: float = 1.0) -> None:
        gradient *= self._rates * factor
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

    def update(self, parameters: np.ndarray, gradient: np.ndarray, factor: float = 1.0) -> None:
        parameters -= self.find_step(gradient, self._rates * factor)

    def find_step(self, gradient: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Return what `update` takes off the parameters (K, P) at `rates` (K, 1); the values of `gradient` are lost."""
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
        step: np.ndarray = np.divide(self._mean, spread, out=spread)
        step *= rates / (1.0 - _BETA_1**self._steps)
        return step

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
