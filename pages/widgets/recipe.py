"""The three choices that a run starts from: data and sensitive attribute, notion, method."""

from __future__ import annotations

import streamlit as st

from fairpriv_core.data.catalog import problems
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.methods.catalog import methods
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.notion import explain
from fairpriv_core.runs.suited import check_sensitive
from pages.widgets.frame import link_to
from pages.widgets.guard import attempt, plain
from pages.widgets.reference import list_reference
from pages.widgets.state import keep, mount_index, value

#: what the list of methods says behind each title, in the list's order
PROTECTS = {"attribute": "attribute", "record": "whole record", None: "not private"}
_METHOD_HELP = "Attribute: who is in which group. Whole record: all that a row says. Their ε cannot be compared."


def choose_recipe() -> tuple[str, str, str]:
    """Draw the three lists and return the data's reference, the notion's name and the method's name."""
    data, notion, method = st.columns(3)
    with data:
        listed = [f"{name}:{sensitive}" for name, problem in problems().items() for sensitive in problem.sensitive]
        listed += [value("data")] if value("data") not in listed else []
        chosen = st.selectbox(
            "Data and sensitive attribute", listed, **mount_index("data", listed), format_func=list_reference
        )
        reference = keep("data", chosen)
        link_to("data", "Look at it, or bring your own")
    with method:
        name = _choose_method()
    with notion:
        wanted = _choose_notion(methods()[name].info.notions)
    return reference, wanted, name


def suits(method: str, dataset: Dataset) -> bool:
    """Return whether the method protects something of this data, or nothing at all; where not, say why."""
    return attempt(lambda: check_sensitive(methods()[method].info, dataset)) is not None


def explain_notion(name: str, dataset: Dataset) -> None:
    """Say what the notion asks for on this data: which groups, which direction, the ideal value."""
    st.markdown(plain(explain(notions()[name], dataset.group_names, dataset.label_names)))


def _choose_method() -> str:
    infos = {name: kind.info for name, kind in methods().items()}
    names = [name for protected in PROTECTS for name, info in infos.items() if info.threat_model == protected]
    titles = {name: f"{info.title} · {PROTECTS[info.threat_model]}" for name, info in infos.items()}
    mounted = mount_index("method", names, "pf_ld")
    chosen = st.selectbox(
        "Method and what it protects", names, **mounted, format_func=titles.__getitem__, help=_METHOD_HELP
    )
    info = methods()[keep("method", chosen)].info
    st.caption(f"{info.summary} {info.citation[:1].upper()}{info.citation[1:]}.")
    return str(chosen)


def _choose_notion(names: tuple[str, ...]) -> str:
    titles = {name: notion.title for name, notion in notions().items()}
    chosen = st.selectbox("Fairness notion", names, **mount_index("notion", names), format_func=titles.__getitem__)
    st.caption(notions()[keep("notion", chosen)].sentence, help=notions()[chosen].misleads)
    return str(chosen)
