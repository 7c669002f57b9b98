"""What a run writes to its store while it trains, without training: for measuring stores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairpriv_core.data.dataset import load_dataset, split_dataset
from fairpriv_core.privacy.event import from_json
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.records.plan import calibrate_method
from fairpriv_core.records.record import RunRecord, draft_record
from fairpriv_core.store.checkpoint import Checkpoint, pack
from fairpriv_core.store.claim import Artifact, Beginning, Claim, Ending, Progress
from fairpriv_core.store.work import WorkStore

EPOCHS, VALUES = 5, 20  # epochs between two commits, and what one shows
STEPS = 100  # of an epoch
PARAMETERS = 64 * (16 + 1) + 64 * 65 + 65
_NAMES = ("test/accuracy", "test/demographic_parity_gap", "train/loss", "epsilon", "clipped/gradient/A")
_HISTOGRAM = {"edges": [i / 32 for i in range(33)], "counts": [[17.0] * 32] * 2, "bound": 0.5, "clipped": {}}
_RUNS = 190
_NOISE = {"noise_primal": 2.0, "noise_dual": 5.0, "noise_counts": 5.0}


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
