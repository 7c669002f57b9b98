"""Which results there are of a paper's figure or table: the store's own, those made earlier, or none yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import streamlit as st

from fairpriv_core.papers.catalog import find_preset
from fairpriv_core.papers.preset import Preset
from fairpriv_core.papers.results import Made, read_made
from fairpriv_core.report.paper_values import Runs
from fairpriv_core.runs.paper_runs import find_records, list_configs
from fairpriv_core.runs.store import RunStore
from pages.widgets.guard import attempt, plain

_POLL_SECONDS = 1.0


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
    made = find_made().get(preset.id)
    if made is not None:
        told = f"Made earlier by this software, on {made.day}. {made.say_failed()}".rstrip()
        return Found(made.version, made.runs, "made", told)
    name = max(stored, key=lambda each: len(stored[each]))
    if not stored[name]:
        return Found("small", [], "none", "No results yet: run it below, or on the command line.")
    told = f"{len(stored[name])} of {len(list_keys(preset.id, name))} runs have finished in this store."
    return Found(name, stored[name], "part", told)


@st.cache_data(show_spinner=False)
def list_keys(preset: str, version: str) -> list[str]:
    """Return the keys of the configs that a version of a preset runs."""
    return list(list_configs(find_preset(preset).versions[version].sweeps))


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
def find_made() -> dict[str, Made]:
    """Return the results that were made earlier, by the id of their figure or table."""
    return read_made()
