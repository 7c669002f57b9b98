"""What a record says about a classifier's decisions: accuracy, every gap, every group. Computed on raw data.

Inequality indices are taken over per-group accuracies (FairDP adaptive clipping, appendix D.4; U.S. Census Bureau
2016). Where the groups are the classes, as in that paper, these are the classes' accuracies. Each takes values (k,) >=
0 and is 0 when all are equal. NaN where undefined: no value, a NaN among them, or all zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairpriv_core.notions import rates
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.notion import Notion, format_undefined
from fairpriv_core.notions.rates import TWO, Counts, Floats
from fairpriv_core.notions.scores import measure_scores
from fairpriv_core.stats import wilson_interval

BINARY_METRICS = ("roc_auc", "positive_rate", "base_rate")
GROUP_RATES: dict[str, rates.Rate] = {
    "positive_rate": rates.positive,
    "true_positive_rate": rates.true_positive,
    "false_positive_rate": rates.false_positive,
    "positive_predictive_value": rates.true_among_positive,
    "accuracy": rates.correct,
    "base_rate": rates.labelled_positive,
}
_OF_EVERYBODY = ("accuracy", "balanced_accuracy", "constant_accuracy", "largest_decided", *BINARY_METRICS)
_HIDDEN = "everybody's group is hidden by randomised response; metrics_private has what the answers tell."
_WITHOUT = {
    "true_positive_rate": " with label 1",
    "false_positive_rate": " with label 0",
    "positive_predictive_value": " predicted positive",
}


def ermi(joint: Counts) -> float:
    """Return ERMI (DP-FERMI Definition 3.1) of counts (k, l) over group and decision: 0 if and only if independent.

    An expectation over what occurs: an empty group or a decision never made adds nothing. NaN without rows.
    """
    total = joint.sum()
    if total == 0:
        return math.nan
    product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    terms = np.where(product > 0, joint.astype(np.float64) ** 2 / np.where(product > 0, product, 1), 0.0)
    return max(0.0, float(terms.sum() - 1.0))


def ermi_by_label(counts: Counts) -> float:
    """Return ERMI given the label (DP-FERMI eq. 5), weighted by the labels' shares; NaN where a label is absent."""
    sizes = counts.sum(axis=(0, 2))
    if bool((sizes == 0).any()):
        return math.nan
    return float(sum(size / sizes.sum() * ermi(counts[:, label]) for label, size in enumerate(sizes)))


def roc_auc(labels: Counts, scores: Floats) -> float:
    """Return P(a positive row scores above a negative one), ties one half; NaN unless both labels occur."""
    positives = int(labels.sum())
    negatives = len(labels) - positives
    if positives == 0 or negatives == 0:
        return math.nan
    lower, upper = np.sort(scores[labels == 0]), np.sort(scores[labels == 1])
    won = np.searchsorted(lower, upper, side="left") + np.searchsorted(lower, upper, side="right")  # in halves
    return int(won.sum()) / 2.0 / (positives * negatives)


def atkinson(values: Floats, aversion: float = 1.0) -> float:
    """1 - [mean((v/mean)^(1-e))]^(1/(1-e)), in [0, 1]; at e = 1, one minus geometric over arithmetic mean.

    `aversion` e > 0 weighs the low end. The Census Bureau prints e = 0.25, 0.5, 0.75; the paper's values are near
    the mean log deviation, which is e = 1.
    """
    share = _relative(values)
    if share is None:
        return math.nan
    if aversion >= 1.0 and bool((share == 0.0).any()):
        return 1.0
    if aversion == 1.0:
        return float(-np.expm1(np.log(share).mean()))
    return float(1.0 - (share ** (1.0 - aversion)).mean() ** (1.0 / (1.0 - aversion)))


def gini(values: Floats) -> float:
    """Mean absolute difference of two values over twice the mean, in [0, 1 - 1/k]."""
    share = _relative(values)
    if share is None:
        return math.nan
    return float(np.abs(share[:, None] - share[None, :]).mean() / 2.0)


def mean_log_deviation(values: Floats) -> float:
    """mean(log(mean/v)), >= 0; NaN where a value is 0 (it would be infinite)."""
    share = _relative(values)
    if share is None or bool((share == 0.0).any()):
        return math.nan
    return float(-np.log(share).mean())


def theil(values: Floats) -> float:
    """mean((v/mean) log(v/mean)), in [0, log k]; a value of 0 adds 0."""
    share = _relative(values)
    if share is None:
        return math.nan
    present = share[share > 0.0]
    return float((present * np.log(present)).sum() / len(share))


def _relative(values: Floats) -> Floats | None:
    values = np.asarray(values, dtype=np.float64)
    if values.size == 0 or not bool(np.isfinite(values).all()) or bool((values < 0).any()) or values.sum() == 0.0:
        return None
    return np.asarray(values / values.mean(), dtype=np.float64)


def overall(counts: Counts) -> dict[str, float]:
    """Return the metrics of all rows of counts (k, l, l); what speaks of a positive label is NaN.

    `balanced_accuracy` is the mean over classes of their accuracy, `constant_accuracy` what the most frequent class as
    everybody's answer reaches, `largest_decided` the share of rows that are decided for the most decided class: near 1
    the model tells nobody apart.
    """
    table = counts.sum(axis=0)
    sizes, decided, right = table.sum(axis=1), table.sum(axis=0), np.diagonal(table)
    total = np.full(1, table.sum())
    return {
        "accuracy": float(rates.divide(right.sum(keepdims=True), total)[0]),
        "balanced_accuracy": float(rates.divide(right, sizes).mean()),
        "roc_auc": float("nan"),
        "positive_rate": float("nan"),
        "base_rate": float("nan"),
        "constant_accuracy": float(rates.divide(sizes.max(keepdims=True), total)[0]),
        "largest_decided": float(rates.divide(decided.max(keepdims=True), total)[0]),
        "ermi": ermi(counts.sum(axis=1)),
        "ermi_equalized_odds": ermi_by_label(counts),
    }


def measure_classes(counts: Counts, names: Sequence[str], reasons: dict[str, str]) -> list[dict[str, object]]:
    """Return each class of counts (k, l, l): its size, its accuracy, and how often it is decided."""
    table = counts.sum(axis=0)
    return [
        {
            **_measure_accuracy(f"classes/{name}", name, int(table[j].sum()), int(table[j, j]), reasons),
            **_measure_share("decided", int(table[:, j].sum()), int(table.sum())),
        }
        for j, name in enumerate(names)
    ]


def measure_group(name: str, table: Counts, names: Sequence[str], reasons: dict[str, str]) -> dict[str, object]:
    """Return one group of counts (l, l): its accuracy, `decided`, the share of it that is decided for each class, and
    `confusion`, its rows by label and decision (l, l)."""
    size = int(table.sum())
    shares = [_measure_share("share", int(rows), size) for rows in table.sum(axis=0)]
    return {
        **_measure_accuracy(f"groups/{name}", name, size, int(np.trace(table)), reasons),
        "decided": {label: share["share"] for label, share in zip(names, shares, strict=True)},
        "decided_interval": {label: share["share_interval"] for label, share in zip(names, shares, strict=True)},
        "confusion": table.tolist(),
    }


def _measure_accuracy(path: str, name: str, size: int, correct: int, reasons: dict[str, str]) -> dict[str, object]:
    if size == 0:
        reasons[f"{path}/accuracy"] = f"{'class' if path.startswith('classes') else 'group'} '{name}' has no rows."
    return {"name": name, "size": size, "correct": correct, **_measure_share("accuracy", correct, size)}


def _measure_share(name: str, part: int, whole: int) -> dict[str, object]:
    """Return a share with its 95 % interval, as a pair and by its ends alone; all None of nothing."""
    ends = wilson_interval(part, whole) if whole else (None, None)
    interval = list(ends) if whole else None
    share = part / whole if whole else None
    return {name: share, f"{name}_interval": interval, f"{name}_low": ends[0], f"{name}_high": ends[1]}


_INDICES: dict[str, Callable[[Floats], float]] = {
    "atkinson": atkinson,
    "gini": gini,
    "mean_log_deviation": mean_log_deviation,
    "theil": theil,
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
        `ermi_equalized_odds` are DP-FERMI Definition 3.1 and eq. 5. A notion of scores has one number, under its
        `metric`: the largest over groups (notions/scores.py). `groups` has each group's size, counts, rates and
        95 % Wilson intervals (as a pair, and its ends alone as `…_low` and `…_high` for curves over time). What is
        undefined is None, with a sentence under `reasons` (by metric, or "groups/<name>/<rate>").

        Of more than two labels, differences are the largest over all classes, and equalized odds is within each true
        label (eq. 11 puts all labels but the decided one together); `groups` have other fields, and
        `classes` say how each label fares.
    """
    labels, scores = np.asarray(y, dtype=np.int64), rates.as_finite(np.asarray(score, dtype=np.float64))
    members = np.asarray(group, dtype=np.int64)
    names = tuple(map(str, label_names or range(scores.shape[1] if scores.ndim == 2 else TWO)))
    counts = rates.count_cells(rates.decide(scores, threshold), labels, members, len(group_names), len(names))
    table = _Table(counts, tuple(map(str, group_names)), names)
    values = _overall(counts) if table.binary else overall(counts)
    if table.binary:
        values["roc_auc"] = roc_auc(labels, scores[:, 1] if scores.ndim == 2 else scores)
    scored = {
        notion.name: measure_scores(notion, labels, scores, members, len(group_names))
        for notion in notions().values()
        if not notion.is_rate and notion.conditions_among(len(names))
    }
    return _state(table, values, scored)


def measure_everybody(
    y: np.ndarray, score: np.ndarray, threshold: float | np.ndarray, *, label_names: Sequence[str]
) -> dict[str, Any]:
    """Return `measure` of rows whose groups nobody knows: no group, and of what compares groups nothing."""
    metrics = measure(y, score, np.zeros(len(y), dtype=np.int64), ("everybody",), threshold, label_names=label_names)
    names = {*_OF_EVERYBODY, "classes", "groups", "reasons"}
    compared = [name for name in metrics if name not in names]
    reasons = {name: why for name, why in metrics["reasons"].items() if name in names}
    reasons |= dict.fromkeys(compared, _HIDDEN)
    return {**metrics, **dict.fromkeys(compared), "groups": [], "reasons": reasons}


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

    def format_label(self, label: int) -> str:
        """Return how sentences name a label: of two by its number, since the positive one is 1."""
        return str(label) if self.binary else f"'{self.labels[label]}'"


def _state(table: _Table, values: dict[str, float], scored: Mapping[str, Floats]) -> dict[str, object]:
    """Return `metrics`, to which `values` of all rows belong; `scored` has the groups' numbers (k,) by notion."""
    reasons: dict[str, str] = {}
    if not table.binary:
        why = f"it is about the positive label, and of {len(table.labels)} labels none is positive."
        reasons.update(dict.fromkeys(BINARY_METRICS, why))
    for notion in notions().values():
        if notion.is_rate:
            values.update(_compare(notion, table, reasons))
            continue
        if empty := _format_empty(notion, table):
            reasons[notion.metric] = empty
        values[notion.metric] = math.nan if empty else float(scored[notion.name].max())
    values.update(_inequality(table.counts, reasons, table.groups))
    metrics: dict[str, object] = {name: _number(value) for name, value in values.items()}
    for name, value in metrics.items():
        if value is None:
            reasons.setdefault(name, _missing_label(table))
    if table.binary:
        metrics["groups"] = [_measure_cell(name, cell[None], reasons) for name, cell in table.each_group]
    else:
        metrics["groups"] = [measure_group(name, cell, table.labels, reasons) for name, cell in table.each_group]
        metrics["classes"] = measure_classes(table.counts, table.labels, reasons)
    metrics["reasons"] = reasons
    return metrics


def violation(notion: Notion | str, measured: Mapping[str, Any]) -> float | None:
    """Return the run's own gap out of `measure`'s result; None where it is undefined."""
    name = notion if isinstance(notion, str) else notion.name
    value = measured[notions()[name].metric]
    return None if value is None else float(value)


def count_decisions(measured: Mapping[str, Any]) -> np.ndarray:
    """Return the counts (k, l, l) over group, label and decision that `measure` made its numbers from."""
    groups = measured["groups"]
    if "confusion" in groups[0]:
        return np.array([group["confusion"] for group in groups])
    counts = np.zeros((len(groups), TWO, TWO), dtype=np.int64)
    for table, group in zip(counts, groups, strict=True):
        positives, selected = group["positives"], group["selected"]
        hits = (group["correct"] - group["size"] + positives + selected) // 2
        table[:] = [[group["size"] - positives - selected + hits, selected - hits], [positives - hits, hits]]
    return counts


def _overall(counts: Counts) -> dict[str, float]:
    total = counts.sum(axis=0, keepdims=True)
    share = {name: _single(rate, total) for name, rate in GROUP_RATES.items()}
    base = share["base_rate"]
    return {
        "accuracy": share["accuracy"],
        "balanced_accuracy": (share["true_positive_rate"] + 1.0 - share["false_positive_rate"]) / 2.0,
        "roc_auc": math.nan,
        "positive_rate": share["positive_rate"],
        "base_rate": base,
        "constant_accuracy": max(base, 1.0 - base) if not math.isnan(base) else math.nan,
        "ermi": ermi(counts.sum(axis=1)),
        "ermi_equalized_odds": ermi_by_label(counts),
    }


def _compare(notion: Notion, table: _Table, reasons: dict[str, str]) -> dict[str, float]:
    gaps, populations, ratios, counts = [], [], [], table.counts
    empty = _format_empty(notion, table)
    for rate in rates.rates_of(notion, len(table.labels)):
        by_group = rates.divide(*rates.sum_rate(rate, counts))
        everyone = _single(rate, counts.sum(axis=0, keepdims=True))
        gaps.append(by_group.max() - by_group.min())
        populations.append(np.abs(by_group - everyone).max())
        if table.binary or by_group.max() != 0:  # a class that nobody is decided for has no ratio
            ratios.append(by_group.min() / by_group.max() if by_group.max() > 0 else math.nan)
    kinds = {"gap": max, "population": max, "ratio": min}
    numbers = {"gap": gaps, "population": populations, "ratio": ratios}
    for kind in kinds:
        if empty:
            reasons[f"{notion.name}_{kind}"] = empty
        elif not numbers[kind] or any(math.isnan(value) for value in numbers[kind]):
            reasons[f"{notion.name}_{kind}"] = "the rate is 0 in every group, so the ratio is 0 over 0."
    return {f"{notion.name}_{kind}": _fold(pick, numbers[kind]) for kind, pick in kinds.items()}


def _fold(pick: Callable[[list[float]], float], values: list[float]) -> float:
    return math.nan if not values or any(math.isnan(value) for value in values) else float(pick(values))


def _format_empty(notion: Notion, table: _Table) -> str | None:
    """Say why a notion is undefined: for want of a positive label, or of rows that it compares."""
    conditions = notion.conditions_among(len(table.labels))
    for condition in conditions:
        sizes, where = table.counts.sum(axis=(1, 2)), ""
        if condition is not None and notion.compares == "labels":
            sizes, where = table.counts[:, :, condition].sum(axis=1), " predicted positive"
        elif condition is not None:
            sizes, where = table.counts[:, condition].sum(axis=1), f" with label {table.format_label(condition)}"
        for index in np.flatnonzero(sizes == 0).tolist():
            return f"group '{table.groups[index]}' has no rows{where}."
    return None if conditions else format_undefined(notion, len(table.labels))


def _inequality(counts: Counts, reasons: dict[str, str], names: Sequence[str]) -> dict[str, float]:
    accuracy = rates.divide(*rates.sum_rate(rates.correct, counts))
    for name in _INDICES:
        for index, value in enumerate(accuracy):
            if math.isnan(value):
                reasons[name] = f"group '{names[index]}' has no rows."
            elif value == 0.0:
                reasons.setdefault(name, f"group '{names[index]}' has an accuracy of 0.")
    indices = {name: index(accuracy) for name, index in _INDICES.items()}
    for name, value in indices.items():
        if not math.isnan(value):
            reasons.pop(name, None)
    return indices


def _measure_cell(name: str, cell: Counts, reasons: dict[str, str]) -> dict[str, object]:
    described: dict[str, object] = {"name": name, "size": int(cell.sum())}
    described["selected"] = int(cell[0, :, 1].sum())
    described["positives"] = int(cell[0, 1].sum())
    described["correct"] = int(cell[0, 0, 0] + cell[0, 1, 1])
    for rate_name, rate in GROUP_RATES.items():
        numerator, denominator = (int(value[0]) for value in rates.sum_rate(rate, cell))
        described |= _measure_share(rate_name, numerator, denominator)
        if not denominator:
            reasons[f"groups/{name}/{rate_name}"] = f"group '{name}' has no rows{_WITHOUT.get(rate_name, '')}."
    return described


def _single(rate: rates.Rate, whole: Counts) -> float:
    return float(rates.divide(*rates.sum_rate(rate, whole))[0])


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _missing_label(table: _Table) -> str:
    sizes = table.counts.sum(axis=(0, 2))
    if sizes.sum() == 0:
        return "there are no rows."
    return f"no row has label {table.format_label(int(np.argmin(sizes)))}."
