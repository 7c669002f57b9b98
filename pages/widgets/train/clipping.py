"""The error that clipping and noise make over the bounds, before anything trains: asked of a worker, then drawn."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import streamlit as st

from fairpriv_core.figures.figures import bias_variance
from fairpriv_core.methods.base import Method, parameters
from fairpriv_core.methods.clipping_choice import ChoosesClipping, ClippingCurve, Warmup
from fairpriv_core.records.config import RunConfig
from fairpriv_core.store.previews import name_request
from fairpriv_core.store.runs import RunStore
from pages.widgets.shared.charts import show_figure
from pages.widgets.shared.polling import look, poll
from pages.widgets.shared.sentences import attempt, plain
from pages.widgets.shared.state import choose
from pages.widgets.train.form import find_stop
from pages.widgets.train.plan import LaunchPlan

_POLL_SECONDS = 0.5
_ASKED = "clipping_asked"
_PRIMAL = "clip_primal"
_SYMBOLS = {_PRIMAL: "C_p", "clip_dual": "C_d"}
_HIGH = 22  # pixels
_STRIP = f"position:relative;height:{_HIGH}px;margin:0 7px;"
_WHOLE = "position:absolute;top:0;left:0;width:100%;height:100%;"
_LINE = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 {high}" preserveAspectRatio="none">'
    '<polyline points="{points}" fill="none" stroke="#2E79B0" stroke-width="1.5" vector-effect="non-scaling-stroke"/>'
    "</svg>"
)
_DOT = (
    f"position:absolute;top:{_HIGH - 6}px;width:6px;height:6px;margin-left:-3px;border-radius:50%;background:#2E79B0;"
)
Draw = Callable[[Warmup | None], None]
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


def show_clipping(store: RunStore, config: RunConfig, plan: LaunchPlan) -> None:
    """Draw the curves of a method that has them, with the chosen bounds marked; until they are there, wait for them."""
    method = plan.method
    if isinstance(method, ChoosesClipping):
        _follow(store, config, partial(_draw_curves, config=config, method=method))


def show_sparkline(store: RunStore, config: RunConfig, plan: LaunchPlan) -> None:
    """Draw the error over C_p as a line as long as its slider, with a dot where it is least."""
    method = plan.method
    if isinstance(method, ChoosesClipping):
        _follow(store, config, partial(_draw_sparkline, method=method))


def _follow(store: RunStore, config: RunConfig, draw: Draw) -> None:
    """Ask for the warm-up model's values, and let `draw` draw with them, with None until they are there."""
    method_settings = config.to_json()["method"]
    request = {
        "data": config.data.to_json(),
        "notion": config.notion,
        "hidden_layers": getattr(config.method, "hidden_layers", 0),
        "width": getattr(config.method, "width", 0),
        "seed": config.seed,
        **{name: method_settings[name] for name in ("network", "surrogate") if name in method_settings},
    }
    key = attempt(lambda: _ask(store, request)) if store.database.writable else None
    if key is None:
        return
    ready = _is_ready(store, key)
    poll(partial(_draw, ready=ready), store, key, draw, every=None if ready else _POLL_SECONDS)


def _ask(store: RunStore, request: dict[str, Any]) -> str:
    """Ask for the curves of the settings that are shown now; those of settings left behind are not needed any more."""
    key, before = name_request(request), st.session_state.get(_ASKED)
    if before not in (None, key):
        store.previews.cancel(before)
    st.session_state[_ASKED] = key
    return store.previews.ask(request)


def _draw(store: RunStore, key: str, draw: Draw, *, ready: bool) -> None:
    if not ready and _is_ready(store, key):
        st.rerun()
    answer = look(store, key)
    if answer.error:
        st.warning(plain(f"The clipping curves cannot be drawn: {answer.error}"), icon=":material/warning:")
        return
    draw(Warmup(**answer.result) if answer.result else None)


def _draw_sparkline(warmup: Warmup | None, *, method: ChoosesClipping) -> None:
    curves = {} if warmup is None else attempt(lambda: method.clipping_curves(warmup)) or {}
    parameter = parameters(type(cast(Method, method)))[_PRIMAL][0]
    st.html(write_sparkline(curves.get(_PRIMAL), parameter.low or 1.0, parameter.high or 1.0))


def write_sparkline(curve: ClippingCurve | None, low: float, high: float) -> str:
    """Return the sum of a curve from `low` to `high`, both > 0, as HTML; without one its place is held."""
    if curve is None:
        return f'<div style="{_STRIP}"></div>'
    total = [bias + variance for bias, variance in zip(curve.bias, curve.variance, strict=True)]
    lowest = max(min(total), 1e-12)

    def along(bound: float) -> float:
        return 100 * math.log(bound / low) / math.log(high / low)

    inside = [(bound, value) for bound, value in zip(curve.bounds, total, strict=True) if low <= bound <= high]
    points = " ".join(f"{along(bound):.1f},{_fall(value / lowest):.1f}" for bound, value in inside)
    svg = _LINE.format(high=_HIGH, points=points)
    line = f'<img alt="" style="{_WHOLE}" src="data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}">'
    best, remark, dot = curve.minimiser, "it only rises", ""
    if best is not None and low <= best <= high:
        remark, dot = f"least near {best:.3g}", f'<div style="{_DOT}left:{along(best):.1f}%"></div>'
    alt = f"Error of clipping and noise over C_p: {remark}"
    return f'<div style="{_STRIP}" role="img" aria-label="{alt}" title="{alt}">{line}{dot}</div>'


def _fall(times: float) -> float:
    """Return the distance from the top of a value `times` the least one; ten times the least is at the top."""
    return _HIGH - 3 - (_HIGH - 6) * min(math.log10(max(times, 1.0)), 1.0)


def _draw_curves(warmup: Warmup | None, *, config: RunConfig, method: ChoosesClipping) -> None:
    if warmup is None:
        st.caption("A worker is making the curves over C_p and C_d …")
        return
    curves = attempt(lambda: method.clipping_curves(warmup))
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
    return look(store, key).status in ("finished", "failed", "cancelled")
