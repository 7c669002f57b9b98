"""Which of a run's iterates is returned: the last one, or one drawn uniformly of all steps'.

The draw depends on the seed alone. Every iterate follows from what was released, so epsilon covers each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairpriv_core import checks
from fairpriv_core.methods.base import parameter
from fairpriv_core.methods.fields import TrainsNetwork
from fairpriv_core.methods.shared.setting import Setting
from fairpriv_core.seeds import public_generator

LAST, UNIFORM = "last", "uniform"
_KEPT = "returned_parameters"


def iterate() -> Any:
    """The iterate that is returned."""
    return parameter(
        LAST,
        "Returned iterate",
        "The last one, as the authors recommend; or one drawn uniformly of all steps', as Algorithm 1 has it.",
        choices=(LAST, UNIFORM),
        expert=True,
    )


def check_iterate(chosen: str) -> None:
    """Raise BadInput for an iterate that nobody offers."""
    checks.one_of((LAST, UNIFORM), iterate=chosen)


class ReturnedIterates:
    """K models' iterates to be returned, each by its method's `iterate`."""

    def __init__(self, setting: Setting[TrainsNetwork]) -> None:
        self._steps = [_draw_step(setting, k) for k in range(len(setting.methods))]
        self._kept: dict[int, np.ndarray] = {}

    def keep(self, parameters: np.ndarray, step: int) -> None:
        """Copy those of the parameters (K, P) after `step` steps, from 1, that are to be returned."""
        for k in np.flatnonzero(np.array(self._steps) == step).tolist():
            self._kept[k] = parameters[k].copy()

    def kept(self, model: int) -> np.ndarray | None:
        """Return a model's parameters (P,) that were copied; None where the last ones are returned."""
        return self._kept.get(model)

    def notes(self, model: int) -> dict[str, object]:
        """Return after how many steps a drawn iterate was taken."""
        return {"returned_after": self._steps[model]} if self._steps[model] else {}

    def state(self, model: int) -> dict[str, np.ndarray]:
        """Return what a checkpoint holds of them."""
        return {_KEPT: self._kept[model]} if model in self._kept else {}

    def load(self, model: int, state: Mapping[str, np.ndarray]) -> None:
        """Go on from what `state` returned."""
        if _KEPT in state:
            self._kept[model] = state[_KEPT]


def _draw_step(setting: Setting[TrainsNetwork], k: int) -> int:
    """Return after how many steps the iterate is taken that is returned; 0 where it is the last one."""
    method: Any = setting.methods[k]
    if method.iterate == LAST:
        return 0
    return int(public_generator(setting.trainings[k].seed, "iterate").integers(1, method.steps(setting.n) + 1))
