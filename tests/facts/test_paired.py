"""Two settings compared seed by seed: both tests as scipy has them, and honest where seeds are few."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from scipy import stats

from fairpriv_core.facts.compare import Compared, compare, compare_paired, format_paired
from fairpriv_core.facts.run_facts import RunFacts
from fairpriv_core.facts.tables import run_table
from fairpriv_core.records.release import Kind
from tests.facts.told import tell
from tests.figures.samples import record


def runs(*values: float) -> list[RunFacts[Kind]]:
    return [tell(record(seed, metrics={"accuracy": value})) for seed, value in enumerate(values)]


def say(ours: list[RunFacts[Kind]], theirs: list[RunFacts[Kind]]) -> str:
    return format_paired(compare_paired(ours, theirs, "accuracy"), run="B", reference="A", metric="Accuracy")


def test_both_tests_agree_with_scipy_on_the_shared_seeds() -> None:
    ours, theirs = (0.80, 0.83, 0.81, 0.84, 0.86, 0.79), (0.79, 0.80, 0.80, 0.80, 0.81, 0.80, 0.99)
    found = compare_paired(runs(*ours), runs(*theirs), "accuracy")
    assert found.seeds == (0, 1, 2, 3, 4, 5)
    assert found.difference.mean == pytest.approx(sum(ours) / 6 - sum(theirs[:6]) / 6)
    assert found.t_test == pytest.approx(stats.ttest_rel(ours, theirs[:6]).pvalue)


def test_a_difference_is_as_raw_as_the_rawer_of_the_two() -> None:
    own = {**record()["config"], "data": {"dataset": None, "file": "own.csv", "label": "y", "sensitive": "sex"}}
    both = [tell(record(config=own, metrics={"accuracy": 0.8}, threat_model=each)) for each in ("attribute", "record")]
    kinds = [compare_paired([one], [other], "accuracy").difference.kind for one in both for other in both]
    assert kinds == ["public", "raw", "raw", "raw"]
    assert compare_paired(runs(0.8), runs(0.9), "accuracy").difference.kind == "public"


def test_the_signed_rank_test_is_exact_with_ties() -> None:
    differences = (0.01, 0.01, 0.02, -0.01, 0.03, 0.02)
    found = compare_paired(runs(*(0.8 + d for d in differences)), runs(*[0.8] * 6), "accuracy")
    ranks = stats.rankdata([abs(d) for d in differences])
    seen = min(sum(rank for rank, d in zip(ranks, differences, strict=True) if sign * d > 0) for sign in (1, -1))
    sums = [sum(rank for rank, up in zip(ranks, ups, strict=True) if up) for ups in product((0, 1), repeat=6)]
    assert found.wilcoxon == pytest.approx(2 * sum(value <= seen for value in sums) / 2**6)
    untied = (0.01, 0.02, 0.03, -0.015, 0.05, 0.06)
    found = compare_paired(runs(*(0.8 + d for d in untied)), runs(*[0.8] * 6), "accuracy")
    assert found.wilcoxon == pytest.approx(stats.wilcoxon(untied, method="exact").pvalue)


@pytest.mark.parametrize(("seeds", "least"), [(5, 0.0625), (6, 0.03125)])
def test_few_seeds_say_that_the_signed_rank_test_cannot_be_small(seeds: int, least: float) -> None:
    ours = runs(*(0.81 + 0.01 * seed for seed in range(seeds)))
    found = compare_paired(ours, runs(*[0.8] * seeds), "accuracy")
    assert found.wilcoxon == found.least == least
    assert ("with 5 differing seeds it cannot be below 0.06" in say(ours, runs(*[0.8] * seeds))) == (seeds == 5)


def test_what_cannot_be_tested_says_so() -> None:
    assert say(runs(0.8), [tell(record(5, metrics={"accuracy": 0.8}))]).endswith("nothing can be paired.")
    assert say(runs(0.8), runs(0.82)).endswith("one seed allows no test.")
    assert "2.00 percentage points below A" in say(runs(0.8), runs(0.82))
    assert "−5.98 to 2.98" in say(runs(0.8, 0.81, 0.8), runs(0.8, 0.82, 0.835))
    assert say(runs(0.8, 0.9), runs(0.8, 0.9)) == "Accuracy: B and A are the same on 2 seeds."
    assert "No paired t test, since every difference is the same" in say(runs(0.8, 0.9), runs(0.7, 0.8))


def test_a_gap_is_not_tested_where_either_of_the_two_is_told_by_answers() -> None:
    exact = Compared("B: x", run_table([record(0), record(1)])[0], runs(0.8, 0.9))
    answered = replace(exact, label="A: x", row=replace(exact.row, gap=replace(exact.row.gap, kind="released")))
    for setting, reference in ((exact, answered), (answered, exact)):
        accuracy, gap = compare([setting], reference)
        assert accuracy == f"Accuracy: {setting.letter} and {reference.letter} are the same on 2 seeds."
        assert gap.endswith("since randomised answers tell A's. Seeds do not vary their flips."), gap
    assert "B and B are the same" in compare([exact], exact)[0] and "flips" not in compare([exact], exact)[1]


def test_a_seed_without_the_number_is_left_out() -> None:
    missing = [tell(record(0, metrics={"accuracy": None})), tell(record(1, metrics=None)), *runs(0.5, 0.5, 0.9)[2:]]
    assert compare_paired(missing, runs(0.8, 0.8, 0.8), "accuracy").seeds == (2,)


def test_the_sentence_has_difference_interval_seeds_and_both_tests() -> None:
    assert say(runs(0.82, 0.83, 0.81, 0.82), runs(0.80, 0.80, 0.80, 0.80)) == (
        "Accuracy: B is 2.00 percentage points above A on average over 4 seeds (95 % interval of the difference 0.70 "
        "to 3.30). Paired t test p = 0.02; Wilcoxon signed-rank test p = 0.12, and with 4 differing seeds it cannot be "
        "below 0.12."
    )
