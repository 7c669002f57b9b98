"""What the analyst sees of a model at the end of an epoch: loss, histograms per group, and a way to predict.

Computed on raw data, at rows fixed by a public seed; never released, never used in training.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from fairpriv_core.engine.clipping import share_clipped
from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.rows import Drawn, Feed, Records, count_streams
from fairpriv_core.engine.training import Histogram, Snapshot
from fairpriv_core.seeds import public_generator

_ROWS = 1000
_BINS = 40
_NOBODY = -1  # the group of a null


Bound = np.ndarray | float | None  # as wide as one model or record, or as all; None where nothing is clipped


class Watched(Protocol):
    """The part of a rule that is shown."""

    def watched(self, records: Records) -> dict[str, tuple[np.ndarray, Bound]]:
        """Return name -> values (K, m) and the bounds that clip them."""

    def scalars(self, model: int) -> dict[str, float]:
        """Return the analyst's curves of one model."""


def build_snapshots(
    models: Sequence[int], *, rule: Watched, kernel: Kernel, feed: Feed, epoch: int, step: int
) -> Iterator[Snapshot]:
    """Yield what the end of `epoch` looks like for those of the K models, which are passed through together."""
    if not models:
        return
    sample = _draw(feed)
    records = Records(kernel.take(sample), sample)
    watched = rule.watched(records)
    for model in models:
        own = {name: (values[model], _take(bound, values, model)) for name, (values, bound) in watched.items()}
        names, place = feed.group_names[model], model if len(records.code) > 1 else 0
        present = records.present[place] > 0
        groups = np.where(present, records.code[place] // records.labels, _NOBODY)
        yield Snapshot(
            epoch=epoch + 1,
            step=step,
            network=kernel.shape,
            parameters=kernel.parameters[model].copy(),
            scalars={
                "loss": float(records.loss[model].mean(where=present)),
                **rule.scalars(model),
                **_contributions(*own["gradient_norm"], groups, names),
            },
            histograms={name: _histogram(values, groups, names, bound) for name, (values, bound) in own.items()},
        )


def _draw(feed: Feed) -> Drawn:
    index = np.sort(public_generator(0, "watched rows").permutation(feed.n)[:_ROWS])
    return feed.draw([index] * count_streams([id(columns) for columns in feed.columns]))


def _take(bound: Bound, values: np.ndarray, model: int) -> np.ndarray | None:
    """Return the bound of each of a model's values (m,); None where it clips nothing."""
    if bound is None:
        return None
    own: np.ndarray = np.broadcast_to(np.asarray(bound, dtype=np.float64), values.shape)[model]
    return None if np.isinf(own).any() else own


def _contributions(
    norms: np.ndarray, bounds: np.ndarray | None, groups: np.ndarray, names: tuple[str, ...]
) -> dict[str, float]:
    """Return `contribution/<group>`: its share of the sum of all gradients' norms, as they are after clipping."""
    finite = np.abs(np.nan_to_num(norms.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0))
    directions = (finite if bounds is None else np.minimum(finite, bounds)) * (groups != _NOBODY)
    total = float(directions.sum()) or 1.0
    return {f"contribution/{name}": float(directions[groups == g].sum()) / total for g, name in enumerate(names)}


def _histogram(values: np.ndarray, groups: np.ndarray, names: tuple[str, ...], bounds: np.ndarray | None) -> Histogram:
    finite = np.nan_to_num(values.astype(np.float64), nan=0.0, posinf=0.0)
    largest = None if bounds is None else float(bounds.max())
    top = max(float(np.quantile(finite, 0.995)), (largest or 0.0) * 1.1, 1e-9)
    edges = np.linspace(0.0, top, _BINS + 1)
    places = {name: groups == g for g, name in enumerate(names)}
    counts = {name: _counts(finite[place], edges) for name, place in places.items()}
    if bounds is None or largest is None:
        return Histogram(tuple(edges.tolist()), counts)
    unlike = {} if bounds.min() == largest else {name: np.unique(bounds[place]) for name, place in places.items()}
    return Histogram(
        edges=tuple(edges.tolist()),
        counts=counts,
        bound=largest,
        bounds={name: tuple(bound.tolist()) for name, bound in unlike.items()},
        clipped={name: share_clipped(finite[place], bounds[place]) for name, place in places.items()},
    )


def _counts(values: np.ndarray, edges: np.ndarray) -> tuple[int, ...]:
    counts, _ = np.histogram(np.minimum(values, edges[-1]), bins=edges)
    return tuple(counts.tolist())
