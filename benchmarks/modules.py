"""DP-SGD on PyTorch modules and on images, against Opacus' own loop: time of a step, and memory, as ratios.

    python benchmarks/modules.py [modules|images] [--quick] [--json FILE] [--device cpu|cuda]

Modules are those below, by reference: "benchmarks.modules:block". Opacus' loop is contenders.py's: GradSampleModule and
DPOptimizer on Poisson samples in memory; what oneDNN keeps of compiled primitives is bounded alike for all. Ours is an
epoch of steady state within `fit`, secret samples and noise included. On images of 28 x 28 the network is `cnn_small`
(26,010 parameters), the batch 256; N is the plain PyTorch loop without privacy, `none` the same by this project's loop.
Each is measured in processes of its own, in turns (alone.py); memory is what training took above the data.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import torch
from opacus.layers import DPMultiheadAttention
from torch import nn

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.alone import IMAGES, Contender, run_alone
from benchmarks.measuring import DEVICES, build_parser, ratio, read_machine, say, start, write_result

ROWS, QUICK_ROWS = 8_192, 2_048
MODULES, BATCHES = ("normed", "block", "cnn"), (64, 256, 1024)
Size = tuple[int, ...]
_WIDTH, _HEADS, _CHANNELS = 32, 4, 16


class Block(nn.Module):
    """A transformer block over a row's columns, each a token of 32 numbers."""

    def __init__(self, columns: int, outputs: int) -> None:
        super().__init__()
        self.embed = nn.Linear(columns, 8 * _WIDTH)
        self.attend = DPMultiheadAttention(_WIDTH, _HEADS, batch_first=True)
        self.before, self.after = nn.LayerNorm(_WIDTH), nn.LayerNorm(_WIDTH)
        self.dense = nn.Sequential(nn.Linear(_WIDTH, 4 * _WIDTH), nn.GELU(), nn.Linear(4 * _WIDTH, _WIDTH))
        self.head = nn.Linear(_WIDTH, outputs)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        tokens = self.embed(rows).unflatten(1, (8, _WIDTH))
        normed = self.before(tokens)
        tokens = tokens + self.attend(normed, normed, normed, need_weights=False)[0]
        tokens = tokens + self.dense(self.after(tokens))
        return self.head(tokens.mean(dim=1))


def block(size: Size, outputs: int) -> nn.Module:
    """Return a transformer block over eight tokens that are made of a row."""
    return Block(math.prod(size), outputs)


def normed(size: Size, outputs: int) -> nn.Module:
    """Return two hidden layers with layer norm."""
    hidden = [part for width in (math.prod(size), 64) for part in (nn.Linear(width, 64), nn.LayerNorm(64), nn.ReLU())]
    return nn.Sequential(*hidden, nn.Linear(64, outputs))


def cnn(size: Size, outputs: int) -> nn.Module:
    """Return the network that MNIST's differentially private training is measured with: 26,010 parameters."""
    return nn.Sequential(
        *(nn.Conv2d(size[0], _CHANNELS, 8, stride=2, padding=3), nn.ReLU(), nn.MaxPool2d(2, stride=1)),
        *(nn.Conv2d(_CHANNELS, 2 * _CHANNELS, 4, stride=2), nn.ReLU(), nn.MaxPool2d(2, stride=1), nn.Flatten()),
        *(nn.Linear(32 * _CHANNELS, 32), nn.ReLU(), nn.Linear(32, outputs)),
    )


def list_contenders(module: str, batch: int, *, rows: int, device: str = "cpu") -> dict[str, Contender]:
    """Return who trains a module, by name."""
    reference = f"benchmarks.modules:{module}"
    known: dict[str, Any] = {"shape": IMAGES if module == "cnn" else "bank", "module": reference}
    known |= {"batch": batch, "rows": rows, "device": device}
    settings = {"network": reference, "hidden_layers": 0, "width": 64}
    return {"ours": Contender("dp_sgd", settings=settings, **known), "opacus": Contender("opacus", **known)}


def list_on_images(*, rows: int, device: str = "cpu") -> dict[str, Contender]:
    """Return who trains on images, by name."""
    settings = {name: {"network": "cnn_small"} for name in ("none", "dp_sgd")}
    known: dict[str, Any] = {"shape": IMAGES, "rows": rows, "device": device, "warm": (16, 4, 0)}
    names = ("n", "opacus", *settings)
    return {name: Contender(name, settings=settings.get(name, {}), **known) for name in names}


def take_turns(contenders: Mapping[str, Contender], rounds: int) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Return each one's seconds of a step in each round, and its MiB."""
    taken = [{name: run_alone(contender) for name, contender in contenders.items()} for _ in range(rounds)]
    seconds = {name: [each[name]["seconds"] for each in taken] for name in contenders}
    return seconds, {name: median(each[name]["mib"] for each in taken) for name in contenders}


def collect_modules(*, rows: int, rounds: int, device: str = "cpu") -> Iterator[dict[str, Any]]:
    """Yield a cell for each module and batch: medians over rounds."""
    for module, batch in ((module, batch) for module in MODULES for batch in BATCHES):
        seconds, mib = take_turns(list_contenders(module, batch, rows=rows, device=device), rounds)
        yield {
            "module": module,
            "batch": batch,
            "step_seconds": round(median(seconds["ours"]), 6),
            "time": ratio(seconds, "ours", "opacus"),
            "mib": mib["ours"],
            "mib_opacus": mib["opacus"],
            "memory": round(mib["ours"] / mib["opacus"], 3),
        }


def collect_images(*, rows: int, rounds: int, device: str = "cpu") -> Iterator[dict[str, Any]]:
    """Yield a cell for each of ours on images: medians over rounds."""
    seconds, mib = take_turns(list_on_images(rows=rows, device=device), rounds)
    for name in ("none", "dp_sgd"):
        yield {
            "batch": Contender.batch,
            "method": name,
            "step_seconds": round(median(seconds[name]), 6),
            "ratio_to_n": ratio(seconds, name, "n"),
            "opacus_to_ours": ratio(seconds, "opacus", name),
            "opacus_to_n": ratio(seconds, "opacus", "n"),
            **{"mib": mib[name], "mib_opacus": mib["opacus"], "mib_n": mib["n"]},
            "share_of_opacus": round(mib[name] / mib["opacus"], 3),
        }


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("what", choices=("modules", IMAGES), nargs="?", default="modules")
    parser.add_argument("--device", choices=DEVICES, default="cpu")
    options = start(parser)
    say("; ".join(f"{name} {value}" for name, value in read_machine(options.device).items()))
    collect = collect_images if options.what == IMAGES else collect_modules
    rows, rounds = (QUICK_ROWS, 2) if options.quick else (ROWS, 5)
    cells = []
    for cell in collect(rows=rows, rounds=rounds, device=options.device):
        say("; ".join(f"{name} {value}" for name, value in cell.items()))
        cells.append(cell)
    write_result(options, {"cells": cells})


if __name__ == "__main__":
    main()
