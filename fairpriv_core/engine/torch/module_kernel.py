"""The kernel for a person's own modules: as that for networks of layers, with Opacus' per-record gradients.

Gradients of single records are kept as they are, and norms are those of the very numbers that are summed. Records are
taken some at a time; of these BLOCK are added in float32, and all else in float64 (privacy/sums.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from torch import Tensor

from fairpriv_core.engine.modules import ModuleShape
from fairpriv_core.engine.networks import find_memory
from fairpriv_core.engine.torch.kernel import LayeredKernel, Learner
from fairpriv_core.engine.torch.model import Learnt, Seed
from fairpriv_core.engine.torch.module import OpenModule, open_module
from fairpriv_core.engine.torch.module_checks import MOST_ROWS, check_again
from fairpriv_core.errors import BadInput, FairprivError, RunFailed

_AT_ONCE = 2**22  # numbers of records' gradients that are made at once, 16 MiB
_OF_PARAMETER, _OF_GRADIENT = 90, 12  # bytes: of a parameter's states, and of a record's gradient as it is made
_GIB = 2**30
T = TypeVar("T")


@dataclass
class ModuleKernel(LayeredKernel):
    """K networks of one module over a flat array (K, P) that is updated in place and read at every pass."""

    shape: ModuleShape
    _opened: OpenModule = field(init=False)

    def __post_init__(self) -> None:
        self._opened = open_module(self.shape, self.device)
        self.shape = replace(self.shape, trained=self._opened.trained)
        super().__post_init__()
        needed, there = (_OF_PARAMETER + _OF_GRADIENT * self._length) * self.parameters.size, find_memory()
        if self._place.type == "cpu" and there is not None and needed > there:
            raise BadInput(
                f"training network '{self.shape.reference}', {self._opened.size:,} parameters, would take about "
                f"{needed / _GIB:.1f} GiB of memory, and {there / _GIB:.1f} GiB are here; freeze parts of it, or take "
                "a smaller one.",
                field="network",
            )

    def parts_at(self, count: int) -> bool:
        """Return whether a pass takes the first `count` rows without any that come after; see `Kernel.parts_at`."""
        return count % self._length == 0

    def _count_rows(self, numbers: int) -> int:
        room = max(_AT_ONCE // self._opened.size, 1)
        return min(1 << (room.bit_length() - 1), MOST_ROWS)

    def _count_cached(self) -> int:
        return self._opened.size

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
