"""A figure on the page: drawn in the person's theme, with its caption, its text alternative and its downloads."""

from __future__ import annotations

import streamlit as st
from fairpriv_core.report.export import to_csv, to_html, to_image

from fairpriv_core.report.draw import draw
from fairpriv_core.report.figure import FigureData
from pages.widgets.guard import plain
from pages.widgets.session import theme_name

_MIME = {
    "png": "image/png",
    "svg": "image/svg+xml",
    "pdf": "application/pdf",
    "html": "text/html",
    "csv": "text/csv",
}
_CONFIG = {"displaylogo": False, "modeBarButtonsToRemove": ["lasso2d", "select2d"]}


def show_figure(figure: FigureData, key: str, *, height: int | None = None) -> None:
    """Draw `figure` under `key`, and below it its caption and downloads; zoom stays while the key does."""
    drawn = draw(figure, theme=theme_name())
    if height is not None:
        drawn.update_layout(height=height)
    st.plotly_chart(drawn, key=key, theme=None, config=_CONFIG, alt=figure.alt)
    left, right = st.columns([5, 1], vertical_alignment="top")
    left.caption(plain(figure.caption))
    with right:
        _offer_downloads(figure, key)


def _offer_downloads(figure: FigureData, key: str) -> None:
    with st.popover("Save", icon=":material/download:", key=f"{key}_save", help="Download this figure or its data"):
        for form in _MIME:
            st.download_button(
                f"{form.upper()}{' (the numbers)' if form == 'csv' else ''}",
                data=_Maker(figure, form),
                file_name=f"{figure.name}.{form}",
                mime=_MIME[form],
                key=f"{key}_{form}",
                on_click="ignore",
                type="tertiary",
            )


class _Maker:
    """Makes a figure's file when it is asked for."""

    def __init__(self, figure: FigureData, form: str) -> None:
        self.figure = figure
        self.form = form

    def __call__(self) -> bytes:
        if self.form == "csv":
            return to_csv(self.figure).encode()
        if self.form == "html":
            return to_html(self.figure).encode()
        return to_image(self.figure, self.form)
