"""Make the results that the Start page shows: Adult, sex, demographic parity, by encoding, over epsilon and five seeds.

    python examples/make_start_results.py

Each run goes through the project's own command line, in a store of its own, so any of them can be repeated by hand.
The data set, seeds and budgets can be changed: `--dataset synthetic --sensitive group --seeds 2`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

from fairpriv_core.data.catalog import problems
from fairpriv_core.data.encodings import name_encodings
from fairpriv_core.methods.catalog import methods
from fairpriv_core.report.start import PATH

BUDGETS = (0.1, 0.5, 1.0, 3.0, 9.0)
METHODS = ("none", "f_ld", "one_release", "pf_ld", "dp_sgd")


def main() -> None:
    """Run every setting and write the file."""
    wanted = read_arguments()
    runs: list[dict[str, Any]] = []
    configs: list[dict[str, Any]] = []
    asked = [(method, epsilon) for method in METHODS for epsilon in budgets_of(method)]
    encodings = name_encodings(problems()[wanted.dataset])
    for encoding, (method, epsilon), seed in product(encodings, asked, range(wanted.seeds)):
        keep(train(wanted, encoding, method, epsilon, seed), runs, configs)
        print(encoding, method, epsilon, seed, runs[-1]["metrics"], file=sys.stderr)
    stored = {
        "command": "python examples/make_start_results.py",
        "made": datetime.now(UTC).date().isoformat(),
        "configs": configs,
        "runs": runs,
    }
    wanted.out.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_arguments() -> argparse.Namespace:
    """Return what was typed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", default="adult")
    parser.add_argument("--sensitive", default="sex")
    parser.add_argument("--notion", default="demographic_parity")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=PATH)
    return parser.parse_args()


def budgets_of(method: str) -> tuple[float | None, ...]:
    """Return the budgets at which a method runs; one run without a budget where it is not private."""
    return (None,) if methods()[method].info.threat_model is None else BUDGETS


def train(wanted: argparse.Namespace, encoding: str, method: str, epsilon: float | None, seed: int) -> dict[str, Any]:
    """Train one model with the command line and return its record."""
    command = [sys.executable, "-m", "fairpriv_core", "train", "--json", "--dataset", wanted.dataset]
    command += ["--sensitive", wanted.sensitive, "--encoding", encoding, "--notion", wanted.notion]
    command += ["--method", method, "--seed", str(seed)]
    if epsilon is not None:
        command += ["--epsilon", str(epsilon)]
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "FAIRPRIV_STORE": str(Path(folder) / "runs.db")}
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, text=True)
    record: dict[str, Any] = json.loads(done.stdout)
    return record


def keep(record: dict[str, Any], runs: list[dict[str, Any]], configs: list[dict[str, Any]]) -> None:
    """Add what the page needs of `record`: its numbers, and its setting once."""
    setting = {name: value for name, value in record["config"].items() if name != "seed"}
    if setting not in configs:
        configs.append(setting)
    gap = f"{setting['notion']}_gap"
    metrics = {name: round(record["metrics"][name], 5) for name in ("accuracy", gap)}
    named = {name: record[name] for name in ("key", "threat_model", "variant", "epsilon", "delta")}
    runs.append({**named, "setting": configs.index(setting), "seed": record["config"]["seed"], "metrics": metrics})


if __name__ == "__main__":
    main()
