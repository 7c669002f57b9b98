"""What a run certifies of the model that it exports, or estimates of its gap, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairpriv_core.errors import BadInput
from fairpriv_core.methods.catalog import methods
from fairpriv_core.methods.shared.certificates import OF_PAPER
from fairpriv_core.notions.catalog import notions
from fairpriv_core.records.record import RunRecord

PAPERS_OWN = (
    "The certificates of the published variant are withheld: they are about a classifier whose last layer is drawn "
    "anew, which is not the exported one. They serve the paper's figures alone."
)
RANDOMISED = "No information: Theorem 2 bounds a classifier whose last layer is drawn anew, not the exported one."
NOTHING = "no information: the bound is 100 points"
_OF_ESTIMATES = (
    ("counts", "the noise of the release and the draw of the training rows"),
    ("not proved", "how much noise hides was found on other tables; with small groups or much noise it fails often"),
)


def find_certificates(record: RunRecord) -> Mapping[str, Any]:
    """Return a finished run's certificates, or why it has none: `certify_exported` says in which form.

    The published variant has no numbers but a `reason`; a run that was chosen among others has them as `withdrawn`.

    Raises:
        BadInput: the run has none; the message says which methods give one.
    """
    certificates = _read(record)
    if certificates:
        return certificates
    name = record.config["method"]["name"]
    if methods()[name].info.certifies:
        raise BadInput(f"run {record.key} is {record.status}: only a finished run has a certificate.", field="key")
    able = ", ".join(candidate for candidate, kind in methods().items() if kind.info.certifies)
    raise BadInput(
        f"run {record.key} was trained with '{name}', which gives no certificate; choose a run of {able}.", field="key"
    )


def format_certificates(record: RunRecord) -> list[tuple[str, str]]:
    """Return (name, sentence) of what a run certifies, its accuracy beside it; [] where it certifies nothing."""
    certificates = _read(record)
    if not certificates:
        return []
    for name in ("withdrawn", "reason"):
        if name in certificates:
            return [("withdrawn" if name == "withdrawn" else "none", certificates[name])]
    gaps = [
        (f"{notion.replace('_', ' ')} gap", _format_bound(bound)) for notion, bound in certificates["bounds"].items()
    ]
    failure = f"{100 * certificates['failure']:.2g}"
    *unbounded, last = [notion.title.lower() for notion in notions().values() if notion.compares != "decisions"]
    return [
        *gaps,
        ("no bound", f"of {', '.join(unbounded)} and {last}: bounds are of decisions, by people's labels"),
        ("accuracy", _format_accuracy(certificates)),
        ("holds", f"all of these together, but for a chance of {failure} in 100 over rows and noise"),
        ("about", certificates["about"]),
        ("assumes", " ".join(certificates["assumptions"])),
        ("Theorem 2", RANDOMISED),
    ]


def format_bounds(record: RunRecord) -> list[tuple[str, str]]:
    """Return (name, sentence) of the bound of its gap that a run estimates, which certifies nothing; [] without one."""
    bounds: Mapping[str, float] = record.notes.get("released_gap_bounds", {})
    lines = [
        (metric.replace("_", " "), _format_bound(bound if bound < 1.0 else None)) for metric, bound in bounds.items()
    ]
    return [*lines, *_OF_ESTIMATES] if lines else []


def _read(record: RunRecord) -> Mapping[str, Any]:
    certificates: Mapping[str, Any] = record.notes.get("certificates") or {}
    return {"of": OF_PAPER, "reason": PAPERS_OWN} if certificates.get("of") == OF_PAPER else certificates


def _format_bound(bound: float | None) -> str:
    return NOTHING if bound is None else f"at most {_points(bound, up=True)} percentage points"


def _format_accuracy(certificates: Mapping[str, Any]) -> str:
    bound = f"at least {_points(certificates['accuracy_at_least'], up=False)} %"
    estimates: Sequence[float | None] = (certificates["accuracy"], certificates["constant_accuracy"])
    if None in estimates:
        return bound
    own, constant = (100.0 * (value or 0.0) for value in estimates)
    return f"{bound}, by the same counts about {own:.2f} %; one answer for everyone has about {constant:.2f} %"


def _points(share: float, *, up: bool) -> str:
    """Return a bound in points with two digits, rounded to the side on which it still holds."""
    hundredths = share * 10_000.0
    rounded = int(hundredths) + (1 if up and hundredths > int(hundredths) else 0)
    return f"{rounded / 100.0:.2f}"
