"""What a benchmark's owners ask of its users, and whether this machine's user has confirmed it."""

from __future__ import annotations

import os
from pathlib import Path

from fairpriv_core.data.download import cache_folder
from fairpriv_core.data.problem import Problem
from fairpriv_core.errors import BadInput

VARIABLE = "FAIRPRIV_CONFIRMED"


def is_confirmed(problem: Problem) -> bool:
    """Return whether a benchmark's terms are confirmed, by the variable or by an earlier `confirm`, or ask nothing."""
    named = os.environ.get(VARIABLE, "").replace(",", " ").split()
    return not problem.terms or _name(problem) in named or _place(problem).exists()


def check_terms(problem: Problem) -> None:
    """Raise BadInput with what is to be confirmed, and how, unless it is."""
    if not is_confirmed(problem):
        raise BadInput(
            f"{problem.title}: {problem.terms[0].lower()}{problem.terms[1:]} Confirm it once with "
            f"'fairpriv confirm {problem.name}', on the Data page, or with {VARIABLE}={_name(problem)}.",
            field="terms",
        )


def confirm(problem: Problem) -> None:
    """Remember for this machine's user that they confirm the terms."""
    place = _place(problem)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(problem.terms + "\n", encoding="utf-8")


def _name(problem: Problem) -> str:
    return problem.people or problem.name


def _place(problem: Problem) -> Path:
    return cache_folder() / "confirmed" / _name(problem)
