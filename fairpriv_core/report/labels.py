"""Where names stand beside points, so that none lies on another: the same places on screen and in every export.

Places are found once, for the narrowest plot that is drawn beside another one. In a wider plot points move apart
sideways alone, and what was clear of each other stays so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Box = tuple[float, float, float, float]  # left, top, right, bottom, in pixels
Point = tuple[float, float]
_SIZE, _HEIGHT = 12.0, 15.0  # of the notes' letters, and of a line of them
_NARROW, _WIDE = frozenset("fijlrtI ,.:;'()|·"), frozenset("mwMW%")
_MARKER = 6.0
_DISTANCES = (13.0, 24.0, 38.0, 54.0, 72.0)
_DIRECTIONS = ((1, 0), (-1, 0), (1, -1), (1, 1), (-1, -1), (-1, 1), (0, -1), (0, 1))
_ON_POINT, _ON_LINE, _ON_LEADER, _FAR = 40.0, 6.0, 60.0, 0.25


@dataclass(frozen=True)
class Place:
    """Where a text stands: pixels from its point to the text's near edge, and which edge that is."""

    right: float
    down: float
    side: str


def place_labels(
    labels: Sequence[tuple[Point, str]], *, points: Sequence[Point], lines: Iterable[tuple[Point, Point]], size: Point
) -> list[Place | None]:
    """Return a place for each text, in the order given, or None where every place lies on an earlier text.

    `labels` are points with their texts, `points` all markers and `lines` pieces of lines that a text had better not
    cover, as the thin line that leads to another text; all in pixels from the top left corner of a plot of this `size`.
    """
    crossed = [piece for line in lines for piece in _cut(*line)]
    taken: list[Box] = []
    led: list[Point] = []
    places: list[Place | None] = []
    for (x, y), text in labels:
        best: tuple[float, Place, Box] | None = None
        for place in _list_places():
            box = _box(x, y, text, place)
            outside = box[0] < 0 or box[1] < 0 or box[2] > size[0] or box[3] > size[1]
            if outside or any(_meet(box, other) for other in taken):
                continue
            leader = _lead(x, y, place)
            cost = _FAR * math.hypot(place.right, place.down)
            cost += _ON_POINT * sum(_holds(box, point, _MARKER) for point in points if point != (x, y))
            cost += _ON_LINE * sum(_holds(box, piece, 0.0) for piece in crossed)
            cost += _ON_LEADER * sum(_holds(box, piece, 0.0) for piece in led)
            cost += _ON_LEADER * sum(_holds(other, piece, 0.0) for other in taken for piece in leader)
            if best is None or cost < best[0]:
                best = cost, place, box
        places.append(None if best is None else best[1])
        if best is not None:
            taken.append(best[2])
            led += _lead(x, y, best[1])
    return places


def _lead(x: float, y: float, place: Place) -> list[Point]:
    """Return points along the thin line from a point to its text."""
    return list(_cut((x, y), (x + place.right, y + place.down)))


def _list_places() -> Iterable[Place]:
    for distance in _DISTANCES:
        for right, down in _DIRECTIONS:
            side = {1: "left", -1: "right", 0: "center"}[right]
            yield Place(right * distance, down * distance * (0.8 if right else 1.0), side)


def text_width(text: str) -> float:
    """Return about how wide a text is, in pixels, and not less: Arial has letters of four widths.

    >>> text_width("ε = 0.5") < text_width("ε = 0.5, evaluated") < 130
    True
    """
    share = sum(0.34 if one in _NARROW else 0.9 if one in _WIDE else 0.73 if one.isupper() else 0.6 for one in text)
    return _SIZE * share + 4


def _box(x: float, y: float, text: str, place: Place) -> Box:
    width = text_width(text)
    left = x + place.right - {"left": 0.0, "right": width, "center": width / 2}[place.side]
    return left, y + place.down - _HEIGHT / 2, left + width, y + place.down + _HEIGHT / 2


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _holds(box: Box, point: Point, margin: float) -> bool:
    inside = box[0] - margin < point[0] < box[2] + margin
    return inside and box[1] - margin < point[1] < box[3] + margin


def _cut(start: Point, end: Point) -> Iterable[Point]:
    """Return points along a line, some eight pixels apart."""
    count = min(200, max(1, round(math.dist(start, end) / 8)))
    return [
        (start[0] + (end[0] - start[0]) * at / count, start[1] + (end[1] - start[1]) * at / count)
        for at in range(count + 1)
    ]
