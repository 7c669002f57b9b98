"""How every benchmark measures: one thread, process CPU time, alternation (A B A B …), medians, ratios, JSON.

Absolute times mean nothing on a machine that others use too; a ratio of two things timed in turns does. On a GPU the
clock is the wall's, after everything queued is done.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import torch

ROOT = Path(__file__).parent.parent
DEVICES = ("cpu", "cuda")


def build_parser(doc: str | None) -> argparse.ArgumentParser:
    """Return the options that every benchmark has; a script may add its own."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="less of everything: a look, not a result")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write what was measured here")
    return parser


def start(parser: argparse.ArgumentParser, given: list[str] | None = None) -> argparse.Namespace:
    """Return the parsed options with one torch thread set; exits with a sentence for a device that is not there."""
    options = parser.parse_args(given)
    if getattr(options, "device", "cpu") == "cuda" and not torch.cuda.is_available():
        parser.exit(2, "PyTorch finds no CUDA device here: take --device cpu, or install its CUDA build.\n")
    torch.set_num_threads(1)
    return options


def read_clock(device: str = "cpu") -> float:
    """Return seconds: CPU time of this process, or the wall's once the GPU has done all that it was given."""
    if device == "cpu":
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()


def time_call(call: Callable[[], object], device: str = "cpu") -> float:
    """Return the seconds of one call."""
    began = read_clock(device)
    call()
    return read_clock(device) - began


def alternate(timed: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """Return each name's times, one a round; a round calls all of them in turn."""
    taken: dict[str, list[float]] = {name: [] for name in timed}
    for _ in range(rounds):
        for name, call in timed.items():
            taken[name].append(call())
    return taken


def ratio(taken: Mapping[str, list[float]], over: str, under: str) -> float:
    """Return the median over rounds of one's time over the other's in the same round."""
    return round(median(top / bottom for top, bottom in zip(taken[over], taken[under], strict=True)), 4)


def read_machine(device: str = "cpu") -> dict[str, Any]:
    """Return what the numbers were measured on, and how busy it was."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "opacus": version("opacus"),
        "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
        "clock": "process CPU time" if device == "cpu" else "wall time",
        "load_average": [round(load, 2) for load in os.getloadavg()],
        "measured": time.strftime("%Y-%m-%d"),
    }


def write_result(options: argparse.Namespace, result: Mapping[str, Any]) -> None:
    """Write `result` with the machine, the load at the end and whether it was only a look, if a file was asked for."""
    if options.json is None:
        return
    machine = read_machine(getattr(options, "device", "cpu"))
    text = json.dumps({"quick": options.quick, "machine": machine, **result}, indent=1, ensure_ascii=False)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(text + "\n", encoding="utf-8")


@contextmanager
def unwarned() -> Iterator[None]:
    """Leave out what a library warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def say(text: str) -> None:
    """Print at once, so that a long benchmark shows where it is."""
    print(text, flush=True)
