"""A gap that was asked for and missed is the first thing that is said, of every method that aims at one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from fairpriv_core.documents.chosen import choose_runs, cut_beside
from fairpriv_core.documents.document import AUDIENCES, Text
from fairpriv_core.documents.story import CostCurve, build_story
from fairpriv_core.documents.summary import build_summary
from fairpriv_core.facts.headline import Headline, read_about, write_headline
from fairpriv_core.facts.measured import measure
from fairpriv_core.methods.base import parameters
from fairpriv_core.methods.catalog import methods
from fairpriv_core.notions.noisy import measure_noisy
from tests.documents.made_up import ADULT, Told, make_data, make_record, tell
from tests.facts.test_aim import make_record as make_counted
from tests.facts.test_aim import selected

AIMING = [name for name, kind in methods().items() if "gap_target" in parameters(kind)]
MISSED = selected((3000, 10000), (5000, 10000))
MET = selected((3000, 10000), (3050, 10000))
NO = "apart: not reached."


def tell_aim(
    counts: np.ndarray,
    method: str = "pf_ld",
    *,
    noise: float | None = None,
    metrics: Mapping[str, float] = MappingProxyType({}),
    **given: Any,
) -> Told:
    """Return what is told of a run that asked for 4 points and has these counts; with `noise` its paid ones have it."""
    threat = methods()[method].info.threat_model
    paid = {"epsilon": 1.0 if threat else None, "paid": noise is not None}
    record = make_record(method=method, threat_model=threat, **paid, **given)
    record["config"]["method"]["gap_target"] = 0.04
    names = record["data"]["group_names"] = ["Female", "Male", "Other"][: len(counts)]
    record["metrics"] |= {**make_counted(counts)["metrics"], **metrics}
    for group, name in zip(record["metrics"]["groups"], names, strict=True):
        group["name"] = name
    if noise is not None:
        record["metrics_private"] = measure_noisy(counts.astype(float), noise, names)
    return tell(record)


def headline_of(*runs: Told) -> Headline:
    settings = [measure([run], f"Run {place}") for place, run in enumerate(runs, 1)]
    return write_headline(settings, read_about(runs[0]))


@pytest.mark.parametrize("method", AIMING)
def test_a_miss_beyond_its_interval_comes_first_everywhere(method: str) -> None:
    run = tell_aim(MISSED, method, data=ADULT)
    found = headline_of(run)
    assert found.failed and found.outcome.startswith("You asked for a gap of at most 4 points; women and men are 20")
    assert found.outcome.endswith(NO)
    for audience in AUDIENCES:
        data = make_data(run)
        beside = cut_beside(data, audience)
        first = build_summary(choose_runs(data, audience), beside, paid=audience == "policy").parts[0]
        assert isinstance(first, Text) and first.text == found.outcome
        assert build_story(choose_runs(data, "policy"), beside).steps[-1].sentence.startswith(found.outcome)


def test_of_several_settings_it_is_said_which_missed() -> None:
    found = headline_of(tell_aim(MET, data=ADULT), tell_aim(MISSED, data=ADULT))
    assert found.failed
    assert "points: not reached by Run 2 at 20.0 ± 1.3; reached by Run 1 at 0.5 (0.0 to 1.8)." in found.outcome
    assert not headline_of(tell_aim(MET, data=ADULT)).failed
    unknown = tell_aim(selected((3000, 10000), (5, 12)), data=ADULT)
    assert headline_of(tell_aim(MET, data=ADULT), unknown).outcome.endswith("; not to be told of Run 2.")


def test_a_small_group_neither_hides_a_miss_nor_is_judged() -> None:
    """For policy it is small by its noisy rows."""
    counts = selected((3000, 10000), (5000, 10000), (3, 12))
    for run in (tell_aim(counts), tell_aim(counts, noise=4.0)):
        found = headline_of(run)
        assert found.failed and "Group 'Other' has too few" in found.outcome
    data = make_data(tell_aim(counts, noise=4.0))
    first = build_summary(choose_runs(data, "policy"), replace(data, references=()), paid=True).parts[0]
    assert isinstance(first, Text) and f"{NO} Group 'Other' has too few noisy test rows to say." in first.text
    story = build_story(choose_runs(data, "policy"), cut_beside(data, "policy"))
    assert "noisy counts that ε covers" in story.source
    people, gap, _, costs, choice = story.steps
    assert gap.number == choice.number == "20.0" and "too few rows" in gap.sentence
    assert isinstance(people.picture, tuple) and [crowd.filled for crowd in people.picture] == [50, 50, 0]
    assert isinstance(costs.picture, CostCurve) and costs.picture.lines[0].gap[0] == pytest.approx(20, abs=0.1)


def test_for_policy_nothing_is_said_by_raw_numbers() -> None:
    data = make_data(tell_aim(MISSED))
    first = build_summary(choose_runs(data, "policy"), replace(data, references=()), paid=True).parts[0]
    assert isinstance(first, Text)
    assert first.text == (
        "You asked for a gap of at most 4 points; no number that may be shown tells whether it was reached."
    )


def test_a_model_that_is_worse_than_one_answer_is_called_so() -> None:
    found = headline_of(tell_aim(MET, metrics={"accuracy": 0.6, "constant_accuracy": 0.7519}, data=ADULT))
    assert found.failed and found.outcome.endswith("The accuracy is below the 75.2 % of one answer for everybody.")
    paid = tell_aim(MET, "pf_ld_record", noise=4.0, metrics={"constant_accuracy": 0.7519})
    assert measure([paid]).constant is None, "a noisy accuracy is not held against an exact number"
