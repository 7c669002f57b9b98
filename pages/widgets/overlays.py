"""Pictures of compared runs: accuracy against gap, curves over each other, groups beside each other."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from fairpriv_core.report import live, wording
from fairpriv_core.report.comparison import Compared, compare_groups, compare_points
from fairpriv_core.report.folding import fold_curves
from fairpriv_core.runs.store import RunStore
from pages.widgets.charts import show_figure
from pages.widgets.history import find_history
from pages.widgets.state import keep, mount_index

_RATES = ("positive_rate", "true_positive_rate", "false_positive_rate", "accuracy")
_NO_CURVES = "Runs of a sweep that train in one loop keep no numbers of single epochs."


def show_points(compared: Sequence[Compared]) -> None:
    """Draw accuracy against gap; nothing but a sentence where the runs pursue different notions."""
    if len({one.row.notion for one in compared}) > 1:
        st.caption(
            "No picture of accuracy against gap: these runs pursue different notions, so their gaps differ in kind."
        )
        return
    show_figure(compare_points(compared), "compare_points")


def show_curves(store: RunStore, compared: Sequence[Compared]) -> None:
    """Draw accuracy and the gaps while training, seeds folded, runs over each other."""
    histories = [[find_history(store, key) for key in one.row.keys] for one in compared]
    if not any(live.has_epochs(history) for each in histories for history in each):
        st.caption(_NO_CURVES)
        return
    notions = dict.fromkeys(one.row.notion for one in compared)
    columns = st.columns(2, gap="medium")
    for number, metric in enumerate(["accuracy", *(f"{notion}_gap" for notion in notions)]):
        curves = [
            fold_curves(one.label, one.row.method, own, metric) for one, own in zip(compared, histories, strict=True)
        ]
        with columns[number % 2]:
            show_figure(live.overlay(curves, metric=metric), f"overlay_{metric}")


def show_groups(compared: Sequence[Compared]) -> None:
    """Draw a rate of each group as bars, seeds folded; which rate stands in the address."""
    chosen = st.selectbox(
        "Share of each group", _RATES, **mount_index("rate", _RATES), format_func=wording.metric_title
    )
    show_figure(compare_groups(compared, rate=str(keep("rate", chosen))), "compare_groups")
