"""Matrices of many rows, put together block by block: in memory while small, else in a mapped file without a name.

Such a file lies in the folder for temporary files (`TMPDIR`), can be read by nobody else, and goes with the last array
over it however the process ends. Its pages are the system's to drop and to read again, so they crowd out nothing.
"""

from __future__ import annotations

import errno
import math
import os
import shutil
import tempfile
from collections.abc import Iterable

import numpy as np

from fairpriv_core.errors import RunFailed

#: bytes from which a matrix is kept in a file
MAPPED_FROM = 256 << 20
ROWS_AT_ONCE = 1 << 16
FLOATS, BYTES = np.dtype(np.float32), np.dtype(np.uint8)


def stack_blocks(blocks: Iterable[np.ndarray], *, rows: int, columns: int, kind: np.dtype = FLOATS) -> np.ndarray:
    """Return `blocks` (each (m, columns), `rows` in all at most) one below the other: (rows, columns), writable.

    The dtype is `kind`, float32 unless given. What follows the last block is void. Raises RunFailed where the folder
    for temporary files cannot hold them.
    """
    shape = (rows, columns)
    if kind.itemsize * math.prod(shape) >= MAPPED_FROM:
        return _stack_in_file(blocks, shape, kind)
    matrix = np.empty(shape, dtype=kind)
    start = 0
    for block in blocks:
        matrix[start : start + len(block)] = block
        start += len(block)
    return matrix


def select_rows(matrix: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Return the rows of `matrix` (n, d) float32 that `index` (positions, or a mask) selects; errors as above."""
    positions = np.flatnonzero(index) if index.dtype == np.bool_ else index
    starts = range(0, len(positions), ROWS_AT_ONCE)
    blocks = (matrix[positions[start : start + ROWS_AT_ONCE]] for start in starts)
    return stack_blocks(blocks, rows=len(positions), columns=matrix.shape[1])


def _stack_in_file(blocks: Iterable[np.ndarray], shape: tuple[int, int], kind: np.dtype) -> np.ndarray:
    size, folder = kind.itemsize * math.prod(shape), tempfile.gettempdir()
    try:
        if shutil.disk_usage(folder).free < size:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        with tempfile.TemporaryFile(dir=folder) as file:
            os.posix_fallocate(file.fileno(), 0, size)
            for block in blocks:
                file.write(np.ascontiguousarray(block, dtype=kind).data)
            file.flush()
            return np.asarray(np.memmap(file, dtype=kind, mode="r+", shape=shape))
    except OSError as error:
        raise RunFailed(
            f"the encoded rows need {size / 1e6:,.0f} MB in {folder}, where they cannot be written ({error.strerror}); "
            f"free some space there, or set TMPDIR to a folder on a larger disk."
        ) from error
