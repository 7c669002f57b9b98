"""Runs of a store without training: submitted, claimed, and ended with the releases that a test names."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from fairpriv_core.notions.metrics import measure
from fairpriv_core.privacy.event import Events, Parallel, to_json
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.records.ledger_entry import identify_data
from fairpriv_core.records.record import RunRecord
from fairpriv_core.store.checkpoint import Checkpoint
from fairpriv_core.store.claim import Beginning, Claim, Ending, Progress
from fairpriv_core.store.runs import RunStore
from fairpriv_core.store.work import WorkStore

DELTA = 1e-5
COLUMNS = {"synthetic": ["skill", "region"], "adult": ["age", "race", "education-num", "occupation"]}

#: a worker process that takes up the run of its first argument and kills itself at the step of its second
KILLED_AT = """
import os, signal, sys
from fairpriv_core.runs import session
from fairpriv_core.store.database import Database
from fairpriv_core.store.work import WorkStore
from fairpriv_core.runs.worker import work_on

def watch(progress):
    if progress.step == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)

session.COMMIT_SECONDS = 0.0
work = WorkStore(Database())
work_on(work, work.claim(sys.argv[1]), on_commit=watch)
"""


def config(
    method: str | dict[str, Any] = "pf_ld", *, dataset: str = "synthetic", sensitive: str = "group", **given: Any
) -> RunConfig:
    """Return a config that nobody will train; `given` are its fields."""
    data = {"dataset": dataset, "sensitive": sensitive}
    raw = {"data": data, "notion": "demographic_parity", "method": method, "epsilon": 1, **given}
    return build_config(raw)


def draft(claim: Claim, events: Events, **given: Any) -> RunRecord:
    """Return the record of a run that is about to release `events`; its epsilon only says that there is one."""
    asked = build_config(claim.config)
    values: dict[str, Any] = {
        "threat_model": asked.method.info.threat_model,
        "variant": None,
        "epsilon": None if asked.method.info.threat_model is None else 1.0,
        "epsilon_published": None,
        "epsilon_reason": None if asked.method.info.threat_model else "The method is not private.",
        "epsilon_if_secret": None,
        "calibrated": claim.config["method"],
        "data": {
            "name": asked.data.dataset,
            "sensitive": asked.data.sensitive,
            "columns": COLUMNS[str(asked.data.dataset)],
            "n_train": 6000,
            "n_test": 2000,
            "group_names": ["A", "B"],
            "label_names": ["no", "yes"],
            "caveats": [],
        },
        "event": to_json(events),
        "released": [],
    }
    rest = {"delta": DELTA, "assumptions": (), "versions": {}}
    return RunRecord(key=claim.key, status="running", config=claim.config, **rest, **{**values, **given})


def begin(store: RunStore, asked: RunConfig, events: Events, **given: Any) -> tuple[WorkStore, Claim, RunRecord]:
    """Launch a run and store what it plans to release; one that a server's own supervisor was faster at is deleted."""
    work = WorkStore(store.database)
    while not (claims := work.claim((row := store.submit(asked, again=True)).key)):
        while not store.row(row.key).ended:
            time.sleep(0.05)
        store.delete(row.key)
    (claim,) = claims
    record = draft(claim, events, **given)
    work.begin([claim], [Beginning(record, 10)])
    return work, claim, record


def commit(work: WorkStore, claim: Claim, released: Events) -> None:
    """Store a checkpoint by which `released` has left the process."""
    work.commit([claim], [Progress(5, 1, 1.0)], [Checkpoint(5, b"secret", released, {})])


def finish(store: RunStore, asked: RunConfig, events: Events, **given: Any) -> str:
    """Launch a run and end it as finished; return its key."""
    work, claim, record = begin(store, asked, events, **given)
    work.finish([claim], [Ending(replace(record, status="finished", released=record.event), Progress(10, 1, 1.0))])
    return claim.key


def evaluated(training: Events, evaluation: Events) -> Events:
    """Return a run's releases with a private evaluation."""
    return (Parallel((training, evaluation), fixed=True),)


def name(dataset: str = "synthetic") -> str:
    """Return what the ledger calls a data set of the catalogue."""
    return identify_data(dataset, None)


def measured(rates: tuple[float, float], *, rows: int = 2000, wrong: float = 0.2) -> dict[str, Any]:
    """Return metrics of decisions that select these shares of two groups."""
    generator = np.random.default_rng(int(1e6 * sum(rates)))
    group = np.arange(rows) % 2
    y = (np.arange(rows) // 2 % 2).astype(np.int64)
    score = np.where(generator.random(rows) < np.array(rates)[group], 0.9, 0.1)
    score = np.where(generator.random(rows) < 1 - wrong, score, 1 - score)
    return measure(y, score, group, ["A", "B"])
