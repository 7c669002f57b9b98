"""A figure on the page: drawn in the person's theme, with its caption, its text alternative and its downloads."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import cast

import streamlit as st

from fairpriv_core.errors import FairprivError
from fairpriv_core.report.draw import draw
from fairpriv_core.report.export import ImageFormat, find_browser, to_csv, to_html, to_image
from fairpriv_core.report.figure import FigureData
from fairpriv_core.report.styles import ThemeName
from pages.widgets.shared.guard import plain, sentence
from pages.widgets.shared.plot import show_plot
from pages.widgets.shared.session import theme_name

_MIME = {
    "png": "image/png",
    "svg": "image/svg+xml",
    "pdf": "application/pdf",
    "html": "text/html",
    "csv": "text/csv",
}


def show_figure(
    figure: FigureData, key: str, *, in_set: bool = False, on_pick: Callable[[str], None] | None = None
) -> None:
    """Draw `figure` under `key`, and below it its caption and downloads; zoom stays while the key does.

    `in_set`: the page says once what holds for several figures, so that here stands what is of this one alone; what
    is downloaded has the whole caption. `on_pick` is called with what a clicked point stands for, by the `keys` of its
    series.
    """
    show_plot(draw(figure, theme=theme_name()), key, alt=figure.alt, on_pick=on_pick)
    left, right = st.columns([4, 1], vertical_alignment="top")
    left.caption(plain(figure.own if in_set else figure.caption))
    with right:
        _offer_downloads(figure, key)


def _offer_downloads(figure: FigureData, key: str) -> None:
    with st.popover("Save", icon=":material/download:", key=f"{key}_save", help="Download this figure or its numbers"):
        for form in _forms():
            st.download_button(
                f"{plain(form.upper())}{' (the numbers)' if form == 'csv' else ''}",
                data=partial(_make, figure, form, theme_name()),
                file_name=f"{figure.name}.{form}",
                mime=_MIME[form],
                key=f"{key}_{form}",
                on_click="ignore",
                type="tertiary",
            )


def _forms() -> tuple[str, ...]:
    """Return the forms that this machine can make; without a browser it says what is missing."""
    try:
        find_browser()
    except FairprivError as error:
        st.caption(plain(sentence(str(error))))
        return ("html", "csv")
    return tuple(_MIME)


def _make(figure: FigureData, form: str, theme: ThemeName) -> bytes:
    if form == "csv":
        return to_csv(figure).encode()
    if form == "html":
        return to_html(figure, theme=theme).encode()
    return to_image(figure, cast(ImageFormat, form), theme=theme)
