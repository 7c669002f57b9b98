"""The standard normals of a run's steps, in pieces that a processor keeps at hand until they are added."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from importlib import import_module

import numpy as np

AT_ONCE = 2**16  # normals in a piece (512 KiB): memory further away costs as much as drawing them
_BLOCK = 64  # steps that share a stream
_NORMALS = "fairpriv_core.privacy.normals"  # needs torch, which is loaded by then; commands that release nothing do not


class StepNoise:
    """`size` standard normals a step; `open_stream` gives the stream of each block of steps.

    A step's normals are the same whichever steps were asked for before. Where they are few, those of several steps
    are drawn together.
    """

    def __init__(self, size: int, open_stream: Callable[[int], np.random.Generator]) -> None:
        self._size, self._open = size, open_stream
        self._together = min(max(AT_ONCE // max(size, 1), 1), _BLOCK)
        self._piece = np.empty(min(self._together * size, AT_ONCE))
        self._block, self._next = -1, 0  # the block whose stream is open, and the next of its steps to be drawn
        self._held = range(0)  # the steps of the block that are in `_piece`, whole

    def pieces(self, step: int) -> Iterator[np.ndarray]:
        """Yield a step's normals in order, AT_ONCE at most at a time; each piece is lost when the next is drawn."""
        block, row = divmod(operator.index(step), _BLOCK)
        if block != self._block or (row < self._next and row not in self._held):
            self._stream, self._block, self._next = self._open(block), block, 0
        while row >= self._next and self._size:
            yield from (piece for piece in self._draw() if row < self._next and not self._held)
        if row in self._held and self._size:
            place = row - self._held.start
            yield self._piece[place * self._size : (place + 1) * self._size]

    def _draw(self) -> Iterator[np.ndarray]:
        """Draw what comes next: one step piece by piece, or several as one piece, which is held."""
        drawn = range(self._next, self._next + self._together)
        self._next, self._held = drawn.stop, range(0) if self._size > AT_ONCE else drawn
        fill, values = import_module(_NORMALS).fill_normals, self._together * self._size
        for start in range(0, values, AT_ONCE):
            piece = self._piece[: min(values - start, AT_ONCE)]
            fill(self._stream, piece)
            yield piece
