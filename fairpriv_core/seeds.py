"""Public random streams: split, initialisation, public batches. Never noise and never a secret sample.

Anything drawn here can be predicted by anyone who knows `seed`; what protects people comes from
`privacy/randomness.py`, which is keyed by the operating system.
"""

from __future__ import annotations

import hashlib

import numpy as np


def public_generator(seed: int, purpose: str, *index: int) -> np.random.Generator:
    """Return a generator that depends only on (seed, purpose, index); streams of unlike purposes are unrelated."""
    name = hashlib.sha256(repr((purpose, index)).encode()).digest()
    words = np.frombuffer(name, dtype=np.uint32).tolist()
    return np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, *words])))
