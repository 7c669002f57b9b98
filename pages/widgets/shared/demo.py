"""A demonstration (`FAIRPRIV_DEMO=1`): it shows what is stored, on two data sets, and lets nobody add to it."""

from __future__ import annotations

import streamlit as st

from fairpriv_core.data.catalog import problems
from fairpriv_core.data.problem import Problem
from fairpriv_core.errors import BadInput
from fairpriv_core.runs.beside import is_demo

SENTENCE = "this is a demonstration: nothing can be uploaded, launched, changed or deleted here."
DATA = ("synthetic", "adult")


def offered_problems() -> dict[str, Problem]:
    """Return the benchmarks that can be chosen here, by name."""
    return {name: problem for name, problem in problems().items() if not is_demo() or name in DATA}


def list_offered() -> list[str]:
    """Return the references to those benchmarks, one for each sensitive attribute."""
    return [f"{name}:{sensitive}" for name, problem in offered_problems().items() for sensitive in problem.sensitive]


def check_offered(name: str) -> None:
    """Raise BadInput for data, by the name in a reference, that cannot be chosen here; no file is looked for."""
    if is_demo() and name not in DATA:
        raise BadInput(f"this demonstration shows {' and '.join(DATA)} only.", field="data")


def show_banner() -> None:
    """Say on every page of a demonstration what it is."""
    if is_demo():
        st.info(
            "This is a demonstration: open every page and move every slider. To launch runs or use your own data, "
            "install fairpriv.",
            icon=":material/visibility:",
        )
