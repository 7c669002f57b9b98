"""Whether the gap that was asked for is reached: the words follow the test rows and what they can tell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.metrics import measure
from fairpriv_core.notions.noisy import gap_interval
from fairpriv_core.records.reached import count_decisions, judge_aim, say_closed


def make_record(counts: np.ndarray, target: float | None = 0.04, notion: str = "demographic_parity") -> dict[str, Any]:
    """Return what of a record's JSON counts, for decisions with these counts (k, l, l) over group, label, decision."""
    group, label, decision = (np.repeat(index.ravel(), counts.ravel()) for index in np.indices(counts.shape))
    scores = np.eye(counts.shape[1])[decision]
    metrics = measure(label, scores, group, [f"g{index}" for index in range(len(counts))])
    return {"config": {"notion": notion, "method": {"gap_target": target}}, "metrics": metrics}


def selected(*rates: tuple[int, int]) -> np.ndarray:
    """Return counts where of each group so many rows of so many are selected, whatever their label."""
    counts = [
        [[(size - chosen) // 2, chosen // 2], [-(-(size - chosen) // 2), -(-chosen // 2)]] for chosen, size in rates
    ]
    return np.array(counts)


def test_the_verdict_follows_the_gap_and_its_interval() -> None:
    for counts, verdict, words in [
        (selected((300, 1000), (330, 1000)), "yes", "Gap reached: 3.00 percentage points on the test rows (95 %"),
        (selected((300, 1000), (360, 1000)), "maybe", "Gap perhaps reached: 6.00 percentage points"),
        (selected((300, 1000), (500, 1000)), "no", "Gap not reached: 20.00 percentage points"),
        (selected((300, 1000), (20, 25)), "maybe", "A group has too few test rows to say more."),
    ]:
        reached = judge_aim(make_record(counts))
        assert reached is not None and reached.verdict == verdict and words in reached.sentence
        assert "at most 4 were asked for" in reached.sentence


def test_there_is_nothing_to_judge_without_a_target_or_a_gap() -> None:
    counts = selected((300, 1000), (330, 1000))
    assert judge_aim(make_record(counts, None)) is None
    undefined = make_record(np.array([[[9, 9], [9, 9]], [[0, 0], [0, 0]]]))
    assert judge_aim(undefined) is None
    assert judge_aim({**undefined, "metrics": None}) is None


@pytest.mark.parametrize(
    ("counts", "target", "words"),
    [
        (
            selected((3000, 10000), (3300, 10000)),
            0.04,
            "There is no gap to close here: plain training has a gap of 3",
        ),
        (
            selected((3000, 10000), (3300, 10000)),
            None,
            "There is no gap to close here: plain training has a gap of 3",
        ),
        (selected((3000, 10000), (3500, 10000)), None, None),
        (selected((3000, 10000), (3300, 10000)), 0.02, None),
        (
            selected((300, 1000), (310, 1000)),
            None,
            "There may be no gap to close here: plain training has a gap of 1",
        ),
        (selected((300, 1000), (500, 1000)), 0.04, None),
        (selected((300, 1000), (8, 25)), 0.04, None),
    ],
)
def test_that_there_is_no_gap_follows_what_is_accepted_and_the_interval(
    counts: np.ndarray, target: float | None, words: str | None
) -> None:
    said = say_closed(make_record(counts), make_record(counts, target)["config"])
    assert said is None if words is None else said is not None and said.startswith(words)
    assert say_closed({"metrics": None}, make_record(counts, target)["config"]) is None


@pytest.mark.parametrize("labels", [2, 3])
def test_counts_are_those_that_were_measured(labels: int) -> None:
    counts = np.random.default_rng(labels).integers(1, 90, (3, labels, labels))
    assert np.array_equal(count_decisions(make_record(counts)["metrics"]), counts)


@pytest.mark.parametrize("notion", ["demographic_parity", "equalized_odds", "accuracy_parity"])
@pytest.mark.parametrize("equal", [False, True])
def test_the_interval_covers_the_gap_of_the_population(notion: str, *, equal: bool) -> None:
    """1,000 test sets of a known population; where groups are equal the gap is 0 and so may the interval's end be."""
    generator = np.random.default_rng(11)
    cells = np.array([[[30, 10], [8, 22]], [[30, 10], [8, 22]] if equal else [[26, 4], [14, 16]]], dtype=float)
    truth = gap_interval(cells * 1e9, notions()[notion])
    assert truth is not None
    hits = 0
    for _ in range(1000):
        drawn = generator.multinomial(2000, (cells / cells.sum()).ravel()).reshape(cells.shape)
        found = gap_interval(drawn, notions()[notion])
        assert found is not None and found.low <= found.value <= found.high
        hits += found.low - 1e-9 <= truth.value <= found.high
    assert hits >= 930
    assert gap_interval(drawn, notions()[notion]) != gap_interval(drawn * 4, notions()[notion])
