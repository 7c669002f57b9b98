"""Does a private method learn from a small file that nobody tuned for? python -m benchmarks.small_tables [run [NAME …]]

Files of 1,000 rows by three generators, four draws of each: dense numbers, sparse flags beside two numbers, and skewed
amounts, on whose logarithms the label depends. `run` trains every private method on them as `fairpriv train` does when
nothing but ε = 1 and demographic parity is said, and plain training, and adds to docs/results/small_tables.json what is
not there yet. Else a table is printed, of which docs/methods/defaults.md has a part.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.constant import read_results, write_results
from fairpriv_core.cli.request import read_request
from fairpriv_core.methods.catalog import REFERENCE_METHOD, methods
from fairpriv_core.runs.foreground import train
from fairpriv_core.text import Reporter

PATH = Path(__file__).parent.parent / "docs" / "results" / "small_tables.json"
KINDS, DRAWS, ROWS = ("dense", "sparse", "skewed"), range(4), 1_000
_POINT = 0.01


def write_table(kind: str, seed: int, path: Path) -> None:
    """Write a file; one of two groups, which half of the label follows, has two rows in five."""
    draw = np.random.default_rng(seed)
    group = draw.random(ROWS) < 0.4
    if kind == "dense":
        X = draw.normal(size=(ROWS, 8))
        score = X @ draw.normal(size=8) / 2 + 0.6 * group
    elif kind == "sparse":
        X = np.hstack([draw.normal(size=(ROWS, 2)), draw.random((ROWS, 14)) < 0.15])
        score = 1.6 * X[:, 0] - 1.2 * X[:, 1] + 0.5 * group
    else:
        X = draw.lognormal(size=(ROWS, 5))
        score = 0.5 * np.log(X[:, 0]) + np.log(X[:, 1]) + 0.5 * group
    y = score + 0.5 * draw.logistic(size=ROWS) > np.median(score)
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["sex", *(f"c{column}" for column in range(X.shape[1])), "paid"])
        for who, row, good in zip(group, X, y, strict=True):
            lines.writerow(["m" if who else "f", *(f"{value:.4f}" for value in row), "yes" if good else "no"])


def list_methods() -> list[str]:
    """Return plain training, then the private methods."""
    return [REFERENCE_METHOD, *(name for name, kind in methods().items() if kind.info.threat_model is not None)]


def run_method(name: str, kind: str) -> dict[str, Any]:
    """Return accuracies by draw, None of a run that failed; of the constant answer too."""
    found: dict[str, Any] = {"constant": [], "accuracy": []}
    for seed in DRAWS:
        with TemporaryDirectory() as folder:
            os.environ["FAIRPRIV_STORE"] = f"{folder}/runs.db"
            file = Path(folder) / f"{kind}.csv"
            write_table(kind, seed, file)
            asked = {"file": str(file), "label": "paid", "positive": "yes", "sensitive": "sex", "seed": seed}
            asked |= {"notion": "demographic_parity", "method": name}
            config, said = read_request(asked if name == REFERENCE_METHOD else {**asked, "epsilon": 1.0})
            _, record = train(config, Reporter(say=lambda text: None, show=lambda text: None), said=said)
        metrics = record.metrics
        found["accuracy"].append(None if metrics is None else round(metrics["accuracy"], 4))
        found["constant"].append(None if metrics is None else round(metrics["constant_accuracy"], 4))
    return found


def is_below(line: Mapping[str, Any]) -> bool:
    """Return whether a line is not a point above the constant answer in the mean, or a run of it failed."""
    if None in line["accuracy"]:
        return True
    return bool(np.mean(line["accuracy"]) < np.mean(line["constant"]) + _POINT)


def run_missing(names: Sequence[str]) -> None:
    """Train what the file does not hold, and write it after each."""
    for name in names or list_methods():
        for kind in KINDS:
            results, key = read_results(PATH), f"{name} · {kind}"
            if key in results:
                continue
            results[key] = {"key": key, "method": name, "table": kind, **run_method(name, kind)}
            write_results(results, PATH)
            print(f"{key}: {results[key]['accuracy']}", file=sys.stderr, flush=True)


def main() -> None:
    """Run, or print the table: mean accuracies in per cent."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=("run", "print"), default="print")
    parser.add_argument("methods", nargs="*", help="all if none is given")
    asked = parser.parse_args()
    if asked.what == "run":
        run_missing(asked.methods)
        return
    results = read_results(PATH)
    print(f"| method | {' | '.join(KINDS)} |\n| --- |{' ---: |' * len(KINDS)}")
    constant = [np.mean(results[f"{REFERENCE_METHOD} · {kind}"]["constant"]) for kind in KINDS]
    print(f"| one answer for everybody | {' | '.join(f'{100 * each:.1f}' for each in constant)} |")
    for name in list_methods():
        cells = [100 * np.mean(results[f"{name} · {kind}"]["accuracy"]) for kind in KINDS]
        print(f"| `{name}` | {' | '.join(f'{each:.1f}' for each in cells)} |")


if __name__ == "__main__":
    main()
