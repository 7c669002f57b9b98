"""Papers: every figure and table of the papers behind the methods, run again and set beside what was printed."""

from __future__ import annotations

import streamlit as st

from fairpriv_core.papers.catalog import papers
from fairpriv_core.papers.preset import Paper, Preset
from fairpriv_core.papers.scoreboard import format_figure_verdict, list_claims
from pages.widgets.papers.papers import find_results, offer_runs, show_methods, show_results
from pages.widgets.papers.scoreboard import find_made, show_scoreboard, show_statements
from pages.widgets.shared.access import find_store
from pages.widgets.shared.sentences import plain
from pages.widgets.shared.state import choose, draw_list, enter, publish, value


def show() -> None:
    """Draw the page."""
    enter("papers")
    st.title("Papers", anchor=False)
    st.markdown("What four papers say, and what this software finds when it runs them again.")
    show_scoreboard()
    with st.expander("Every figure and every statement"):
        show_statements()
    paper, preset = _choose()
    publish(("paper", "preset"))
    if paper.method_table:
        with st.expander(plain(paper.method_table.title)):
            show_methods(paper, paper.method_table)
    st.header(plain(preset.title), anchor=False)
    store = None if preset.waits_for else find_store()
    results = None if store is None else find_results(store, preset)
    rows = list_claims(preset, results.runs) if results and results.runs else []
    if results and results.runs:
        st.markdown(f"**{plain(format_figure_verdict(preset, rows, results.runs))}.**")
    st.markdown(plain(preset.shows))
    with st.expander("Settings, the paper's and ours"):
        st.caption(plain(paper.citation))
        st.markdown(plain(preset.settings))
    if preset.waits_for:
        st.info(plain(preset.waits_for), icon=":material/hourglass_empty:")
    if store and results:
        show_results(paper, preset, results, rows)
        offer_runs(store, preset)


def _choose() -> tuple[Paper, Preset]:
    """Return the paper and its figure or table that are looked at."""
    papers_by_id = papers()
    if value("preset") and not value("paper"):
        choose("paper", value("preset").partition(".")[0])
    left, right = st.columns(2)
    with left:
        paper = papers_by_id[draw_list("paper", "Paper", papers_by_id, lambda name: papers_by_id[name].title)]
    presets = {preset.id: preset for preset in paper.presets}
    with right:
        preset_id = draw_list("preset", "Figure or table", presets, lambda name: _name(presets[name]))
    return paper, presets[preset_id]


def _name(preset: Preset) -> str:
    """Return a figure's name, marked where it waits or has no results made earlier."""
    mark = " (waits)" if preset.waits_for else "" if preset.id in find_made() else " (no results yet)"
    return f"{preset.title}{mark}"


show()
