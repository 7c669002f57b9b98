"""What is measured at finished models beside their metrics, for the papers' figures: for the analyst.

Measured on the training rows, raw: a function of people's records and groups that no epsilon covers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fairpriv_core.runs.bias_variance import measure_bias_variance
from fairpriv_core.runs.clipped import measure_clipped
from fairpriv_core.runs.membership import measure_membership
from fairpriv_core.runs.paper_runs import attach
from fairpriv_core.runs.shelf import Shelf
from fairpriv_core.runs.store import RunStore, open_store

Numbers = Mapping[str, Any]
MEASURES: Mapping[str, Callable[[RunStore, str, Shelf], Numbers]] = {
    "bias_variance": measure_bias_variance,
    "clipped": measure_clipped,
    "membership": measure_membership,
}


def compute(place: str | None, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return {"measured": `measure`} for {"measure": its name, "keys": of runs} of the store at `place`."""
    with open_store(place) as store:
        return {"measured": measure(store, request["measure"], request["keys"])}


def measure(store: RunStore, name: str, keys: Sequence[str]) -> dict[str, Numbers]:
    """Return what a measure finds of finished runs, by their keys. Raises BadInput for a run that has no model."""
    shelf = Shelf(check=store.files.check)
    return {key: MEASURES[name](store, key, shelf) for key in keys}


def with_measured(store: RunStore, name: str, records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return records with what a measure finds of each under its name; "" measures nothing."""
    if not name:
        return [dict(record) for record in records]
    return attach(records, name, measure(store, name, [record["key"] for record in records]))
