"""Four runs stream to one store while two pages read: rows a second, "locked" errors, and how long a read takes.

    python benchmarks/store.py [--quick] [--json FILE]

On a SQLite file and on a PostgreSQL server of the script's own on the loopback. A writer is a process that claims runs
and commits as a run does: metrics, histograms, the checkpoint of an MLP of 2 x 64 and the count of releases, in one
durable transaction. A reader is a process that reads what the Run page reads of a run at work, five times a second; its
latency is that of the whole look. `paced`: each writer commits every 0.2 s, as runs do, with 5 epochs of 20 values:
500 rows a second each. `flat out`: as fast as they can.
"""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.measuring import build_parser, read_machine, say, start, write_result
from benchmarks.postgres import MISSING, find_programs, serve_postgres
from benchmarks.stored_runs import build_draft, finish_run, list_runs, take_run, write_step
from fairpriv_core.errors import StoreError
from fairpriv_core.records.record import RunRecord
from fairpriv_core.store.database import Database
from fairpriv_core.store.runs import RunStore, open_store
from fairpriv_core.store.work import WorkStore

WRITERS, READERS = 4, 2
PACE = 0.2  # seconds between two commits of a writer; a run's COMMIT_SECONDS
LOOK = 0.2  # the Run page reads once a second: two readers are as ten open pages
PATIENCE = 120.0  # until all processes have started
COMMITS = 40  # of a run; then the writer takes up the next one
GATE = {"rows_a_second_each": 400.0, "locked": 0, "read_p99_ms": 250.0}


@dataclass
class Tally:
    """What one process did: acknowledged rows, seconds of each commit or look, and errors by their sentence."""

    rows: int = 0
    commits: list[float] = field(default_factory=list)
    looks: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)


def stream(place: str, together: Barrier, draft: RunRecord, *, seconds: float, pace: float) -> Tally:
    """Commit steps of one run after another for `seconds`; `pace` seconds from one commit to the next, or 0."""
    tally, work = Tally(), WorkStore(Database(place))
    written = take_run(work, draft)
    together.wait(PATIENCE)
    end = time.monotonic() + seconds
    while (begun := time.monotonic()) < end:
        try:
            tally.rows += write_step(work, written)
            tally.commits.append(time.monotonic() - begun)
            if written.commits == COMMITS:
                finish_run(work, written)
                written = take_run(work, draft)
        except StoreError as error:
            tally.errors[str(error)] += 1
        time.sleep(max(0.0, begun + pace - time.monotonic()))
    return tally


def watch(place: str, together: Barrier, *, seconds: float) -> Tally:
    """Style at runs at work, one after another, for `seconds`."""
    store, tally, keys = open_store(place), Tally(), list[str]()
    together.wait(PATIENCE)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        begun = time.monotonic()
        try:
            if len(tally.looks) % 20 == 0:
                keys = [row.key for row in store.rows() if row.status == "running"]
            begun = time.monotonic()
            style(store, keys[len(tally.looks) % len(keys)])
            tally.looks.append(time.monotonic() - begun)
        except StoreError as error:
            tally.errors[str(error)] += 1
        time.sleep(max(0.0, begun + LOOK - time.monotonic()))
    store.close()
    return tally


def style(store: RunStore, key: str) -> None:
    """Read what the Run page reads of a run."""
    store.row(key)
    store.record(key)
    store.metrics(key)
    store.histograms(key)


def measure(place: str, draft: RunRecord, *, kind: str, pace: float, seconds: float) -> dict[str, Any]:
    """Return one cell: what `WRITERS` and `READERS` did on the store at `place`."""
    with open_store(place) as store:
        for config in list_runs():
            store.submit(config)
        before = count_metrics(store)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["benchmarks.store"])
    with ProcessPoolExecutor(WRITERS + READERS, mp_context=context) as pool, context.Manager() as manager:
        together = manager.Barrier(WRITERS + READERS)
        writing = [pool.submit(stream, place, together, draft, seconds=seconds, pace=pace) for _ in range(WRITERS)]
        reading = [pool.submit(watch, place, together, seconds=seconds) for _ in range(READERS)]
        writers, readers = [done.result() for done in writing], [done.result() for done in reading]
    check_nothing_is_lost(place, before + sum(tally.rows for tally in writers))
    errors = sum((tally.errors for tally in (*writers, *readers)), Counter[str]())
    commits = np.concatenate([tally.commits for tally in writers]) * 1000
    looks = np.concatenate([tally.looks for tally in readers]) * 1000
    return {
        "store": kind,
        "mode": "paced" if pace else "flat out",
        "seconds": seconds,
        "rows_a_second": round(sum(tally.rows for tally in writers) / seconds, 1),
        "rows_a_second_each": round(min(tally.rows for tally in writers) / seconds, 1),
        "locked": sum(count for said, count in errors.items() if "busy" in said or "locked" in said),
        "errors": dict(errors),
        "looks": len(looks),
        **{f"commit_p{p}_ms": round(float(np.percentile(commits, p)), 1) for p in (50, 99)},
        **{f"read_p{p}_ms": round(float(np.percentile(looks, p)), 1) for p in (50, 99)},
    }


def check_nothing_is_lost(place: str, acknowledged: int) -> None:
    """Exit with a sentence where the store holds fewer metrics than were acknowledged."""
    with open_store(place) as store:
        stored = count_metrics(store)
    if stored < acknowledged:
        sys.exit(f"{stored} metrics are stored, {acknowledged} were acknowledged.")


def count_metrics(store: RunStore) -> int:
    """Return how many rows of metrics a store holds."""
    return sum(len(store.metrics(row.key)) for row in store.rows() if row.attempt)


def passes(cell: dict[str, Any]) -> bool:
    """Return whether a cell is within the gate."""
    enough = cell["rows_a_second_each"] >= GATE["rows_a_second_each"]
    return enough and cell["locked"] <= GATE["locked"] and cell["read_p99_ms"] <= GATE["read_p99_ms"]


@contextmanager
def find_stores(folder: str) -> Iterator[dict[str, str]]:
    """Give the kinds of store that there are here, and where an empty one of each is."""
    programs = find_programs()
    if programs is None:
        say(f"PostgreSQL is left out: it {MISSING}")
        yield {"SQLite": f"{folder}/runs.db"}
        return
    with serve_postgres(programs, durable=True) as url:
        yield {"SQLite": f"{folder}/runs.db", "PostgreSQL": url}


def main() -> None:
    options = start(build_parser(__doc__))
    say("; ".join(f"{name} {value}" for name, value in read_machine().items()))
    say("store       mode      rows/s  each  locked  commit p50  p99 ms  read p50  p99 ms  gate")
    cells, draft = [], build_draft()
    with tempfile.TemporaryDirectory(prefix="fairpriv-store-") as folder, find_stores(folder) as stores:
        for kind, place in stores.items():
            for pace, seconds in ((PACE, 20.0), (0.0, 10.0)):
                cell = measure(place, draft, kind=kind, pace=pace, seconds=seconds / (5 if options.quick else 1))
                cells.append(cell | {"passes": passes(cell)})
                show(cells[-1])
    write_result(options, {"clock": "wall time", "gate": GATE, "writers": WRITERS, "readers": READERS, "cells": cells})


def show(cell: dict[str, Any]) -> None:
    """Print one line of the table."""
    say(
        f"{cell['store']:<11} {cell['mode']:<8} {cell['rows_a_second']:>7.0f} {cell['rows_a_second_each']:>5.0f}"
        f" {cell['locked']:>7} {cell['commit_p50_ms']:>11.1f} {cell['commit_p99_ms']:>7.1f}"
        f" {cell['read_p50_ms']:>9.1f} {cell['read_p99_ms']:>7.1f}  {'passes' if cell['passes'] else 'FAILS'}"
    )
    for said, count in cell["errors"].items():
        say(f"  {count} x {said}")


if __name__ == "__main__":
    main()
