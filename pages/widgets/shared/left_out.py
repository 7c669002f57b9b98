"""Which rows and columns of a person's file are not used, and why: before a run on Data, after it on Run."""

from __future__ import annotations

import streamlit as st

from fairpriv_core.data.profile import Outline
from fairpriv_core.store.rows import RunRow
from fairpriv_core.store.runs import RunStore
from pages.widgets.shared.reference import write_config
from pages.widgets.shared.sentences import attempt, plain, sentence
from pages.widgets.shared.session import find_outline, read_spec

_TITLE = "Left out, and why"


def show_left_out(outline: Outline) -> None:
    """Draw the box about the data that are chosen, open; nothing where all is used."""
    if outline.rows_left_out or outline.columns_left_out:
        with st.expander(_TITLE, expanded=True, key="left_out"):
            _list(outline)


def offer_left_out(store: RunStore, row: RunRow) -> None:
    """Draw the box about a run on a file, for its owner alone; the file is read when it is opened.

    One that its owner has taken back from others is not read for them, whoever launched the run.
    """
    if row.config["data"].get("file") is None or row.owner != store.payer:
        return
    box = st.expander(_TITLE, key="run_left_out", on_change="rerun")
    if box.open:
        with box:
            outline = attempt(lambda: _read(store, row))
            if outline is not None:
                _list(outline)
                st.caption("Raw, for the analyst: counted on protected data without noise. Do not publish.")


def _read(store: RunStore, row: RunRow) -> Outline | None:
    spec = read_spec(write_config(row.config["data"]), store)
    store.files.check(spec.file, row.config.get("file_id"))
    return find_outline(spec)


def _list(outline: Outline) -> None:
    n_read, n_used = outline.dataset.rows_read, outline.dataset.without_nulls().n
    usage = "and all are used" if n_used == n_read else f"**{n_used:,}** are used"
    st.markdown(f"**{n_read:,}** rows were read, {usage}.")
    for reason, rows in outline.rows_left_out:
        st.markdown(f"- {rows:,} rows: {plain(reason)}.")
    for _, reason in outline.columns_left_out:
        st.markdown(f"- {plain(sentence(reason))}")
