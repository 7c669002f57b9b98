"""What a record says of more than two labels: how each class fares, and what each group is decided to be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairpriv_core.notions import association, rates
from fairpriv_core.notions.rates import Counts
from fairpriv_core.stats import wilson_interval

BINARY_METRICS = ("roc_auc", "positive_rate", "base_rate")


def overall(counts: Counts) -> dict[str, float]:
    """Return the metrics of all rows of counts (k, l, l); what speaks of a positive label is NaN.

    `balanced_accuracy` is the mean over classes of their accuracy, `constant_accuracy` what the most frequent class as
    everybody's answer reaches, `largest_decided` the share of rows that are decided for the most decided class: near 1
    the model tells nobody apart.
    """
    table = counts.sum(axis=0)
    sizes, decided, right = table.sum(axis=1), table.sum(axis=0), np.diagonal(table)
    whole = np.full(1, table.sum())
    return {
        "accuracy": float(rates.divide(right.sum(keepdims=True), whole)[0]),
        "balanced_accuracy": float(rates.divide(right, sizes).mean()),
        "roc_auc": float("nan"),
        "positive_rate": float("nan"),
        "base_rate": float("nan"),
        "constant_accuracy": float(rates.divide(sizes.max(keepdims=True), whole)[0]),
        "largest_decided": float(rates.divide(decided.max(keepdims=True), whole)[0]),
        "ermi": association.ermi(counts.sum(axis=1)),
        "ermi_equalized_odds": association.ermi_by_label(counts),
    }


def say_no_positive(labels: int) -> str:
    """Say why a metric that speaks of the positive label is undefined."""
    return f"it is about the positive label, and of {labels} labels none is positive."


def describe_classes(counts: Counts, names: Sequence[str], reasons: dict[str, str]) -> list[dict[str, Any]]:
    """Return each class of counts (k, l, l): its size, its accuracy, and how often it is decided."""
    table = counts.sum(axis=0)
    return [
        {
            **_describe_accuracy(f"classes/{name}", name, int(table[j].sum()), int(table[j, j]), reasons),
            **_describe_share("decided", int(table[:, j].sum()), int(table.sum())),
        }
        for j, name in enumerate(names)
    ]


def describe_group(name: str, table: Counts, names: Sequence[str], reasons: dict[str, str]) -> dict[str, Any]:
    """Return one group of counts (l, l): its accuracy, `decided`, the share of it that is decided for each class, and
    `confusion`, its rows by label and decision (l, l)."""
    size = int(table.sum())
    shares = [_describe_share("share", int(rows), size) for rows in table.sum(axis=0)]
    return {
        **_describe_accuracy(f"groups/{name}", name, size, int(np.trace(table)), reasons),
        "decided": {label: each["share"] for label, each in zip(names, shares, strict=True)},
        "decided_interval": {label: each["share_interval"] for label, each in zip(names, shares, strict=True)},
        "confusion": table.tolist(),
    }


def _describe_accuracy(path: str, name: str, size: int, correct: int, reasons: dict[str, str]) -> dict[str, Any]:
    if size == 0:
        reasons[f"{path}/accuracy"] = f"{'class' if path.startswith('classes') else 'group'} '{name}' has no rows."
    return {"name": name, "size": size, "correct": correct, **_describe_share("accuracy", correct, size)}


def _describe_share(name: str, part: int, whole: int) -> dict[str, Any]:
    """Return a share with its 95 % interval, as a pair and by its ends alone; all None of nothing."""
    ends = wilson_interval(part, whole) if whole else (None, None)
    interval = list(ends) if whole else None
    share = part / whole if whole else None
    return {name: share, f"{name}_interval": interval, f"{name}_low": ends[0], f"{name}_high": ends[1]}
