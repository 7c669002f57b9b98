"""The lines of FairDP's (adaptive clipping) tables and figures, FairDP in four readings, and how they are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fairpriv_core.papers.preset import Compare, Part, Printed, Quantity, Value, of_method, published

_NOISE = "config/method/bound_of_noise"  # said where noise stays at the C that is set
SGD, DPSGD, FEDAVG = of_method("SGD", "none"), of_method("DPSGD", "dp_sgd"), of_method("DP-FedAvg", "dp_fedavg")
OPT_Q, DPSGD_F = published("Opt-Q", "opt_q", {_NOISE: None}), published("DPSGD-F", "dpsgd_f")
OPT_Q_SET = replace(published("Opt-Q", "opt_q", {_NOISE: "set"}), name="Opt-Q, noise at C", variation=2)
RIVALS = (DPSGD, FEDAVG, OPT_Q, DPSGD_F)


def _fairdp(kind: str, variant: str, reading: str, noise: str | None = None) -> Part:
    chosen = {"config/method/name": "fairdp_adaptive", "config/method/clip_by": kind, "config/method/variant": variant}
    variation = 2 if noise else int(variant == "published")
    return Part(f"FairDP by {kind}, {reading}", {**chosen, _NOISE: noise}, "fairdp_adaptive", variation)


FAIRDP = _fairdp("class", "published", "as published (L = 1)")
FAIRDP_SET = _fairdp("class", "published", "noise at C (L = 1e-4)", "set")
FAIRDP_PROVED = _fairdp("class", "proved", "proved (L = 1e-4)")
READINGS = (
    FAIRDP,
    _fairdp("group", "published", "as published (L = 1)"),
    FAIRDP_PROVED,
    _fairdp("group", "proved", "proved (L = 1e-4)"),
)
ROWS = (SGD, *RIVALS, *READINGS)
PRINTED_ROWS = (SGD, *RIVALS, FAIRDP)
INDEX_VALUES = {
    "Atkinson": Value("metrics/atkinson", "Atkinson index", "thousandths", scale=1000.0),
    "Gini": Value("metrics/gini", "Gini index", "thousandths", scale=1000.0),
    "MLD": Value("metrics/mean_log_deviation", "Mean log deviation", "thousandths", scale=1000.0),
    "Theil": Value("metrics/theil", "Theil index", "thousandths", scale=1000.0),
}


def mean_of(part: Part, value: Value) -> Quantity:
    """Return the mean of a value over a line's runs."""
    return Quantity(part.name, value, part.where)


def less(one: Part, other: Part, value: Value, low: float | None = None, high: float | None = None) -> Compare:
    """Return that `one` minus `other` lies in [low, high], in shown units."""
    return Compare(mean_of(one, value), mean_of(other, value), low, high)


def shorten(part: Part) -> str:
    """Return a method's name as the paper's tables have it."""
    return part.name.partition(",")[0].removesuffix(" by class")


def print_losses(
    source: str,
    people: Mapping[str, Value],
    losses: Mapping[str, Sequence[float]],
    rows: Sequence[Part] = PRINTED_ROWS,
) -> tuple[Printed, ...]:
    """Return Table 1's cells, in the order of `rows`: SGD's accuracies, and the others' differences from them."""
    found = []
    for name, numbers in losses.items():
        for part, number in zip(rows, numbers, strict=True):
            ours = mean_of(part, people[name]) if part is SGD else less(part, SGD, people[name])
            label = f"{shorten(part)}{'' if part is SGD else ' − SGD'}, {name}"
            found.append(Printed(label, number, source, ours, tolerance=0.5))
    return tuple(found)


def print_indices(
    source: str, indices: Mapping[str, Sequence[float]], rows: Sequence[Part] = PRINTED_ROWS
) -> tuple[Printed, ...]:
    """Return Table 2's cells, in the order of `rows`, in thousandths of the index.

    Ours may be a tenth off, as they weigh groups alike.
    """
    found = []
    for name, numbers in indices.items():
        for part, number in zip(rows, numbers, strict=True):
            own, shown = mean_of(part, INDEX_VALUES[name]), round(100.0 * number, 4)
            found.append(Printed(f"{shorten(part)}, {name}", shown, source, own, 0.1 * shown))
    return tuple(found)
