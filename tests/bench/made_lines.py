"""Lines of a benchmark that nobody ran: what entries came to is said by the test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from fairpriv_core.bench.lines import build_lines
from fairpriv_core.bench.suite import read_suite

TASKS = tuple(task.name for task in read_suite().tasks if not task.more)


def make_lines(
    accuracies: Mapping[str, float], *, tasks: Sequence[str] = TASKS, gaps: Mapping[str, float] = {}, **more: Any
) -> pd.DataFrame:
    """Return lines of three seeds on each task, of entries with these accuracies; gaps are 0.01 unless said."""
    lines = []
    for name, accuracy in accuracies.items():
        for task in tasks:
            for seed in range(3):
                gap = gaps.get(name, 0.01)
                numbers = {"accuracy": accuracy + 0.001 * (seed - 1), "balanced_accuracy": 0.7, "gap": gap}
                interval = {"gap_low": gap - 0.005, "gap_high": gap + 0.005, "reached": "yes", "constant": 0.6}
                spent = {"epsilon_asked": 1.0, "epsilon": 0.9996, "seconds": 1.0, "n_train": 15_000}
                known = {"suite": read_suite().version, "task": task, "notion": "demographic_parity", "method": name}
                whose = {"author": "fairpriv", "kind": "run", "threat_model": "attribute", "by_group": False}
                own = {**known, **whose, **numbers, **interval, **spent, "seed": seed, "trials": 1, "height": 0.01}
                empty = {"split": read_suite().find_task(task).splits[seed], "audit_date": "", "failed": ""}
                lines.append({**own, **empty, **more})
    return build_lines(lines)


def make_reference(accuracies: Mapping[str, float], **more: Any) -> pd.DataFrame:
    """Return lines of entries without privacy."""
    return make_lines(accuracies, **{"threat_model": "", "epsilon_asked": None, "epsilon": None, **more})
