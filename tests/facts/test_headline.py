"""The headline: what changed or what is, with its interval, from numbers that may be shown and from no others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fairpriv_core.facts.headline import About, read_about, write_headline
from fairpriv_core.facts.measured import GroupShare, Measured, difference, measure, subtract
from fairpriv_core.facts.run_facts import for_audience
from fairpriv_core.stats import Mean
from tests.documents.made_up import ADULT, PAID, RAW, make_record, tell, tell_run

PLAIN = Measured(
    "Run 1", "none", False, None, False, "public", Mean(0.858, 0.85, 0.866, 1), Mean(0.176, 0.16, 0.19, 1), {}, (), 0.75
)
FAIR = replace(
    PLAIN,
    name="Run 2",
    method="pf_ld",
    pursues=True,
    epsilon=1.0,
    accuracy=Mean(0.844, 0.84, 0.848, 1),
    gap=Mean(0.034, 0.019, 0.049, 1),
)


@pytest.fixture
def about() -> About:
    """Return what headlines on Adult speak of."""
    return read_about(tell_run(data=ADULT))


def test_what_falls_is_said_with_its_interval(about: About) -> None:
    found = write_headline([FAIR], about, before=PLAIN)
    gap = "PF-LD at ε = 1 instead of plain training: the gap between women and men falls from 17.6 to 3.4 ± 1.5 points"
    assert found.sentence == f"{gap}; accuracy falls from 85.8 to 84.4 ± 0.4 %."


def test_without_a_before_it_says_what_is(about: About) -> None:
    said = write_headline([FAIR], about).sentence
    assert said == "PF-LD at ε = 1: the gap between women and men is 3.4 ± 1.5 points; accuracy is 84.4 ± 0.4 %."


def test_a_change_within_the_interval_is_said_to_be_none(about: About) -> None:
    wide = replace(FAIR, accuracy=Mean(0.844, 0.82, 0.868, 1))
    said = write_headline([wide], about, before=PLAIN).sentence
    assert said.endswith("accuracy does not clearly change: it was 85.8 and is 84.4 ± 2.4 %.")
    none = replace(FAIR, gap=Mean(0.01, 0.0, 0.03, 1))
    assert "is 1.0 (0.0 to 3.0) points, which may be none at all" in write_headline([none], about).sentence


def test_what_has_no_interval_is_not_judged(about: About) -> None:
    bare = replace(FAIR, gap=Mean(0.034, None, None, 1))
    said = write_headline([bare], about, before=PLAIN).sentence
    assert "was 17.6 (16.0 to 19.0) and is 3.4 points; " in said and said.endswith(". No interval compares them.")
    none = replace(bare, accuracy=Mean(0.844, None, None, 1))
    assert write_headline([none], about, before=PLAIN).sentence.count("No interval") == 1


def test_a_rise_is_called_so(about: About) -> None:
    worse = replace(FAIR, gap=Mean(0.3, 0.28, 0.32, 1))
    assert "women and men rises from 17.6 to 30.0" in write_headline([worse], about, before=PLAIN).sentence


def test_seeds_that_both_ran_are_compared_in_pairs() -> None:
    shares = {0: (0.85, 0.17), 1: (0.86, 0.18), 2: (0.87, 0.19)}
    lower = {seed: (accuracy - 0.001, gap - 0.1) for seed, (accuracy, gap) in shares.items()}
    moved = difference(replace(FAIR, by_seed=lower), replace(PLAIN, by_seed=shares), "accuracy")
    assert moved.mean == pytest.approx(-0.001) and moved.high is not None and moved.high < 0


def test_gaps_by_answers_are_not_paired_since_seeds_share_the_flips() -> None:
    before = replace(PLAIN, answered=True, kind="released", by_seed={0: (0.85, 0.17), 1: (0.86, 0.18)})
    after = replace(before, gap=Mean(0.034, 0.0, 0.18, 2), by_seed={0: (0.84, 0.03), 1: (0.85, 0.04)})
    moved = difference(after, before, "gap")
    assert moved == subtract(after.gap, before.gap) and moved.high is not None and moved.high > 0
    assert difference(after, before, "accuracy").high == pytest.approx(-0.01), "accuracy has no flips"


def test_an_interval_over_two_seeds_ends_where_shares_end(about: About) -> None:
    seeds = []
    for seed, (accuracy, gap) in enumerate([(0.99, 0.01), (0.85, 0.13)]):
        record = make_record(data=ADULT, seed=seed)
        record["metrics"] |= {"accuracy": accuracy, "demographic_parity_gap": gap}
        seeds.append(tell(record))
    found = measure(seeds)
    assert (found.gap.mean, found.gap.low) == (pytest.approx(0.07), 0.0) and found.gap.high == pytest.approx(
        0.832, abs=1e-3
    )
    assert found.accuracy.high == 1.0 and found.accuracy.low == pytest.approx(0.031, abs=1e-3)
    assert "is 7.0 (0.0 to 83.2) points, which may be none at all" in write_headline([found], about).sentence


def test_a_before_for_fewer_people_is_left_out(about: About) -> None:
    paid, raw = replace(FAIR, kind="released"), replace(PLAIN, kind="raw")
    found = write_headline([paid], about, before=raw)
    assert " is 3.4 " in found.sentence and found.kind == "released" and "noisy counts" in found.note
    both = write_headline([replace(FAIR, kind="raw")], about, before=raw)
    assert "falls from" in both.sentence and "Do not publish" in both.note


def test_among_several_the_one_for_accuracy_alone_is_the_before(about: About) -> None:
    assert "falls from 17.6" in write_headline([FAIR, PLAIN], about).sentence
    near = {"gap": Mean(0.09, 0.08, 0.1, 1), "accuracy": Mean(0.846, 0.842, 0.85, 1)}
    other = replace(FAIR, name="Run 3", epsilon=4.0, **near)
    found = write_headline([PLAIN, FAIR, other], about)
    gap = "the gap between women and men ranges from 3.4 ± 1.5 points (Run 2) to 9.0 ± 1.0 points (Run 3)"
    assert found.sentence == f"2 settings at ε = 1 to 4: {gap}."
    accuracy, plain = found.reasons
    assert accuracy.startswith("Accuracy ranges from") and accuracy.endswith("with no clear difference.")
    assert plain == "Without privacy and fairness, gap and accuracy are 17.6 (16.0 to 19.0) points and 85.8 ± 0.8 %."


def test_settings_without_epsilon_are_not_said_to_have_one(about: About) -> None:
    assert write_headline([PLAIN, FAIR], about).sentence.startswith("PF-LD at ε = 1 instead of plain training: ")
    other = replace(PLAIN, name="Run 3", gap=Mean(0.09, 0.08, 0.1, 1))
    both = [replace(each, method="f_ld", pursues=True) for each in (PLAIN, other)]
    assert write_headline([*both, FAIR], about).sentence.startswith("3 settings, 1 of them at ε = 1: ")


def test_people_are_counted_as_finely_as_is_known(about: About) -> None:
    groups = (GroupShare("Female", 900.0, 0.143, (0.138, 0.148)), GroupShare("Male", 2000.0, 0.152, (0.147, 0.157)))
    [said] = write_headline([replace(FAIR, groups=groups)], about).reasons
    assert said.startswith(
        "Of 10,000 women about 1,430 are predicted to earn above 50,000 dollars a year, of 10,000 men"
    )
    rough = (groups[0], GroupShare("Male", 200.0, 0.152, (0.1, 0.2)))
    [said] = write_headline([replace(FAIR, groups=rough)], about).reasons
    assert said.startswith("Of 100 women about 14 ") and said.endswith("of 100 men about 15.")


def test_the_claim_of_a_paper_and_no_proof_are_said(about: About) -> None:
    assert write_headline([replace(FAIR, published=True)], about).sentence.startswith(
        "PF-LD at ε = 1 as published, not prov"
    )
    assert write_headline([replace(FAIR, epsilon=None)], about).sentence.startswith("PF-LD with no proved ε: the gap")
    assert write_headline([PLAIN], about).sentence.startswith("Plain training: the gap")


def test_numbers_are_public_paid_or_raw() -> None:
    public = measure([tell_run(data=ADULT)])
    assert (public.kind, public.gap.mean) == ("public", RAW["gap"])
    paid = measure([tell_run(method="dp_sgd", threat_model="record")])
    assert (paid.kind, paid.gap.mean, paid.accuracy.mean) == ("released", PAID["gap"], PAID["accuracy"])
    assert paid.gap.low == 0.21
    raw = measure([tell_run(method="dp_sgd", threat_model="record", paid=False)])
    assert (raw.kind, raw.gap.mean) == ("raw", RAW["gap"])
    exact = measure([tell_run()])
    assert (exact.kind, exact.accuracy.mean, exact.gap.mean) == ("released", RAW["accuracy"], PAID["gap"])


def test_what_no_epsilon_covers_is_not_read_as_paid() -> None:
    assert measure([tell_run(epsilon=None)]).kind == "raw"


def test_a_record_for_policy_without_numbers_has_none(about: About) -> None:
    bare = replace(tell_run(paid=False), measures=())
    said = write_headline([measure([bare])], about).sentence
    assert said == "PF-LD at ε = 1: accuracy may not be shown; the gap between women and men may not be shown."


def test_the_accuracy_of_a_file_is_exact_and_the_file_is_not_called_public() -> None:
    run = for_audience(tell_run(paid=False), "policy")
    found = write_headline([measure([run])], read_about(run))
    assert found.sentence.startswith("PF-LD at ε = 1: accuracy is 83.7") and found.sentence.endswith(
        "may not be shown."
    )
    assert "Accuracy is exact: it follows from" in found.note and "public data" not in found.note


def test_an_attribute_is_called_by_its_columns_not_by_how_its_values_are_grouped() -> None:
    run = tell_run()
    crossed = replace(run.data, sensitive="race=White,Black+sex", sensitive_columns=("race", "sex"))
    assert read_about(replace(run, data=crossed)).attribute == "race and sex"
    assert read_about(run).attribute == "sex"


def test_what_protects_whole_records_is_not_what_an_attributes_method_is_held_against(about: About) -> None:
    whole = replace(PLAIN, name="Run 3", method="dp_sgd", epsilon=1.0)
    assert "3 settings" not in (said := write_headline([whole, FAIR], about).sentence)
    assert said.startswith("2 settings at ε = 1: ") and " instead of " not in said
    alike = replace(FAIR, method="pf_ld_record")
    assert write_headline([whole, alike], about).sentence.startswith("PF-LD for whole records at ε = 1 inst")


def test_another_gap_that_rose_is_told(about: About) -> None:
    plain = replace(PLAIN, gaps={"equalized_odds": Mean(0.03, 0.02, 0.04, 1), "predictive_equality": PLAIN.gap})
    fair = replace(FAIR, gaps={"equalized_odds": Mean(0.09, 0.08, 0.1, 1), "predictive_equality": PLAIN.gap})
    told = "A gap that rose: equalized odds from 3.0 to 9.0 ± 1.0 points."
    assert write_headline([fair], about, before=plain).reasons[0] == told
    assert not any("rose" in each for each in write_headline([plain], about, before=fair).reasons)


def test_settings_of_one_name_are_not_told_apart_by_it(about: About) -> None:
    one, other = (replace(FAIR, name="PF-LD, ε = 1", gap=Mean(gap, None, None, 1)) for gap in (0.417, 0.457))
    assert "ranges from 41.7 points to 45.7 points." in write_headline([one, other], about).sentence
    assert "women and men is 41.7 points in each." in write_headline([one, replace(one, epsilon=2.0)], about).sentence


def test_among_several_noisy_and_raw_numbers_have_sentences_of_their_own(about: About) -> None:
    noisy = [replace(FAIR, kind="released"), replace(FAIR, name="Run 3", kind="released", gap=Mean(0.09, 0.08, 0.1, 1))]
    exact = replace(FAIR, name="Run 4", kind="raw", gap=Mean(0.123, 0.12, 0.126, 1))
    found = write_headline([exact, *noisy], about)
    assert found.sentence.startswith("2 settings at ε = 1, by noisy counts: ") and "12.3" not in found.sentence
    [raw] = [reason for reason in found.reasons if "12.3" in reason]
    assert raw.startswith("1 setting at ε = 1, exact and raw: ") and found.kind == "raw"


def test_noisy_and_raw_numbers_are_not_mixed() -> None:
    """Where the paid gap is missing the exact one is told, and with it the exact accuracy and groups."""
    record = make_record(method="dp_sgd", threat_model="record")
    record["metrics_private"] = {**record["metrics_private"], "demographic_parity_gap": None}
    found = measure([tell(record)])
    assert (found.kind, found.gap.mean, found.accuracy.mean) == ("raw", RAW["gap"], RAW["accuracy"])
    assert found.groups[0].share == RAW["positive_rate"]
