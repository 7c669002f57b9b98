"""What is told of a run is what its record holds, and an audience sees of it what it may."""

from __future__ import annotations

from dataclasses import fields

from fairpriv_core.facts.run_facts import RunFacts, for_audience
from fairpriv_core.records.release import RECORD
from tests.documents.made_up import RAW, SIZE, tell_run
from tests.documents.test_policy import find_raw

#: where a record's pieces are told
TOLD = {
    "key": {"key"},
    "config": {"config", "data", "method", "notion", "asks", "epsilon"},
    **{name: {"epsilon"} for name in ("threat_model", "variant", "delta", "author")},
    **{name: {"epsilon"} for name in ("epsilon", "epsilon_published", "epsilon_reason", "epsilon_if_secret")},
    "notes": {"epsilon", "certificates", "bounds"},
    "calibrated": {"calibrated"},
    "data": {"data"},
    "assumptions": {"assumptions"},
    "warnings": {"warnings"},
    "versions": {"versions"},
    "steps": {"steps"},
    "metrics": {"measures"},
    "metrics_private": {"measures"},
}
#: how a run went, what it released in full, and what pages show to its owner alone
UNTOLD = {"status", "error", "seconds", "resumed_from_step", "event", "released", "left_out"}
#: a constant, and the sentence that `raw_text` makes again
MADE_AGAIN = {"metrics_are_raw", "metrics_note"}
#: from beside the record, and what follows from the rest
BESIDE = {"curves", "audit", "missing", "accuracy_is_public"}


def test_every_piece_of_a_record_is_told_or_said_not_to_be() -> None:
    """A new field of the record, or of the facts, fails here until somebody says where it belongs."""
    assert TOLD.keys() | UNTOLD | MADE_AGAIN == {piece.name for piece in RECORD}
    assert set().union(*TOLD.values()) | BESIDE == {item.name for item in fields(RunFacts)}


def test_policy_is_given_no_raw_number_by_any_field() -> None:
    whole = tell_run(threat_model="record", method="dp_sgd")
    assert find_raw(repr(whole)) >= {*RAW.keys() - {"reference_accuracy", "reference_gap", "theil", "low"}, "size"}
    told = for_audience(whole, "policy")
    assert not find_raw(repr(told)) and str(SIZE) not in repr(told)
    assert [each.kind for each in told.measures] == ["released"] and told.accuracy and told.accuracy.kind == "released"


def test_without_a_proved_epsilon_nothing_that_was_released_is_told() -> None:
    told = for_audience(tell_run(epsilon=None), "policy")
    assert (told.measures, told.steps, told.certificates, told.accuracy) == ((), None, (), None)
    assert told.missing == ("No ε is proved, so none covers what was measured: no number is shown.",)
