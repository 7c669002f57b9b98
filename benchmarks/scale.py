"""Time and memory against the number of rows: is an epoch over 10 million rows 100 times one over 100,000?

    python benchmarks/scale.py [--quick] [--json FILE] [--device cpu|cuda]

Logistic regression on random rows of 18 encoded columns, batch 1024: `none`, `pf_ld` in both variants and `dp_sgd`, an
epoch of steady state within `fit`, from 10,000 to 10 million rows (a quick look ends at 1 million). All sizes take
turns within a round; `ratio_to_100k` is the median over rounds of the time for each row over that at 100,000 rows of
the same round. As in a run, rows from 256 MiB on lie in a mapped file.

Memory is what a fit takes above the data, in a process of its own, and, for a CSV and a Parquet file of 15 columns,
what `fairpriv train` takes from reading to the record, above the interpreter with its libraries (files.py).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.contenders import Case, time_epoch
from benchmarks.files import FORMATS, measure_file
from benchmarks.measuring import DEVICES, alternate, build_parser, describe_machine, ratio, say, start, write_result
from benchmarks.memory import BATCH, measure_memory
from benchmarks.shapes import Work, build_data

CASES = (Case("none"), Case("pf_ld", "published"), Case("pf_ld", "proved"), Case("dp_sgd"))
REFERENCE = 100_000
SIZES = (10_000, REFERENCE, 1_000_000, 10_000_000)
_TIMED_ROWS = 2_000_000  # a measurement goes through at least so many rows, in between its first and last epoch
_MOST_EPOCHS = 50


def measure(sizes: tuple[int, ...], *, rounds: int, device: str = "cpu") -> list[dict[str, Any]]:
    """Return one cell for each case and size: seconds of an epoch, nanoseconds for each row, ratio to 100,000 rows."""
    works = build_works(sizes, device)
    cells = []
    for case in CASES:
        timed: dict[str, Callable[[], float]] = {str(n): partial(_time_row, case, works[n]) for n in sizes}
        taken = alternate(timed, rounds)
        for n in sizes:
            cells.append(_describe(case, n, taken))
            show(cells[-1])
    return cells


def build_works(sizes: tuple[int, ...], device: str) -> dict[int, Work]:
    """Return the first n of the same rows for each size n, each lying where a run of that size has it."""
    whole = build_data("large", rows=max(sizes))
    return {n: Work(whole.take(np.arange(n)), 0, BATCH, device=device) for n in sizes}


def _time_row(case: Case, work: Work) -> float:
    epochs = 2 + max(1, min(_MOST_EPOCHS, _TIMED_ROWS // work.data.n))
    return time_epoch(case, work, epochs=epochs) / work.data.n


def _describe(case: Case, n: int, taken: dict[str, list[float]]) -> dict[str, Any]:
    each = median(taken[str(n)])
    return {
        "method": case.method,
        "variant": case.variant,
        "rows": n,
        "batch": BATCH,
        "seconds": round(each * n, 5),
        "ns_a_row": round(1e9 * each, 1),
        "ratio_to_100k": ratio(taken, str(n), str(REFERENCE)),
    }


def show(cell: dict[str, Any]) -> None:
    """Print one line of the table."""
    name = f"{cell['method']:<7} {cell['variant']:<9} {cell['rows']:>10,}"
    say(f"{name} {cell['seconds']:>10.4f} {cell['ns_a_row']:>8.1f} {cell['ratio_to_100k']:>14.2f}")


def collect_memory(rows: int) -> list[dict[str, Any]]:
    """Return what a fit of each case takes above the data, printed as it is known."""
    cells = []
    for case in CASES:
        cells.append({"rows": rows, **measure_memory(case, rows=rows, shape="large", layers=0)})
        say(f"{case.method} {case.variant}, {rows:,} rows: {cells[-1]['mib']:.0f} MiB above the data")
    return cells


def collect_files(rows: int) -> list[dict[str, Any]]:
    """Return what `fairpriv train` takes on a file of each format, printed as it is known."""
    cells = []
    for kind in FORMATS:
        cells.append(measure_file(kind, rows=rows))
        say("; ".join(f"{name} {value}" for name, value in cells[-1].items()))
    return cells


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("--device", choices=DEVICES, default="cpu")
    options = start(parser)
    say("; ".join(f"{name} {value}" for name, value in describe_machine(options.device).items()))
    say("method  variant         rows    s/epoch   ns/row  / 100,000 rows")
    sizes = SIZES[:-1] if options.quick else SIZES
    cells = measure(sizes, rounds=2 if options.quick else 5, device=options.device)
    memory, files = [], []
    if options.device == "cpu":
        memory, files = collect_memory(max(sizes)), collect_files(max(sizes))
    write_result(options, {"cells": cells, "memory": memory, "files": files})


if __name__ == "__main__":
    main()
