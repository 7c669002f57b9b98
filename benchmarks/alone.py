"""One contender in a process of its own: the time of a step, and the memory that training takes above the data.

    python -m benchmarks.alone CONTENDER     as JSON; what `run_alone` starts

Imports are in neither, and what one contender makes of the allocator is no other's gain. The peak of memory is the
process' own (VmHWM), reset once the data and the libraries are there (Linux).
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from benchmarks.contenders import Case, Rival, Unseen, Work, build_data, build_images, build_training, time_epoch
from benchmarks.measuring import ROOT

IMAGES = "images"
_TIMED_EPOCHS = 5
_RIVALS = {"n": False, "opacus": True}  # whether private


@dataclass(frozen=True)
class Contender:
    """N, Opacus or a method of ours, what it trains and on what; `epochs` are those whose memory counts.

    `shape` is one of contenders.SHAPES, or images. Before it is measured, it trains on `warm` rows, so that libraries
    have loaded what they load late: little, since memory that this leaves behind counts as held before.
    """

    method: str
    variant: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    shape: str = "bank"
    rows: int | None = None
    layers: int = 0
    batch: int = 256
    module: str = ""
    device: str = "cpu"
    epochs: int = 2
    timed: bool = True
    warm: tuple[int, int, int] = (256, 64, 0)  # the batch, and the layers

    def build_work(self, rows: int | None, batch: int, layers: int) -> Work:
        """Return random rows, and what is trained on them."""
        data = build_images(rows or 0) if self.shape == IMAGES else build_data(self.shape, rows=rows)
        return Work(data, layers, batch, device=self.device, module=self.module)


def run_alone(contender: Contender) -> dict[str, float]:
    """Return {"mib", "seconds"} of a contender, the seconds of a step where it is timed."""
    command = [sys.executable, "-m", "benchmarks.alone", json.dumps(asdict(contender))]
    bounded = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "32"} if contender.module else {}  # as ours sets it for itself
    environment = {**os.environ, **bounded}
    found = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    measured: dict[str, float] = json.loads(found.stdout)
    return measured


def measure_memory(case: Case, *, rows: int | None, shape: str = "bank", layers: int = 10) -> dict[str, Any]:
    """Return the MiB that training by `case` takes above the data at batch 1024."""
    what: dict[str, Any] = {"layers": layers, "batch": 1024, "method": case.method, "variant": case.variant}
    found = run_alone(Contender(**what, shape=shape, rows=rows, epochs=3, timed=False, warm=(2_048, 256, 1)))
    return {**what, "ours": case.method not in _RIVALS, **found}


def measure_alone(contender: Contender) -> dict[str, float]:
    """Return what `run_alone` does, measured in this process."""
    torch.set_num_threads(1)
    train(contender, contender.build_work(*contender.warm))
    work = contender.build_work(contender.rows, contender.batch, contender.layers)
    mib = measure_peak(lambda: train(contender, work)) if contender.device == "cpu" else math.nan
    return {"mib": mib, **({"seconds": time_step(contender, work)} if contender.timed else {})}


def train(contender: Contender, work: Work) -> None:
    """Train for a few epochs; a rival for one."""
    if contender.method in _RIVALS:
        Rival(work, private=_RIVALS[contender.method]).train()
        return
    method = _build_case(contender).build(work, epochs=contender.epochs)
    method.fit(work.data, build_training(Unseen(method.steps(work.data.n))))


def time_step(contender: Contender, work: Work) -> float:
    """Return the seconds of a step, over epochs of steady state."""
    if contender.method in _RIVALS:
        rival = Rival(work, private=_RIVALS[contender.method])
        rival.train(5)  # first calls set things up
        seconds = rival.time_epoch(_TIMED_EPOCHS - 2)
    else:
        seconds = time_epoch(_build_case(contender), work, epochs=_TIMED_EPOCHS)
    return seconds / math.ceil(work.data.n / work.batch)


def _build_case(contender: Contender) -> Case:
    return Case(contender.method, contender.variant, contender.settings)


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
    asked = json.loads(sys.argv[1])
    print(json.dumps(measure_alone(Contender(**{**asked, "warm": tuple(asked["warm"])}))))
