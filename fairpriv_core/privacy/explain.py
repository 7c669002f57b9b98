"""What epsilon and delta mean, in plain words. Never a promise of safety."""

from __future__ import annotations

import math
from collections.abc import Mapping

from fairpriv_core import checks
from fairpriv_core.text import delta_text

_PROTECTED: Mapping[str, str] = {
    "attribute": "one {unit}'s sensitive attribute; all else about {it} is taken as public",
    "record": "{whole}",
}
_ALMOST_NONE = 8.0
_VERY_LOW = 0.05


def odds(epsilon: float) -> int:
    """Return how sure, in 100, an attacker can end at most who began at even odds: e^epsilon / (1 + e^epsilon).

    Rounded up, so that it holds: 50 for 0 and 100 from about 4.6 on, but for a failure with chance of about delta.
    """
    return math.ceil(_sureness(epsilon))


def odds_shown(epsilon: float) -> int:
    """Return how sure, in 100, an attacker can end at least where `epsilon` is a lower bound: rounded down."""
    return math.floor(_sureness(epsilon))


def _sureness(epsilon: float) -> float:
    checks.not_negative(epsilon=epsilon)
    return 100 / (1 + math.exp(-epsilon))


def sentence(epsilon: float | None, delta: float, threat_model: str, unit: str = "person", *, of: str = "") -> str:
    """Return what (`epsilon`, `delta`) says under `threat_model` ("attribute" or "record"), in one to four sentences.

    `unit` is "person", or "row" where people may have several. `of` is what is protected, such as "sex": then the guess
    names it and no sentence of its own does, nor one `delta`, which stands beside ε.

    None and infinity mean that nothing is proved. BadInput for a number out of range or another threat model.
    """
    checks.one_of(_PROTECTED, threat_model=threat_model)
    checks.open_unit(delta=delta)
    it, whole = ("it", "one whole row") if unit == "row" else ("them", f"one {unit}'s whole record")
    protects = f"Protected: {_PROTECTED[threat_model].format(unit=unit, it=it, whole=whole)}."
    if epsilon is None or math.isinf(epsilon):
        return f"No bound on what an attacker can learn is proved. {protects}"
    checks.not_negative(epsilon=epsilon)
    sure = "almost certain" if odds(epsilon) > 99 else f"at most {odds(epsilon)} % certain"
    guess = f"a {unit}'s {of} at 50:50" if of else "50:50"
    parts = [
        f"Someone guessing {guess} can become {sure}, whatever else they know.",
        *([] if of else [f"This can fail with a chance of about {delta_text(delta)}.", protects]),
    ]
    if epsilon >= _ALMOST_NONE:
        parts.insert(0, "This is almost no guarantee.")
    if epsilon <= _VERY_LOW:
        parts.append("With so much noise the model may learn little about fairness.")
    return " ".join(parts)


def warn_of_delta(delta: float, rows: int) -> str | None:
    """Return what is wrong with a delta that is not below 1 / rows; None for one that is."""
    checks.open_unit(delta=delta)
    if delta * rows < 1.0:
        return None
    return (
        f"δ = {delta:g} is not below 1/n = {1.0 / rows:.2g}: it would allow publishing one person's row at random; "
        "choose a smaller δ."
    )
