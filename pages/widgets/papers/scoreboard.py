"""How the papers stand here: a row a paper, and below it every statement, to be filtered."""

from __future__ import annotations

from collections import Counter

import streamlit as st

from fairpriv_core.papers.catalog import papers
from fairpriv_core.papers.preset import Paper
from fairpriv_core.papers.printed import format_agreement
from fairpriv_core.papers.results import Made, read_made
from fairpriv_core.papers.scoreboard import (
    ClaimRow,
    format_figure_verdict,
    format_main_claim,
    list_claims,
    list_printed,
)
from fairpriv_core.papers.status import LOST_RULE, TITLES
from pages.widgets.shared.state import choose, draw_buttons, draw_list

_ALL = "all"
_SCORES = "paper_scores"


@st.cache_resource(show_spinner=False)
def find_made() -> dict[str, Made]:
    """Return the results that were made earlier, by the id of their figure or table."""
    return read_made()


def show_scoreboard() -> None:
    """Show how many statements of each paper hold here; a click on a row leads to its figures."""
    entries = list(papers().values())
    st.caption(LOST_RULE)
    st.dataframe(
        [_score(paper.id) for paper in entries],
        key=_SCORES,
        hide_index=True,
        on_select=lambda: _take(entries),
        selection_mode="single-row",
        column_config={"paper": st.column_config.TextColumn(width=170)},
        alt="Each paper, with how many of its statements agree, differ, are open or are not tested here.",
    )


@st.cache_data(show_spinner=False)
def _score(name: str) -> dict[str, str | int]:
    paper, results = papers()[name], find_made()
    counts = Counter(row.status for _, row in _find_claims(name))
    return {
        "paper": paper.name,
        **{title: counts[status] for status, title in TITLES.items()},
        "printed numbers": format_agreement(list_printed(paper.presets, results)),
        "its main statement here": format_main_claim(paper, results),
    }


def _take(entries: list[Paper]) -> None:
    rows = st.session_state[_SCORES].selection.rows
    if rows:
        choose("paper", entries[rows[0]].id)
        choose("preset", entries[rows[0]].presets[0].id)


def show_statements() -> None:
    """List the figures in a sentence each, and what the papers say, with our numbers and what would settle it."""
    left, right = st.columns(2)
    names = {_ALL: "All papers", **{paper.id: paper.name for paper in papers().values()}}
    with left:
        paper = draw_list("claims_of", "Statements of", names, names.__getitem__, _ALL)
    figures = [line for name in names if paper in (_ALL, name) and name != _ALL for line in _list_figures(name)]
    widths = {"figure": st.column_config.TextColumn(width=300)}
    st.dataframe(figures, key="paper_figures", hide_index=True, column_config=widths, alt="Each figure in a sentence.")
    kinds: dict[str, str] = {_ALL: "All"} | {str(status): title for status, title in TITLES.items()}
    with right:
        status = draw_buttons("claims_that", "That", kinds, _ALL)
    rows = [row for row in _list_statements(paper) if status == _ALL or row["here"] == kinds[status]]
    st.dataframe(rows, key="paper_statements", hide_index=True, alt="What the papers say, and what we found.")
    st.caption("Means over seeds ± half the 95 % interval. A statement agrees where the whole interval does.")


@st.cache_resource(show_spinner=False)
def _find_claims(paper: str) -> tuple[tuple[str, ClaimRow], ...]:
    """Return a paper's claims with the titles of their figures, judged once since that takes seconds."""
    presets, results = papers()[paper].presets, find_made()
    return tuple(
        (preset.title, row)
        for preset in presets
        for row in list_claims(preset, results[preset.id].runs if preset.id in results else ())
    )


@st.cache_data(show_spinner=False)
def _list_figures(name: str) -> list[dict[str, str]]:
    paper, results, rows = papers()[name], find_made(), [row for _, row in _find_claims(name)]
    pairs = [(preset, results[preset.id].runs) for preset in paper.presets if preset.id in results]
    return [
        {
            "figure": f"{paper.name}, {preset.title}",
            "here": format_figure_verdict(preset, [row for row in rows if row.preset == preset.id], runs),
        }
        for preset, runs in pairs
    ]


def _list_statements(paper: str) -> list[dict[str, str]]:
    return [
        _row(title, entry.name, row)
        for entry in papers().values()
        if paper in (_ALL, entry.id)
        for title, row in _find_claims(entry.id)
    ]


def _row(title: str, paper: str, row: ClaimRow) -> dict[str, str]:
    return {
        "here": TITLES[row.status],
        "what it says": row.text,
        "ours": row.found,
        "what would settle it": row.settles,
        "where": f"{paper}, {title.partition(':')[0]}",
    }
