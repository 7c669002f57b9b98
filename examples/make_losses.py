"""Make the fits by which the loss of accuracy of private methods that pursue no notion is forecast.

    python -m examples.make_losses

Tables, budgets and settings are those of make_advice.py, by the same protocol, with two of its seeds. Such a method's
model is the same whatever notion is reported, so each is fitted once. A fit that the file has is not made again.
"""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from examples.make_advice import BUDGETS, NOTIONS, TABLES, build, shorten
from fairpriv_core.bench.runner import train_fits
from fairpriv_core.methods.catalog import REFERENCE_METHOD
from fairpriv_core.records.evidence import LOSSES, list_unaware
from fairpriv_core.records.plan import DatasetCache
from fairpriv_core.records.record import RunRecord

SEEDS = range(2)


def main() -> None:
    """Make every fit that the file has not, and write the file after each table."""
    rows = pd.read_parquet(LOSSES).to_dict("records") if LOSSES.exists() else []
    known = {(row["table"], row["setting"], row["seed"]) for row in rows}
    with TemporaryDirectory() as folder:
        for seed, table in product(SEEDS, TABLES):
            missing = [name for name in list_unaware() if (table, name, seed) not in known]
            rows += make_fits(table, seed, missing, Path(folder)) if missing else []
            print(table, seed, file=sys.stderr, flush=True)
            made = pd.DataFrame(rows).astype(dict.fromkeys(("table", "setting"), "category")).round(5)
            made.to_parquet(LOSSES, index=False, compression="zstd", compression_level=19)


def make_fits(table: str, seed: int, names: list[str], folder: Path) -> list[dict[str, Any]]:
    """Return the rows of methods on one split; the accuracy of a fit that gave no model is None."""
    datasets = DatasetCache()
    asked = {"table": table, "seed": seed, "notion": NOTIONS[0]}
    plain = build({**asked, "setting": REFERENCE_METHOD, "epsilon": None}, folder, datasets)
    (reference,) = train_fits([plain], datasets)
    assert isinstance(reference, RunRecord)
    train, compared = datasets.parts(plain)[0], shorten("plain_", reference)
    shape = {"rows": train.n, "groups": train.groups, "features": train.X.shape[1]}
    shape |= {name: compared[name] for name in ("plain_accuracy", "constant")}
    rows = []
    for name in names:
        configs = [build({**asked, "setting": name, "epsilon": epsilon}, folder, datasets) for epsilon in BUDGETS]
        for epsilon, made in zip(BUDGETS, train_fits(configs, datasets), strict=True):
            accuracy = None if isinstance(made, str) else shorten("", made)["accuracy"]
            told = {"table": table, "setting": name, "epsilon": epsilon, "seed": seed}
            rows.append({**told, **shape, "accuracy": accuracy})
    return rows


if __name__ == "__main__":
    main()
