"""The memory that `fairpriv train` takes on a large CSV or Parquet file of 15 columns, from reading to the record.

The tensors are the encoded rows (float32), labels and groups (64 bits each). Counted is the peak resident set of the
command's process above that of the same command on 10,000 rows, which is the interpreter with its libraries; and, of
it, the peak of what is not a file's (the kernel drops pages of files when others need the memory). Linux only.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

FORMATS = ("csv", "parquet")
METHOD = ("--method", "pf_ld", "--epsilon", "1", "--delta", "1e-8", "--set", "epochs=2", "--set", "batch_size=1024")
_CATEGORIES = (3, 5, 8, 12, 2, 6, 4)
_NUMBERS = 6
_BLOCK = 1 << 18
_BASE_ROWS = 10_000
_MIB = 1 << 20
_PEAKS = re.compile(r"(VmHWM|RssAnon):\s+(\d+) kB")


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
    for start in range(0, rows, _BLOCK):
        size = min(_BLOCK, rows - start)
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
