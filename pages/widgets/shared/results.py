"""The earlier results that the Start page shows, and how they were made."""

from __future__ import annotations

import streamlit as st

from fairpriv_core.data.catalog import problems
from fairpriv_core.data.problem import ENCODINGS
from fairpriv_core.notions.catalog import notions
from fairpriv_core.report.over_epsilon import trade_off
from fairpriv_core.report.public import as_public
from fairpriv_core.report.start import StartResults, describe_settings, read_start_results, say_cost, say_protected
from fairpriv_core.report.tables import fold_outcomes
from fairpriv_core.report.wording import encoding_text
from pages.widgets.shared.charts import show_figure
from pages.widgets.shared.sentences import plain
from pages.widgets.shared.state import ahead, keep, mount_default


@st.cache_data
def find_results(encoding: str = ENCODINGS[0]) -> StartResults:
    """Return the committed results of an encoding."""
    return read_start_results(encoding)


def shown_results() -> StartResults:
    """Return the results of the encoding that was chosen, by hand or by a link."""
    options = find_results().encodings
    chosen = ahead("start_encoding")
    return find_results(chosen if chosen in options else options[0])


def _choose_encoding() -> None:
    """Draw the choice of the encoding; nothing is asked where there is one."""
    options = find_results().encodings
    if len(options) == 1:
        return
    chosen = st.segmented_control(
        "Encoding of numbers",
        options,
        **mount_default("start_encoding", options),
        required=True,
        help="Binned: with bins that this project chose. Plain: without them, for a look beside published figures.",
    )
    keep("start_encoding", chosen)


def describe_results(results: StartResults) -> str:
    """Return one sentence on what was trained."""
    title, sensitive = plain(problems()[results.data["dataset"]].title), plain(results.data["sensitive"])
    return f"Stored results on **{title}**, by **{sensitive}**."


def show_results(results: StartResults, epsilon: float) -> None:
    """Draw the trade-off with the budget `epsilon` marked, what it says, and what makes the results again."""
    name = problems()[results.data["dataset"]].title
    notion = notions()[results.notion].title
    st.markdown(plain(say_cost(results, epsilon)))
    figure = trade_off(fold_outcomes(results.outcomes, {}), dataset=name, notion=notion, epsilon=epsilon)
    show_figure(as_public(figure, [results.data]), "start_trade_off")
    with st.expander("How these results were made", key="start_made"):
        _choose_encoding()
        st.caption(plain(say_protected(results)))
        if results.encoding != ENCODINGS[0]:
            st.markdown(f"Encoding {plain(encoding_text(results.encoding))}.")
        st.markdown(
            f"{len(results.outcomes)} runs of this software on {plain(results.made)}, with seeds "
            f"{', '.join(f'{seed:d}' for seed in sorted({run.seed for run in results.outcomes}))}. "
            "This makes the file again:"
        )
        st.code(results.command, language="sh")
        differing = describe_settings(results).items()
        st.markdown("\n".join(f"- **{plain(title)}**: {plain(settings)}" for title, settings in differing))
