"""Which methods and notions go together with the data: these are offered, and of the others it is said why not."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from fairpriv_core.data.catalog import DEFAULT_DATA, problems
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.base import MethodInfo
from fairpriv_core.methods.catalog import DEFAULT_METHOD, DEFAULT_METHOD_OF_CLASSES, mark_ours, methods
from fairpriv_core.notions.catalog import notions, notions_of_means
from fairpriv_core.notions.cells import LABELS
from fairpriv_core.notions.notion import explain, format_undefined, list_names
from fairpriv_core.records.advice import AUTO
from fairpriv_core.records.plan import check_method
from pages.widgets.shared.sentences import plain, sentence
from pages.widgets.shared.state import DEFAULTS, choose, draw_list, forget, keep, mount_index, settle, value

_PROTECTS = {"attribute": "attribute", "record": "whole record", None: "not private"}
_ADVISES = "The method that did best on tables like this one, by what you protect."
_METHOD_HELP = "Attribute: who is in which group. Whole record: all that a row says. Their ε cannot be compared."


def offer_default(reference: str) -> None:
    """Where data cannot be had, such as a benchmark without a network, offer those that are always here."""
    usual = DEFAULTS["data"]
    if reference != usual:
        take = partial(choose, "data", usual)
        title = problems()[DEFAULT_DATA["dataset"]].title
        st.button(f"Use {plain(title)} instead", key="use_default_data", icon=":material/undo:", on_click=take)


def settle_defaults(reference: str, dataset: Dataset) -> None:
    """Take a method and a notion that newly chosen data can be used with; other data get back what was chosen."""
    _prefer(reference, dataset)
    able = _list_offered(dataset)
    settle("method", able, DEFAULT_METHOD_OF_CLASSES if DEFAULT_METHOD_OF_CLASSES in able else able[0])


def choose_method(dataset: Dataset | None) -> str:
    """Draw the list of methods that the data can be used with and return the chosen one."""
    infos = {name: kind.info for name, kind in methods().items()}
    unsuited = {name: why for name, info in infos.items() if (why := _refuse(info, dataset))}
    able = _list_offered(dataset)
    usual = (name for name in (DEFAULT_METHOD, DEFAULT_METHOD_OF_CLASSES) if name in able)
    wish = settle("method", able, next(usual, able[0]))
    widget = mount_index("method", able)
    info = infos.get(able[widget["index"]])
    about = _ADVISES if info is None else f"{info.summary} {info.citation[:1].upper()}{info.citation[1:]}."
    method = st.selectbox(
        "Method",
        able,
        **widget,
        format_func=title_method,
        help=f"{plain(about)}\n\n{_METHOD_HELP}",
    )
    if method != value("method"):
        forget("method.aside")
    keep("method", method)
    if wish in unsuited and wish != DEFAULT_METHOD:
        st.info(plain(sentence(unsuited[wish])), icon=":material/swap_horiz:")
    if dataset is not None and unsuited:
        st.caption(_format_unsuited([infos[name] for name in unsuited], dataset))
    return str(method)


def list_methods(dataset: Dataset | None) -> list[str]:
    """Return the methods that the data can be used with, in the catalogue's order."""
    return [name for name, kind in methods().items() if not _refuse(kind.info, dataset)]


def _list_offered(dataset: Dataset | None) -> list[str]:
    """Return the choices of a method: where the adviser knows such data, first that it chooses."""
    is_advisable = (
        dataset is not None and dataset.labels == LABELS and dataset.image is None and dataset.answered is None
    )
    return [AUTO, *list_methods(dataset)] if is_advisable else list_methods(dataset)


def title_method(name: str) -> str:
    """Return what a list says of a method: its title, what it protects, and whether it is this project's own."""
    if name == AUTO:
        return "Recommended for this data"
    info = methods()[name].info
    return f"{info.title} · {_PROTECTS[info.threat_model]}{mark_ours(name)}"


def choose_notion(method: str, reference: str, dataset: Dataset | None) -> str:
    """Draw the list of notions that the method takes and that the data can be measured by; return the chosen one."""
    _prefer(reference, dataset)
    names = tuple(notions_of_means()) if method == AUTO else methods()[method].info.notions
    labels = 2 if dataset is None else dataset.labels
    able = [name for name in names if notions()[name].conditions_among(labels)]
    titles = {name: notion.title for name, notion in notions().items()}
    unpursued = [
        notion.title.lower() for name, notion in notions().items() if not notion.is_level and name not in names
    ]
    who = "What is recommended" if method == AUTO else methods()[method].info.title
    about = plain(f"{who} does not pursue {list_names(unpursued)}.") if unpursued else None
    before = value("notion")
    notion_name = draw_list("notion", "Fairness notion", able, titles.__getitem__, help=about)
    if notion_name != before:
        forget("notion.aside")
    for name in (name for name in names if name not in able):
        st.caption(f"Not in the list: {format_undefined(notions()[name], labels)}")
    return str(notion_name)


def explain_notion(name: str, dataset: Dataset) -> None:
    """Say what the notion asks for on this data: which groups, which direction, the ideal value."""
    notion = notions()[name]
    sentences = explain(notion, dataset.group_names, dataset.label_names)
    misleads = f"{notion.number} {notion.misleads}" if notion.number in sentences else notion.misleads
    st.markdown(plain(sentences.replace(notion.number, "").strip()), help=plain(misleads))


def _format_unsuited(infos: Sequence[MethodInfo], dataset: Dataset) -> str:
    """Say which kinds of methods are not in the list."""
    kinds = []
    if any(info.max_labels is not None and info.max_labels < dataset.labels for info in infos):
        kinds.append(f"that take two labels (here are {dataset.labels:,})")
    if dataset.classes_are_groups:
        kinds.append("that protect the sensitive attribute (here it is the label, which they take as public)")
    if dataset.answered is not None:
        kinds = [f"that take {dataset.sensitive} as true (here it holds randomised answers)"]
    return f"Not in the list: methods {plain(' and methods '.join(kinds))}."


def _refuse(info: MethodInfo, dataset: Dataset | None) -> str:
    """Return why a method cannot be used on the data; "" where it can, or where no data are known yet."""
    if dataset is None:
        return ""
    try:
        check_method(info, dataset)
    except BadInput as error:
        return str(error)
    return ""


def _prefer(reference: str, dataset: Dataset | None) -> None:
    """Where the groups of newly chosen data are its classes, choose a notion about errors; for other data undo that.

    With such groups other notions measure how good the model is.
    An address that names a notion is followed when it is opened.
    """
    before = value("notion.of", "")
    if dataset is None or before == reference:
        return
    keep("notion.of", reference)
    if before or "notion" not in st.query_params:
        able = [
            name for name, notion in notions().items() if notion.compares == "errors" or not dataset.classes_are_groups
        ]
        settle("notion", able, able[0])
