"""Figures and reports of rows that everybody has: their numbers are nobody's secret, and none says otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from fairpriv_core.data.catalog import problems
from fairpriv_core.records.record import RAW
from fairpriv_core.records.source import is_published
from fairpriv_core.report.document import Document, Part, Table
from fairpriv_core.report.figure import FigureData

_OWN = " On your own data no ε covers such numbers."


def as_public(figure: FigureData, data: Iterable[Mapping[str, Any]], *, tell: bool = True) -> FigureData:
    """Return a figure without the mark of raw numbers where the `data` of all its runs (configs') are published.

    Its caption tells so, unless what stands around it does.
    """
    said = say_origin(data)
    if not figure.raw or said == RAW:
        return figure
    words = figure.caption.removesuffix(RAW)
    return replace(figure, raw=False, caption=f"{words}{said}" if tell else words.rstrip())


def say_origin(data: Iterable[Mapping[str, Any]]) -> str:
    """Return what must be said with accuracies and gaps of runs on `data`: that they are raw, or that all is public."""
    told = list(data)
    return say_public(told) + _OWN if all(map(is_published, told)) else RAW


def say_public(data: Iterable[Mapping[str, Any]]) -> str:
    """Return that published `data` are public, by their names."""
    names = dict.fromkeys(problems()[each["dataset"]].title for each in data)
    return f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} public."


def say_raw_briefly(data: Iterable[Mapping[str, Any]]) -> str:
    """Return what follows a sentence about runs on `data`: that its numbers are raw, nothing where all are public."""
    return "" if all(map(is_published, data)) else " Raw, for the analyst."


def as_public_report(document: Document, data: Iterable[Mapping[str, Any]]) -> Document:
    """Return a report whose notice alone says whose numbers these are, where the `data` of all its runs are published.

    Any other comes back as it is.
    """
    told = list(data)
    said = say_origin(told)
    if said == RAW:
        return document

    def unmark(part: Part) -> Part:
        if isinstance(part, FigureData):
            return as_public(part, told, tell=False)
        return replace(part, note=part.note.replace(RAW, "").strip()) if isinstance(part, Table) else part

    sections = (replace(each, parts=tuple(map(unmark, each.parts))) for each in document.sections)
    return replace(document, notice=f"For the analyst. {said}", sections=tuple(sections))


def without_note(figure: FigureData) -> FigureData:
    """Return a figure whose caption leaves out what is for whoever works here, and not for readers of a paper."""
    return replace(figure, caption=figure.caption.removesuffix(_OWN))
