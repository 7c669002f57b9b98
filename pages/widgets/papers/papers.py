"""A paper's figure or table on the page: drawn, beside what was printed, and what becomes of what the paper says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal
from urllib.parse import quote

import streamlit as st

from fairpriv_core.documents.paper_methods import format_notions, list_methods
from fairpriv_core.documents.paper_prose import list_beside, list_cases
from fairpriv_core.figures.paper_figures import draw_preset, format_sentences, is_raw, list_cells
from fairpriv_core.methods.catalog import methods
from fairpriv_core.papers.catalog import find_preset
from fairpriv_core.papers.paper_run import PaperRun
from fairpriv_core.papers.preset import MEASURES, MethodTable, Paper, Preset
from fairpriv_core.papers.printed import Beside, count_beside, set_beside
from fairpriv_core.papers.runs import attach, find_runs, join_sweeps, list_configs
from fairpriv_core.papers.scoreboard import ClaimRow
from fairpriv_core.papers.values import Runs
from fairpriv_core.records.record import RAW
from fairpriv_core.store.previews import name_request
from fairpriv_core.store.runs import RunStore
from pages.widgets.papers.scoreboard import find_made
from pages.widgets.shared.charts import show_figure
from pages.widgets.shared.polling import poll
from pages.widgets.shared.saving import offer_set, show_bibtex
from pages.widgets.shared.sentences import attempt, plain
from pages.widgets.shared.state import draw_buttons
from pages.widgets.shared.sweeper import offer_sweep

_POLL_SECONDS = 1.0
_SIZES = {"small": "Smaller version", "full": "As in the paper"}
_PHONE_WIDTHS = {"what": 150, "printed": 64, "ours": 112}  # pixels: together as wide as a phone's page
_CASE_WIDTHS = {"what it says": 190, "where": 88, "here": 78, "ours": 400, "how we take it": 300}
_METHOD_WIDTHS = {"method": 138, "labels": 94, "groups": 94}  # as those
_KEYS_SHOWN = 6
_FIGURES_A_ROW = 3


@dataclass(frozen=True)
class Found:
    """Results of a preset: the version that they are of, its runs as records, and where they come from."""

    version: str
    runs: Runs
    source: Literal["store", "made", "part", "none"]
    statement: str


def find_results(store: RunStore, preset: Preset) -> Found:
    """Return the results to show: the store's own runs where a version is complete, else those made earlier."""
    runs_by_version = {name: attempt(partial(_read, store, preset, name)) or [] for name in preset.versions}
    complete_versions = [
        name
        for name in ("full", "small")
        if runs_by_version[name] and len(runs_by_version[name]) == len(list_keys(preset.id, name))
    ]
    runs = _with_measured(store, preset, runs_by_version[complete_versions[0]]) if complete_versions else []
    if runs:
        return Found(complete_versions[0], runs, "store", f"From {len(runs)} runs in this store.")
    earlier = find_made().get(preset.id)
    if earlier is not None:
        statement = f"Made earlier by this software, on {earlier.day}. {earlier.format_failed_runs()}".rstrip()
        return Found(earlier.version, earlier.runs, "made", statement)
    name = max(runs_by_version, key=lambda version: len(runs_by_version[version]))
    if not runs_by_version[name]:
        return Found("small", [], "none", "No results yet: run it below, or on the command line.")
    statement = f"{len(runs_by_version[name])} of {len(list_keys(preset.id, name))} runs have finished in this store."
    return Found(
        name, runs if complete_versions else _with_measured(store, preset, runs_by_version[name]), "part", statement
    )


@st.cache_data(show_spinner=False)
def list_keys(preset: str, version: str) -> list[str]:
    """Return the keys of the configs that a version of a preset runs."""
    return list(list_configs(find_preset(preset).versions[version].sweeps))


def _read(store: RunStore, preset: Preset, version: str) -> list[PaperRun]:
    if not store.finished():
        return []  # thousands of keys are made in seconds
    return find_runs(store, list_keys(preset.id, version))


def _with_measured(store: RunStore, preset: Preset, runs: list[PaperRun]) -> list[PaperRun]:
    """Return runs with what a worker measured at their models, where the preset shows that.

    While that is under way, or where it is impossible, say so and return no runs.
    """
    if not preset.measured:
        return runs
    request = {"measure": preset.measured, "keys": sorted(run.key for run in runs)}
    answer, what = store.previews.look(name_request(request)), MEASURES[preset.measured]
    if answer.result:
        return attach(runs, preset.measured, answer.result["measured"])
    if not answer.status and not store.database.writable:
        st.caption(plain(f"This store can only be read, so that no worker measures {what}."))
    elif answer.error:
        st.warning(plain(f"It cannot be shown {what}: {answer.error}"), icon=":material/warning:")
        if st.button("Measure again", disabled=not store.database.writable):
            store.previews.ask(request)
            st.rerun()
    else:
        work = f"{what}, at {len(runs)} models"
        poll(_wait_for, store, store.previews.ask(request), work, every=_POLL_SECONDS)
    return []


def _wait_for(store: RunStore, name: str, what: str) -> None:
    """Let the page be drawn again when the worker has answered."""
    if store.previews.look(name).status in ("finished", "failed"):
        st.rerun()
    st.caption(plain(f"A worker measures {what} …"))


def show_methods(paper: Paper, table: MethodTable) -> None:
    """Draw a paper's table of methods, filled from the declarations of our methods."""
    st.markdown(plain(table.shows))
    widths = {name: st.column_config.TextColumn(width=width) for name, width in _METHOD_WIDTHS.items()}
    alt = "What each method takes and needs, as its code declares it."
    st.dataframe(list_methods(table), key="paper_methods", hide_index=True, alt=alt, column_config=widths)
    st.caption(plain(format_notions()))
    show_bibtex([cite(paper), *(methods()[name].info.citation for name in table.methods)], paper.id, "paper_methods")


def offer_runs(store: RunStore, preset: Preset) -> None:
    """Offer to run a preset at one of its sizes, here or by the command line."""
    st.header("Run it", anchor=False)
    size = str(draw_buttons("size", "Size", _SIZES, "small"))
    version = preset.versions[size]
    st.markdown(plain(f"{version.size[:1].upper()}{version.size[1:]}."))
    offer_sweep(store, join_sweeps(version.sweeps), key=f"{preset.id}_{size}".replace(".", "_"))
    st.caption("The same on the command line:")
    st.code(f"fairpriv papers run {preset.id} --{size}", language="sh", wrap_lines=True)


def show_results(paper: Paper, preset: Preset, results: Found, rows: Sequence[ClaimRow]) -> None:
    """Draw our figure or table, the printed numbers beside ours, and what becomes of the paper's claims."""
    size = preset.versions[results.version].size
    st.caption(plain(f"{results.statement} {size[:1].upper()}{size[1:]}."))
    if not results.runs:
        return
    _show_drawing(preset, results.runs, cited=[cite(paper)])
    if preset.privacy:
        st.info(plain(preset.privacy), icon=":material/lock:")
    _show_printed(preset, set_beside(preset, results.runs))
    if preset.claims:
        _show_cases(rows, results)


def cite(paper: Paper) -> str:
    """Return how a paper is cited, with its title."""
    return f"{paper.title}, {paper.citation}"


def _show_drawing(preset: Preset, runs: Runs, *, cited: Sequence[str]) -> None:
    figures = draw_preset(preset, runs)
    wide = 2 if len(figures) in (1, 2, 4) else _FIGURES_A_ROW
    for first in range(0, len(figures), wide):
        row = figures[first : first + wide]
        for number, (column, figure) in enumerate(zip(st.columns(wide), row, strict=False), start=first):
            with column:
                show_figure(figure, f"paper_{number}", in_set=True, cited=cited)
    if len(figures) > 1:
        offer_set(figures, "paper_set", cited=cited)
    cells = list_cells(preset, runs)
    if cells:
        st.dataframe(cells, key="paper_table", hide_index=True, alt=f"{preset.title}, from our runs.")
        show_bibtex(cited, preset.id, "paper_table")
    st.caption(plain(f"{format_sentences(preset, runs)} {RAW * is_raw(preset, runs)}".rstrip()))


def _show_printed(preset: Preset, beside: Sequence[Beside]) -> None:
    st.header("Printed beside ours", anchor=False)
    if not beside:
        st.markdown(plain(preset.not_printed))
        return
    alt = "Numbers that the paper prints, and ours as mean ± half the 95 % interval over seeds."
    widths = {name: st.column_config.TextColumn(width=width) for name, width in _PHONE_WIDTHS.items()}
    st.dataframe(list_beside(beside), key="paper_printed", hide_index=True, alt=alt, column_config=widths)
    st.caption(f"Ours: mean ± half the 95 % interval over seeds. {plain(count_beside(beside))}")


def _show_cases(rows: Sequence[ClaimRow], results: Found) -> None:
    """Show what the paper says, a row a case, and the runs behind all."""
    st.header("What the paper says, and what we found", anchor=False)
    widths = {name: st.column_config.TextColumn(width=width) for name, width in _CASE_WIDTHS.items()}
    alt = "Each case of what the paper says, with the verdict here, our numbers and what would settle it."
    st.dataframe(list_cases(rows), key="paper_cases", hide_index=True, alt=alt, column_config=widths)
    st.caption("Means over seeds ± half the 95 % interval. Our proved variants are not in the paper.")
    with st.popover(f"{len(results.runs):,} runs", key="paper_runs"):
        _list_keys([run.key for run in results.runs], in_store=results.source != "made")


def _list_keys(keys: Sequence[str], *, in_store: bool) -> None:
    links = [f"[{plain(key)}](run?run={quote(key)})" if in_store else plain(key) for key in keys[:_KEYS_SHOWN]]
    more = f" and {len(keys) - _KEYS_SHOWN} more" if len(keys) > _KEYS_SHOWN else ""
    st.markdown(f"Made from the runs {', '.join(links)}{more}.")
