"""A device against the processor: whether replayed runs have the same bits, how far both are apart, and the speed.

    python benchmarks/gpu.py [--quick] [--json FILE] [--device cpu:0|cuda]

Each case trains under repeatable noise: twice on the device, whose bits must be the same, and once on the processor. A
device adds in another order, so that parameters differ from the processor's in their last bits; more is a fault. Cases
are the project's own networks and PyTorch modules (modules.py). `cpu:0`, the default, is PyTorch's CPU device, on
which the device's code runs where there is no other, as in CI.
"""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.contenders import Case, Unseen, Work, build_data, build_images, build_training
from benchmarks.measuring import build_parser, read_machine, say, start, time_call, write_result
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.training import CPU, Fitted
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness

BATCH, EPOCHS, ROWS, QUICK_ROWS = 256, 2, 8_192, 2_048
_APART = 1e-3  # of the way that training moved: more than rounding, step after step, makes of it
CASES = {
    "mlp": ("table", Case("dp_sgd"), 2),
    "mlp, fair": ("table", Case("pf_ld", "proved"), 2),
    "cnn_small": ("images", Case("dp_sgd", settings={"network": "cnn_small"}), 0),
    **{
        f"module {name}": (kind, Case("dp_sgd", settings={"network": f"benchmarks.modules:{name}"}), 0)
        for name, kind in (("normed", "table"), ("block", "table"), ("cnn", "images"))
    },
}


def train(case: Case, work: Work) -> Fitted:
    """Train under repeatable noise."""
    given = {"hidden_layers": 0, "width": 64} if "network" in case.settings else {}
    method = replace(case, settings={**case.settings, **given}).build(work, epochs=EPOCHS)
    training = build_training(Unseen(method.steps(work.data.n)), mechanism=Mechanism(Randomness.replay(1)))
    return method.fit(work.data, replace(training, device=work.device))


def compare(case: Case, data: Dataset, *, layers: int, device: str) -> dict[str, Any]:
    """Return how training on `device` compares with the processor's."""
    here, there = (Work(data, layers, BATCH, device=name) for name in (CPU, device))
    fitted: list[Fitted] = []
    train(case, there)  # libraries have loaded what they load late
    seconds = [time_call(lambda: fitted.append(train(case, there)), clock_of(device)) for _ in range(2)]
    processor = time_call(lambda: fitted.append(train(case, here)))
    first, again, other = (each.parameters.astype(np.float64) for each in fitted)
    moved = float(np.linalg.norm(other)) or 1.0
    return {
        "same_bits": bool(np.array_equal(first, again)),
        "apart": float(np.linalg.norm(first - other)) / moved,
        "events_alike": fitted[0].events == fitted[2].events,
        "seconds": round(min(seconds), 3),
        "times_faster": round(processor / min(seconds), 2) if min(seconds) else math.nan,
    }


def clock_of(device: str) -> str:
    """Return the device by whose clock another is measured."""
    return "cuda" if device.startswith("cuda") else CPU


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("--device", default="cpu:0", help="a device that PyTorch knows")
    options = start(parser)
    say("; ".join(f"{name} {value}" for name, value in read_machine(clock_of(options.device)).items()))
    rows = QUICK_ROWS if options.quick else ROWS
    tables = {"table": build_data("bank", rows=rows), "images": build_images(rows)}
    cells = []
    for name, (kind, case, layers) in CASES.items():
        found = compare(case, tables[kind], layers=layers, device=options.device)
        cells.append({"case": name, **found})
        say(
            f"{name:<14} same bits: {'yes' if found['same_bits'] else 'NO'}   apart {found['apart']:.1e}   "
            f"{found['times_faster']:.2f} times as fast as the processor"
        )
    write_result(options, {"cells": cells})
    wrong = [cell["case"] for cell in cells if not cell["same_bits"] or cell["apart"] > _APART]
    if wrong:
        raise SystemExit(f"not as on the processor: {', '.join(wrong)}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
