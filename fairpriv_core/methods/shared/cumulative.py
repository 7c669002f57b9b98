"""Noisy cumulative counts: how many rows of each kind lie at or below each of m places, released at once.

Each kind's counts h (m,) over the places are released as B h plus Gaussian noise, and their running sums are estimated
by B times that, where B is the lower triangular Toeplitz matrix with B B = the matrix of running sums: its entries are
b_0 = 1, b_i = b_{i-1} (2 i - 1) / (2 i). A row is at one place of one kind, so that it moves the release by at most the
length of a column of B, which grows as the root of log m; noise of single counts would add up to the root of m instead
(Fichtenberger, Henzinger and Upadhyay, 2023, Constant matters; Henzinger, Upadhyay and Upadhyay, 2023).
"""

from __future__ import annotations

import numpy as np

from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.sums import on_grid

_MARGIN = 1.0 + 1e-9  # for the rounding of the length itself


def root_entries(places: int) -> np.ndarray:
    """Return b (places,), the first column of B, on a grid on which its products with counts add up exactly."""
    index = np.arange(1, places)
    entries = np.cumprod(np.concatenate([[1.0], (2.0 * index - 1.0) / (2.0 * index)]))
    return on_grid(entries, 1.0)


def cumulative_sensitivity(places: int) -> float:
    """Return how far one row moves the release of `release_cumulative`, in L2: the length of B's longest column."""
    return float(np.linalg.norm(root_entries(places))) * _MARGIN


def running_deviation(places: int, place: int) -> float:
    """Return the standard deviation of the estimate at the `place`-th running sum, from 1, at noise multiplier 1."""
    return float(np.linalg.norm(root_entries(places)[:place])) * cumulative_sensitivity(places)


def release_cumulative(
    mechanism: Mechanism, counts: np.ndarray, *, noise_multiplier: float, purpose: str
) -> np.ndarray:
    """Release estimates (kinds, places) of the running sums of `counts` (kinds, places), which are whole numbers.

    A row adds 1 or -1 to one of the counts at most. The noise multiplier is over `cumulative_sensitivity`.
    """
    root = _matrix(root_entries(counts.shape[1]))
    noisy = mechanism.gaussian(
        (counts @ root.T).ravel(),
        sensitivity=cumulative_sensitivity(counts.shape[1]),
        noise_multiplier=noise_multiplier,
        purpose=purpose,
        index=0,
    )
    estimated: np.ndarray = noisy.reshape(counts.shape) @ root.T
    return estimated


def _matrix(entries: np.ndarray) -> np.ndarray:
    """Return the lower triangular Toeplitz matrix with these entries in its first column."""
    index = np.subtract.outer(np.arange(len(entries)), np.arange(len(entries)))
    matrix: np.ndarray = np.where(index >= 0, entries[np.maximum(index, 0)], 0.0)
    return matrix
