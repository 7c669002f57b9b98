"""Tables and words: seeds folded, what differs, epsilon with all that belongs beside it."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from fairpriv_core.facts import wording
from fairpriv_core.facts.run_facts import for_audience
from fairpriv_core.facts.tables import REPLAYED, UNPROVED, format_claim, parameter_diff, read_outcome, run_table
from fairpriv_core.records.record import RAW
from tests.facts.told import tell
from tests.figures.samples import record


def changed(seed: int, **config: object) -> dict[str, object]:
    one = record(seed)
    return {**one, "key": f"other{seed}", "config": {**one["config"], **config}}


def test_seeds_are_folded_and_settings_are_not() -> None:
    rows = run_table([record(0), record(1), record(2), changed(0, epsilon=3.0)])
    assert [(row.seeds, row.epsilon, row.keys) for row in rows] == [
        ((0, 1, 2), 1.0, ("key0", "key1", "key2")),
        ((0,), 3.0, ("other0",)),
    ]
    assert rows[0].accuracy.mean == pytest.approx(0.84)
    assert rows[0].gap.half == pytest.approx(0.0)
    assert "One seed" in rows[1].note and "3 seeds" in rows[0].note


def test_a_repeated_seed_counts_once_and_unfinished_runs_do_not() -> None:
    again = {**record(0), "key": "older", "metrics": {"accuracy": 0.1, "demographic_parity_gap": 0.9}}
    row = run_table([record(0), again, record(1, metrics=None, status="failed")])[0]
    assert (row.seeds, row.keys, row.accuracy.n) == ((0,), ("key0",), 1)


def test_each_number_of_a_row_has_its_kind_and_the_row_the_worst() -> None:
    """Accuracy is public where ε takes features and labels as public, and all is that everybody can measure."""
    own = {"dataset": None, "file": "own.csv", "label": "y", "sensitive": "sex"}
    public, mine = changed(0), changed(0, data=own)
    whole, unproved = {**mine, "threat_model": "record"}, {**mine, "epsilon": None, "variant": "published"}
    by_group = changed(0, data=own, method={"name": "jagielski_post"})
    kinds = {"public": (public,), "own": (mine,), "record": (whole,), "unproved": (unproved,), "group": (by_group,)}
    kinds |= {"gone": (changed(0, data=own, method={"name": "of_no_package"}),)}
    rows = {name: run_table(records)[0] for name, records in kinds.items()}
    assert {name: (row.accuracy.kind, row.gap.kind, row.kind) for name, row in rows.items()} == {
        "public": ("public", "public", "public"),
        "own": ("public", "raw", "raw"),
        **dict.fromkeys(("record", "unproved", "group", "gone"), ("raw", "raw", "raw")),
    }
    undefined = {**mine, "metrics": {"accuracy": 0.8, "demographic_parity_gap": None}}
    assert run_table([undefined])[0].gap.kind == "raw", "that it is undefined is told by the rows too"


def test_an_undefined_gap_is_not_zero() -> None:
    one = record(0, metrics={"accuracy": 0.8, "demographic_parity_gap": None})
    assert read_outcome(one).gap is None
    assert run_table([one])[0].gap.mean is None


def test_a_gap_by_answers_is_their_estimate_and_seeds_leave_no_less_of_the_flips_in_doubt() -> None:
    schema = '{"columns": {"sex": {"type": "category", "categories": ["f", "m"], "randomized": [2.0]}}}'
    own = {"dataset": None, "file": "own.csv", "label": "y", "sensitive": "sex", "schema": schema}

    def answered(seed: int, gap: float | None, ends: list[float] | None) -> dict[str, object]:
        told = {"demographic_parity_gap": gap, "demographic_parity_gap_interval": ends}
        hidden = {"accuracy": 0.8, "demographic_parity_gap": None}
        return {**changed(seed, data=own), "metrics": hidden, "metrics_private": told}

    [one] = run_table([answered(0, 0.05, [0.0, 0.2])])
    assert (one.gap.kind, one.gap.mean, one.gap.low, one.gap.high) == ("released", 0.05, 0.0, 0.2)
    assert one.by_answers and one.note == wording.format_one_seed(by_answers=True)
    [row] = run_table([answered(0, 0.05, [0.0, 0.2]), answered(1, 0.07, [0.02, 0.3]), answered(2, 0.06, [0.01, 0.25])])
    assert row.gap.mean == pytest.approx(0.06) and row.gap.high == pytest.approx(0.25)
    assert row.gap.low == pytest.approx(0.01), "no shorter than the runs' own ones are on average"
    [unlike] = run_table([answered(0, 0.2, [0.19, 0.21]), answered(1, 0.23, [0.22, 0.24])])
    assert unlike.gap.high == pytest.approx(0.215 + 12.706 * 0.015, abs=1e-4), "nor than the one over seeds"
    [apart] = run_table([answered(0, 0.0, [0.0, 0.01]), answered(1, 0.5, [0.49, 0.51])])
    assert (apart.gap.low, apart.gap.high) == (0.0, 1.0), "nor further than a gap can be"
    [unknown] = run_table([answered(0, None, None)])
    assert unknown.gap.mean is None and unknown.by_answers


def test_only_differing_parameters() -> None:
    other = changed(1, method={"name": "dp_sgd", "clip_primal": 10.0})
    assert parameter_diff([record(0)["config"], other["config"]]) == {
        "method.name": ("pf_ld", "dp_sgd"),
        "method.epochs": (50, None),
        "seed": (0, 1),
    }
    assert parameter_diff([record(0)["config"]] * 2) == {}


def test_epsilon_never_stands_alone() -> None:
    line = tell(record(0)).epsilon.line
    for needed in ("ε = 0.998", "δ = 1 in 100,000", "proved", "sensitive attribute", "0.52"):
        assert needed in line
    assert "whole record" in tell(record(0, threat_model="record")).epsilon.line
    assert tell(record(0, threat_model=None)).epsilon.line == "No ε: this method is not private."


_AGE = '"columns":{"age":{"type":"number","range":[0,99]}}'


@pytest.mark.parametrize(
    ("threat_model", "data", "learned", "protects"),
    [
        ("record", {"file": "a.csv"}, True, "each whole row"),
        ("record", {"file": "a.csv", "person": "id"}, True, "the whole record of each person"),
        ("record", {"file": "a.csv", "schema": f'{{"values_from":"rows",{_AGE}}}'}, True, "each whole row"),
        ("record", {"file": "a.csv", "schema": f'{{"values_from":"declared",{_AGE}}}'}, False, "each whole row"),
        ("record", {"file": "a.csv", "image": "face"}, False, "each whole row"),
        ("record", {"dataset": "adult"}, False, "the whole record of each person"),
        ("record", {"dataset": "parkinsons"}, False, "each whole row"),
        ("attribute", {"file": "a.csv"}, False, "the sensitive attribute of each row"),
        ("attribute", {"file": "a.csv", "person": "id"}, False, "the sensitive attribute of each person"),
    ],
)
def test_an_epsilon_says_whom_it_protects_and_what_the_rows_gave(
    threat_model: str, data: dict[str, str], learned: bool, protects: str
) -> None:
    """A schema that was read from the rows is no secret of theirs; without a person column people are not protected."""
    one = record(0, threat_model=threat_model)
    one = {**one, "config": {**one["config"], "data": {"sensitive": "sex", **data}}}
    line = tell(one).epsilon.line
    assert (wording.LEARNED in line) == learned and f"protects {protects}" in line
    assert f"protects {protects})" in format_claim(run_table([one])[0])


def test_an_epsilon_that_is_not_proved_says_why() -> None:
    replay = record(0, epsilon=None, epsilon_reason="The noise can be repeated.", epsilon_if_secret=1.0)
    line = tell(replay).epsilon.line
    assert line.startswith("No proved ε: The noise can be repeated.")
    assert "With secret noise it would be ε = 1.00" in line and "claims ε = 0.52" in line
    assert "The noise can be repeated." in tell(replay).caveats


def test_caveats_lead_with_raw() -> None:
    own = record(0, threat_model="record", warnings=["delta is large."])
    own["config"]["data"] = {"dataset": None, "file": "own.csv", "label": "y", "sensitive": "sex"}
    assert tell(own).caveats == (RAW, "delta is large.", "Assumed: x and y are public.")
    assert RAW not in for_audience(tell(own), "policy").caveats and RAW not in tell(record(0)).caveats


def test_outcomes_are_json() -> None:
    assert json.loads(json.dumps(asdict(read_outcome(record(3)))))["seed"] == 3


def test_a_run_on_a_release_has_that_releases_epsilon() -> None:
    again = {**changed(0, epsilon=None, reuse="key0"), "epsilon": 0.99}
    assert [read_outcome(each).epsilon for each in (again, changed(0, epsilon=None))] == [0.99, None]


def test_a_run_that_was_chosen_by_raw_numbers_states_no_epsilon_and_has_a_row_of_its_own() -> None:
    chosen = record(1, epsilon=None, epsilon_reason="It was chosen by raw numbers.")
    rows = run_table([record(0), chosen, record(2)])
    assert [(row.seeds, row.epsilon, row.variant) for row in rows] == [((0, 2), 1.0, "proved"), ((1,), None, UNPROVED)]
    assert format_claim(rows[1]) == "no ε is proved" and format_claim(rows[0]).startswith(
        "ε = 1.00 (δ = 1 in 100,000, proved"
    )
    published = record(1, epsilon=None, variant="published")
    assert read_outcome(published).epsilon == 1.0 and read_outcome(published).variant == "published"


def test_a_replayed_run_has_no_epsilon_protects_nothing_and_folds_with_its_like_alone() -> None:
    secret, replayed = record(0), {**changed(1, replay_noise=7), "variant": "proved", "threat_model": "attribute"}
    found = read_outcome(replayed)
    assert (found.epsilon, found.threat_model, found.variant) == (None, None, REPLAYED)
    rows = run_table([secret, replayed, changed(2, replay_noise=8)])
    assert sorted(len(row.seeds) for row in rows) == [1, 2]
