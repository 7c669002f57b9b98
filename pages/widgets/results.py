"""The earlier results that the Start page shows, and how they were made."""

from __future__ import annotations

import streamlit as st

from fairpriv_core.data.catalog import problems
from fairpriv_core.notions.catalog import notions
from fairpriv_core.report.figures import trade_off
from fairpriv_core.report.start import StartResults, read_start_results
from pages.widgets.charts import show_figure


@st.cache_data
def find_results() -> StartResults:
    """Return the committed results."""
    return read_start_results()


def describe_results(results: StartResults) -> str:
    """Return one sentence on what was trained."""
    title = problems()[results.data["dataset"]].title
    return (
        f"Classifiers trained on **{title}** so that they treat the groups of **{results.data['sensitive']}** alike "
        "and give away little about any one person. Move the budget and read what it promises."
    )


def show_results(results: StartResults, epsilon: float) -> None:
    """Draw the trade-off with the budget `epsilon` marked, and what makes the results again."""
    name = problems()[results.data["dataset"]].title
    notion = notions()[results.notion].title
    show_figure(trade_off(results.outcomes, dataset=name, notion=notion, epsilon=epsilon), "start_trade_off")
    with st.expander("How these results were made", key="start_made"):
        st.markdown(
            f"{len(results.outcomes)} runs of this software on {results.made}, with the settings below and every seed "
            "shown. This makes the file again:"
        )
        st.code(results.command, language="sh")
        st.json([dict(config) for config in results.configs], expanded=False)
