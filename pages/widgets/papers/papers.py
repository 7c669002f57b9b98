"""A paper's figure or table on the page: drawn, beside what was printed, and what becomes of what the paper says."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

import streamlit as st

from fairpriv_core.papers.preset import Preset
from fairpriv_core.papers.printed import Beside, count_beside, set_beside
from fairpriv_core.papers.values import Runs
from fairpriv_core.papers.verdicts import Verdict, judge_all
from fairpriv_core.report.paper_figures import describe_drawing, draw_preset, list_cells
from fairpriv_core.report.paper_prose import list_beside
from pages.widgets.papers.paper_found import Found
from pages.widgets.shared.charts import show_figure
from pages.widgets.shared.guard import plain

_ICONS = {"agrees": "=", "mixed": "≈", "disagrees": "≠", "open": "?"}
_PHONE_WIDTHS = {"what": 150, "printed": 64, "ours": 112}  # pixels: together as wide as a phone's page
_KEYS_SHOWN = 60
_FIGURES_A_ROW = 3


def show_results(preset: Preset, found: Found) -> None:
    """Draw our figure or table, the printed numbers beside ours, and what becomes of the paper's claims."""
    st.caption(
        plain(
            f"{found.told} {preset.versions[found.version].size[:1].upper()}{preset.versions[found.version].size[1:]}."
        )
    )
    if not found.runs:
        return
    _show_drawing(preset, found.runs)
    if preset.privacy:
        st.info(plain(preset.privacy), icon=":material/lock:")
    _show_printed(preset, set_beside(preset, found.runs))
    if preset.claims:
        st.subheader("What the paper says, and what we found", anchor=False)
    for number, verdict in enumerate(judge_all(preset, found.runs)):
        _show_verdict(verdict, number, stored=found.source != "made")


def _show_drawing(preset: Preset, runs: Runs) -> None:
    figures = draw_preset(preset, runs)
    wide = 2 if len(figures) in (1, 2, 4) else _FIGURES_A_ROW
    for first in range(0, len(figures), wide):
        row = figures[first : first + wide]
        for number, (column, figure) in enumerate(zip(st.columns(wide), row, strict=False), start=first):
            with column:
                show_figure(figure, f"paper_{number}", in_set=True)
    cells = list_cells(preset, runs)
    if cells:
        st.dataframe(cells, key="paper_table", hide_index=True, alt=f"{preset.title}, from our runs.")
    st.caption(plain(describe_drawing(preset, runs)))


def _show_printed(preset: Preset, beside: Sequence[Beside]) -> None:
    st.subheader("Printed beside ours", anchor=False)
    if not beside:
        st.markdown(plain(preset.not_printed))
        return
    alt = "Numbers that the paper prints, and ours as mean ± half the 95 % interval over seeds."
    widths = {name: st.column_config.TextColumn(width=width) for name, width in _PHONE_WIDTHS.items()}
    st.dataframe(list_beside(beside), key="paper_printed", hide_index=True, alt=alt, column_config=widths)
    st.caption(f"Ours: mean ± half the 95 % interval over seeds. {plain(count_beside(beside))}")


def _show_verdict(verdict: Verdict, number: int, *, stored: bool) -> None:
    with st.container(border=True, key=f"verdict_{number}"):
        st.markdown(plain(verdict.told))
        st.markdown(f"**{_ICONS[verdict.standing]}** &nbsp; {plain(verdict.sentence)}")
        if verdict.note:
            st.markdown(f":small[{plain(verdict.note)}]")
        if verdict.ours:
            st.markdown(f":small[{plain(verdict.ours)}]")
        if verdict.keys:
            with st.popover(f"{len(verdict.keys)} runs", key=f"verdict_runs_{number}"):
                _list_keys(verdict.keys, stored=stored)


def _list_keys(keys: Sequence[str], *, stored: bool) -> None:
    shown = [f"[{plain(key)}](run?run={quote(key)})" if stored else plain(key) for key in keys[:_KEYS_SHOWN]]
    more = f" and {len(keys) - _KEYS_SHOWN} more" if len(keys) > _KEYS_SHOWN else ""
    st.markdown(f"Made from the runs {', '.join(shown)}{more}.")
