"""What an epoch costs against N, the plain PyTorch loop without privacy or fairness, on the shape of the Bank data.

    python benchmarks/epoch.py [--quick] [--json FILE]

N: tensors in memory, index_select mini-batches, nn.Sequential, autograd, optim.SGD, float32, one thread. Each round
runs N and then every method (A B A B ...); a cell is a ratio of medians of process CPU time over epochs. Ours is what
`fit` does in an epoch of steady state: steps, the release of violations and the snapshot that a run shows. Its first
epoch (multipliers still 0) and its last (nothing released at its end) are left out. Ratios are the result; absolute
times depend on the machine and on what else it does.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import nn

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.training import Snapshot, Training
from fairpriv_core.methods.base import Method
from fairpriv_core.methods.catalog import methods
from fairpriv_core.notions.catalog import notions
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness

ROWS, FEATURES, BATCH, WIDTH = 45_211, 48, 256, 64
EPOCHS = 5


@dataclass(frozen=True)
class Case:
    """A method and what it is set to; a secret sample is as large as the batch, as shipped."""

    method: str
    variant: str
    settings: Mapping[str, Any]

    def build(self, layers: int) -> Method:
        """Return the method at the benchmark's batch, width, depth and optimiser."""
        shared = {"epochs": EPOCHS, "batch_size": BATCH, "optimizer": "sgd", "hidden_layers": layers, "width": WIDTH}
        given = {"variant": self.variant} if self.variant else {}
        return methods()[self.method](**shared, **given, **self.settings, learning_rate=0.05)


def list_cases() -> list[Case]:
    """Return what is measured; the first one is the gate's."""
    noise = {"noise_primal": 2.0, "noise_dual": 5.0, "noise_counts": 5.0}
    return [
        Case("pf_ld", "proved", noise),
        Case("pf_ld", "published", noise),
        Case("dp_sgd", "", {"noise_primal": 2.0}),
        Case("none", "", {}),
    ]


@dataclass
class Stopwatch:
    """An observer that keeps nothing but the CPU time at the end of each epoch."""

    ends: list[float] = field(default_factory=list)

    def due(self) -> bool:
        return False

    def show(self, snapshot: Snapshot) -> None:
        self.ends.append(time.process_time())

    def commit(self, **progress: object) -> None:
        raise AssertionError("nothing is ever due")


def build_data(rows: int) -> Dataset:
    """Return random rows of Bank's shape: 12 % positive, 4 % in the smaller group."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(rows, FEATURES)).astype(np.float32)
    y = (X[:, 0] + generator.normal(size=rows) > 1.65).astype(np.int64)
    group = (generator.random(rows) < 0.04).astype(np.int64)
    names = tuple(f"x{i}" for i in range(FEATURES))
    return Dataset(X, y, group, names, ("no", "yes"), ("most", "few"), name="bank shape", sensitive="group", digest="")


def time_n(data: Dataset, layers: int) -> list[float]:
    """Return the CPU seconds of each epoch of N."""
    X, y = torch.from_numpy(data.X), torch.from_numpy(data.y).float()
    widths = [FEATURES] + [WIDTH] * layers
    hidden = [part for pair in pairwise(widths) for part in (nn.Linear(*pair), nn.ReLU())]
    model = nn.Sequential(*hidden, nn.Linear(widths[-1], 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    loss = nn.BCEWithLogitsLoss()
    ends = [time.process_time()]
    for _ in range(EPOCHS):
        for rows in torch.randperm(data.n).split(BATCH):
            optimizer.zero_grad()
            loss(model(X.index_select(0, rows)).squeeze(1), y.index_select(0, rows)).backward()
            optimizer.step()
        ends.append(time.process_time())
    return np.diff(ends).tolist()


def time_method(method: Method, data: Dataset) -> list[float]:
    """Return the CPU seconds of each steady epoch of `method.fit`."""
    watch = Stopwatch()
    notion = notions()["demographic_parity"]
    method.fit(data, Training(notion=notion, seed=0, mechanism=Mechanism(Randomness.fresh()), observer=watch))
    return np.diff(watch.ends).tolist()[:-1]


def measure(*, layers: int, rows: int, rounds: int) -> list[dict[str, Any]]:
    """Return one cell for each case: its ratio to N at this depth."""
    data, cases = build_data(rows), list_cases()
    n_seconds: list[float] = []
    seconds: list[list[float]] = [[] for _ in cases]
    for _ in range(rounds):
        n_seconds += time_n(data, layers)
        for taken, case in zip(seconds, cases, strict=True):
            taken += time_method(case.build(layers), data)
    reference = median(n_seconds)
    return [
        {
            "layers": layers,
            "batch": BATCH,
            "method": case.method,
            "variant": case.variant,
            "seconds": round(median(taken), 4),
            "ratio_to_n": round(median(taken) / reference, 3),
        }
        for taken, case in zip(seconds, cases, strict=True)
    ]


def describe_machine() -> dict[str, str]:
    """Return what the numbers were measured on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
    return {"cpu": model, "python": platform.python_version(), "torch": torch.__version__, "system": platform.system()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rows and rounds: a look, not a result")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the cells here")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows, rounds = (ROWS // 4, 1) if options.quick else (ROWS, 5)
    machine = describe_machine()
    print(", ".join(machine.values()), f"{rows} x {FEATURES}, batch {BATCH}, width {WIDTH}", sep="; ")
    print("layers  method   variant    CPU s/epoch  ratio to N")
    cells = []
    for layers in (2, 10):
        for cell in measure(layers=layers, rows=rows, rounds=rounds):
            print(f"{layers:>6}  {cell['method']:<8} {cell['variant']:<9}", end="")
            print(f"  {cell['seconds']:>11.3f}  {cell['ratio_to_n']:>10.2f}", flush=True)
            cells.append(cell)
    if options.json:
        options.json.write_text(json.dumps({"machine": machine, "rows": rows, "cells": cells}, indent=1) + "\n")


if __name__ == "__main__":
    main()
