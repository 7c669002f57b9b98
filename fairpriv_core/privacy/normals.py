"""Standard normal noise by inversion: faster than numpy's, and as fine in the tails.

A uniform number u of 53 bits becomes sqrt(2) erfinv(2 u - 1). Far out, neighbouring u would give values further apart
than the grid on which releases lie (noise.py), and which value came out would say more than a normal does. So a value
beyond TAIL only says that it lies there, and is drawn anew from the normal beyond TAIL: its chance of being exceeded is
that of TAIL times exp(-e), e exponential, which is fine at any distance.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from scipy.special import log_ndtr, ndtri_exp

TAIL = 3.0
_LOG_BEYOND = float(log_ndtr(-TAIL))
_ROOT = math.sqrt(2.0)
_HALF = 2.0**-53  # half of the distance between two uniform numbers, so that 0 and 1 are as far from the nearest


def fill_normals(stream: np.random.Generator, values: np.ndarray) -> None:
    """Fill float64 `values` with independent standard normals; what is drawn of `stream` depends on its bits alone."""
    stream.random(out=values)
    values *= 2.0
    values -= 1.0 - _HALF
    torch.from_numpy(values).erfinv_()
    values *= _ROOT
    beyond = np.flatnonzero((values > TAIL) | (values < -TAIL))
    distances = -ndtri_exp(_LOG_BEYOND - stream.standard_exponential(beyond.size))
    values[beyond] = np.copysign(distances, values[beyond])
