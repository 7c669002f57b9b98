"""A paper's figure or table on the page: which results there are of it, drawn, and beside what was printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import streamlit as st

from fairpriv_core.papers.catalog import find_preset
from fairpriv_core.papers.preset import Preset
from fairpriv_core.papers.results import Made, read_made
from fairpriv_core.report.paper_values import Runs
from fairpriv_core.report.papers import Beside, describe_runs, draw_preset, list_cells, set_beside
from fairpriv_core.report.verdicts import Verdict, judge
from fairpriv_core.runs.paper_runs import find_records, list_configs
from fairpriv_core.runs.store import RunStore
from pages.widgets.charts import show_figure
from pages.widgets.guard import attempt, plain

_ICONS = {"agrees": "=", "agrees in part": "≈", "disagrees": "≠", "open": "?"}
_KEYS_SHOWN = 60
_POLL_SECONDS = 1.0
_FIGURES_A_ROW = 3


@dataclass(frozen=True)
class Found:
    """Results of a preset: the version that they are of, its runs as records, and where they come from."""

    version: str
    runs: Runs
    source: Literal["store", "made", "part", "none"]
    told: str


def find_results(store: RunStore, preset: Preset) -> Found:
    """Return the results to show: the store's own runs where a version is complete, else those made earlier."""
    stored = {name: attempt(lambda name=name: _read(store, preset, name)) or [] for name in preset.versions}
    for name in ("full", "small"):
        if stored[name] and len(stored[name]) == len(list_keys(preset.id, name)):
            return Found(name, stored[name], "store", f"From {len(stored[name])} runs in this store.")
    made = _made().get(preset.id)
    if made is not None:
        return Found(made.version, made.runs, "made", f"Made earlier by this software, on {made.day}.")
    name = max(stored, key=lambda each: len(stored[each]))
    if not stored[name]:
        return Found("small", [], "none", "No results yet: run it below, or on the command line.")
    told = f"{len(stored[name])} of {len(list_keys(preset.id, name))} runs have finished in this store."
    return Found(name, stored[name], "part", told)


@st.cache_data(show_spinner=False)
def list_keys(preset: str, version: str) -> list[str]:
    """Return the keys of the configs that a version of a preset runs."""
    return list(list_configs(find_preset(preset).versions[version].sweeps))


def show_results(preset: Preset, found: Found) -> None:
    """Draw our figure or table, the printed numbers beside ours, and what becomes of the paper's claims."""
    st.caption(
        f"{found.told} {preset.versions[found.version].size[:1].upper()}{preset.versions[found.version].size[1:]}."
    )
    if not found.runs:
        return
    _show_drawing(preset, found.runs)
    if preset.privacy:
        st.info(plain(preset.privacy), icon=":material/lock:")
    _show_printed(preset, set_beside(preset, found.runs))
    if preset.claims:
        st.subheader("What the paper says, and what we found", anchor=False)
    for number, claim in enumerate(preset.claims):
        _show_verdict(judge(claim, found.runs), number, stored=found.source != "made")


def _show_drawing(preset: Preset, runs: Runs) -> None:
    figures = draw_preset(preset, runs)
    wide = 2 if len(figures) in (2, 4) else _FIGURES_A_ROW
    for first in range(0, len(figures), wide):
        row = figures[first : first + wide]
        for number, (column, figure) in enumerate(zip(st.columns(wide), row, strict=False), start=first):
            with column:
                show_figure(figure, f"paper_{number}")
    cells = list_cells(preset, runs)
    if cells:
        st.dataframe(cells, key="paper_table", hide_index=True, alt=f"{preset.title}, from our runs.")
        st.caption(plain(describe_runs(preset, runs)))


def _show_printed(preset: Preset, beside: Sequence[Beside]) -> None:
    st.subheader("Printed beside ours", anchor=False)
    if not beside:
        st.markdown(plain(preset.not_printed))
        return
    rows: list[dict[str, Any]] = [
        {
            "what": one.label,
            "printed": one.printed,
            "ours": one.ours,
            "unit": one.unit,
            "where it is printed": one.source,
        }
        for one in beside
    ]
    alt = "Numbers that the paper prints, and ours as mean ± half the 95 % interval over seeds."
    st.dataframe(rows, key="paper_printed", hide_index=True, alt=alt)
    st.caption("Ours: mean ± half the 95 % interval over seeds.")


def _show_verdict(verdict: Verdict, number: int, *, stored: bool) -> None:
    with st.container(border=True, key=f"verdict_{number}"):
        st.markdown(f"“{plain(verdict.claim.says)}” :small[{plain(verdict.claim.source)}]")
        st.markdown(f"**{_ICONS[verdict.standing]}** &nbsp; {plain(verdict.sentence)}")
        if verdict.keys:
            with st.popover(f"{len(verdict.keys)} runs", key=f"verdict_runs_{number}"):
                _list_keys(verdict.keys, stored=stored)


def _list_keys(keys: Sequence[str], *, stored: bool) -> None:
    shown = [f"[{key}](run?run={key})" if stored else f"`{key}`" for key in keys[:_KEYS_SHOWN]]
    more = f" and {len(keys) - _KEYS_SHOWN} more" if len(keys) > _KEYS_SHOWN else ""
    st.markdown(f"Made from the runs {', '.join(shown)}{more}.")


def _read(store: RunStore, preset: Preset, version: str) -> list[dict[str, Any]]:
    records = find_records(store, list_keys(preset.id, version))
    if not preset.clipping or not records:
        return records
    shares = _find_clipped(store, [record["key"] for record in records])
    return [{**record, "clipped": shares.get(record["key"], {})} for record in records]


def _find_clipped(store: RunStore, keys: list[str]) -> Mapping[str, Any]:
    """Return what a worker measured of the gradients of finished runs; while it does, say so."""
    name = store.request_preview({"clipped": sorted(keys)}) if store.database.writable else ""
    told = store.preview(name) or {}
    if told.get("error"):
        st.warning(plain(f"The clipped shares cannot be shown: {told['error']}"), icon=":material/warning:")
    elif not told.get("result"):
        st.fragment(_wait_for, run_every=_POLL_SECONDS)(store, name)
    return (told.get("result") or {}).get("shares", {})


def _wait_for(store: RunStore, name: str) -> None:
    """Let the page be drawn again when the worker has answered."""
    if (store.preview(name) or {}).get("status") in ("finished", "failed"):
        st.rerun()
    st.caption("A worker measures how many gradients of each group are above C_p …")


@st.cache_data(show_spinner=False)
def _made() -> dict[str, Made]:
    return read_made()
