"""Which sweep: filled in as a form, or pasted as a sweep's TOML file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from fairpriv_core.methods.catalog import methods
from fairpriv_core.store.runs import RunStore
from fairpriv_core.store.sweeps import SweepStore
from fairpriv_core.sweeps.spec import build_sweep
from pages.widgets.shared.guard import attempt
from pages.widgets.shared.session import find_spec
from pages.widgets.shared.state import keep, mount, mount_default, mount_index, value
from pages.widgets.shared.sweeper import offer_sweep
from pages.widgets.tradeoffs.sweep_axes import choose_axes, choose_question, read_values
from pages.widgets.tradeoffs.sweep_paste import paste_sweep

_WAYS = {"form": "Fill in a form", "paste": "Paste a sweep's file", "launched": "Launched before"}
_SEEDS = 3


def choose_sweep(store: RunStore) -> None:
    """Draw the ways to say which sweep, and the sweep itself: its cost, Launch, its progress.

    A sweep that was launched stands in the address, so that a reload or a link shows how it goes.
    """
    launched = attempt(SweepStore(store).launched) or {}
    ways = _WAYS if launched else {name: title for name, title in _WAYS.items() if name != "launched"}
    mounted = mount_default("sweep.way", ways, "launched" if value("sweep") in launched else "form")
    way = st.segmented_control("Sweep", ways, **mounted, required=True, format_func=ways.__getitem__)
    makers = {"form": _fill_in, "paste": paste_sweep, "launched": lambda: _choose_launched(launched)}
    raw = attempt(makers[keep("sweep.way", way)])
    if raw is not None:
        name = offer_sweep(store, raw, key="tradeoffs")
        keep("sweep", name if name in launched else "")


def _choose_launched(launched: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    mounted = mount_index("sweep", launched)
    chosen = st.selectbox(
        "Newest first", list(launched), **mounted, format_func=lambda name: _describe(launched[name]["sweep"])
    )
    found: Mapping[str, Any] = launched[chosen]["sweep"]
    return found


def _describe(raw: Mapping[str, Any]) -> str:
    """Return a sweep's axes in a line: "pf_ld · synthetic · epsilon 1, 3 · seed 0, 1"."""
    base, data = raw.get("method"), raw.get("data")
    method = base.get("name", "") if isinstance(base, Mapping) else base
    about = data.get("dataset") or "a file of your own" if isinstance(data, Mapping) else data
    axes = [f"{name} {', '.join(map(str, values))}" for name, values in build_sweep(raw).axes.items()]
    return " · ".join([str(part) for part in (method, about) if part] + axes)


def _fill_in() -> dict[str, Any] | None:
    """Draw the form and return the sweep that it asks for; None after showing what is missing."""
    reference, notion, chosen = choose_question()
    spec = find_spec(reference)
    if spec is None:
        return None
    if not chosen:
        st.info("Choose at least one method.")
        return None
    left, right = st.columns(2)
    with left:
        budgets = keep("sweep.epsilon", st.text_input("Values of ε", **mount("sweep.epsilon", default="0.5, 1, 3, 9")))
    with right:
        seeds = st.number_input("Seeds", 1, 100, **mount("sweep.seeds", default=_SEEDS), help="Each is one run more.")
    private = any(methods()[name].info.threat_model for name in chosen)
    axes: dict[str, Any] = {"epsilon": read_values(budgets, "ε")} if private else {}
    axes |= choose_axes(chosen)
    axes["seed"] = list(range(int(keep("sweep.seeds", seeds))))
    method: dict[str, Any] = {"name": chosen[0]} if len(chosen) == 1 else {}
    axes |= {"method": list(chosen)} if len(chosen) > 1 else {}
    shares = any(methods()[name].info.reuses for name in chosen)
    return {
        "data": spec.to_json(),
        "notion": notion,
        "delta": value("delta"),
        "method": method,
        "axes": axes,
        "sweep": {"invalid": "skip", "share_release": shares},
    }
