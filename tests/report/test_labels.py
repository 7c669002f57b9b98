"""Names beside points: none on another, none outside the plot, and wider plots keep them apart."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from fairpriv_core.report.labels import Box, Place, place_labels, text_width

SIZE = (440.0, 300.0)
POINTS = st.lists(st.tuples(st.floats(0, 440), st.floats(0, 300)), min_size=1, max_size=14)


def box(point: tuple[float, float], text: str, place: Place) -> Box:
    width = text_width(text)
    left = point[0] + place.right - {"left": 0.0, "right": width, "center": width / 2}[place.side]
    return left, point[1] + place.down - 7.5, left + width, point[1] + place.down + 7.5


@given(POINTS)
def test_no_name_lies_on_another_or_outside(points: list[tuple[float, float]]) -> None:
    named = [(point, f"ε = {index}") for index, point in enumerate(points)]
    places = place_labels(named, points=points, lines=(), size=SIZE)
    boxes = [box(*one, place) for one, place in zip(named, places, strict=True) if place is not None]
    assert boxes
    for left, top, right, bottom in boxes:
        assert left >= 0 and top >= 0 and right <= SIZE[0] and bottom <= SIZE[1]
    for one, other in combinations(boxes, 2):
        assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]


def test_a_name_keeps_off_a_line_and_points_where_it_can() -> None:
    [place] = place_labels([((200, 150), "here")], points=[(200, 150), (225, 150)], lines=[], size=SIZE)
    assert place is not None and place.side != "left"
    [place] = place_labels([((200, 150), "here")], points=[(200, 150)], lines=[((0, 150), (200, 150))], size=SIZE)
    assert place is not None and (place.side, place.down) == ("left", 0.0)


def test_no_line_to_a_name_runs_through_another_name() -> None:
    """Six points close to each other, as settings are whose ε makes no difference."""
    crowd = [(300.0 + 4 * at, 60.0 + 3 * (at % 3)) for at in range(6)]
    named = [(point, f"ε = {at}") for at, point in enumerate(crowd)]
    places = place_labels(named, points=crowd, lines=(), size=SIZE)
    assert None not in places
    boxes = [box(*one, place) for one, place in zip(named, places, strict=True) if place is not None]
    for own, (x, y), place in zip(boxes, crowd, places, strict=True):
        assert place is not None
        along = [(x + place.right * part / 20, y + place.down * part / 20) for part in range(21)]
        for other in boxes:
            inside = [at for at in along if other[0] < at[0] < other[2] and other[1] < at[1] < other[3]]
            assert other == own or not inside


def test_a_name_without_a_free_place_is_left_out() -> None:
    crowd = [((20.0, 10.0), "a long name of a point")] * 60
    places = place_labels(crowd, points=[], lines=[], size=(220.0, 60.0))
    assert None in places and places[0] is not None
