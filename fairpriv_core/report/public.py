"""Figures and reports of rows that everybody has: their numbers are nobody's secret, and none says otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from fairpriv_core.data.catalog import problems
from fairpriv_core.records.record import RAW
from fairpriv_core.records.source import is_published
from fairpriv_core.report.document import Document, Part, Table
from fairpriv_core.report.figure import OF_OWN, FigureData, say_published


def as_public(figure: FigureData, data: Iterable[Mapping[str, Any]], *, tell: bool = True) -> FigureData:
    """Return a figure as public where the `data` of all its runs (configs') are published.

    It tells so, unless what stands around it does.
    """
    told = list(data)
    if not figure.raw or not all(map(is_published, told)):
        return figure
    return replace(figure, raw=False, published=_list_titles(told) if tell else ())


def say_origin(data: Iterable[Mapping[str, Any]]) -> str:
    """Return what must be said with accuracies and gaps of runs on `data`: that they are raw, or that all is public."""
    told = list(data)
    return say_public(told) + OF_OWN if all(map(is_published, told)) else RAW


def say_public(data: Iterable[Mapping[str, Any]]) -> str:
    """Return that published `data` are public, by their names."""
    return say_published(_list_titles(data))


def _list_titles(data: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(problems()[each["dataset"]].title for each in data))


def say_raw_briefly(data: Iterable[Mapping[str, Any]]) -> str:
    """Return what follows a sentence about runs on `data`: that its numbers are raw, nothing where all are public."""
    return "" if all(map(is_published, data)) else " Raw, for the analyst."


def as_public_report(document: Document, data: Iterable[Mapping[str, Any]]) -> Document:
    """Return a report whose notice alone says whose numbers these are, where the `data` of all its runs are published.

    Any other comes back as it is.
    """
    told = list(data)
    if not all(map(is_published, told)):
        return document

    def unmark(part: Part) -> Part:
        if isinstance(part, FigureData):
            return as_public(part, told, tell=False)
        return replace(part, raw=False) if isinstance(part, Table) else part

    sections = (replace(each, parts=tuple(map(unmark, each.parts))) for each in document.sections)
    return replace(document, published=_list_titles(told), sections=tuple(sections))
