"""Time and memory against the number of rows: is an epoch over 10 million rows 100 times one over 100,000?

    python benchmarks/scale.py [--quick] [--json FILE] [--device cpu|cuda]

Logistic regression on random rows of 18 encoded columns, batch 1024: `none`, `pf_ld` in both variants and `dp_sgd`, an
epoch of steady state within `fit`, from 10,000 to 10 million rows (a quick look ends at 1 million). All sizes take
turns within a round; `ratio_to_100k` is the median over rounds of the time for each row over that at 100,000 rows of
the same round. As in a run, rows from 256 MiB on lie in a mapped file.

Memory is what a fit takes above the data, in a process of its own, and, for a CSV and a Parquet file of 15 columns,
what `fairpriv train` takes from reading to the record, above that of the same command on 10,000 rows, which is the
interpreter with its libraries. The tensors are the encoded rows (float32), labels and groups (64 bits each). Counted is
the peak resident set of the command's process; and, of it, the peak of what is not a file's (the kernel drops pages of
files when others need the memory). Linux only.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.alone import measure_memory
from benchmarks.contenders import Case, Work, build_data, time_epoch
from benchmarks.measuring import DEVICES, alternate, build_parser, ratio, read_machine, say, start, write_result

CASES = (Case("none"), Case("pf_ld", "published"), Case("pf_ld", "proved"), Case("dp_sgd"))
REFERENCE, BATCH = 100_000, 1024
SIZES = (10_000, REFERENCE, 1_000_000, 10_000_000)
_TIMED_ROWS = 2_000_000  # a measurement goes through at least so many rows, in between its first and last epoch
_MOST_EPOCHS = 50
FORMATS = ("csv", "parquet")
METHOD = ("--method", "pf_ld", "--epsilon", "1", "--delta", "1e-8", "--set", "epochs=2", "--set", "batch_size=1024")
_CATEGORIES = (3, 5, 8, 12, 2, 6, 4)
_NUMBERS = 6
_BLOCK = 1 << 18
_BASE_ROWS = 10_000
_MIB = 1 << 20
_PEAKS = re.compile(r"(VmHWM|RssAnon):\s+(\d+) kB")


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


def measure_file(kind: str, *, rows: int) -> dict[str, Any]:
    """Return what training on a file of `rows` rows took, in MiB and in times the tensors."""
    with tempfile.TemporaryDirectory() as folder:
        base = train_file(Path(folder), kind, _BASE_ROWS)
        found = train_file(Path(folder), kind, rows)
    tensors = rows * (4 * found["features"] + 16) / _MIB
    above = {name: found[name] - base[name] for name in ("VmHWM", "RssAnon")}
    return {
        "format": kind,
        "rows": rows,
        "columns": _NUMBERS + len(_CATEGORIES) + 2,
        "features": found["features"],
        "file_mib": round(found["file_mib"]),
        "tensors_mib": round(tensors),
        "peak_mib": round(above["VmHWM"]),
        "anonymous_mib": round(above["RssAnon"]),
        "times_the_tensors": round(above["VmHWM"] / tensors, 3),
        "seconds": round(found["seconds"], 1),
    }


def train_file(folder: Path, kind: str, rows: int) -> dict[str, float]:
    """Return the peaks of training on a file that is made in `folder` (MiB), how many features it has, and the time."""
    path, out = folder / f"{rows}.{kind}", folder / f"{rows}.json"
    _write(path, rows)
    command = [sys.executable, "-m", "fairpriv_core", "train", "--csv", str(path), "--label", "income", "--positive"]
    asked = ["high", "--sensitive", "sex", "--notion", "demographic_parity", *METHOD, "--out", str(out), "--json"]
    given = {**os.environ, "FAIRPRIV_STORE": str(folder / f"{rows}.db"), "OMP_NUM_THREADS": "1"}
    began, peaks = time.monotonic(), {"VmHWM": 0.0, "RssAnon": 0.0}
    with subprocess.Popen([*command, *asked], env=given, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            for name, kilobytes in _PEAKS.findall(_read_status(process.pid)):
                peaks[name] = max(peaks[name], int(kilobytes) / 1024)
            time.sleep(0.02)
    taken = time.monotonic() - began
    if process.returncode:
        raise RuntimeError(f"fairpriv train ended with {process.returncode} on {rows:,} rows; it says why above.")
    features = json.loads(out.read_text())["data"]["features"]
    return {**peaks, "features": features, "file_mib": path.stat().st_size / _MIB, "seconds": taken}


def _read_status(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return ""


def _write(path: Path, rows: int) -> None:
    schema = pa.schema([*((name, pa.string()) for name in ("sex", "income")), *_list_features()])
    opened = csv.CSVWriter(path, schema) if path.suffix == ".csv" else parquet.ParquetWriter(path, schema)
    with opened as writer:
        for table in _make_blocks(rows):
            writer.write_table(table.cast(schema))


def _list_features() -> list[tuple[str, pa.DataType]]:
    numbers = [(f"number_{index}", pa.float64()) for index in range(_NUMBERS)]
    return [*numbers, *((f"text_{index}", pa.string()) for index in range(len(_CATEGORIES)))]


def _make_blocks(rows: int) -> Iterator[pa.Table]:
    generator = np.random.default_rng(0)
    for first in range(0, rows, _BLOCK):
        size = min(_BLOCK, rows - first)
        group = generator.random(size) < 0.4
        label = generator.random(size) < np.where(group, 0.25, 0.45)
        columns = {"sex": _name(group, ("male", "female")), "income": _name(label, ("low", "high"))}
        for index in range(_NUMBERS):
            values = generator.standard_normal(size) + 0.5 * label * (index % 2)
            columns[f"number_{index}"] = pa.array(np.round(np.exp(values) if index == 0 else values, 3))
        for index, count in enumerate(_CATEGORIES):
            drawn = (generator.random(size) * (count - 0.5) + 0.5 * label).astype(np.int32)
            columns[f"text_{index}"] = _name(drawn, [f"value {each}" for each in range(count)])
        yield pa.table(columns)


def _name(codes: np.ndarray, names: tuple[str, ...] | list[str]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(names)).cast(pa.string())


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("--device", choices=DEVICES, default="cpu")
    options = start(parser)
    say("; ".join(f"{name} {value}" for name, value in read_machine(options.device).items()))
    say("method  variant         rows    s/epoch   ns/row  / 100,000 rows")
    sizes = SIZES[:-1] if options.quick else SIZES
    cells = measure(sizes, rounds=2 if options.quick else 5, device=options.device)
    memory, files = [], []
    if options.device == "cpu":
        memory, files = collect_memory(max(sizes)), collect_files(max(sizes))
    write_result(options, {"cells": cells, "memory": memory, "files": files})


if __name__ == "__main__":
    main()
