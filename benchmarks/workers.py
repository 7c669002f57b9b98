"""Two workers against one: the same chunks of networks by one process and by two, timed on the wall's clock.

A worker has imported everything and built its data before the clock starts. On a machine with one free core, or a busy
one, the figure says nothing about the software.
"""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from subprocess import PIPE, Popen
from typing import IO, Any

import torch

from benchmarks.contenders import Case, build_training
from benchmarks.measuring import ROOT
from benchmarks.shapes import Work, build_data
from fairpriv_core.engine.training import Unwatched

CASE, CHUNK, CHUNKS = Case("pf_ld", "proved"), 32, 2


def measure_workers(*, rows: int | None, epochs: int, models: int = CHUNK, rounds: int = 3) -> dict[str, Any]:
    """Return the wall seconds of one worker and of two, the best of `rounds` of each, and the ratio."""
    taken: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(rounds):
        for workers, found in taken.items():
            task = [str(rows or 0), str(epochs), str(models)]
            found.append(time_workers(workers, task, chunks=CHUNKS // workers))
    one, two = min(taken[1]), min(taken[2])
    return {
        "method": CASE.method,
        "variant": CASE.variant,
        "models": CHUNKS * models,
        "epochs": epochs,
        "one_seconds": round(one, 2),
        "two_seconds": round(two, 2),
        "speed_up": round(one / two, 3),
    }


def work(rows: str, epochs: str, models: str) -> None:
    """Train a chunk for each line of standard input."""
    torch.set_num_threads(1)
    task = Work(build_data("bank", rows=int(rows) or None), 2, 256)
    methods = [CASE.build(task, epochs=int(epochs))] * int(models)
    print("ready", flush=True)
    for _line in sys.stdin:
        trainings = [build_training(Unwatched(), seed=seed) for seed in range(len(methods))]
        type(methods[0]).fit_many(methods, [task.data] * len(methods), trainings)


def time_workers(count: int, task: list[str], *, chunks: int) -> float:
    """Return the wall seconds that `count` processes take for so many chunks each, counted from when all are ready.

    `task` is what `work` takes. RuntimeError if a worker fails.
    """
    command = [sys.executable, "-m", "benchmarks.workers", *task]
    with ExitStack() as held:
        workers = [
            held.enter_context(Popen(command, cwd=ROOT, stdin=PIPE, stdout=PIPE, text=True)) for _ in range(count)
        ]
        ready = [_stream(worker.stdout).readline() for worker in workers]
        began = time.perf_counter()
        for worker in workers if all(ready) else []:
            _stream(worker.stdin).write("chunk\n" * chunks)
        for worker in workers:
            _stream(worker.stdin).close()
        codes = [worker.wait() for worker in workers]
        taken = time.perf_counter() - began
    if any(codes):
        raise RuntimeError(f"a worker failed: exit codes {codes}")
    return taken


def _stream(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe


if __name__ == "__main__":
    work(*sys.argv[1:])
