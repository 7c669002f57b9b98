"""A demonstration (`FAIRPRIV_DEMO=1`): it shows what is stored, on two data sets, and lets nobody add to it."""

from __future__ import annotations

import os

import streamlit as st

from fairpriv_core.data.catalog import problems
from fairpriv_core.data.problem import DataSpec, Problem
from fairpriv_core.errors import BadInput

SENTENCE = "this is a demonstration: nothing can be uploaded, launched, changed or deleted here."
_DATA = ("synthetic", "adult")


def is_demo() -> bool:
    """Return whether this dashboard is a demonstration."""
    return os.environ.get("FAIRPRIV_DEMO", "") not in ("", "0")


def offered_problems() -> dict[str, Problem]:
    """Return the benchmarks that can be chosen here, by name."""
    return {name: problem for name, problem in problems().items() if not is_demo() or name in _DATA}


def check_offered(spec: DataSpec) -> None:
    """Raise BadInput for data that cannot be chosen here."""
    if is_demo() and spec.dataset not in _DATA:
        raise BadInput(f"this demonstration shows {' and '.join(_DATA)} only.", field="data")


def show_banner() -> None:
    """Say on every page of a demonstration what it is."""
    if is_demo():
        st.info(
            "A demonstration: look at everything, move every slider. Nothing can be uploaded, launched, changed or "
            "deleted here; install fairpriv to use it on your own data.",
            icon=":material/visibility:",
        )
