"""What is wrong with a run, in one sentence that stays in its place while the run goes on."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from fairpriv_core.facts.diagnosis import diagnose
from fairpriv_core.figures.live import History
from fairpriv_core.records.source import is_published
from fairpriv_core.store.rows import RunRow
from fairpriv_core.store.runs import RunStore
from pages.widgets.shared.sentences import attempt, plain

UseBound = Callable[[str, float], None]


def show_diagnosis(store: RunStore, row: RunRow, history: History, *, use_bound: UseBound | None) -> None:
    """Draw the worst that the curves tell; `use_bound` takes a clipping bound that helps, where everybody has the rows.

    It is for who watches: a report has none of it.
    """
    snapshot = attempt(lambda: store.snapshot(row.key))
    histograms = {} if snapshot is None else snapshot["histograms"]
    for diagnosis in diagnose(history, histograms, published=is_published(row.config["data"]))[:1]:
        mark = ":orange[:material/warning:]" if diagnosis.wrong else ":material/info:"
        st.caption(f"{mark} {plain(diagnosis.sentence)}", help=plain(f"{diagnosis.source}."))
        if use_bound is not None and diagnosis.bound is not None:
            use_bound(*diagnosis.bound)
