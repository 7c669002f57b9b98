"""Parts of a page that are drawn anew without the rest of it: by themselves, or when a person uses them."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import streamlit as st

from fairpriv_core.store.previews import Preview
from fairpriv_core.store.runs import RunStore
from pages.widgets.shared.sentences import attempt

_within: ContextVar[bool] = ContextVar("within", default=False)  # whether a part that polls is being drawn


def poll(draw: Callable[..., object], *arguments: Any, every: float | None) -> None:
    """Let `draw` draw a part of the page, anew every `every` seconds; with None once, in the same place.

    A server that has not yet sent a whole page drops the part from it when the part is due again. Where it stood, a
    browser would then put it over what comes next. A column stays where it is though it is empty.
    """
    with st.columns(1)[0]:
        if every is None:
            with st.container():  # a fragment has one too
                draw(*arguments)
        else:
            st.fragment(_draw, run_every=every)(draw, *arguments)


def look(store: RunStore, name: str) -> Preview:
    """Return how far a worker is with the request `name`; nothing after showing why the store cannot be read."""
    return attempt(lambda: store.previews.look(name)) or Preview()


def await_answer(store: RunStore, name: str, words: str) -> None:
    """Say what a worker does for the request `name`; once it is done, draw the whole page, which then has it."""
    if not look(store, name).waits:
        st.rerun()
    st.info(words, icon=":material/hourglass_empty:")


def draw_alone(draw: Callable[..., object], *arguments: Any) -> None:
    """Let `draw` draw a part of the page that is drawn alone when a person uses it.

    Within a part that polls it is drawn with that part: before the server sends a polled fragment again, it drops what
    it has not yet sent of it and keeps what belongs to fragments within. Their elements would then reach the browser
    without what they stand in, and the page would break.
    """
    if _within.get():
        draw(*arguments)
    else:
        st.fragment(draw)(*arguments)


def _draw(draw: Callable[..., object], *arguments: Any) -> None:
    outer = _within.set(True)
    try:
        draw(*arguments)
    finally:
        _within.reset(outer)
