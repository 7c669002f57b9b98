"""Public mini-batches: a permutation an epoch, drawn from the public seed. Secret samples come from the mechanism."""

from __future__ import annotations

import numpy as np

from fairpriv_core.errors import BadInput
from fairpriv_core.seeds import public_generator


def steps_per_epoch(n: int, batch_size: int) -> int:
    """Return the number of batches that cover `n` rows; BadInput when a batch is larger than the data."""
    if batch_size > n:
        raise BadInput(f"batch_size must be at most the {n} training rows, got {batch_size}.", field="batch_size")
    return -(-n // batch_size)


def public_batches(seed: int, *, n: int, batch_size: int, epoch: int) -> list[np.ndarray]:
    """Return one epoch's batches: row indices, each row once, the last batch possibly smaller."""
    order = public_generator(seed, "batches", epoch).permutation(n)
    return [order[start : start + batch_size] for start in range(0, n, batch_size)]
