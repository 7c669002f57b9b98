"""DP-SGD on the MNIST network as ratios: what an epoch costs against N and against Opacus, and the memory it takes.

    python benchmarks/images.py [--quick] [--json FILE] [--device cpu|cuda]

The network is `cnn_small` on images of 28 x 28 (26,010 parameters), the batch 256. N is the plain PyTorch loop without
privacy, Opacus its DP-SGD by per-sample gradients from hooks, on the same batches (contenders.py). Ours is an epoch of
steady state within `fit`, secret samples and noise included: `dp_sgd`, and `none`, which is N by this project's loop.

Each is measured in processes of its own, in turns: what one of them makes of the allocator would be the others' gain.
Memory is what training took above the data.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.contenders import Case, Rival, Unseen, Work, build_images, build_training, time_epoch
from benchmarks.measuring import DEVICES, ROOT, build_parser, ratio, read_machine, say, start, write_result
from benchmarks.memory import measure_peak

BATCH, ROWS, QUICK_ROWS, EPOCHS = 256, 8_192, 2_048, 5
CASES = {name: Case(name, settings={"network": "cnn_small"}) for name in ("none", "dp_sgd")}
RIVALS = {"n": False, "opacus": True}  # whether private
NAMES = (*RIVALS, *CASES)


def train(name: str, work: Work) -> None:
    """Train for an epoch or two."""
    if name in RIVALS:
        Rival(work, private=RIVALS[name]).train()
        return
    method = CASES[name].build(work, epochs=2)
    method.fit(work.data, build_training(Unseen(method.steps(work.data.n))))


def time_steps(name: str, work: Work) -> float:
    """Return the seconds of a step, over epochs of steady state."""
    if name in RIVALS:
        rival = Rival(work, private=RIVALS[name])
        rival.train(5)  # first calls set things up
        seconds = rival.time_epoch(EPOCHS - 2)
    else:
        seconds = time_epoch(CASES[name], work, epochs=EPOCHS)
    return seconds / math.ceil(work.data.n / work.batch)


def measure_alone(name: str, rows: int, device: str) -> dict[str, float]:
    """Return {"mib", "seconds"} of one contender, measured in this process."""
    torch.set_num_threads(1)
    train(name, Work(build_images(16), 0, 4, device=device))  # so that libraries have loaded what they load late
    work = Work(build_images(rows), 0, BATCH, device=device)
    mib = measure_peak(partial(train, name, work)) if device == "cpu" else math.nan
    return {"mib": mib, "seconds": time_steps(name, work)}


def run_alone(name: str, rows: int, device: str) -> dict[str, float]:
    """Return what `measure_alone` finds in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.images", "--alone", name, "--rows", str(rows), "--device", device]
    found = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    measured: dict[str, float] = json.loads(found.stdout)
    return measured


def collect(*, rows: int, rounds: int, device: str = "cpu") -> list[dict[str, Any]]:
    """Return a cell for each of ours: medians over rounds, in which all contenders take turns."""
    taken = [{name: run_alone(name, rows, device) for name in NAMES} for _ in range(rounds)]
    seconds = {name: [each[name]["seconds"] for each in taken] for name in NAMES}
    mib = {name: median(each[name]["mib"] for each in taken) for name in NAMES}
    return [
        {
            "batch": BATCH,
            "method": name,
            "step_seconds": round(median(seconds[name]), 6),
            "ratio_to_n": ratio(seconds, name, "n"),
            "opacus_to_ours": ratio(seconds, "opacus", name),
            "opacus_to_n": ratio(seconds, "opacus", "n"),
            **{"mib": mib[name], "mib_opacus": mib["opacus"], "mib_n": mib["n"]},
            "share_of_opacus": round(mib[name] / mib["opacus"], 3),
        }
        for name in CASES
    ]


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("--device", choices=DEVICES, default="cpu")
    parser.add_argument("--alone", choices=NAMES, help="measure one contender in this process and print it as JSON")
    parser.add_argument("--rows", type=int, help="rows of the data")
    options = start(parser)
    rows = options.rows or (QUICK_ROWS if options.quick else ROWS)
    if options.alone is not None:
        print(json.dumps(measure_alone(options.alone, rows, options.device)))
        return
    say("; ".join(f"{name} {value}" for name, value in read_machine(options.device).items()))
    cells = collect(rows=rows, rounds=2 if options.quick else 5, device=options.device)
    for cell in cells:
        say(
            f"{cell['method']:<7} / N {cell['ratio_to_n']:.2f}   Opacus / ours {cell['opacus_to_ours']:.2f}   "
            f"{cell['mib']:.1f} MiB, Opacus {cell['mib_opacus']:.1f}, N {cell['mib_n']:.1f}"
        )
    write_result(options, {"cells": cells})


if __name__ == "__main__":
    main()
