"""The run that is watched beside the sliders of Train. It stays there when a slider moves."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

from fairpriv_core.methods.base import parameters
from fairpriv_core.records.config import RunConfig
from fairpriv_core.store.rows import RunRow
from fairpriv_core.store.runs import RunStore
from pages.widgets.run.live import draw_frame, look_at, watch_run
from pages.widgets.run.panels import BOUNDS
from pages.widgets.shared.access import find_row
from pages.widgets.shared.sentences import plain
from pages.widgets.shared.state import choose
from pages.widgets.train.clone import show_changes
from pages.widgets.train.form import find_stop

_WATCHED = "studio_run"


def watch(key: str) -> None:
    """Let the run `key` be the one that is watched from now on."""
    st.session_state[_WATCHED] = key


def find_watched(settings: Mapping[str, Any], own_run: RunRow | None) -> RunRow | None:
    """Return the run to show beside `settings`: their `own_run`, else the last one that was shown on such data.

    None where that run is gone, or pursued another notion.
    """
    if own_run is not None:
        watch(own_run.key)
        return own_run
    row = find_row(st.session_state.get(_WATCHED, ""))
    same = row is not None and all(row.config[name] == settings[name] for name in ("data", "notion"))
    return row if same else None


def show_watched(store: RunStore, config: RunConfig | None, row: RunRow) -> None:
    """Draw a run live, and what of the settings beside it is another by now; None where they are refused."""
    if config is not None:
        show_changes(config, row)
    watch_run(store, row, partial(_draw, config))


def _draw(config: RunConfig | None, store: RunStore, row: RunRow) -> None:
    use_bound = None
    if config is not None and row.config["method"]["name"] == config.method.info.name:  # whose slider the bound is
        use_bound = partial(_offer_bound, config)
    draw_frame(store, look_at(store, row), small=True, use_bound=use_bound)


def _offer_bound(config: RunConfig, bound: float) -> None:
    """Draw the button that moves the slider of the clipping bound to its stop nearest to `bound`."""
    kind, name = type(config.method), BOUNDS["gradient_norm"]
    stop = find_stop(kind, name, bound)
    if getattr(config.method, name) != stop:
        use = partial(choose, f"p.{name}", stop)  # is done before the part is drawn, whatever the run does meanwhile
        if st.button(plain(f"Try {parameters(kind)[name][0].symbol} = {stop:g}"), key="try_bound", on_click=use):
            st.rerun()
