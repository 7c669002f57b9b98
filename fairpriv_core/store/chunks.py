"""Which runs of a sweep train together: a pure function of all its configs, so that going on gives the same bits.

Runs of one chunk differ only in what a loop takes model by model: seed, budget, real-valued hyper-parameters, and whose
release they use. A hyper-parameter of 0 sets them apart, since it switches a part of a method off.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairpriv_core.engine.presets import MLP
from fairpriv_core.methods.base import FitsAlone, Method, parameters
from fairpriv_core.methods.fields import network_of
from fairpriv_core.records.config import RunConfig, draws_samples
from fairpriv_core.store.tables import CHUNK_DIGITS

_PER_MODEL = ("epsilon", "delta", "seed", "replay_noise")
_SAMPLING = "sampling_rate"  # models with samples of unlike size would wait for the largest
_MOST_PARTS = 16  # of one kind of run: so many processes have work
_MOST_BYTES = 2**30  # of training sets that one chunk holds


@dataclass(frozen=True)
class Chunk:
    """Runs that train together; `id` is the store's name for them."""

    id: str
    configs: tuple[RunConfig, ...]


def form_chunks(configs: Sequence[RunConfig], split_bytes: Mapping[str, int] | None = None) -> list[Chunk]:
    """Return the chunks of different configs. `split_bytes` says how large a config's training set is, by its key.

    Runs whose training sets differ in size, as of seeds that split people who have several rows, train apart: noise and
    sampling rates are calibrated to the number of rows.
    """
    kinds: dict[tuple[str, int], list[RunConfig]] = {}
    for config in configs:
        size = (split_bytes or {}).get(config.key, 0)
        kinds.setdefault((name_kind(config), size), []).append(config)
    parts = [part for (_, size), kind in kinds.items() for part in _divide(kind, size)]
    return [Chunk(_name(part), tuple(part)) for part in parts]


def most_models(config: RunConfig) -> int:
    """Return how many runs like `config` may train in one loop."""
    method = config.method
    if isinstance(method, FitsAlone) or network_of(method) != MLP:
        return 1  # models of a network of layers are taken one after the other in a loop too
    own_release = bool(method.info.reuses) and config.reuse is None
    own_samples = draws_samples(method) and not config.share_samples
    return 32 if getattr(method, "hidden_layers", 0) or own_release or own_samples else 640


def _least_models(config: RunConfig) -> int:
    """Return how many models a loop should have before another process gets some.

    On Adult a model's step hardly gets cheaper beyond 8 networks, 16 logistic regressions with samples of their own, or
    some 64 that share batches.
    """
    if network_of(config.method) != MLP:
        return 1
    if getattr(config.method, "hidden_layers", 0):
        return 8
    return 64 if most_models(config) > 32 else 16


def _divide(configs: list[RunConfig], split_bytes: int) -> list[list[RunConfig]]:
    """Return the parts of runs of one kind; those of one seed stay together as far as they fit, for their batches."""
    most, least = most_models(configs[0]), _least_models(configs[0])
    count = max(math.ceil(len(configs) / most), min(_MOST_PARTS, len(configs) // least), 1)
    size = min(math.ceil(len(configs) / count), most)
    seeds = max(_MOST_BYTES // max(split_bytes, 1), 1)
    parts: list[list[RunConfig]] = []
    for seed in dict.fromkeys(config.seed for config in configs):
        alike = [config for config in configs if config.seed == seed]
        for start in range(0, len(alike), size):
            piece = alike[start : start + size]
            held = len({config.seed for config in parts[-1]}) if parts else 0
            even = held and len(parts[-1]) == held * len(piece)  # as many of each seed: they share its batches
            if even and held < seeds and len(parts[-1]) < size and len(parts[-1]) + len(piece) <= most:
                parts[-1] += piece
            else:
                parts.append(piece)
    return parts


def name_kind(config: RunConfig) -> str:
    """Return what runs must have in common to train together."""
    asked: dict[str, Any] = {**config.to_json(), **dict.fromkeys(_PER_MODEL), "reuse": config.reuse is not None}
    varying = _varying(config.method)
    asked["method"] = {name: value == 0 if name in varying else value for name, value in asked["method"].items()}
    return json.dumps(asked, sort_keys=True)


def _varying(method: Method) -> list[str]:
    """Return the hyper-parameters that a loop takes model by model: the real-valued ones."""
    kinds = {name: str(field.type) for name, (_, field) in parameters(method).items()}
    return [name for name, kind in kinds.items() if kind.startswith("float") and name != _SAMPLING]


def _name(configs: Sequence[RunConfig]) -> str:
    keys = sorted(config.key for config in configs)
    return hashlib.sha256("\n".join(keys).encode()).hexdigest()[:CHUNK_DIGITS]
