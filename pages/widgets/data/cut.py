"""A label that is a number of many values, cut in two at a stated one."""

from __future__ import annotations

from collections.abc import Collection

import streamlit as st

from fairpriv_core.data.roles import parse_label
from fairpriv_core.data.table import name_bins
from pages.widgets.shared.guard import attempt, plain
from pages.widgets.shared.state import keep, mount


def ask_cut(name: str) -> str:
    """Return the label's text, such as `score:150`; "" while it is not said where to cut."""
    typed = st.text_input(
        plain(f"Cut '{name}' at"),
        **mount(f"label_edge.{name}", default=""),
        placeholder="150",
        help="One number; a value equal to it belongs to the upper part.",
    )
    edge = str(keep(f"label_edge.{name}", typed) or "").strip()
    if not edge:
        st.info(plain(f"'{name}' is a number: say where to cut it in two, such as 150."), icon=":material/content_cut:")
    return f"{name}:{edge}" if edge else ""


def name_labels(label: str, columns: Collection[str]) -> tuple[str, ...]:
    """Return the two values of a label that is cut; none where it is not said where, or not in one number."""
    asked = attempt(lambda: parse_label(label, columns)) if label else None
    return () if asked is None else name_bins(asked.column, asked.edges)
