"""PF-LD's Table 1 as ratios: what an epoch costs against N and against Opacus, by depth and batch size.

    python benchmarks/table1.py [--quick] [--json FILE] [--device cpu|cuda]

The paper (Tran, Fioretto and Van Hentenryck, 2021) times an epoch on the Bank data for N (neither private nor fair),
F-LD (fair), P (private) and PF-LD (both). Here N is the plain PyTorch loop and Opacus its DP-SGD (contenders.py); the
paper's P, which clips and noises each record's gradient and pursues nothing, is `dp_sgd`, here and in Opacus; F-LD is
`f_ld`, PF-LD `pf_ld` in both variants, and `none` is N by this project's own loop. Ours is an epoch of steady state
within `fit`, dual update included. `ratio_watched` adds what a run shows on the dashboard after each epoch.

Two more tables: DP-FERMI's logistic regression at batch 1024 on Adult's shape, and the memory that a fit takes above
the data, 10 layers at batch 1024 (alone.py, a process for each).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.alone import measure_memory
from benchmarks.contenders import Case, Rival, Work, build_data, time_epoch
from benchmarks.measuring import DEVICES, alternate, build_parser, ratio, read_machine, say, start, write_result

TABLE = (
    Case("none"),
    Case("f_ld"),
    Case("dp_sgd"),
    Case("pf_ld", "published"),
    Case("pf_ld", "proved"),
)
MEMORY = (Case("n"), Case("opacus"), *TABLE[2:])
FERMI = (Case("none"), Case("dp_fermi", "published"), Case("dp_fermi", "proved"))
WATCHED_FROM = 256  # smaller batches take long, and what is drawn after an epoch is little beside them
STEPS = 400  # of a measurement at least, in whole epochs of all rows: what ends an epoch weighs alike
ROUNDS, FEW_ROUNDS = 4, 2  # the latter of a quick look, and of small batches, which take long
FEW_ROWS = 8_192  # for a quick look at memory, which is counted above the data


def measure(work: Work, cases: tuple[Case, ...], *, rounds: int) -> list[dict[str, Any]]:
    """Return one cell for each case: its ratios to N and to Opacus on this work."""
    plain, opacus = Rival(work, private=False), Rival(work, private=True)
    for rival in (plain, opacus):
        rival.train(5)  # first calls set things up
    steady = math.ceil(STEPS * work.batch / work.data.n)
    timed: dict[str, Callable[[], float]] = {"n": partial(plain.time_epoch, steady), "opacus": opacus.time_epoch}
    for index, case in enumerate(cases):
        timed[f"{index}"] = partial(time_epoch, case, work, epochs=steady + 2)
        if work.batch >= WATCHED_FROM:
            timed[f"{index} watched"] = partial(time_epoch, case, work, epochs=steady + 2, watched=True)
    taken = alternate(timed, rounds)
    return [
        {
            "shape": work.data.name,
            "layers": work.layers,
            "batch": work.batch,
            "method": case.method,
            "variant": case.variant,
            "seconds": round(median(taken[f"{index}"]), 5),
            "ratio_to_n": ratio(taken, f"{index}", "n"),
            "ratio_to_opacus": ratio(taken, f"{index}", "opacus"),
            "ratio_watched": ratio(taken, f"{index} watched", "n") if work.batch >= WATCHED_FROM else None,
            "opacus_to_n": ratio(taken, "opacus", "n"),
        }
        for index, case in enumerate(cases)
    ]


def list_works(*, rows: int | None, quick: bool, device: str) -> list[tuple[Work, tuple[Case, ...]]]:
    """Return what is timed: the cells of Table 1 (batch 256 alone in a quick look), then DP-FERMI's."""
    bank, adult = (build_data(name, rows=rows) for name in ("bank", "adult"))
    batches = (256,) if quick else (16, 64, 256)
    table = [Work(bank, layers, batch, device=device) for layers in (2, 10) for batch in batches]
    return [*((work, TABLE) for work in table), (Work(adult, 0, 1024, device=device), FERMI)]


def show(cell: dict[str, Any]) -> None:
    """Print one line of the table."""
    name = f"{cell['layers']:>6} {cell['batch']:>6}  {cell['method']:<9} {cell['variant']:<9}"
    say(f"{name} {cell['ratio_to_n']:>6.2f} {cell['ratio_to_opacus']:>9.3f} {cell['ratio_watched'] or math.nan:>9.2f}")


def collect(works: list[tuple[Work, tuple[Case, ...]]], *, rounds: int) -> list[dict[str, Any]]:
    """Return the cells of all `works`, printed as they are known; small batches get no more than a few rounds."""
    say("layers  batch  method    variant      / N  / Opacus   watched / N")
    cells = []
    for work, cases in works:
        for cell in measure(work, cases, rounds=rounds if work.batch >= 256 else min(rounds, FEW_ROUNDS)):
            show(cell)
            cells.append(cell)
    return cells


def collect_memory(cases: tuple[Case, ...], *, rows: int | None) -> list[dict[str, Any]]:
    """Return what each of `cases` takes above the data, printed as it is known."""
    memory = []
    for case in cases:
        memory.append(measure_memory(case, rows=rows))
        say(f"10 layers, batch 1024, {case.method} {case.variant}: {memory[-1]['mib']:.1f} MiB above the data")
    return memory


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("--device", choices=DEVICES, default="cpu")
    options = start(parser)
    say("; ".join(f"{name} {value}" for name, value in read_machine(options.device).items()))
    works = list_works(rows=None, quick=options.quick, device=options.device)
    cells = collect(works, rounds=FEW_ROUNDS if options.quick else ROUNDS)
    memory = collect_memory(MEMORY, rows=FEW_ROWS if options.quick else None) if options.device == "cpu" else []
    write_result(options, {"cells": cells, "memory": memory})


if __name__ == "__main__":
    main()
