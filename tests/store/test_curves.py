"""Curves as they are drawn: a long run's come thinned, and what is taken away is whole."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from sqlalchemy import event, insert

from fairpriv_core.cli.export import curves_to_csv
from fairpriv_core.records.config import RunConfig
from fairpriv_core.store.curves import MOST_POINTS, MOST_VALUES
from fairpriv_core.store.runs import RunStore
from fairpriv_core.store.tables import metric
from tests.stores import ON_BOTH

LONG = 20 * MOST_POINTS
Point = tuple[int, str, float | None]


@pytest.fixture
def write(store: RunStore, configure: Callable[..., RunConfig]) -> Callable[[list[Point]], str]:
    """Return a function that stores curves of a run and returns its key."""

    def fill(points: list[Point]) -> str:
        key = store.submit(configure()).key
        rows = [{"key": key, "name": name, "step": step, "value": value} for step, name, value in points]
        with store.database.write() as connection:
            connection.execute(insert(metric), rows)
        return key

    return fill


@ON_BOTH
def test_a_long_run_arrives_thinned_with_every_name_and_both_ends(
    store: RunStore, write: Callable[[list[Point]], str]
) -> None:
    names = {"test/accuracy": 7, "epsilon": 7, "multiplier/late": 7 * 1234, "train/loss": 7}  # from which step on
    written = [(step, name, 0.5 * step) for name, first in names.items() for step in range(first, 7 * LONG, 7)]
    key = write([*written, (7 * LONG, "test/accuracy", None)])
    found = store.curves(key, lambda name: name != "train/loss")
    assert found == sorted(found, key=lambda point: point[:2]) and len(found) == len(set(found))
    assert set(found) <= {*written, (7 * LONG, "test/accuracy", None)}
    for name, first in list(names.items())[:-1]:
        steps = [step for step, of, _ in found if of == name]
        last = 7 * LONG if name == "test/accuracy" else 7 * (LONG - 1)
        assert (steps[0], steps[-1]) == (first, last), name
        assert 0.8 * MOST_POINTS < len(steps) <= MOST_POINTS + 1, name
        assert max(later - step for step, later in pairwise(steps)) <= 3 * 7 * LONG / MOST_POINTS
    here, there = ([step for step, of, _ in found if of == name] for name in ("epsilon", "test/accuracy"))
    assert here[:-1] == there[: len(here) - 1], "figures and folds need curves of one run at the same steps"
    assert {name for _, name, _ in found} == {"test/accuracy", "epsilon", "multiplier/late"}
    assert len(curves_to_csv(store, key).splitlines()) == len(written) + 3 == len(store.metrics(key)) + 2


def test_no_more_rows_are_read_than_are_shown(store: RunStore, write: Callable[[list[Point]], str]) -> None:
    groups = [f"group/{place:03d}/positive_rate" for place in range(MOST_VALUES // MOST_POINTS + 10)]
    key = write([(step, name, 0.5) for name in groups for step in range(LONG // 10)])
    found = store.curves(key, lambda name: True)
    assert {name for _, name, _ in found} == set(groups) and len(found) <= MOST_VALUES + len(groups)
    asked: list[str] = []
    event.listen(store.database._readers, "before_cursor_execute", lambda *given: asked.append(given[2]))
    last = LONG // 10 - 1
    assert store.curves(key, lambda name: name == groups[3], since=last - 2) == [
        (step, groups[3], 0.5) for step in (last - 1, last)
    ]
    ends, count, points = [query for query in asked if query != "BEGIN"]
    assert "min(metric.step)" in ends and "LIMIT" in count and "metric.name IN" in points


def test_a_short_run_comes_whole_and_a_run_without_curves_empty(
    store: RunStore, write: Callable[[list[Point]], str], configure: Callable[..., RunConfig]
) -> None:
    steps = [1, 2, 3, 500, 90_000]  # however unevenly they lie
    key = write([(step, name, None) for name in ("epsilon", "test/accuracy") for step in steps])
    assert store.curves(key, lambda name: True) == store.metrics(key)
    assert store.curves(key, lambda name: True, since=3) == store.metrics(key, since=3)
    assert store.curves(key, lambda name: False) == store.curves("nothing", lambda name: True) == []
