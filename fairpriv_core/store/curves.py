"""A run's curves as they are drawn: thinned by the database, so that a long run costs no more than a short one.

A curve's rows lie together by step, so that a step's row, and the next curve's first one, are found without reading
those between: SQLite and PostgreSQL would otherwise go through all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import CTE, Connection, Select, func, literal, select, union

from fairpriv_core.store.tables import metric

MOST_POINTS = 1000  # of a curve: a figure has no more
SWEPT_POINTS = 10  # of a curve of a run that trained with others, as it is stored
MOST_VALUES = 50_000  # of all curves of a run together
Point = tuple[int, str, float | None]


def is_swept_point(epoch: int, epochs: int) -> bool:
    """Return whether a run that trains with others keeps what is measured after an epoch, of 1 to `epochs`.

    It keeps that at the end of each of SWEPT_POINTS like parts; of all epochs where there are fewer.
    """
    return epoch * SWEPT_POINTS // epochs > (epoch - 1) * SWEPT_POINTS // epochs


def read_curves(connection: Connection, key: str, since: int, is_shown: Callable[[str], bool]) -> list[Point]:
    """Return (step, name, value) with step > `since` of the curves that are shown, by step; as `RunStore.curves`."""
    names = _list_names(key)
    where = (metric.c.key == key, metric.c.name == names.c.name, metric.c.step > since)
    ends = [select(end(metric.c.step)).where(*where).scalar_subquery() for end in (func.min, func.max)]
    rows = connection.execute(select(names.c.name, *ends).where(names.c.name.is_not(None)))
    ranges = {name: (first, last) for name, first, last in rows if first is not None and is_shown(name)}
    if not ranges:
        return []
    points = min(MOST_POINTS, max(2, MOST_VALUES // len(ranges)))
    mine = (metric.c.key == key, metric.c.step > since, metric.c.name.in_(list(ranges)))
    query: Select[Any] = select(metric.c.step, metric.c.name, metric.c.value).where(*mine)
    max_rows = points * len(ranges)
    if (connection.scalar(select(func.count()).select_from(query.limit(max_rows + 1).subquery())) or 0) > max_rows:
        low, high = min(first for first, _ in ranges.values()), max(last for _, last in ranges.values())
        query = _thin(key, list(ranges), low, high, -(-(high - low + 1) // (points - 1)))
    return [(step, name, value) for step, name, value in connection.execute(query.order_by("step", "name"))]


def _list_names(key: str) -> CTE:
    """Return the names of a run's curves as a table, each found behind the one before; its last row is NULL."""
    mine = metric.c.key == key
    names = select(func.min(metric.c.name).label("name")).where(mine).cte("names", recursive=True)
    behind = select(func.min(metric.c.name)).where(mine, metric.c.name > names.c.name).scalar_subquery()
    return names.union_all(select(behind).select_from(names).where(names.c.name.is_not(None)))


def _thin(key: str, curves: Sequence[str], low: int, high: int, width: int) -> Select[Any]:
    """Return the query of each curve's first row in each `width` steps from `low` to `high`, and of its last row."""
    names = _list_names(key)
    place = select(literal(low).label("step")).cte("place", recursive=True)
    place = place.union_all(select(place.c.step + width).where(place.c.step + width <= high))
    mine = (metric.c.key == key, metric.c.name == names.c.name)
    interval = (*mine, metric.c.step >= place.c.step, metric.c.step < place.c.step + width)
    first = select(func.min(metric.c.step)).where(*interval).scalar_subquery()
    last = select(func.max(metric.c.step)).where(*mine, metric.c.step <= high).scalar_subquery()
    of_shown = names.c.name.in_(list(curves))
    starts = select(names.c.name, first.label("step")).select_from(names.join(place, literal(True))).where(of_shown)
    points = union(starts, select(names.c.name, last.label("step")).where(of_shown)).subquery("picked")
    same = (metric.c.key == key) & (metric.c.name == points.c.name) & (metric.c.step == points.c.step)
    return select(metric.c.step, metric.c.name, metric.c.value).select_from(points.join(metric, same))
