"""Whether the gap that was asked for is reached: the words follow the test rows and what they can tell."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fairpriv_core.audit.trials import make_rows
from fairpriv_core.facts.aim import VERDICTS, Reached, format_least_gap, format_no_gap, format_too_fine, judge_aim
from fairpriv_core.methods.one_release import OneRelease
from fairpriv_core.methods.pf_ld import PfLd
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.metrics import count_decisions, measure
from fairpriv_core.notions.noisy import gap_interval
from tests.facts.told import tell

PARITY = notions()["demographic_parity"]


def make_record(counts: np.ndarray, target: float | None = 0.04, notion: str = "demographic_parity") -> dict[str, Any]:
    """Return what of a record's JSON counts, for decisions with these counts (k, l, l) over group, label, decision."""
    group, label, decision = (np.repeat(index.ravel(), counts.ravel()) for index in np.indices(counts.shape))
    scores = np.eye(counts.shape[1])[decision]
    metrics = measure(label, scores, group, [f"g{index}" for index in range(len(counts))])
    names = [f"g{index}" for index in range(len(counts))]
    asked = {"dataset": None, "sensitive": "group"}
    config = {"data": asked, "notion": notion, "method": {"name": "pf_ld", "gap_target": target}}
    return {"config": config, "metrics": metrics, "data": {"group_names": names}}


def selected(*rates: tuple[int, int]) -> np.ndarray:
    """Return counts where of each group so many rows of so many are selected, whatever their label."""
    counts = [
        [[(size - chosen) // 2, chosen // 2], [-(-(size - chosen) // 2), -(-chosen // 2)]] for chosen, size in rates
    ]
    return np.array(counts)


def judge(*counts: np.ndarray, target: float | None = 0.04, noise: float = 0.0) -> Reached | None:
    """Return what is said of runs with these counts, one a seed."""
    return judge_aim([tell(make_record(each, target)) for each in counts], [(each, noise) for each in counts])


@pytest.mark.parametrize(
    ("counts", "verdict", "far"),
    [
        (selected((3000, 10000), (3100, 10000)), "yes", "1.0 (0.0 to 2.3)"),
        (selected((300, 1000), (330, 1000)), "maybe", "0.0 to 7.1"),
        (selected((300, 1000), (360, 1000)), "maybe", "1.9 to 10.1"),
        (selected((300, 1000), (500, 1000)), "no", "20.0 ± 4.2"),
        (selected((300, 1000), (500, 1000), (20, 25)), "no", "20.0 (14.8 to 25.0)"),
    ],
)
def test_the_verdict_follows_the_interval_of_the_groups_that_are_large(
    counts: np.ndarray, verdict: str, far: str
) -> None:
    reached = judge(counts)
    assert reached is not None and (reached.verdict, reached.far) == (verdict, far)
    small = " Group 'g2' has too few test rows to say." if len(counts) > 2 else ""
    said = f"groups 'g0' and 'g1' are {far} apart: {VERDICTS[reached.verdict]}.{small}"
    assert reached.sentence == f"You asked for a gap of at most 4 points; {said}"


def test_over_two_seeds_the_gap_is_between_0_and_100_points() -> None:
    reached = judge(selected((300, 1000), (310, 1000)), selected((300, 1000), (550, 1000)))
    assert reached is not None and (reached.verdict, reached.far) == ("maybe", "0.0 to 100.0")


def test_noisy_counts_are_judged_by_their_noise() -> None:
    """A gap of 12 is beyond 4; noise of 400 in each count leaves that open, and hides a small group."""
    counts = 0.5 + selected((3000, 10000), (4200, 10000), (300, 400))
    said = {noise: judge_aim([tell(make_record(counts.astype(int)))], [(counts, noise)]) for noise in (0.5, 400.0)}
    assert [reached and reached.verdict for reached in said.values()] == ["no", "maybe"]
    assert said[400.0] is not None and "Group 'g2' has too few noisy test rows to say." in said[400.0].sentence


@pytest.mark.parametrize(
    ("tested", "groups", "says"),
    [
        (40, 3, "40 rows in 3 equal groups are too few to tell"),
        (1_500, 3, "leave 7.5 points in doubt"),
        (9_000, 2, ""),
    ],
)
def test_a_gap_that_is_too_fine_for_the_test_rows_is_said_before(tested: int, groups: int, says: str) -> None:
    """Where it says nothing, decisions without a gap are judged to have reached it, and elsewhere they are not."""
    said = format_too_fine(PARITY, 0.04, tested=tested, groups=groups)
    assert (said is None) == (not says) and says in (said or "")
    found = judge(selected(*[(tested // groups // 2, tested // groups)] * groups))
    assert found is not None and (found.verdict == "yes") == (said is None)
    assert format_too_fine(PARITY, None, tested=tested, groups=groups) is None


@pytest.mark.parametrize(
    ("groups", "asked", "aim", "says"),
    [
        (2, 0.2, "gap", ()),
        (2, 0.01, "gap", ("You ask for 1:", "With aim = bound")),
        (4, 0.2, "gap", ("in 4 equal groups", "With aim = bound")),
        (4, 0.01, "bound", ("You ask for 1:",)),
    ],
)
def test_which_gap_can_be_shown_is_said_before(groups: int, asked: float, aim: str, says: tuple[str, ...]) -> None:
    """With few groups nothing is said where it is enough; who aims at the bound is not told to."""
    data = make_rows(n=3_000, d=2, groups=groups)
    method = OneRelease(learner="linear", gap_target=asked, aim=aim, noise_statistic=1.0)
    least = method.least_gap(PARITY, data, data.n)
    said = format_least_gap(method, PARITY, data, data.n)
    assert least is not None and (said is None) == (not says)
    assert all(each in (said or "") for each in (*says, *([f"about {100 * least.even:.1f} points:"] if says else [])))
    assert "With aim" not in (said or "") or aim == "gap"
    assert format_least_gap(PfLd(), PARITY, data, data.n) is None


def test_no_gap_of_100_points_or_more_is_said_and_of_one_label_nothing() -> None:
    data = make_rows(n=3_000, d=2, groups=4)
    said = {}
    for noise in (20.0, 3_000.0):
        method = OneRelease(learner="linear", aim="bound", noise_statistic=noise)
        least = method.least_gap(PARITY, data, data.n)
        assert least is not None and least.uneven > 1.0 and (least.even < 1.0) == (noise == 20.0)
        said[noise] = format_least_gap(method, PARITY, data, data.n) or ""
    assert "a quarter as large, it can show none." in said[20.0]
    assert said[3_000.0].startswith("What is released can show no gap: with 3,000 rows in 4 equal groups its noise")
    assert format_least_gap(method, PARITY, replace(data, y=np.zeros_like(data.y)), data.n) is None


def test_of_several_seeds_the_mean_is_judged() -> None:
    gaps = (selected((300, 1000), (310, 1000)), selected((300, 1000), (312, 1000)), selected((300, 1000), (308, 1000)))
    reached = judge(*gaps)
    assert reached is not None and (reached.verdict, reached.far) == ("yes", "1.0 ± 0.5")


def test_what_cannot_be_told_is_said_to_be_unknown() -> None:
    few = judge(selected((300, 1000), (20, 25)))
    assert few is not None and few.verdict == "unknown" and "too few test rows tell" in few.sentence
    counts = selected((300, 1000), (500, 1000))
    none = judge_aim([tell(make_record(counts))], [])
    assert none is not None and none.verdict == "unknown" and "no number that may be shown tells" in none.sentence
    assert judge(counts, target=None) is None
    one = judge(counts, target=0.01)
    assert one is not None and one.asked == "You asked for a gap of at most 1 point"


def test_people_and_notions_are_called_as_a_reader_does() -> None:
    counts = selected((3000, 10000), (5000, 10000))
    record = make_record(counts, notion="equalized_odds")
    record["data"]["group_names"] = ["Female", "Male"]
    record["config"]["data"] = {"dataset": "adult", "sensitive": "sex"}
    reached = judge_aim([tell(record)], [(counts, 0.0)])
    assert reached is not None
    assert reached.sentence.startswith("You asked for an equalized odds gap of at most 4 points; women and men are 20")


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
    said = format_no_gap(tell(make_record(counts)), target, PARITY)
    assert said is None if words is None else said is not None and said.startswith(words)
    assert format_no_gap(tell({"metrics": None}), target, PARITY) is None


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
