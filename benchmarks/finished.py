"""Stores full of finished runs, without training: for measuring lists of them."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import islice, product

import numpy as np

from benchmarks.traffic import STEPS, build_draft
from fairpriv_core.notions.metrics import measure
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.records.record import RunRecord
from fairpriv_core.runs.session import name_measured
from fairpriv_core.store.claim import Beginning, Ending, Progress
from fairpriv_core.store.runs import RunStore
from fairpriv_core.store.sweeps import SweepStore
from fairpriv_core.store.work import WorkStore

SEEDS, CHUNK = 5, 250
GROUPS, ROWS = 18, 4000
LONG_EPOCHS = 10_000


def list_configs(runs: int) -> list[RunConfig]:
    """Return as many configs: SEEDS seeds of each setting, five budgets of each bound."""
    data = {"dataset": "synthetic", "sensitive": "group"}
    shared = {"data": data, "notion": "demographic_parity"}
    bounds = [1.0 + 0.01 * place for place in range(runs // (5 * SEEDS))]
    return [
        build_config({**shared, "method": {"name": "pf_ld", "clip_primal": bound}, "epsilon": epsilon, "seed": seed})
        for bound, epsilon, seed in product(bounds, (0.1, 0.5, 1.0, 3.0, 9.0), range(SEEDS))
    ]


def mix_configs(runs: int) -> list[RunConfig]:
    """Return as many configs: SEEDS seeds of each setting, of four methods under two notions with three budgets."""
    data = {"dataset": "synthetic", "sensitive": "group"}
    asked = list(product(("none", "dp_sgd", "pf_ld", "pf_ld_record"), ("demographic_parity", "equalized_odds")))
    budgets = (0.5, 1.0, 3.0)
    settings = enumerate(product(range(-(-runs // (len(budgets) * SEEDS * len(asked)))), budgets, asked), 1)
    mixed = (
        {
            "data": data,
            "notion": notion,
            "method": {"name": method, "learning_rate": 1e-5 * place},
            "epsilon": None if method == "none" else epsilon,
            "seed": seed,
        }
        for (place, (_, epsilon, (method, notion))), seed in product(settings, range(SEEDS))
    )
    return [build_config(raw) for raw in islice(mixed, runs)]


def fill(store: RunStore, configs: list[RunConfig]) -> int:
    """Store a finished run of each config; return the size of the last record in bytes.

    What a method releases and assumes is told of its first config, and stands in the records of all.
    """
    firsts = {config.method.info.name: config for config in reversed(configs)}
    drafts = {method: build_draft(config) for method, config in firsts.items()}
    random, work, size = np.random.default_rng(0), WorkStore(store.database), 0
    for first in range(0, len(configs), CHUNK):
        SweepStore(store).submit([(config, f"{first:016x}") for config in configs[first : first + CHUNK]])
        claims = work.claim(chunk=f"{first:016x}")
        begun = [replace(drafts[each.config["method"]["name"]], key=each.key, config=each.config) for each in claims]
        work.begin(claims, [Beginning(record, 100) for record in begun])
        ended = [finish(record, random) for record in begun]
        work.finish(claims, [Ending(record, Progress(100, 1, 1.0)) for record in ended])
        size = len(json.dumps(ended[-1].to_json()))
    return size


def add_long_run(store: RunStore, points: int) -> str:
    """Store a finished run of at least `points` values of curves, as a run on its own writes them; return its key."""
    config = build_config(
        {
            "data": {"dataset": "synthetic", "sensitive": "group"},
            "notion": "demographic_parity",
            "method": {"name": "pf_ld", "epochs": LONG_EPOCHS},
            "epsilon": 1.0,
        }
    )
    work, random = WorkStore(store.database), np.random.default_rng(0)
    [claim] = work.claim(store.submit(config).key)
    draft = replace(build_draft(config), key=claim.key, config=claim.config)
    ended = finish(draft, random)
    names = [*name_measured(ended.metrics or {}), "epsilon", "train/loss"]
    steps = -(-points // len(names))
    values = [
        (STEPS * epoch, name, value)
        for epoch, drawn in enumerate(random.random((steps, len(names))).tolist(), 1)
        for name, value in zip(names, drawn, strict=True)
    ]
    work.begin([claim], [Beginning(draft, STEPS * steps)])
    work.finish([claim], [Ending(ended, Progress(STEPS * steps, steps, 1.0, 1.0, values))])
    return claim.key


def finish(record: RunRecord, random: np.random.Generator) -> RunRecord:
    """Return `record` at its end, with random decisions on GROUPS groups."""
    labels, group = random.integers(0, 2, ROWS), random.integers(0, GROUPS, ROWS)
    names = [f"group {place}" for place in range(GROUPS)]
    metrics = measure(labels, random.random(ROWS), group, names)
    data = {**record.data, "group_names": names}
    return replace(record, status="finished", released=record.event, metrics=metrics, data=data)
