"""Images in memory: their pixels as whole numbers, from which the matrix that a classifier is given is scaled."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np

from fairpriv_core.data.mapped import stack_blocks
from fairpriv_core.data.table import Table

#: a pixel is divided by it: public, and learned from no row
WHITE = 255
_AT_ONCE = 1 << 10


@dataclass(frozen=True)
class Pixels:
    """n images of one size: `values` (n, channels, height, width) uint8."""

    values: np.ndarray

    def __len__(self) -> int:
        return len(self.values)

    @property
    def shape(self) -> tuple[int, int, int]:
        """(channels, height, width) of each image."""
        _, channels, height, width = self.values.shape
        return channels, height, width

    def take(self, index: np.ndarray) -> Pixels:
        """Return the images that `index` (positions, or a mask) selects."""
        positions = np.flatnonzero(index) if index.dtype == np.bool_ else index
        whole = len(positions) == len(self) and bool((positions == np.arange(len(self))).all())
        return self if whole else Pixels(self.values[positions])

    def encode(self) -> np.ndarray:
        """Return the images row by row, (n, channels * height * width) float32 in [0, 1]; RunFailed without room."""
        flat = self.values.reshape(len(self), -1)
        starts = range(0, len(self), _AT_ONCE)
        blocks = (flat[start : start + _AT_ONCE] / np.float32(WHITE) for start in starts)
        return stack_blocks(blocks, rows=len(self), columns=flat.shape[1])

    def seal(self) -> str:
        """Return a SHA-256 of the pixels and of how they lie."""
        seal = hashlib.sha256(repr(self.values.shape).encode())
        for start in range(0, len(self), _AT_ONCE):
            seal.update(self.values[start : start + _AT_ONCE].tobytes())
        return seal.hexdigest()

    def number_twins(self) -> np.ndarray | None:
        """Return a number (n,) int64 that equal images share; None where no two are equal."""
        seen: dict[bytes, int] = {}
        named = (hashlib.blake2b(image.tobytes(), digest_size=16).digest() for image in self.values)
        numbers = np.fromiter((seen.setdefault(name, len(seen)) for name in named), np.int64, len(self))
        return None if len(seen) == len(self) else numbers


@dataclass(frozen=True)
class Pictures:
    """Images with a table of what is said of each. `digest` seals what both were read from.

    `official_test` and `unit` as in `Material`; `notes` are caveats that were found while reading.
    """

    pixels: Pixels
    table: Table
    digest: str
    official_test: np.ndarray | None = None
    unit: np.ndarray | None = None
    notes: tuple[str, ...] = field(default=())
