"""Make the runs that come with this software: Adult, sex, demographic parity, with the usual split and five seeds.

    python -m examples.make_stored_runs

Plain training under each encoding, and the method that is chosen at first, aiming at the usual gap, at two budgets.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from examples.make_start_results import train
from fairpriv_core.data.catalog import DEFAULT_DATA
from fairpriv_core.data.problem import ENCODINGS
from fairpriv_core.methods.catalog import DEFAULT_METHOD, REFERENCE_METHOD
from fairpriv_core.notions.catalog import DEFAULT_NOTION
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.records.plan import DatasetCache
from fairpriv_core.records.stored import PATH

BUDGETS = (0.1, 1.0)
SEEDS = range(5)


def main() -> None:
    """Run every setting, and write the file."""
    datasets = DatasetCache()
    records = [train(config, datasets) for config in list_configs()]
    PATH.write_text(write_records(records, datetime.now(UTC).date().isoformat()), encoding="utf-8")


def list_configs() -> Iterator[RunConfig]:
    """Yield the config of every run."""
    asked: list[tuple[str, str, float | None]] = [
        *((encoding, REFERENCE_METHOD, None) for encoding in ENCODINGS),
        *((ENCODINGS[0], DEFAULT_METHOD, epsilon) for epsilon in BUDGETS),
    ]
    for encoding, method, epsilon in asked:
        for seed in SEEDS:
            data = {**DEFAULT_DATA, "encoding": encoding}
            said = {"data": data, "method": method, "epsilon": epsilon, "seed": seed, "notion": DEFAULT_NOTION}
            yield build_config(said)


def write_records(records: list[dict[str, Any]], made: str) -> str:
    """Return the file's text, with a line for each run."""
    lines = ",\n  ".join(json.dumps(record, ensure_ascii=False) for record in records)
    return f'{{"made": "{made}", "records": [\n  {lines}\n]}}\n'


if __name__ == "__main__":
    main()
