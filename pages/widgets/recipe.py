"""The three choices that a run starts from: data and sensitive attribute, notion, method."""

from __future__ import annotations

import streamlit as st

from fairpriv_core.data.catalog import problems
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.methods.catalog import methods
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.notion import explain
from pages.widgets.frame import link_to
from pages.widgets.guard import plain
from pages.widgets.state import keep, mount_index, value


def choose_recipe() -> tuple[str, str, str]:
    """Draw the three lists and return the data's reference, the notion's name and the method's name."""
    data, notion, method = st.columns(3)
    with data:
        listed = [f"{name}:{sensitive}" for name, problem in problems().items() for sensitive in problem.sensitive]
        listed += [value("data")] if value("data") not in listed else []
        chosen = st.selectbox("Data and sensitive attribute", listed, **mount_index("data", listed))
        reference = keep("data", chosen)
        link_to("data", "Look at it, or bring your own")
    with method:
        name = _choose_method()
    with notion:
        wanted = _choose_notion(methods()[name].info.notions)
    return reference, wanted, name


def explain_notion(name: str, dataset: Dataset) -> None:
    """Say what the notion asks for on this data: which groups, which direction, the ideal value."""
    st.markdown(plain(explain(notions()[name], dataset.group_names, dataset.label_names[1])))


def _choose_method() -> str:
    names = list(methods())
    titles = {name: kind.info.title for name, kind in methods().items()}
    mounted = mount_index("method", names, "pf_ld")
    chosen = st.selectbox("Method", names, **mounted, format_func=titles.__getitem__)
    info = methods()[keep("method", chosen)].info
    st.caption(f"{info.summary} {info.citation}.")
    return str(chosen)


def _choose_notion(names: tuple[str, ...]) -> str:
    titles = {name: notion.title for name, notion in notions().items()}
    chosen = st.selectbox("Fairness notion", names, **mount_index("notion", names), format_func=titles.__getitem__)
    st.caption(notions()[keep("notion", chosen)].sentence, help=notions()[chosen].misleads)
    return str(chosen)
