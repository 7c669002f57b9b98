"""Make the runs between which Explore moves at once: two public data sets, four methods, five seeds a setting.

    python -m examples.make_grid

It takes about half an hour of a core; a run that the file has already is not run again. Any can be repeated by hand:
its settings give it the key that is stored.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, product
from typing import Any

import pandas as pd

from examples.make_start_results import train_loop
from fairpriv_core.data.catalog import problems
from fairpriv_core.facts.grid import MOVED, PATH, name_setting
from fairpriv_core.methods.base import parameters
from fairpriv_core.methods.catalog import methods
from fairpriv_core.notions.catalog import DEFAULT_NOTION
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.records.plan import DatasetCache
from fairpriv_core.records.record import RunRecord

DATA = ("adult", "bank")
METHODS = ("pf_ld", "one_release", "raco_dp", "dp_sgd")
BUDGETS = (0.05, 0.15, 0.4, 1.0, 3.0, 8.0, 20.0)
GAPS = (0.0, 0.04, 0.08, 0.14, 0.2)
CLIPPING = (0.1, 1.0, 4.0, 20.0)  # times the usual bound
SEEDS = range(5)
_REPEATED = ("setting", "groups")


def main() -> None:
    """Run every setting that the file has no run of, and write the file after each loop."""
    configs = [config for name in DATA for config in list_configs(name)]
    known = pd.read_parquet(PATH).to_dict("records") if PATH.exists() else []
    rows = {row["key"]: row for row in known}
    datasets = DatasetCache()
    missing = sorted((config for config in configs if config.key not in rows), key=name_loop)
    for _, loop in groupby(missing, name_loop):
        rows |= {record.key: shorten(record) for record in train_loop(list(loop), datasets)}
        print(len(rows), "of", len(configs), file=sys.stderr, flush=True)
        write_rows([rows[config.key] for config in configs if config.key in rows])


def name_loop(config: RunConfig) -> tuple[str, str, int, bool]:
    """Return what the runs of one loop have in common: a seed's batches, and 0 switches parts off."""
    said = config.to_json()
    method = said["method"]
    return said["data"]["dataset"], method["name"], config.seed, method.get("gap_target") == 0.0


def write_rows(rows: Sequence[Mapping[str, Any]]) -> None:
    """Write the file; texts that many rows have are stored once."""
    table = pd.DataFrame(rows).astype(dict.fromkeys(_REPEATED, "category"))
    table.to_parquet(PATH, index=False, compression="zstd", compression_level=19)


def list_configs(name: str) -> Iterator[RunConfig]:
    """Yield the config of every run on a data set."""
    data = {"dataset": name, "sensitive": problems()[name].sensitive[0]}
    for method in METHODS:
        known = parameters(methods()[method])
        moved = [
            [{"clip_primal": times * known["clip_primal"][1].default} for times in CLIPPING]
            if "clip_primal" in known
            else [{}],
            [{"gap_target": gap} for gap in GAPS] if "gap_target" in known else [{}],
        ]
        for bound, gap, epsilon, seed in product(*moved, BUDGETS, SEEDS):
            settings = {"name": method, **bound, **gap}
            yield build_config(
                {"data": data, "notion": DEFAULT_NOTION, "method": settings, "epsilon": epsilon, "seed": seed}
            )


def shorten(record: RunRecord) -> dict[str, Any]:
    """Return what the file keeps of a record: its setting, what is moved, and its numbers."""
    config, metrics = record.config, record.metrics
    assert metrics is not None
    moved = {"epsilon": config["epsilon"], **{name: config["method"].get(name) for name in MOVED}}
    return {
        "setting": name_setting(config),
        **moved,
        "seed": config["seed"],
        "key": record.key,
        "accuracy": metrics["accuracy"],
        "gap": metrics[f"{config['notion']}_gap"],
        "constant": metrics["constant_accuracy"],
        "tested": record.data["n_test"],
        "groups": json.dumps([group["name"] for group in metrics["groups"]]),
        "rates": [group["positive_rate"] for group in metrics["groups"]],
    }


if __name__ == "__main__":
    main()
