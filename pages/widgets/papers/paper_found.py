"""Which results there are of a paper's figure or table: the store's own, those made earlier, or none yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import streamlit as st

from fairpriv_core.papers.catalog import find_preset
from fairpriv_core.papers.preset import MEASURES, Preset
from fairpriv_core.papers.results import Made, read_made
from fairpriv_core.papers.runs import attach, find_records, list_configs
from fairpriv_core.papers.values import Runs
from fairpriv_core.store.previews import name_request
from fairpriv_core.store.runs import RunStore
from pages.widgets.shared.guard import attempt, plain

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
    whole = [name for name in ("full", "small") if len(stored[name]) == len(list_keys(preset.id, name))]
    runs = _with_measured(store, preset, stored[whole[0]]) if whole else []
    if runs:
        return Found(whole[0], runs, "store", f"From {len(runs)} runs in this store.")
    made = find_made().get(preset.id)
    if made is not None:
        told = f"Made earlier by this software, on {made.day}. {made.say_failed()}".rstrip()
        return Found(made.version, made.runs, "made", told)
    name = max(stored, key=lambda each: len(stored[each]))
    if not stored[name]:
        return Found("small", [], "none", "No results yet: run it below, or on the command line.")
    told = f"{len(stored[name])} of {len(list_keys(preset.id, name))} runs have finished in this store."
    return Found(name, runs if whole else _with_measured(store, preset, stored[name]), "part", told)


@st.cache_data(show_spinner=False)
def list_keys(preset: str, version: str) -> list[str]:
    """Return the keys of the configs that a version of a preset runs."""
    return list(list_configs(find_preset(preset).versions[version].sweeps))


def _read(store: RunStore, preset: Preset, version: str) -> list[dict[str, Any]]:
    return find_records(store, list_keys(preset.id, version))


def _with_measured(store: RunStore, preset: Preset, runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return runs with what a worker measured at their models, where the preset shows that.

    While it is measured, or where it cannot be, say so and return none.
    """
    if not preset.measured:
        return runs
    asked = {"measure": preset.measured, "keys": sorted(run["key"] for run in runs)}
    told, what = store.preview(name_request(asked)), MEASURES[preset.measured]
    if told is not None and told["result"]:
        return attach(runs, preset.measured, told["result"]["measured"])
    if told is None and not store.database.writable:
        st.caption(plain(f"This store can only be read, so that no worker measures {what}."))
    elif told is not None and told["error"]:
        st.warning(plain(f"It cannot be shown {what}: {told['error']}"), icon=":material/warning:")
        st.button("Measure again", on_click=store.request_preview, args=(asked,), disabled=not store.database.writable)
    else:
        work = f"{what}, at {len(runs)} models"
        st.fragment(_wait_for, run_every=_POLL_SECONDS)(store, store.request_preview(asked), work)
    return []


def _wait_for(store: RunStore, name: str, what: str) -> None:
    """Let the page be drawn again when the worker has answered."""
    if (store.preview(name) or {}).get("status") in ("finished", "failed"):
        st.rerun()
    st.caption(plain(f"A worker measures {what} …"))


@st.cache_data(show_spinner=False)
def find_made() -> dict[str, Made]:
    """Return the results that were made earlier, by the id of their figure or table."""
    return read_made()
