"""Records with more than two labels: what is shown where those with two have rates of the positive label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairpriv_core.facts import wording
from fairpriv_core.facts.measures import Measures
from fairpriv_core.facts.run_facts import RunFacts
from fairpriv_core.methods.catalog import REFERENCE_METHOD
from fairpriv_core.plain import Json
from fairpriv_core.records.release import Kind
from fairpriv_core.stats import Mean, mean_interval
from fairpriv_core.text import percent_text

ALIKE = 0.95  # of the rows that are given the same answer: such a model hardly tells people apart


@dataclass(frozen=True)
class ClassLine:
    """One class of several settings: its accuracy in each, and what each gained on the reference (None without one)."""

    name: str
    accuracies: tuple[Mean, ...]
    gains: tuple[float | None, ...]


def read_classes(measures: Measures[Kind] | None) -> Sequence[Json]:
    """Return the numbers of each class; () where there are two labels, or no numbers."""
    classes: Sequence[Json] = () if measures is None else measures.found.get("classes") or ()
    return classes


def has_classes(measures: Measures[Kind] | None) -> bool:
    """Return whether numbers are of more than two labels."""
    return bool(read_classes(measures))


def are_groups(numbers: Json) -> bool:
    """Return whether the classes of such metrics are their groups too, so that one table serves for both.

    Names and exact sizes are compared; noisy sizes differ, and of these the names alone.
    """
    groups, classes = (
        [(part["name"], part["size"] if isinstance(part["size"], int) else None) for part in numbers[name]]
        for name in ("groups", "classes")
    )
    return groups == classes


def list_shares(numbers: Json) -> dict[str, str]:
    """Return the shares of each group that such metrics have, in words; {} where there are two labels."""
    titles = {f"{wording.DECIDED}{part['name']}": f"decided '{part['name']}'" for part in numbers.get("classes") or ()}
    return {"accuracy": "predicted rightly", **titles} if titles else {}


def read_groups(numbers: Json, rate: str) -> Sequence[Json]:
    """Return a record's groups with the share `rate` under its name, "decided/<class>" too."""
    groups: Sequence[Json] = numbers.get("groups") or ()
    if not rate.startswith(wording.DECIDED):
        return groups
    label = rate.removeprefix(wording.DECIDED)
    return [
        {
            "name": group["name"],
            "size": group["size"],
            rate: group.get("decided", {}).get(label),
            f"{rate}_interval": group.get("decided_interval", {}).get(label),
        }
        for group in groups
    ]


def find_widest(numbers: Json) -> str:
    """Return the share "decided/<class>" in which the groups of such metrics differ most: demographic parity's gap."""
    values = {
        share: [value for group in read_groups(numbers, share) if (value := group[share]) is not None]
        for share in list_shares(numbers)
        if share.startswith(wording.DECIDED)
    }
    return max(values, key=lambda share: max(values[share], default=0.0) - min(values[share], default=0.0))


def format_decided(numbers: Json) -> str:
    """Return which class is decided most, and what that says of the model; "" where that is not known."""
    classes = [part for part in numbers["classes"] if part["decided"] is not None]
    if not classes:
        return ""
    largest = max(classes, key=lambda part: float(part["decided"]))
    sentence = f"Decided most: '{largest['name']}', for {percent_text(largest['decided'])} of the test rows."
    return f"{sentence} The model gives nearly everybody the same answer." if largest["decided"] >= ALIKE else sentence


def compare_classes(settings: Sequence[Sequence[RunFacts[Kind]]], *, reference: int | None) -> tuple[ClassLine, ...]:
    """Return each class's accuracy in each setting, its mean over the setting's seeds.

    A gain is in [-1, 1], against the setting at place `reference`: FairDP with adaptive clipping, Table 1.
    """
    settings_accuracies = [_mean_accuracies(runs) for runs in settings]
    lines = []
    for name in dict.fromkeys(name for accuracies in settings_accuracies for name in accuracies):
        means = tuple(accuracies.get(name, Mean(None, None, None, 0)) for accuracies in settings_accuracies)
        base = None if reference is None else means[reference].mean
        gains = (None if at == reference else _subtract(mean.mean, base) for at, mean in enumerate(means))
        lines.append(ClassLine(name, means, tuple(gains)))
    return tuple(lines)


def find_reference(methods: Sequence[str]) -> int | None:
    """Return the place of the first setting that is trained for accuracy alone; None where there is none."""
    return next((at for at, method in enumerate(methods) if method == REFERENCE_METHOD), None)


def _mean_accuracies(runs: Sequence[RunFacts[Kind]]) -> dict[str, Mean]:
    values: dict[str, list[float | None]] = {}
    for run in runs:
        for part in read_classes(run.exact):
            values.setdefault(str(part["name"]), []).append(part["accuracy"])
    return {name: mean_interval(own) for name, own in values.items()}


def _subtract(value: float | None, base: float | None) -> float | None:
    return None if value is None or base is None else value - base
