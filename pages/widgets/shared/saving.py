"""How a figure leaves a page: for the screen, a paper's column or a slide, with or without caption and ground."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from string import ascii_lowercase
from typing import cast

import streamlit as st

from fairpriv_core.data.catalog import problems
from fairpriv_core.documents.bibtex import write_bibtex
from fairpriv_core.errors import FairprivError
from fairpriv_core.figures.draw import Place, list_places
from fairpriv_core.figures.export import (
    ImageFormat,
    find_browser,
    find_heights,
    fit_sheet,
    to_html,
    to_image,
    to_sheet,
)
from fairpriv_core.figures.figure import FigureData, write_csv
from fairpriv_core.figures.sheet import SHEETS, Sheet
from fairpriv_core.figures.styles import ThemeName
from fairpriv_core.methods.catalog import REFERENCE_METHOD, methods
from pages.widgets.shared.polling import draw_alone
from pages.widgets.shared.sentences import attempt, plain, sentence
from pages.widgets.shared.session import theme_name

_IMAGES = {"png": "image/png", "svg": "image/svg+xml", "pdf": "application/pdf"}
_OTHERS = {"html": "text/html", "csv": "text/csv"}
_WORDS = {"html": "HTML (one file, moves)", "csv": "CSV (the numbers)"}
_SCREEN, _PAPER = list(SHEETS)[:2]
_PLACES: dict[Place, str] = {"below": "Below", "right": "On the right", "ends": "None: names at lines' ends"}
_MOST_COLUMNS = 3


def offer_downloads(figure: FigureData, key: str, *, cited: Sequence[str] = ()) -> None:
    """Draw a button that opens the ways to take `figure` away: what an image is for, and a button for each form.

    Beside them stands the BibTeX of the methods that it draws, of its public data, and of what is `cited`.
    """
    says = "Download this figure or its numbers"
    with st.container(width="content"):  # a part that is drawn alone is as wide as it can be
        draw_alone(_open, "Save", key, partial(_offer_forms, figure, key, cited), says)


def _open(label: str, key: str, draw: Callable[[], None], says: str | None = None) -> None:
    """Draw a button, and what it opens once it is open: of twenty figures on a page a person saves one."""
    box = st.popover(label, icon=":material/download:", key=f"{key}_save", help=says, on_change="rerun")
    if box.open:
        with box:
            draw()


def _offer_forms(figure: FigureData, key: str, cited: Sequence[str]) -> None:
    if _has_browser():
        _offer_images(figure, key)
    with st.container(horizontal=True, key=f"{key}_others"):
        for form, mime in _OTHERS.items():
            make = partial(_write, figure, form, theme_name())
            _offer(_WORDS[form], make, f"{figure.name}.{form}", mime, f"{key}_{form}")
    citations = [*cited, *_list_citations(figure)]
    if citations:
        show_bibtex(citations, figure.name, key)


def offer_set(figures: Sequence[FigureData], key: str, *, cited: Sequence[str] = ()) -> None:
    """Draw a button that opens the ways to take figures away together: panels a, b, c … of one image for a paper."""
    draw_alone(_open, "Save all as one image", key, partial(_offer_sheet, figures, key, cited))


def _offer_sheet(figures: Sequence[FigureData], key: str, cited: Sequence[str]) -> None:
    if not _has_browser():
        return
    sheet = SHEETS[_PAPER]
    max_columns = min(_MOST_COLUMNS, len(figures))
    options = range(1, max_columns + 1)
    columns = st.segmented_control(
        f"Columns of {sheet.width:g} in", options, default=min(2, max_columns), required=True, key=f"{key}_columns"
    )
    with st.container(horizontal=True, key=f"{key}_images"):
        for form, mime in _IMAGES.items():
            make = partial(to_sheet, figures, cast(ImageFormat, form), columns=int(columns), sheet=sheet)
            _offer(form.upper(), make, f"{figures[0].name}-panels.{form}", mime, f"{key}_{form}")
    st.code(_join_captions(figures), language=None, wrap_lines=True)
    citations = [*cited, *(citation for figure in figures for citation in _list_citations(figure))]
    if citations:
        show_bibtex(citations, figures[0].name, key)


def _join_captions(figures: Sequence[FigureData]) -> str:
    """Return the captions of panels a, b, c …; one that several share stands once."""
    letters: dict[str, list[str]] = {}
    for letter, figure in zip(ascii_lowercase, figures, strict=False):
        letters.setdefault(figure.text, []).append(letter)
    return "\n".join(f"({', '.join(own)}) {text}" for text, own in letters.items())


def show_bibtex(citations: Iterable[str], name: str, key: str) -> None:
    """Draw the BibTeX of works that are cited, and of this software, folded: to copy, or as a file."""
    text = write_bibtex(citations)
    with st.expander("BibTeX", icon=":material/format_quote:", key=f"{key}_bibtex"):
        st.code(text, language="latex", wrap_lines=True)
        _offer("BIB", partial(text.encode), f"{name}.bib", "text/x-bibtex", f"{key}_bib")


def _list_citations(figure: FigureData) -> list[str]:
    """Return how the methods that a figure draws and its public data are cited; the plain reference is nobody's."""
    styles = {series.style for series in figure.series} - {REFERENCE_METHOD}
    data = [problem.citation for problem in problems().values() if problem.title in figure.origin.published]
    return [method.info.citation for name, method in methods().items() if name in styles] + data


def _offer_images(figure: FigureData, key: str) -> None:
    """Draw the choices of sheet and look, then a button a form, and the caption where the image has none."""
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
    """Draw what can be changed of a figure and of the sheet called `name`; return both as they are chosen."""
    sheet = SHEETS[name]
    low, high = sheet.range
    with st.container(horizontal=True, vertical_alignment="center", key=f"{key}_look"):
        caption = st.toggle("Caption in the picture", sheet.caption, key=f"{key}_{name}_caption")
        transparent = st.toggle("Transparent", key=f"{key}_{name}_transparent")
        if figure.regions and not st.toggle("Shaded region", sheet.caption, key=f"{key}_{name}_shaded"):
            figure = figure.without_regions()
    points = st.slider("Smallest text (points)", low, high, sheet.points, 0.5, key=f"{key}_{name}_points")
    sheet = replace(sheet, caption=caption, transparent=transparent, points=points)
    return figure, sheet if name == _SCREEN else _choose_shape(figure, sheet, f"{key}_{name}")


def _choose_shape(figure: FigureData, sheet: Sheet, key: str) -> Sheet:
    """Draw where the legend stands, if there is one, and how high the image is; return the sheet as it is to be."""
    places = list_places(figure, sheet.pixels[0])
    if places:
        place = st.segmented_control(
            "Legend",
            places,
            default=places[0],
            required=True,
            format_func=_PLACES.__getitem__,
            key=f"{key}_legend",
            help="Names whose lines end close together stay in the legend",
        )
        sheet = replace(sheet, legend=place)
    try:
        lowest, usual = find_heights(figure, sheet)
    except FairprivError:
        return sheet  # said where its forms would stand
    height = st.slider("Height (inches)", lowest, max(2 * lowest, usual), usual, 0.1, key=f"{key}_height")
    return replace(sheet, height=height)


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
    return (write_csv(figure) if form == "csv" else to_html(figure, theme=theme)).encode()
