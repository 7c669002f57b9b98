"""Curves of runs that differ by seed alone, folded into one with its 95 % interval."""

from __future__ import annotations

from collections.abc import Sequence

from fairpriv_core.report.figure import Value
from fairpriv_core.report.live import Curve, History
from fairpriv_core.stats import mean_interval


def fold_curves(label: str, method: str, histories: Sequence[History], metric: str) -> Curve:
    """Return the mean of `metric` ("accuracy", …) over runs at each step that all have, with its 95 % t interval.

    One run gives its own curve without an interval; a step where a run has no value is a gap.
    """
    found = [dict(zip(*history.get(f"test/{metric}", ((), ())), strict=True)) for history in histories]
    steps = sorted(set.intersection(*(set(values) for values in found))) if found else []
    means = [mean_interval(values[step] for values in found) for step in steps]
    y: list[Value] = [mean.mean if mean.n == len(found) else None for mean in means]
    if len(found) < 2:
        return Curve(label, method, steps, y)
    low: list[Value] = [mean.low for mean in means]
    return Curve(label, method, steps, y, low=low, high=[mean.high for mean in means])
