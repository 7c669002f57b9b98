"""Sweeps of hundreds of models, trained together, against the same models one by one in Opacus.

    python benchmarks/sweep.py [--quick] [--json FILE] [--device cpu|cuda] [--full]

* frontier: 600 logistic regressions of OneRelease (40 gaps x 15 public seeds, 200 epochs, batch 1024, Adult's shape),
  all on one release that is given, so at no further epsilon; models of one seed share its public batches.
* figure 2: DP-FERMI's Figure 2, 600 logistic regressions (4 noise levels x 10 multipliers x 15 seeds, likewise); models
  of one seed share its secret Poisson samples, so that the joint cost holds for all of them (analyst only).
* mlps: 32 networks of 2 x 64 at batch 256, Bank's shape, each with a seed and batches of its own.
* workers: the same chunks of such networks by two processes against one, timed on the wall's clock. A worker has
  imported everything and built its data before the clock starts. With one free core the figure says nothing.

Opacus trains the same network by DP-SGD on batches in memory: less work than DP-FERMI takes there. Both sides are
timed in turns and scaled: Opacus from one model's epochs, ours from what a fit of a few epochs takes at its start and
end, and in each steady epoch. With --full ours is what the whole sweep took. Making the one release of the frontier and
the models' secret streams is outside the clock.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean, median
from subprocess import PIPE, Popen
from typing import IO, Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import numpy as np
import torch

from benchmarks.contenders import Case, Rival, Unseen, Work, build_data, build_training
from benchmarks.measuring import DEVICES, ROOT, alternate, build_parser, ratio, read_clock, say, start, write_result
from fairpriv_core.engine.training import Training, Unwatched
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness

SEEDS = 15
TOGETHER = 80  # logistic regressions in one loop, as `fairpriv sweep` divides 600: their arrays stay at hand
_EPOCHS, _OPACUS_EPOCHS = 6, 3  # of a scaled measurement
WORKERS_CASE, CHUNK, CHUNKS = Case("pf_ld", "proved"), 32, 2
_WORKER = "worker"
Trainings = Callable[[], list[Training]]  # what K models are given


@dataclass(frozen=True)
class Sweep:
    """K cases on one data set for `epochs` epochs; `trainings` gives every fit fresh noise."""

    name: str
    work: Work
    cases: Sequence[Case]
    trainings: Trainings
    epochs: int

    def fit(self, epochs: int) -> tuple[float, float]:
        """Return the seconds of a fit of so many epochs, and those of a steady one on average, chunk after chunk."""
        starts = range(0, len(self.cases), TOGETHER)
        parts = [self._fit_chunk(slice(start, start + TOGETHER), epochs) for start in starts]
        return sum(taken for taken, _ in parts), sum(epoch for _, epoch in parts)

    def _fit_chunk(self, chunk: slice, epochs: int) -> tuple[float, float]:
        methods = [case.build(self.work, epochs=epochs) for case in self.cases[chunk]]
        watch = Unseen(methods[0].steps(self.work.data.n) // epochs, self.work.device)
        first, *others = self.trainings()[chunk]
        trainings = [replace(first, observer=watch, device=self.work.device), *others]
        began = read_clock(self.work.device)
        type(methods[0]).fit_many(methods, [self.work.data] * len(methods), trainings)
        return read_clock(self.work.device) - began, fmean(watch.steady())

    def time_ours(self, *, full: bool) -> float:
        """Return the seconds of the whole sweep."""
        taken, epoch = self.fit(self.epochs if full else _EPOCHS)
        return taken if full else taken + (self.epochs - _EPOCHS) * epoch

    def time_opacus(self) -> float:
        """Return the seconds of the whole sweep one by one, from three epochs of one model."""
        return len(self.cases) * self.epochs * Rival(self.work, private=True).time_epoch(_OPACUS_EPOCHS)


def build_sweeps(*, rows: int | None, models: int, device: str) -> list[Sweep]:
    """Return the sweeps over `models` logistic regressions, and those over 32 networks."""
    adult, bank = build_data("adult", rows=rows), build_data("bank", rows=rows)
    lr, mlp = Work(adult, 0, 1024, device=device), Work(bank, 2, 256, device=device)
    each = max(models // SEEDS, 1)
    seeds = [k // each for k in range(models)]
    gaps = np.tile(np.linspace(0.005, 0.2, each), SEEDS)[:models]
    frontier = [Case("one_release", "", {"noise_statistic": 20.0, "gap_target": float(gap)}) for gap in gaps]
    sweeps = [Sweep("frontier", lr, frontier, partial(_on_one_release, frontier[0], lr, seeds), 200)]
    for variant in ("published", "proved"):
        cases = [_fermi(variant, k % each) for k in range(models)]
        sweeps.append(Sweep("figure 2", lr, cases, partial(_sharing_samples, seeds), 200))
    for case in (Case("dp_sgd"), Case("pf_ld", "published"), Case("pf_ld", "proved")):
        sweeps.append(Sweep("mlps", mlp, [case] * min(models, 32), partial(_alone, list(range(min(models, 32)))), 20))
    return sweeps


def _fermi(variant: str, cell: int) -> Case:
    noise, multiplier = (1.0, 1.5, 2.5, 5.0)[cell // 10 % 4], 0.25 * (1 + cell % 10)
    return Case("dp_fermi", variant, {"noise_primal": noise, "multiplier": multiplier})


def _on_one_release(case: Case, work: Work, seeds: Sequence[int]) -> list[Training]:
    """Return trainings that are all given one release, made here."""
    made = case.build(work, epochs=1).fit(work.data, build_training(Unwatched()))
    return [build_training(Unwatched(), seed=seed, given=made.notes) for seed in seeds]


def _sharing_samples(seeds: Sequence[int]) -> list[Training]:
    """Return trainings whose models of one seed share secret samples; noise is each one's own."""
    randomness = Randomness.fresh()
    mechanisms = [Mechanism(randomness, model=k, stream=seed) for k, seed in enumerate(seeds)]
    each = zip(seeds, mechanisms, strict=True)
    return [build_training(Unwatched(), seed=seed, mechanism=mechanism) for seed, mechanism in each]


def _alone(seeds: Sequence[int]) -> list[Training]:
    """Return trainings that share nothing."""
    return [build_training(Unwatched(), seed=seed) for seed in seeds]


def measure(sweep: Sweep, *, rounds: int, full: bool) -> dict[str, Any]:
    """Return the sweep's time, Opacus' and how many times faster it is."""
    sweep.fit(3)  # first calls set things up
    timed = {"ours": partial(sweep.time_ours, full=full), "opacus": sweep.time_opacus}
    taken = alternate(timed, 1 if full else rounds)
    case = sweep.cases[0]
    return {
        "sweep": sweep.name,
        "method": case.method,
        "variant": case.variant,
        "models": len(sweep.cases),
        "layers": sweep.work.layers,
        "batch": sweep.work.batch,
        "epochs": sweep.epochs,
        "seconds": round(median(taken["ours"]), 2),
        "opacus_seconds": round(median(taken["opacus"]), 2),
        "speed_up": ratio(taken, "opacus", "ours"),
        "ours_scaled_from": sweep.epochs if full else _EPOCHS,
        "opacus_scaled_from": f"{1 if full else rounds} models x {_OPACUS_EPOCHS} epochs",
    }


def collect(sweeps: Sequence[Sweep], *, rounds: int, full: bool) -> list[dict[str, Any]]:
    """Return a line for each sweep, printed as it is known."""
    lines = []
    for sweep in sweeps:
        lines.append(measure(sweep, rounds=rounds, full=full))
        line = {name: lines[-1][name] for name in ("sweep", "method", "variant", "models", "seconds", "speed_up")}
        say("  ".join(f"{name} {value}" for name, value in line.items()))
    return lines


def measure_workers(*, rows: int | None, epochs: int, models: int = CHUNK, rounds: int = 3) -> dict[str, Any]:
    """Return the wall seconds of one worker and of two, the best of `rounds` of each, and the ratio."""
    taken: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(rounds):
        for workers, found in taken.items():
            task = [str(rows or 0), str(epochs), str(models)]
            found.append(time_workers(workers, task, chunks=CHUNKS // workers))
    one, two = min(taken[1]), min(taken[2])
    return {
        "method": WORKERS_CASE.method,
        "variant": WORKERS_CASE.variant,
        "models": CHUNKS * models,
        "epochs": epochs,
        "one_seconds": round(one, 2),
        "two_seconds": round(two, 2),
        "speed_up": round(one / two, 3),
    }


def train_chunks(rows: str, epochs: str, models: str) -> None:
    """Train a chunk for each line of standard input."""
    torch.set_num_threads(1)
    task = Work(build_data("bank", rows=int(rows) or None), 2, 256)
    methods = [WORKERS_CASE.build(task, epochs=int(epochs))] * int(models)
    print("ready", flush=True)
    for _line in sys.stdin:
        trainings = [build_training(Unwatched(), seed=seed) for seed in range(len(methods))]
        type(methods[0]).fit_many(methods, [task.data] * len(methods), trainings)


def time_workers(count: int, task: list[str], *, chunks: int) -> float:
    """Return the wall seconds that `count` processes take for so many chunks each, counted from when all are ready.

    `task` is what `train_chunks` takes. RuntimeError if a worker fails.
    """
    command = [sys.executable, "-m", "benchmarks.sweep", _WORKER, *task]
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


def main() -> None:
    if sys.argv[1:2] == [_WORKER]:
        return train_chunks(*sys.argv[2:])
    parser = build_parser(__doc__)
    parser.add_argument("--device", choices=DEVICES, default="cpu")
    parser.add_argument("--full", action="store_true", help="train ours to the end instead of scaling it")
    options = start(parser)
    rows, models = (8_192, 60) if options.quick else (None, 600)
    sweeps = build_sweeps(rows=rows, models=models, device=options.device)
    lines = collect(sweeps, rounds=2 if options.quick else 3, full=options.full)
    workers = measure_workers(rows=rows, epochs=3 if options.quick else 10)
    say(f"workers: two are {workers['speed_up']} times as fast as one")
    write_result(options, {"cells": lines, "workers": workers})


if __name__ == "__main__":
    main()
