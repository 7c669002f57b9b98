"""Measure the documentation's results in the run store, or write its page from what was exported of them.

    python -m examples.make_results run [ROW …]     run what docs/results/rows.toml asks for, and export the records
    python -m examples.make_results write           write docs/results.md from docs/results/records.parquet

A run that is exported already, or finished in the store (FAIRPRIV_STORE), is not run again. Every private run draws
fresh noise, so one that is made again differs within its interval.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow.parquet import write_table

from examples.make_papers_results import split_config
from examples.results_page import (
    NESTED,
    Records,
    configs_of,
    list_rows,
    name_rows,
    read_records,
    read_spec,
    render_results,
)
from fairpriv_core.errors import RunFailed
from fairpriv_core.records.config import RunConfig
from fairpriv_core.runs import foreground
from fairpriv_core.text import Reporter

FOLDER = Path(__file__).parent.parent / "docs" / "results"
SPEC, RECORDS, PAGE = FOLDER / "rows.toml", FOLDER / "records.parquet", FOLDER.with_suffix(".md")
#: `rows`: the ids of the rows that show a run
TEXTS = ("rows", "key", *NESTED, "threat_model", "variant", "epsilon_reason")
NUMBERS = ("epsilon", "epsilon_published", "delta", "seconds")
SCHEMA = pa.schema({**dict.fromkeys(TEXTS, pa.string()), "seed": pa.int64(), **dict.fromkeys(NUMBERS, pa.float64())})
METRICS = (
    "accuracy",
    "demographic_parity_gap",
    "equalized_odds_gap",
    "equal_opportunity_gap",
    "accuracy_parity_gap",
    "positive_rate",
    "constant_accuracy",
)
OF_CLASSES = ("largest_decided", "atkinson", "gini", "mean_log_deviation", "theil")
OF_A_PART = ("name", "size", "accuracy", "positive_rate", "decided")


def main() -> None:
    """Run or write, as asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("run", "write"))
    parser.add_argument("rows", nargs="*", help="ids of rows to run; all if none is given")
    asked = parser.parse_args()
    spec = read_spec(SPEC)
    if asked.what == "run":
        run_missing(spec, set(asked.rows))
    else:
        PAGE.write_text(render_results(spec, read_records(RECORDS)), encoding="utf-8")


def run_missing(spec: Mapping[str, Any], chosen: set[str]) -> None:
    """Run every setting and seed that is not exported yet, and export each as it ends."""
    records, names = read_records(RECORDS), name_rows(spec)
    for row in list_rows(spec):
        if chosen and row["id"] not in chosen:
            continue
        for config in configs_of(row):
            if config.key not in records:
                records[config.key] = measure(config)
                write_rows(RECORDS, pack(records, names))
                print(row["id"], config.seed, file=sys.stderr, flush=True)


def pack(records: Records, names: Mapping[str, str]) -> Iterable[dict[str, Any]]:
    """Yield the table's rows of the records that the page shows."""
    for key, record in records.items():
        if key in names:
            texts = {name: json.dumps(record[name], ensure_ascii=False) for name in NESTED if name in record}
            yield {**record, **texts, **split_config(record["config"]), "rows": names[key]}


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write the table of records; rows that are alike stand beside each other, so that it is small."""
    ordered = sorted(rows, key=lambda row: (row["rows"], row["seed"]))
    write_table(pa.Table.from_pylist(ordered, SCHEMA), path, compression="zstd", compression_level=19)


def measure(config: RunConfig) -> dict[str, Any]:
    """Run `config` in the store and return what the page and a reader need of its record; RunFailed if it failed."""
    row, found = foreground.train(config, Reporter(say=_say, show=_ignore))
    if found is None or row.status != "finished" or found.metrics is None:
        raise RunFailed(f"run {row.key} is {row.status}: {row.error}")
    record = found.to_json()
    metrics = _keep_metrics(record["metrics"])
    kept = {**{name: record[name] for name in SCHEMA.names if name in record}, "metrics": metrics}
    certificates = record["notes"].get("certificates")
    return kept if certificates is None else {**kept, "certificates": _margins(certificates, record["metrics"])}


def _keep_metrics(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page shows of a record's metrics; of more than two labels how each class fares too."""
    names = METRICS if "classes" not in found else (*METRICS, *OF_CLASSES)
    metrics = {name: found[name] for name in names}
    for part in ("groups", "classes"):
        if part in found:
            metrics[part] = [{name: each[name] for name in OF_A_PART if name in each} for each in found[part]]
    return metrics


def _margins(certificates: Mapping[str, Any], metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Return certificates with how far each bound lies above the test gap."""
    bounds = certificates["bounds"]
    margins = {notion: bound - metrics[f"{notion}_gap"] for notion, bound in bounds.items() if bound is not None}
    return {**certificates, "margin": margins}


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def _ignore(_line: str) -> None:
    """A line on each commit is too much for a hundred runs."""


if __name__ == "__main__":
    main()
