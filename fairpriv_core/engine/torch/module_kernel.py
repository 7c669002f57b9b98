"""The kernel for a person's own modules: tried again while they train, and what they say of rows is not passed on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np
from torch import Tensor

from fairpriv_core.engine.modules import ModuleShape
from fairpriv_core.engine.networks import find_memory
from fairpriv_core.engine.torch.gradients import Learnt, Road, Seed
from fairpriv_core.engine.torch.kernel import Learner, TorchKernel
from fairpriv_core.engine.torch.module import OpenModule, open_module
from fairpriv_core.engine.torch.module_checks import check_again
from fairpriv_core.errors import BadInput, FairprivError, RunFailed

_OF_PARAMETER, _OF_GRADIENT = 90, 12  # bytes: of a parameter's states, and of a record's gradient as it is made
_GIB = 2**30
T = TypeVar("T")


class ModuleKernel(TorchKernel):
    """K networks of one module over a flat array (K, P) that is updated in place and read at every pass."""

    shape: ModuleShape

    def __init__(self, shape: ModuleShape, parameters: np.ndarray, device: str = "cpu") -> None:
        super().__init__(shape, parameters, device)
        needed, there = (_OF_PARAMETER + _OF_GRADIENT * self._length) * self.parameters.size, find_memory()
        if self._place.type == "cpu" and there is not None and needed > there:
            raise BadInput(
                f"training network '{self.shape.reference}', {self._opened.size:,} parameters, would take about "
                f"{needed / _GIB:.1f} GiB of memory, and {there / _GIB:.1f} GiB are here; freeze parts of it, or take "
                "a smaller one.",
                field="network",
            )

    def _open_road(self) -> Road:
        self._opened = open_module(self.shape, self.device)
        self.shape = replace(self.shape, trained=self._opened.trained)
        return self._opened.road

    def _open(self, model: int) -> Learner:
        return ModuleModel(self._opened, self._send(self.parameters[model]))


class ModuleModel:
    """One model: an open module with parameters `flat` (P,) of its own."""

    def __init__(self, opened: OpenModule, flat: Tensor) -> None:
        self._opened, self._flat = opened, flat

    def score(self, rows: Tensor) -> Tensor:
        """Return the outputs (b, outputs) of `rows` (b, d)."""
        return self._run(lambda opened: opened.score(rows))

    def learn(self, rows: Tensor, seed: Seed) -> Learnt:
        """Return what `rows` (b, d) give when `seed` of their outputs is propagated back."""
        return self._run(lambda opened: self._learn(opened, rows, seed))

    def _learn(self, opened: OpenModule, rows: Tensor, seed: Seed) -> Learnt:
        """Repeat the trial before passes 1, 2, 4, 8, …: parameters move, and so does the number of rows."""
        opened.passes += 1
        if opened.passes & (opened.passes - 1) == 0:
            check_again(opened, len(rows), opened.passes)
        return opened.learn(rows, seed)

    def _run(self, work: Callable[[OpenModule], T]) -> T:
        """Run the module on protected rows: what it says of them when it breaks off is not passed on."""
        opened = self._opened
        try:
            with opened.lock:
                opened.load(self._flat, self)
                return work(opened)
        except (FairprivError, MemoryError):
            raise
        except Exception as error:
            raise RunFailed(
                f"network '{opened.shape.reference}' broke off on rows of the data with {type(error).__name__}; its "
                "message may hold their values and is not shown."
            ) from None


def score_module(shape: ModuleShape, parameters: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the outputs (n, outputs) of a stored model on `rows` (n, d), float64; BadInput as `open_module`."""
    kernel = ModuleKernel(shape, parameters[None].astype(np.float32))
    scores: np.ndarray = kernel.score(slice(0, 1), np.asarray(rows, dtype=np.float32))[0]
    return scores.reshape(len(rows), -1).astype(np.float64)
