"""Parts that are drawn anew without the rest of a page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest


def draw_page(every: float | None) -> None:
    import streamlit as st

    from pages.widgets.shared.polling import draw_alone, poll

    poll(draw_alone, st.text, "within", every=every)
    draw_alone(st.text, "after")


@pytest.mark.parametrize(
    ("every", "alone"), [(1.0, [["poll"], ["after"]]), (None, [["within"], ["after"]])], ids=["polls", "rests"]
)
def test_what_polls_holds_nothing_that_is_drawn_alone(
    every: float | None, alone: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Streamlit would send the inner part to a slow browser without the outer one."""
    made: list[list[str]] = []
    fragment = st.fragment

    def record(draw: Callable[..., object], **settings: Any) -> Callable[..., object]:
        made.append(["poll"] if "run_every" in settings else [])
        part = fragment(draw, **settings)

        def call(*arguments: Any) -> object:
            made[-1] = made[-1] or list(arguments)
            return part(*arguments)

        return call

    monkeypatch.setattr(st, "fragment", record)
    page = AppTest.from_function(draw_page, kwargs={"every": every}).run()
    assert [text.value for text in page.text] == ["within", "after"]
    assert made == alone
    (column,) = page.columns  # stays in its place while it is empty, as a container does not
    assert [text.value for text in column.text] == ["within"]
