"""Running a paper's figure or table: which size, what it costs, and the command that does the same."""

from __future__ import annotations

import streamlit as st

from fairpriv_core.papers.preset import Preset
from fairpriv_core.store.runs import RunStore
from pages.widgets.shared.guard import plain
from pages.widgets.shared.state import keep, mount_default
from pages.widgets.shared.sweeper import offer_sweep

_SIZES = {"small": "Smaller version", "full": "As in the paper"}


def offer_runs(store: RunStore, preset: Preset) -> None:
    """Offer to run a preset at one of its sizes, here or by the command line."""
    st.subheader("Run it", anchor=False)
    mounted = mount_default("size", _SIZES, "small")
    picked = st.segmented_control("Size", list(_SIZES), **mounted, format_func=_SIZES.__getitem__, required=True)
    size = str(keep("size", picked or "small"))
    version = preset.versions[size]
    st.markdown(plain(f"{version.size[:1].upper()}{version.size[1:]}."))
    for number, raw in enumerate(version.sweeps):
        offer_sweep(store, raw, key=f"{preset.id}_{size}_{number}".replace(".", "_"))
    st.caption("The same on the command line:")
    st.code(f"fairpriv papers run {preset.id} --{size}", language="sh")
