"""Make the results that the Start page shows: Adult, sex, demographic parity, over epsilon and five seeds.

    python examples/make_start_results.py

A run that the file has already is not run again. Any can be repeated by hand: `fairpriv train` with its settings gives
it the same key.
The data set, seeds and budgets can be changed: `--dataset synthetic --sensitive group --seeds 2`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

from fairpriv_core.figures.start import PATH
from fairpriv_core.methods.catalog import methods
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.records.plan import DatasetCache, plan_run
from fairpriv_core.records.record import RunRecord
from fairpriv_core.runs.execute import train_together
from fairpriv_core.runs.session import MemoryJournal

BUDGETS = (0.1, 0.5, 1.0, 3.0, 9.0)
METHODS = ("none", "pf_ld", "dp_sgd")
SETTINGS = {"dp_sgd": {"batch_size": 1024}}  # as it shipped before its batch followed the number of rows


def main() -> None:
    """Run every setting that the file has no run of, and write the file."""
    wanted = read_arguments()
    today = datetime.now(UTC).date().isoformat()
    stored = {"made": today, "runs": []}
    if wanted.out.exists():
        stored = json.loads(wanted.out.read_text(encoding="utf-8"))
    known = {run["key"]: (stored["configs"][run["setting"]], run) for run in stored["runs"]}
    runs: list[dict[str, Any]] = []
    configs: list[dict[str, Any]] = []
    datasets = DatasetCache()
    for config in list_configs(wanted):
        setting, run = known[config.key] if config.key in known else shorten(train(config, datasets))
        if setting not in configs:
            configs.append(setting)
        runs.append({**run, "setting": configs.index(setting)})
        print(config.method.info.name, config.epsilon, runs[-1], file=sys.stderr)
    made = {
        "command": "python examples/make_start_results.py",
        "made": stored["made"] if all(run["key"] in known for run in runs) else today,
        "configs": configs,
        "runs": runs,
    }
    wanted.out.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


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


def list_configs(wanted: argparse.Namespace) -> list[RunConfig]:
    """Return the config of every run."""
    tables = {method: {"name": method, **SETTINGS.get(method, {})} for method in METHODS}
    asked = [(tables[method], epsilon) for method in METHODS for epsilon in budgets_of(method)]
    data = {"dataset": wanted.dataset, "sensitive": wanted.sensitive}
    common = {"data": data, "notion": wanted.notion, "split": "stratified"}
    return [
        build_config({"method": method, "epsilon": epsilon, "seed": seed, **common})
        for (method, epsilon), seed in product(asked, range(wanted.seeds))
    ]


def train(config: RunConfig, datasets: DatasetCache) -> dict[str, Any]:
    """Train one model and return its record."""
    return train_loop([config], datasets)[0].to_json()


def train_loop(configs: Sequence[RunConfig], datasets: DatasetCache) -> list[RunRecord]:
    """Train runs of one method in one loop and return their records."""
    journal = MemoryJournal()
    plans = [plan_run(config, config.key, datasets=datasets, find_record=journal.find_record) for config in configs]
    return [outcome.record for outcome in train_together(plans, journal.begin(plans), journal)]


def shorten(record: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the page needs of `record`: its setting without its seed, and its numbers."""
    setting = {name: value for name, value in record["config"].items() if name != "seed"}
    gap = f"{setting['notion']}_gap"
    metrics = {name: round(record["metrics"][name], 5) for name in ("accuracy", gap)}
    named = {name: record[name] for name in ("key", "threat_model", "variant", "epsilon", "delta")}
    return setting, {**named, "setting": 0, "seed": record["config"]["seed"], "metrics": metrics}


if __name__ == "__main__":
    main()
