"""The three choices that a run starts from: data and sensitive attribute, notion, method."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.data.problem import DataSpec
from pages.widgets.shared.demo import list_offered
from pages.widgets.shared.frame import link_to
from pages.widgets.shared.reference import list_reference
from pages.widgets.shared.session import find_dataset, find_spec
from pages.widgets.shared.state import keep, mount_index, value
from pages.widgets.shared.suitable import choose_method, choose_notion, explain_notion


@dataclass(frozen=True)
class Recipe:
    """What was chosen; `spec` and `dataset` are None where the data cannot be had, which has been said."""

    reference: str
    spec: DataSpec | None
    dataset: Dataset | None
    notion: str
    method: str


def choose_recipe() -> Recipe:
    """Draw the three lists, of methods and notions those that the data can be used with, and what the notion asks."""
    data, notion, method = st.columns(3)
    with data:
        listed = list_offered()
        listed += [value("data")] if value("data") not in listed else []
        chosen = st.selectbox(
            "Data and sensitive attribute", listed, **mount_index("data", listed), format_func=list_reference
        )
        reference = keep("data", chosen)
        link_to("data", "LineStyle at it, or bring your own")
    spec = find_spec(reference)
    dataset = None if spec is None else find_dataset(spec)
    with method:
        name = choose_method(dataset)
    with notion:
        wanted = choose_notion(name, reference, dataset)
    if dataset is not None:
        explain_notion(wanted, dataset)
    return Recipe(reference, spec, dataset, wanted, name)
