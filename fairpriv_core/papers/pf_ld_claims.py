"""How PF-LD's claims are made: of the variant as published, and of the proved one, which is ours."""

from __future__ import annotations

from collections.abc import Callable

from fairpriv_core.papers.pf_ld_runs import NOTIONS
from fairpriv_core.papers.preset import Check, Claim, Part, Quantity, Value, Where, proved, published

PUBLISHED, PROVED = published("PF-LD", "pf_ld"), proved("PF-LD", "pf_ld")


def make_claim(
    says: str, source: str, check: Callable[[Part], Check], *, reading: str = "", cases: tuple[Part, ...] = NOTIONS
) -> Claim:
    """Return a claim; `check` is given the variant that it is about."""
    return Claim(says, source, check(PUBLISHED), cases, reading, check(PROVED))


def quantity(part: Part, value: Value, where: Where | None = None) -> Quantity:
    """Return the mean of a value over a method's runs that have the given values."""
    return Quantity(part.name, value, {**part.where, **(where or {})})
