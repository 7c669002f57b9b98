"""The error that clipping and noise make over the bounds, before anything trains: asked of a worker, then drawn."""

from __future__ import annotations

from typing import Any

import streamlit as st

from fairpriv_core.figures.figures import bias_variance
from fairpriv_core.methods.base import Method
from fairpriv_core.methods.clipping_choice import ChoosesClipping, Warmup
from fairpriv_core.records.config import RunConfig
from fairpriv_core.store.previews import name_request
from fairpriv_core.store.runs import RunStore
from pages.widgets.shared.charts import show_figure
from pages.widgets.shared.sentences import attempt, plain
from pages.widgets.shared.state import choose
from pages.widgets.train.form import find_stop
from pages.widgets.train.plan import Plan

_POLL_SECONDS = 0.5
_ASKED = "clipping_asked"
_SYMBOLS = {"clip_primal": "C_p", "clip_dual": "C_d"}
_SOURCE = (
    "At a warm-up model of three epochs, not private, on public features and labels; no group is looked at: "
    "groups count as equally large, since their sizes are protected."
)
_FREE = (
    "Choosing by this curve costs no ε: it is made from features and labels alone, which the proved variant takes as "
    "public."
)

_RISES = (
    "There is no minimum to use: the noise outweighs what clipping loses, so the error only rises with {symbol}. "
    "A larger ε needs less noise."
)


def show_clipping(store: RunStore, config: RunConfig, plan: Plan) -> None:
    """Draw the curves of a method that has them, with the chosen bounds marked; until they are there, wait for them."""
    method = plan.method
    if not isinstance(method, ChoosesClipping):
        return
    stated = config.to_json()["method"]
    request = {
        "data": config.data.to_json(),
        "notion": config.notion,
        "hidden_layers": getattr(config.method, "hidden_layers", 0),
        "width": getattr(config.method, "width", 0),
        "seed": config.seed,
        **{name: stated[name] for name in ("network", "surrogate") if name in stated},
    }
    key = attempt(lambda: _ask(store, request)) if store.database.writable else None
    if key is None:
        return
    ready = _is_ready(store, key)
    draw = st.fragment(_draw, run_every=None if ready else _POLL_SECONDS)
    draw(store, key, config=config, method=method, ready=ready)


def _ask(store: RunStore, request: dict[str, Any]) -> str:
    """Ask for the curves of the settings that are shown now; those of settings left behind are not needed any more."""
    key, before = name_request(request), st.session_state.get(_ASKED)
    if before not in (None, key):
        store.cancel_preview(before)
    st.session_state[_ASKED] = key
    return store.request_preview(request)


def _draw(store: RunStore, key: str, *, config: RunConfig, method: ChoosesClipping, ready: bool) -> None:
    if not ready and _is_ready(store, key):
        st.rerun()
    stored = attempt(lambda: store.preview(key)) or {}
    if stored.get("error"):
        st.warning(plain(f"The clipping curves cannot be drawn: {stored['error']}"), icon=":material/warning:")
    if not stored.get("result"):
        if not ready:
            st.caption("A worker is making the curves over C_p and C_d …")
        return
    curves = attempt(lambda: method.clipping_curves(Warmup(**stored["result"])))
    for name, curve in (curves or {}).items():
        figure = bias_variance(
            curve.bounds,
            curve.bias,
            curve.variance,
            best=curve.minimiser,
            symbol=_SYMBOLS[name],
            current=getattr(config.method, name),
            source=_SOURCE,
        )
        show_figure(figure, f"plan_{name}")
        if curve.minimiser is None:
            st.caption(plain(_RISES.format(symbol=_SYMBOLS[name])))
        else:
            _offer_minimum(name, curve.minimiser, config.method)


def _offer_minimum(name: str, minimum: float, method: Method) -> None:
    """Draw the button that sets the bound to the slider's stop nearest to the minimum, and shows the slider."""
    best = find_stop(type(method), name, minimum)
    which = "the minimum" if f"{best:.3g}" == f"{minimum:.3g}" else "the setting nearest to the minimum"
    setting = f"{_SYMBOLS[name]} = {best:g}"
    if getattr(method, name) == best:
        st.caption(plain(f"{setting} is chosen already: it is {which}, {minimum:.3g}."))
    elif st.button(f"Use {which}: {setting}", key=f"use_{name}", help=_FREE, icon=":material/vertical_align_bottom:"):
        choose(f"p.{name}", best)
        st.rerun()


def _is_ready(store: RunStore, key: str) -> bool:
    stored = attempt(lambda: store.preview(key)) or {}
    return stored.get("status") in ("finished", "failed", "cancelled")
