"""The two comparisons: one answer for everybody, and the height above the mixing line with its interval."""

from __future__ import annotations

import numpy as np
import pytest

from fairpriv_core.facts.measures import Measures
from fairpriv_core.facts.mixing import find_largest_answer, format_margin, format_one_answer, measure_margin
from fairpriv_core.facts.run_facts import RunFacts
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.metrics import measure
from fairpriv_core.records.release import Kind
from tests.facts.told import tell

PARITY = notions()["demographic_parity"]
# over group, label and decision: plain training with a gap of 0.4, and a fairer run
PLAIN = np.array([[[300, 100], [100, 500]], [[450, 50], [250, 250]]])
FAIRER = np.array([[[300, 100], [150, 450]], [[400, 100], [200, 300]]])


def of(counts: np.ndarray) -> Measures[Kind]:
    """Return what is measured of counts (k, l, l)."""
    k, labels, _ = counts.shape
    group, label, decision = (each.ravel() for each in np.indices(counts.shape))
    rows = [np.repeat(each, counts.ravel()) for each in (decision, label, group)]
    names = tuple(f"g{index}" for index in range(k))
    classes = ("no", "yes") if labels == 2 else tuple(map(str, range(labels)))
    score = rows[0].astype(float) if labels == 2 else np.eye(labels)[rows[0]]
    return Measures("raw", measure(rows[1], score, rows[2], names, label_names=classes))


def run(counts: np.ndarray, key: str = "a") -> RunFacts[Kind]:
    return tell({"key": key, "metrics": of(counts).found})


def test_the_height_is_the_distance_from_the_line() -> None:
    found = measure_margin(of(FAIRER), of(PLAIN), PARITY)
    gap, end = 0.55 - 0.4, 0.6 - 0.3
    constant, best, accuracy = 0.55, 0.75, 0.725
    assert found is not None
    assert found.value == pytest.approx(accuracy - (constant + (best - constant) * gap / end))
    assert found.low < found.value < found.high


def test_the_ends_of_the_line_have_no_height() -> None:
    """Plain training itself, and a run that answers everybody the same, lie on it."""
    same = np.array([[[0, 400], [0, 600]], [[0, 500], [0, 500]]])
    for counts in (PLAIN, same):
        found = measure_margin(of(counts), of(PLAIN), PARITY)
        assert found is not None and found.value == pytest.approx(0, abs=1e-12) and found.low <= 0 <= found.high


def test_a_run_that_was_stopped_has_no_counts_and_no_height() -> None:
    stopped = tell({"key": "a", "metrics": {"accuracy": 0.8}})
    assert format_margin(stopped, run(PLAIN, "b")) is None and format_one_answer(stopped) is None


def test_drawing_lots_lies_on_the_line() -> None:
    """Each row is decided as by plain training with chance `lot`, else positively."""
    for lot in [0.2, 0.5, 0.9]:
        counts = np.round(PLAIN * lot * 10).astype(int)
        counts[:, :, 1] += np.round(PLAIN.sum(axis=2) * (1 - lot) * 10).astype(int)
        found = measure_margin(of(counts), of(PLAIN * 10), PARITY)
        assert found is not None and found.value == pytest.approx(0, abs=1e-3) and found.low < 0 < found.high


def test_where_there_is_no_line_there_is_no_height() -> None:
    fair = np.array([[[300, 100], [100, 500]]] * 2)
    useless = np.array([[[200, 200], [300, 300]], [[500, 0], [500, 0]]])
    for own, plain in ((FAIRER, fair), (FAIRER, useless), (PLAIN, FAIRER)):
        assert measure_margin(of(own), of(plain), PARITY) is None
    assert "says nothing here" in (format_margin(run(PLAIN), run(FAIRER, "b")) or "")


def test_what_is_said() -> None:
    better = np.array([[[350, 50], [100, 500]], [[420, 80], [60, 440]]])
    assert "points more accurate than mixing" in (format_margin(run(better), run(PLAIN, "b")) or "")
    worse = np.array([[[200, 200], [300, 300]], [[300, 200], [250, 250]]])
    assert "points less accurate than mixing" in (format_margin(run(worse), run(PLAIN, "b")) or "")
    alike = format_margin(run(PLAIN + 1), run(PLAIN, "b")) or ""
    assert alike.endswith(", which may be none).")
    assert format_margin(run(PLAIN), run(PLAIN)) is None
    assert format_one_answer(run(PLAIN)) is None
    constant = np.array([[[2, 398], [0, 600]], [[3, 497], [0, 500]]])
    assert "gives 99.75 % of the test rows the same answer" in (format_one_answer(run(constant)) or "")
    assert format_one_answer(tell({"metrics": None})) is None and find_largest_answer(of(constant)) == 0.9975


def test_more_than_two_labels_have_both() -> None:
    counts = np.arange(1, 19).reshape(2, 3, 3) * 10
    assert 0.3 < find_largest_answer(of(counts)) < 0.5
    plain = counts + 400 * np.eye(3, dtype=int) * np.array([1, 0]).reshape(2, 1, 1)
    found = measure_margin(of(plain), of(plain), notions()["accuracy_parity"])
    assert found is not None and found.value == pytest.approx(0, abs=1e-12)


def draw(n: int, shift: float, fairer: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the counts of a fairer run and of plain training on the same n rows of a population."""
    group = (rng.random(n) < 0.3).astype(int)
    x = rng.normal(size=n) - shift * group
    label = x + rng.normal(size=n) > 0.3
    plain, own = x > 0.3, x + fairer * group + 0.3 * rng.normal(size=n) > 0.3
    place = group * 4 + label * 2
    return tuple(np.bincount(place + made, minlength=8).reshape(2, 2, 2) for made in (own, plain))  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("name", "shift", "fairer"),
    [("demographic_parity", 0.8, 0.4), ("equalized_odds", 0.8, 0.8), ("demographic_parity", 0.3, 0.2)],
)
def test_the_interval_holds_as_often_as_it_says(name: str, shift: float, fairer: float) -> None:
    notion, rng = notions()[name], np.random.default_rng(7)
    truth = measure_margin(*map(of_table, draw(2_000_000, shift, fairer, rng)), notion)
    assert truth is not None
    found = [measure_margin(*map(of_table, draw(800, shift, fairer, rng)), notion) for _ in range(120)]
    known = [each for each in found if each is not None]
    held = sum(each.low <= truth.value <= each.high for each in known)
    assert len(known) > 60 and held >= 0.93 * len(known)


def of_table(counts: np.ndarray) -> Measures[Kind]:
    """Return the part of what is measured that is read, quickly."""
    return Measures("raw", {"groups": [{"confusion": table.tolist()} for table in counts]})
