"""Stores full of finished runs, without training: for measuring lists of them."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product

import numpy as np

from benchmarks.traffic import build_draft
from fairpriv_core.notions.metrics import measure
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.records.record import RunRecord
from fairpriv_core.store.claim import Beginning, Ending, Progress
from fairpriv_core.store.runs import RunStore
from fairpriv_core.store.sweeps import SweepStore
from fairpriv_core.store.work import WorkStore

SEEDS, CHUNK = 5, 250
GROUPS, ROWS = 18, 4000


def list_configs(runs: int) -> list[RunConfig]:
    """Return as many configs: SEEDS seeds of each setting, five budgets of each bound."""
    data = {"dataset": "synthetic", "sensitive": "group"}
    shared = {"data": data, "notion": "demographic_parity"}
    bounds = [1.0 + 0.01 * place for place in range(runs // (5 * SEEDS))]
    return [
        build_config({**shared, "method": {"name": "pf_ld", "clip_primal": bound}, "epsilon": epsilon, "seed": seed})
        for bound, epsilon, seed in product(bounds, (0.1, 0.5, 1.0, 3.0, 9.0), range(SEEDS))
    ]


def fill(store: RunStore, configs: list[RunConfig]) -> int:
    """Store a finished run of each config; return the size of the last record in bytes."""
    draft, random = build_draft(), np.random.default_rng(0)
    work, size = WorkStore(store.database), 0
    for first in range(0, len(configs), CHUNK):
        SweepStore(store).submit([(config, f"{first:016x}") for config in configs[first : first + CHUNK]])
        claims = work.claim(chunk=f"{first:016x}")
        begun = [replace(draft, key=claim.key, config=claim.config) for claim in claims]
        work.begin(claims, [Beginning(record, 100) for record in begun])
        ended = [finish(record, random) for record in begun]
        work.finish(claims, [Ending(record, Progress(100, 1, 1.0)) for record in ended])
        size = len(json.dumps(ended[-1].to_json()))
    return size


def finish(record: RunRecord, random: np.random.Generator) -> RunRecord:
    """Return `record` at its end, with random decisions on GROUPS groups."""
    labels, group = random.integers(0, 2, ROWS), random.integers(0, GROUPS, ROWS)
    metrics = measure(labels, random.random(ROWS), group, [f"group {place}" for place in range(GROUPS)])
    return replace(record, status="finished", released=record.event, metrics=metrics)
