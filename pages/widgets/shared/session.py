"""What every page asks for: the chosen data, the theme. Cached here, so that the core need not."""

from __future__ import annotations

import os
from typing import Any, Literal

import streamlit as st

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.data.profile import Outline
from fairpriv_core.data.reader_process import READER
from fairpriv_core.store.runs import RunStore
from pages.widgets.shared.access import find_store
from pages.widgets.shared.demo import check_offered
from pages.widgets.shared.reference import read_reference
from pages.widgets.shared.sentences import attempt


def find_spec(reference: str) -> DataSpec | None:
    """Return the data that `reference` names; None after showing why it cannot be had."""
    store = find_store()
    return None if store is None else attempt(lambda: read_spec(reference, store))


def find_outline(spec: DataSpec) -> Outline | None:
    """Return the outline of the data, read once for all pages; None after showing why it cannot be read."""
    fields = tuple(vars(spec).items())
    return attempt(lambda: _outline(fields, stamp_file(spec.file)))


def stamp_file(path: str | None) -> tuple[int, int] | None:
    """Return a file's size and time, which change when it does; None without a file."""
    if path is None or not os.path.exists(path):
        return None
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns


def read_spec(reference: str, store: RunStore) -> DataSpec:
    """Return the data that `reference` names; BadInput where it cannot be had."""
    check_offered(reference.partition(":")[0])
    return read_reference(reference, lambda digits: store.uploads.find(digits, store.payer).path)


def identify_file(path: str | None, store: RunStore) -> str | None:
    """Return the store's id of the content of a person's file; None without a file."""
    return None if path is None else _identify(path, stamp_file(path), str(store.database.url), store)


def find_dataset(spec: DataSpec) -> Dataset | None:
    """Return the outline's data: their labels and groups, and of their features only the names."""
    outline = find_outline(spec)
    return None if outline is None else outline.dataset


def theme_name() -> Literal["light", "dark"]:
    """Return the theme that the person sees."""
    return "dark" if st.context.theme.type == "dark" else "light"


@st.cache_resource(max_entries=4, show_spinner="Reading the data …")
def _outline(fields: tuple[tuple[str, Any], ...], stamp: tuple[int, int] | None) -> Outline:
    return READER.outline(DataSpec(**dict(fields)))


@st.cache_data(max_entries=16, show_spinner=False)
def _identify(path: str, stamp: tuple[int, int] | None, place: str, _store: RunStore) -> str:
    return _store.files.identify(path)
