"""Figures of rows that everybody has: their numbers are nobody's secret, and no export of them says otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fairpriv_core.data.catalog import problems
from fairpriv_core.records.record import RAW
from fairpriv_core.records.source import is_published
from fairpriv_core.report.figure import FigureData

_EXACT = "{names} {is_are} public: the numbers are exact, without noise."
_PUBLIC = "{names} {is_are} public. On your own data such numbers are raw, for the analyst: ε does not cover them."


def as_public(figure: FigureData, data: Iterable[Mapping[str, Any]]) -> FigureData:
    """Return a figure without the mark of raw numbers where the `data` of all its runs (configs') are published."""
    said = _say_public(list(data), _EXACT)
    if not figure.raw or said is None:
        return figure
    return replace(figure, raw=False, caption=f"{figure.caption.removesuffix(RAW)}{said}")


def say_origin(data: Iterable[Mapping[str, Any]]) -> str:
    """Return what must be said with accuracies and gaps of runs on `data`: that they are raw, or that all is public."""
    return _say_public(list(data), _PUBLIC) or RAW


def _say_public(data: Sequence[Mapping[str, Any]], said: str) -> str | None:
    """Return what is `said` of published rows, with their names; None where some of the `data` are not published."""
    if not all(map(is_published, data)):
        return None
    names = dict.fromkeys(problems()[each["dataset"]].title for each in data)
    return said.format(names=" and ".join(names), is_are="is" if len(names) == 1 else "are")
