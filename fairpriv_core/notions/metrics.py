"""What a record says about a classifier's decisions: accuracy, every gap, every group. Computed on raw data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairpriv_core.errors import RunFailed
from fairpriv_core.notions import association, classes, inequality, rates
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.notion import Notion, say_undefined
from fairpriv_core.notions.rates import TWO, Counts, Floats
from fairpriv_core.stats import wilson_interval

GROUP_RATES: dict[str, rates.Rate] = {
    "positive_rate": rates.positive,
    "true_positive_rate": rates.true_positive,
    "false_positive_rate": rates.false_positive,
    "accuracy": rates.correct,
    "base_rate": rates.labelled_positive,
}
_INDICES: dict[str, Callable[[Floats], float]] = {
    "atkinson": inequality.atkinson,
    "gini": inequality.gini,
    "mean_log_deviation": inequality.mean_log_deviation,
    "theil": inequality.theil,
}


def measure(
    y: np.ndarray,
    score: np.ndarray,
    group: np.ndarray,
    group_names: Sequence[str],
    threshold: float | np.ndarray = 0.5,
    *,
    label_names: Sequence[str] = (),
) -> dict[str, Any]:
    """Return a record's `metrics`, ready for JSON, for the decisions that `rates.decide` makes of scores.

    Args:
        y: labels (n,) in 0..l-1.
        score: probability of label 1, (n,), or of every label, (n, l).
        group: group index (n,) in 0..k-1.
        group_names: k names.
        threshold: of two labels the decision is 1 above it; one for all rows, or one a row (n,).
        label_names: l names; numbers where none are given.

    Returns:
        Shares and gaps in [0, 1] (a gap of 0.05 is 5 percentage points). For each notion: `<notion>_gap`, the largest
        difference between any two groups (DP-FERMI eq. 10, 11), `<notion>_population`, the largest difference between
        a group and everyone (eq. 2), `<notion>_ratio`, lowest over highest rate (the four-fifths rule). `ermi` and
        `ermi_equalized_odds` are DP-FERMI Definition 3.1 and eq. 5. `groups` has each group's size, counts, rates and
        95 % Wilson intervals (as a pair, and its ends alone as `…_low` and `…_high` for curves over time). What is
        undefined is None, with a sentence under `reasons` (by metric, or "groups/<name>/<rate>").

        Of more than two labels, differences are the largest over all classes, and equalized odds is within each true
        label (eq. 11 puts all labels but the decided one together); `groups` have other fields, and
        `classes` say how each label fares (see classes.py).

    Raises:
        RunFailed: a score is not finite.
    """
    labels, scores = np.asarray(y, dtype=np.int64), np.asarray(score, dtype=np.float64)
    if not bool(np.isfinite(scores).all()):
        raise RunFailed("the model's scores are not finite: training diverged; a lower learning rate or clip may help.")
    members = np.asarray(group, dtype=np.int64)
    names = tuple(map(str, label_names or range(scores.shape[1] if scores.ndim == 2 else TWO)))
    counts = rates.count_cells(rates.decide(scores, threshold), labels, members, len(group_names), len(names))
    table = _Table(counts, tuple(map(str, group_names)), names)
    values = _overall(counts) if table.binary else classes.overall(counts)
    if table.binary:
        values["roc_auc"] = association.roc_auc(labels, scores[:, 1] if scores.ndim == 2 else scores)
    return _state(table, values)


@dataclass(frozen=True)
class _Table:
    """Counts (k, l, l) over group, label and decision, and the names of groups and labels."""

    counts: Counts
    groups: tuple[str, ...]
    labels: tuple[str, ...]

    @property
    def binary(self) -> bool:
        return len(self.labels) == TWO

    @property
    def each_group(self) -> list[tuple[str, Counts]]:
        return list(zip(self.groups, self.counts, strict=True))

    def say(self, label: int) -> str:
        """Return how sentences name a label: of two by its number, since the positive one is 1."""
        return str(label) if self.binary else f"'{self.labels[label]}'"


def _state(table: _Table, values: dict[str, float]) -> dict[str, Any]:
    """Return `metrics`, to which `values` of all rows belong."""
    reasons: dict[str, str] = {}
    if not table.binary:
        reasons.update(dict.fromkeys(classes.BINARY_METRICS, classes.say_no_positive(len(table.labels))))
    for notion in notions().values():
        values.update(_compare(notion, table, reasons))
    values.update(_inequality(table.counts, reasons, table.groups))
    measured: dict[str, Any] = {name: _number(value) for name, value in values.items()}
    for name, value in measured.items():
        if value is None:
            reasons.setdefault(name, _missing_label(table))
    if table.binary:
        measured["groups"] = [_describe(name, cell[None], reasons) for name, cell in table.each_group]
    else:
        described = classes.describe_group
        measured["groups"] = [described(name, cell, table.labels, reasons) for name, cell in table.each_group]
        measured["classes"] = classes.describe_classes(table.counts, table.labels, reasons)
    measured["reasons"] = reasons
    return measured


def violation(notion: Notion | str, measured: Mapping[str, Any]) -> float | None:
    """Return the run's own gap out of `measure`'s result; None where it is undefined."""
    name = notion if isinstance(notion, str) else notion.name
    value = measured[notions()[name].metric]
    return None if value is None else float(value)


def _overall(counts: Counts) -> dict[str, float]:
    whole = counts.sum(axis=0, keepdims=True)
    share = {name: _single(rate, whole) for name, rate in GROUP_RATES.items()}
    base = share["base_rate"]
    return {
        "accuracy": share["accuracy"],
        "balanced_accuracy": (share["true_positive_rate"] + 1.0 - share["false_positive_rate"]) / 2.0,
        "roc_auc": math.nan,
        "positive_rate": share["positive_rate"],
        "base_rate": base,
        "constant_accuracy": max(base, 1.0 - base) if not math.isnan(base) else math.nan,
        "ermi": association.ermi(counts.sum(axis=1)),
        "ermi_equalized_odds": association.ermi_by_label(counts),
    }


def _compare(notion: Notion, table: _Table, reasons: dict[str, str]) -> dict[str, float]:
    gaps, populations, ratios, counts = [], [], [], table.counts
    empty = _say_empty(notion, table)
    for rate in rates.rates_of(notion, len(table.labels)):
        by_group = rates.divide(*rates.sum_rate(rate, counts))
        everyone = _single(rate, counts.sum(axis=0, keepdims=True))
        gaps.append(by_group.max() - by_group.min())
        populations.append(np.abs(by_group - everyone).max())
        if table.binary or by_group.max() != 0:  # a class that nobody is decided for has no ratio
            ratios.append(by_group.min() / by_group.max() if by_group.max() > 0 else math.nan)
    kinds = {"gap": max, "population": max, "ratio": min}
    found = {"gap": gaps, "population": populations, "ratio": ratios}
    for kind in kinds:
        if empty:
            reasons[f"{notion.name}_{kind}"] = empty
        elif not found[kind] or any(math.isnan(value) for value in found[kind]):
            reasons[f"{notion.name}_{kind}"] = "the rate is 0 in every group, so the ratio is 0 over 0."
    return {f"{notion.name}_{kind}": _fold(pick, found[kind]) for kind, pick in kinds.items()}


def _fold(pick: Callable[[list[float]], float], values: list[float]) -> float:
    return math.nan if not values or any(math.isnan(value) for value in values) else float(pick(values))


def _say_empty(notion: Notion, table: _Table) -> str | None:
    """Say why a notion is undefined: for want of a positive label, or of rows that it compares."""
    conditions = notion.conditions_among(len(table.labels))
    for condition in conditions:
        sizes = table.counts.sum(axis=(1, 2)) if condition is None else table.counts[:, condition].sum(axis=1)
        for index in np.flatnonzero(sizes == 0).tolist():
            where = "" if condition is None else f" with label {table.say(condition)}"
            return f"group '{table.groups[index]}' has no rows{where}."
    return None if conditions else say_undefined(notion, len(table.labels))


def _inequality(counts: Counts, reasons: dict[str, str], names: Sequence[str]) -> dict[str, float]:
    accuracy = rates.divide(*rates.sum_rate(rates.correct, counts))
    for name in _INDICES:
        for index, value in enumerate(accuracy):
            if math.isnan(value):
                reasons[name] = f"group '{names[index]}' has no rows."
            elif value == 0.0:
                reasons.setdefault(name, f"group '{names[index]}' has an accuracy of 0.")
    found = {name: index(accuracy) for name, index in _INDICES.items()}
    for name, value in found.items():
        if not math.isnan(value):
            reasons.pop(name, None)
    return found


def _describe(name: str, cell: Counts, reasons: dict[str, str]) -> dict[str, Any]:
    described: dict[str, Any] = {"name": name, "size": int(cell.sum())}
    described["selected"] = int(cell[0, :, 1].sum())
    described["positives"] = int(cell[0, 1].sum())
    described["correct"] = int(cell[0, 0, 0] + cell[0, 1, 1])
    for rate_name, rate in GROUP_RATES.items():
        numerator, denominator = (int(value[0]) for value in rates.sum_rate(rate, cell))
        described[rate_name] = numerator / denominator if denominator else None
        interval = wilson_interval(numerator, denominator)
        described[f"{rate_name}_interval"] = list(interval) if denominator else None
        described[f"{rate_name}_low"], described[f"{rate_name}_high"] = interval if denominator else (None, None)
        if not denominator:
            label = {"true_positive_rate": " with label 1", "false_positive_rate": " with label 0"}.get(rate_name, "")
            reasons[f"groups/{name}/{rate_name}"] = f"group '{name}' has no rows{label}."
    return described


def _single(rate: rates.Rate, whole: Counts) -> float:
    return float(rates.divide(*rates.sum_rate(rate, whole))[0])


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _missing_label(table: _Table) -> str:
    sizes = table.counts.sum(axis=(0, 2))
    if sizes.sum() == 0:
        return "there are no rows."
    return f"no row has label {table.say(int(np.argmin(sizes)))}."
