"""What is asked of images: to confirm what they may be used for, which column has them, which to leave out."""

from __future__ import annotations

import streamlit as st

from fairpriv_core.data.download import VARIABLE, confirm, is_confirmed
from fairpriv_core.data.problem import Problem
from fairpriv_core.data.profile import FileReport
from pages.widgets.shared.guard import attempt, plain
from pages.widgets.shared.person import find_person
from pages.widgets.shared.state import keep, mount, mount_index

_NONE = ""


def choose_images(report: FileReport) -> tuple[str | None, str | None]:
    """Return the column that holds or names images and "skip" where asked; two None where the rows are no images."""
    if not report.images:
        return None, None
    options = [_NONE, *report.images]
    chosen = st.selectbox(
        "Images: the column that holds them, or names their files",
        options,
        **mount_index("image", options, report.images[0]),
        format_func=lambda name: name or "none: the other columns are the features",
    )
    image = keep("image", chosen)
    return (image, ask_skip()) if image else (None, None)


def ask_skip() -> str | None:
    """Return "skip" where images that cannot be read are to be left out; None where they are refused."""
    asked = st.toggle("Leave out images that cannot be read", **mount("unreadable", default=False))
    return "skip" if keep("unreadable", asked) else None


def ask_terms(problem: Problem) -> bool:
    """Return whether the benchmark may be read; where not, draw what is to be confirmed.

    On a server with sign-in nobody confirms for the others: its operator does.
    """
    if is_confirmed(problem):
        return True
    if find_person().name:
        told = f"{problem.terms} This server's operator confirms it with {VARIABLE}={problem.people or problem.name}."
        st.info(plain(told), icon=":material/gavel:")
        return False
    if not st.checkbox(plain(f"{problem.terms} I use them for nothing else."), key=f"confirm_{problem.name}"):
        return False
    attempt(lambda: confirm(problem))
    return is_confirmed(problem)
