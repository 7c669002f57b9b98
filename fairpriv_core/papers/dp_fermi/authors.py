"""The figure data that DP-FERMI's authors released, which stand in their figures beside ours.

`authors.csv` has a line a point: notion ("DP" demographic parity, "EO" equalized odds, "UTK-DP" on faces),
method, data set, ε, λ, accuracy and gap as shares. Names are the file's own. What it calls Tran2021a seems to be
DP-FERMI in part: a λ stands there twice, with unlike points, and DP-FERMI itself has lines on faces alone.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from fairpriv_core.papers.preset import Released

_STYLES = {"PF-LD": "pf_ld", "Jagielski-inproc": "jagielski_in", "DP-FERMI": "dp_fermi"}  # of what is one method
_PATH = Path(__file__).with_name("authors.csv")
CAUTION = (
    "Dots are the authors' own figure data, under their file's names. What it calls Tran2021a seems to be DP-FERMI in "
    "part."
)


def released(notion: str, dataset: str, budgets: Sequence[float]) -> tuple[Released, ...]:
    """Return the points of each method at each budget: the violation and the test error, as a figure shows them."""
    points_by_place: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for line in _read():
        if (line["fairness"], line["dataset"]) == (notion, dataset) and float(line["eps"]) in budgets:
            place = (f"ε = {float(line['eps']):g}", line["method"])
            point = (100.0 * float(line["gap"]), 100.0 * (1.0 - float(line["accuracy"])))
            points_by_place.setdefault(place, []).append(point)
    return tuple(
        Released(column, f"{name}, authors' data", tuple(points), _STYLES.get(name, "ink"))
        for (column, name), points in points_by_place.items()
    )


@cache
def _read() -> tuple[dict[str, str], ...]:
    with _PATH.open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))
