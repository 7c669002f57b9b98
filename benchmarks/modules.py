"""DP-SGD of PyTorch modules against Opacus' own loop on the same module: time of a step, and memory, as ratios.

    python benchmarks/modules.py [--quick] [--json FILE] [--device cpu|cuda]

Modules are those of networks.py. Opacus' loop is contenders.py's: GradSampleModule and DPOptimizer on Poisson samples
in memory; what oneDNN keeps of compiled primitives is bounded alike for both. Ours is an epoch of steady state within
`fit`, secret samples and noise included. Each is measured in processes of its own, in turns; memory is what training
took above the data.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.contenders import Case, Rival, Unseen, Work, build_data, build_images, build_training, time_epoch
from benchmarks.measuring import DEVICES, ROOT, build_parser, ratio, read_machine, say, start, write_result
from benchmarks.memory import measure_peak

ROWS, QUICK_ROWS, EPOCHS = 8_192, 2_048, 5
MODULES, BATCHES = ("normed", "block", "cnn"), (64, 256, 1024)
NAMES = ("ours", "opacus")


def build_work(module: str, batch: int, rows: int, device: str) -> Work:
    """Return random rows that suit a module."""
    data = build_images(rows) if module == "cnn" else build_data("bank", rows=rows)
    return Work(data, 0, batch, device=device, module=f"benchmarks.networks:{module}")


def train(name: str, work: Work) -> None:
    """Train for an epoch or two."""
    if name == "opacus":
        Rival(work, private=True).train()
        return
    method = _case(work).build(work, epochs=2)
    method.fit(work.data, build_training(Unseen(method.steps(work.data.n))))


def time_steps(name: str, work: Work) -> float:
    """Return the seconds of a step, over epochs of steady state."""
    if name == "opacus":
        rival = Rival(work, private=True)
        rival.train(5)  # first calls set things up
        seconds = rival.time_epoch(EPOCHS - 2)
    else:
        seconds = time_epoch(_case(work), work, epochs=EPOCHS)
    return seconds / math.ceil(work.data.n / work.batch)


def _case(work: Work) -> Case:
    return Case("dp_sgd", settings={"network": work.module, "hidden_layers": 0, "width": 64})


def measure_alone(name: str, module: str, *, batch: int, rows: int, device: str = "cpu") -> dict[str, float]:
    """Return {"mib", "seconds"} of one contender, measured in this process."""
    torch.set_num_threads(1)
    train(name, build_work(module, 64, 256, device))  # so that libraries have loaded what they load late
    work = build_work(module, batch, rows, device)
    mib = measure_peak(partial(train, name, work)) if device == "cpu" else math.nan
    return {"mib": mib, "seconds": time_steps(name, work)}


def run_alone(name: str, module: str, *, batch: int, rows: int, device: str) -> dict[str, float]:
    """Return what `measure_alone` finds in a process of its own."""
    asked = ["--alone", name, "--module", module, "--batch", str(batch), "--rows", str(rows), "--device", device]
    command = [sys.executable, "-m", "benchmarks.modules", *asked]
    bounded = {**os.environ, "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "32"}  # as ours sets it for itself
    found = subprocess.run(command, cwd=ROOT, env=bounded, check=True, capture_output=True, text=True)
    measured: dict[str, float] = json.loads(found.stdout)
    return measured


def collect(*, rows: int, rounds: int, device: str = "cpu") -> list[dict[str, Any]]:
    """Return a cell for each module and batch: medians over rounds, in which both take turns."""
    cells = []
    for module, batch in ((module, batch) for module in MODULES for batch in BATCHES):
        run = partial(run_alone, module=module, batch=batch, rows=rows, device=device)
        taken = [{name: run(name) for name in NAMES} for _ in range(rounds)]
        seconds = {name: [each[name]["seconds"] for each in taken] for name in NAMES}
        mib = {name: median(each[name]["mib"] for each in taken) for name in NAMES}
        timed = {"step_seconds": round(median(seconds["ours"]), 6), "time": ratio(seconds, "ours", "opacus")}
        held = {"mib": mib["ours"], "mib_opacus": mib["opacus"], "memory": round(mib["ours"] / mib["opacus"], 3)}
        cells.append({"module": module, "batch": batch, **timed, **held})
        say(
            f"{module:<7} batch {batch:<5} time over Opacus' {timed['time']:.2f}   "
            f"{mib['ours']:.1f} MiB, Opacus {mib['opacus']:.1f}"
        )
    return cells


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("--device", choices=DEVICES, default="cpu")
    parser.add_argument("--alone", choices=NAMES, help="measure one contender in this process and print it as JSON")
    parser.add_argument("--module", choices=MODULES, default=MODULES[0], help="with --alone")
    parser.add_argument("--batch", type=int, default=BATCHES[0], help="with --alone")
    parser.add_argument("--rows", type=int, help="rows of the data")
    options = start(parser)
    rows = options.rows or (QUICK_ROWS if options.quick else ROWS)
    if options.alone is not None:
        how = {"batch": options.batch, "rows": rows, "device": options.device}
        print(json.dumps(measure_alone(options.alone, options.module, **how)))
        return
    say("; ".join(f"{name} {value}" for name, value in read_machine(options.device).items()))
    cells = collect(rows=rows, rounds=2 if options.quick else 5, device=options.device)
    write_result(options, {"cells": cells})


if __name__ == "__main__":
    main()
