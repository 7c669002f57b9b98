"""Figures of rows that everybody has: their numbers are nobody's secret, and no export of them says otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from fairpriv_core.data.catalog import problems
from fairpriv_core.records.record import RAW
from fairpriv_core.records.source import is_published
from fairpriv_core.report.figure import FigureData

_PUBLIC = "{names} {is_are} public."
_OWN = " On your own data such numbers are raw, for the analyst: ε does not cover them."


def as_public(figure: FigureData, data: Iterable[Mapping[str, Any]]) -> FigureData:
    """Return a figure without the mark of raw numbers where the `data` of all its runs (configs') are published."""
    told = list(data)
    said = say_origin(told)
    if not figure.raw or said == RAW:
        return figure
    return replace(figure, raw=False, caption=f"{figure.caption.removesuffix(RAW)}{said}")


def say_origin(data: Iterable[Mapping[str, Any]]) -> str:
    """Return what must be said with accuracies and gaps of runs on `data`: that they are raw, or that all is public."""
    told = list(data)
    if not all(map(is_published, told)):
        return RAW
    names = dict.fromkeys(problems()[each["dataset"]].title for each in told)
    return _PUBLIC.format(names=" and ".join(names), is_are="is" if len(names) == 1 else "are") + _OWN


def without_note(figure: FigureData) -> FigureData:
    """Return a figure whose caption leaves out what is for whoever works here, and not for readers of a paper."""
    return replace(figure, caption=figure.caption.removesuffix(_OWN))
