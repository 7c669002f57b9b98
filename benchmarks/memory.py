"""The memory that training takes above the data, imports included in neither: each contender in its own process.

The peak is the process' own (VmHWM), reset once the data and the libraries are there (Linux).
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from benchmarks.contenders import Case, Rival, Unseen, Work, build_data, build_training
from benchmarks.measuring import ROOT

CASES = (
    Case("n"),
    Case("opacus"),
    Case("dp_sgd"),
    Case("pf_ld", "published"),
    Case("pf_ld", "proved"),
)
LAYERS, BATCH, EPOCHS = 10, 1024, 3
_RIVALS = {"n": False, "opacus": True}  # whether private


def measure_memory(case: Case, *, rows: int | None, shape: str = "bank", layers: int = LAYERS) -> dict[str, Any]:
    """Return the MiB that training by `case` took above the data, measured in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.memory", case.method, case.variant, str(rows or 0), shape, str(layers)]
    found = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return {
        "layers": layers,
        "batch": BATCH,
        "method": case.method,
        "variant": case.variant,
        "ours": case.method not in _RIVALS,
        **json.loads(found.stdout),
    }


def train(case: Case, work: Work) -> None:
    """Train `case` on `work` for a few epochs; a rival for one."""
    if case.method in _RIVALS:
        Rival(work, private=_RIVALS[case.method]).train()
        return
    method = case.build(work, epochs=EPOCHS)
    method.fit(work.data, build_training(Unseen(method.steps(work.data.n))))


def main(method: str, variant: str, rows: str, shape: str, layers: str) -> None:
    """Print what training took above what the process held before it."""
    torch.set_num_threads(1)
    case = Case(method, variant)
    train(case, Work(build_data(shape, rows=2_048), 1, 256))  # so that libraries have loaded what they load late
    work = Work(build_data(shape, rows=int(rows) or None), int(layers), BATCH)
    print(json.dumps({"mib": measure_peak(lambda: train(case, work))}))


def measure_peak(call: Callable[[], object]) -> float:
    """Return the MiB that the process held at most during a call, above what it held before."""
    Path("/proc/self/clear_refs").write_text("5")
    before = _read_mib("VmRSS")
    call()
    return round(_read_mib("VmHWM") - before, 2)


def _read_mib(name: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{name}:"))


if __name__ == "__main__":
    main(*sys.argv[1:])
