"""What every page asks for: the run store, the chosen data, the theme. Cached here, so that the core need not."""

from __future__ import annotations

import os
from typing import Literal

import streamlit as st

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.data.profile import Outline, outline_data
from fairpriv_core.runs.store import RunStore, open_store
from pages.widgets.guard import attempt
from pages.widgets.reference import read_reference


def find_store() -> RunStore | None:
    """Return the run store; None after showing why there is none."""
    return attempt(lambda: _open(os.environ.get("FAIRPRIV_STORE")))


def find_spec(reference: str) -> DataSpec | None:
    """Return the data that `reference` names; None after showing why it cannot be had."""
    store = find_store()
    return None if store is None else attempt(lambda: read_reference(reference, store.database.folder / "uploads"))


def find_outline(spec: DataSpec) -> Outline | None:
    """Return what is told of the data, read once for all pages; None after showing why it cannot be read."""
    return attempt(lambda: _outline(spec.dataset, spec.file, spec.label, spec.positive, spec.sensitive))


def find_dataset(spec: DataSpec) -> Dataset | None:
    """Return the outline's data: their labels and groups, and of their features only the names."""
    outline = find_outline(spec)
    return None if outline is None else outline.dataset


def theme_name() -> Literal["light", "dark"]:
    """Return the theme that the person sees."""
    return "dark" if st.context.theme.type == "dark" else "light"


@st.cache_resource(show_spinner=False)
def _open(url: str | None) -> RunStore:
    return open_store(url)


@st.cache_resource(max_entries=4, show_spinner="Reading the data …")
def _outline(dataset: str | None, file: str | None, label: str | None, positive: str | None, sensitive: str) -> Outline:
    return outline_data(DataSpec(dataset=dataset, file=file, label=label, positive=positive, sensitive=sensitive))
