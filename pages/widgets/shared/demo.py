"""What is offered where the dashboard is looked at alone, or tried by strangers: two data sets, and no upload."""

from __future__ import annotations

import streamlit as st

from fairpriv_core.data.catalog import problems
from fairpriv_core.data.problem import Problem
from fairpriv_core.errors import BadInput
from fairpriv_core.store.mode import DATA, is_demo, is_open, is_trial

SENTENCE = "this is a demonstration: nothing can be uploaded, launched, changed or deleted here."
NO_UPLOAD = "nothing can be uploaded here: install fairpriv for your own data."


def offered_problems() -> dict[str, Problem]:
    """Return the benchmarks that can be chosen here, by name."""
    return {name: problem for name, problem in problems().items() if is_open() or name in DATA}


def list_offered(chosen: str) -> list[str]:
    """Return the references to those benchmarks, one for each sensitive attribute, and the one that is `chosen`."""
    offered = [f"{name}:{sensitive}" for name, problem in offered_problems().items() for sensitive in problem.sensitive]
    return offered if chosen in offered else [*offered, chosen]


def check_offered(name: str) -> None:
    """Raise BadInput for data, by the name in a reference, that cannot be chosen here; no file is looked for."""
    if not is_open() and name not in DATA:
        raise BadInput(f"only {' and '.join(DATA)} are shown here.", field="data")


def show_banner() -> None:
    """Say on every page what it is, where it is to be looked at alone or to be tried."""
    if is_trial():
        st.caption(  # Train keeps all its sliders in sight
            ":material/experiment: Try small runs on public data; a reload throws them away. To keep runs or use your "
            "own data, install fairpriv."
        )
    if is_demo():
        st.info(
            "This is a demonstration: open every page and move every slider. To launch runs or use your own data, "
            "install fairpriv.",
            icon=":material/visibility:",
        )
