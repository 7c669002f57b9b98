"""Stores with runs at work and with finished ones, without training: for measuring what reads and writes them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice, product

import numpy as np

from fairpriv_core.data.dataset import load_dataset, split_dataset
from fairpriv_core.engine.training import Histogram
from fairpriv_core.notions.metrics import measure
from fairpriv_core.privacy.event import from_json
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.records.plan import calibrate_method
from fairpriv_core.records.record import RunRecord, draft_record
from fairpriv_core.runs.session import name_measured
from fairpriv_core.store.checkpoint import Checkpoint, pack
from fairpriv_core.store.claim import Artifact, Beginning, Claim, Ending, Progress
from fairpriv_core.store.runs import RunStore
from fairpriv_core.store.sweeps import SweepStore
from fairpriv_core.store.work import WorkStore

EPOCHS, VALUES = 5, 20  # epochs between two commits, and what one shows
STEPS = 100  # of an epoch
PARAMETERS = 64 * (16 + 1) + 64 * 65 + 65
_NAMES = ("test/accuracy", "test/demographic_parity_gap", "train/loss", "epsilon", "clipped/gradient/A")
_HISTOGRAM = Histogram([i / 32 for i in range(33)], {"a": [17] * 32, "b": [17] * 32}, bound=0.5)
_RUNS = 190
_NOISE = {"noise_primal": 2.0, "noise_dual": 5.0, "noise_counts": 5.0}
SEEDS, CHUNK = 5, 250
GROUPS, ROWS = 18, 4000
LONG_EPOCHS = 10_000


@dataclass
class Written:
    """A run at work: its claim, its draft and how often it committed."""

    claim: Claim
    draft: RunRecord
    commits: int = 0


def list_runs() -> list[RunConfig]:
    """Return more configs than a measurement takes up."""
    data = {"dataset": "synthetic", "sensitive": "group"}
    shared = {"data": data, "notion": "demographic_parity", "method": {"name": "pf_ld", **_NOISE}}
    return [build_config({**shared, "seed": seed}) for seed in range(_RUNS)]


def build_draft(config: RunConfig | None = None) -> RunRecord:
    """Return what is known of a run before training, of `config` or else of such a one; its key is empty."""
    config = config or list_runs()[0]
    train, test = split_dataset(load_dataset(config.data), seed=config.seed, split=config.split)
    return draft_record(key="", config=config, method=calibrate_method(config, train.n), train=train, test=test)


def take_run(work: WorkStore, like: RunRecord) -> Written:
    """Claim the oldest queued run and store a draft like `like`."""
    (claim,) = work.claim()
    written = Written(claim, replace(like, key=claim.key, config=claim.config))
    work.begin([claim], [Beginning(written.draft, 10_000)])
    return written


def write_step(work: WorkStore, written: Written) -> int:
    """Commit some epochs of a run; return how many rows of metrics that were."""
    first = written.commits * EPOCHS
    names = [f"{_NAMES[place % len(_NAMES)]}/{place}" for place in range(VALUES)]
    values = [(STEPS * (first + epoch), name, 0.5) for epoch in range(1, EPOCHS + 1) for name in names]
    work.commit([written.claim], [_progress(first + EPOCHS, values)], [_checkpoint(written, STEPS * (first + EPOCHS))])
    written.commits += 1
    return len(values)


def finish_run(work: WorkStore, written: Written) -> None:
    """End a run with its record and its model."""
    record = replace(written.draft, status="finished", released=written.draft.event)
    files = [Artifact("model.safetensors", pack({"parameters": np.zeros(PARAMETERS, np.float32)}))]
    work.finish([written.claim], [Ending(record, _progress(written.commits * EPOCHS, ()), files)])


def _progress(epoch: int, values: Sequence[tuple[int, str, float | None]]) -> Progress:
    return Progress(STEPS * epoch, epoch, 0.1 * epoch, 0.5, values, {"primal": _HISTOGRAM, "dual": _HISTOGRAM})


def _checkpoint(written: Written, step: int) -> Checkpoint:
    arrays = {name: np.zeros(PARAMETERS, np.float32) for name in ("parameters", "velocity")}
    return Checkpoint(step, pack(arrays), from_json(written.draft.event), {"code": "a benchmark's"})


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
