"""How a figure leaves a page: for the screen, a paper's column or a slide, with or without caption and ground."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import cast

import streamlit as st

from fairpriv_core.errors import FairprivError
from fairpriv_core.figures.export import ImageFormat, find_browser, fit_sheet, to_csv, to_html, to_image
from fairpriv_core.figures.figure import FigureData
from fairpriv_core.figures.sheet import SHEETS, Sheet
from fairpriv_core.figures.styles import ThemeName
from pages.widgets.shared.sentences import attempt, plain, sentence
from pages.widgets.shared.session import theme_name

_IMAGES = {"png": "image/png", "svg": "image/svg+xml", "pdf": "application/pdf"}
_OTHERS = {"html": "text/html", "csv": "text/csv"}
_WORDS = {"html": "HTML (one file, moves)", "csv": "CSV (the numbers)"}
_SCREEN = next(iter(SHEETS))


def offer_downloads(figure: FigureData, key: str) -> None:
    """Draw a button that opens the ways to take `figure` away: what an image is for, and a button for each form."""
    with st.popover("Save", icon=":material/download:", key=f"{key}_save", help="Download this figure or its numbers"):
        if _has_browser():
            _offer_images(figure, key)
        with st.container(horizontal=True, key=f"{key}_others"):
            for form, mime in _OTHERS.items():
                make = partial(_write, figure, form, theme_name())
                _offer(_WORDS[form], make, f"{figure.name}.{form}", mime, f"{key}_{form}")


def _offer_images(figure: FigureData, key: str) -> None:
    """Draw what an image is made for and how it looks, then its forms, and the caption that it goes without."""
    name = _choose_name(key)
    figure, sheet = _choose_look(figure, name, key)
    theme = theme_name() if name == _SCREEN else "light"
    part = "" if name == _SCREEN else f"-{name}"
    fits = attempt(lambda: fit_sheet(figure, sheet)) is not None
    with st.container(horizontal=True, key=f"{key}_images"):
        for form, mime in _IMAGES.items() if fits else ():
            make = partial(to_image, figure, cast(ImageFormat, form), theme=theme, sheet=sheet)
            _offer(form.upper(), make, f"{figure.name}{part}.{form}", mime, f"{key}_{form}")
    if not sheet.caption:
        st.code(figure.text, language=None, wrap_lines=True)


def _choose_name(key: str) -> str:
    return str(
        st.segmented_control(
            "Made for",
            list(SHEETS),
            default=_SCREEN,
            required=True,
            format_func=lambda name: SHEETS[name].title,
            key=f"{key}_sheet",
        )
    )


def _choose_look(figure: FigureData, name: str, key: str) -> tuple[FigureData, Sheet]:
    """Draw what may differ from what is on screen and from the sheet called `name`; return both as they are to be."""
    sheet = SHEETS[name]
    low, high = sheet.range
    with st.container(horizontal=True, vertical_alignment="center", key=f"{key}_look"):
        caption = st.toggle("Caption in the picture", sheet.caption, key=f"{key}_{name}_caption")
        transparent = st.toggle("Transparent", key=f"{key}_{name}_transparent")
        if figure.regions and not st.toggle("Shaded region", sheet.caption, key=f"{key}_{name}_shaded"):
            figure = figure.without_regions()
    points = st.slider("Smallest text (points)", low, high, sheet.points, 0.5, key=f"{key}_{name}_points")
    return figure, replace(sheet, caption=caption, transparent=transparent, points=points)


def _offer(label: str, make: partial[bytes], name: str, mime: str, key: str) -> None:
    st.download_button(plain(label), make, name, mime, key=key, on_click="ignore", icon=":material/download:")


def _has_browser() -> bool:
    """Return whether this machine can make images; without a browser say what is missing."""
    try:
        find_browser()
    except FairprivError as error:
        st.caption(plain(sentence(str(error))))
        return False
    return True


def _write(figure: FigureData, form: str, theme: ThemeName) -> bytes:
    return (to_csv(figure) if form == "csv" else to_html(figure, theme=theme)).encode()
