"""The earlier results that the Start page shows, and how they were made."""

from __future__ import annotations

import streamlit as st

from fairpriv_core.figures.start import StartResults, draw_costs, format_settings, read_start_results
from pages.widgets.shared.charts import show_figure
from pages.widgets.shared.sentences import plain


@st.cache_data
def shown_results() -> StartResults:
    """Return the committed results."""
    return read_start_results()


def show_results(results: StartResults, epsilon: float) -> None:
    """Draw what privacy and fairness cost, with the budget `epsilon` marked, and what makes the results again."""
    show_figure(draw_costs(results, epsilon), "start_trade_off", headed=True)
    with st.expander("How these results were made", key="start_made"):
        st.markdown(
            f"{len(results.outcomes)} runs of this software on {plain(results.made)}, with seeds "
            f"{', '.join(f'{seed:d}' for seed in sorted({run.seed for run in results.outcomes}))}. "
            "This makes the file again:"
        )
        st.code(results.command, language="sh")
        differing = format_settings(results).items()
        st.markdown("\n".join(f"- **{plain(title)}**: {plain(settings)}" for title, settings in differing))
