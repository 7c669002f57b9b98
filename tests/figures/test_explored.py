"""What Explore shows of a point: the figure is as raw as the rawest number in it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fairpriv_core.facts.tables import run_table
from fairpriv_core.figures.explored import draw_explored, read_explored
from fairpriv_core.figures.frontier import END_NAMES, Wanted
from fairpriv_core.records.record import RunRecord
from tests.documents.made_up import ADULT
from tests.figures.samples import group_list, record

METRIC = "demographic_parity_gap"
RELEASED = {"released_gaps": {METRIC: 0.05}, "released_gap_errors": {METRIC: 0.01}}
TOLD = {"released_accuracy": {"accuracy": 0.79}, "released_accuracy_errors": {"accuracy": 0.02}}
OWN = {"dataset": None, "file": "own.csv", "label": "y", "sensitive": "sex"}


def _record(
    method: str,
    threat_model: str,
    *,
    released: bool = True,
    data: dict[str, Any] | None = None,
    more: dict[str, Any] | None = None,
) -> Any:
    made = record(0, metrics={"accuracy": 0.8, METRIC: 0.07, "constant_accuracy": 0.7, "groups": group_list("a", "b")})
    config = {**made["config"], "data": data or OWN, "method": {**made["config"]["method"], "name": method}}
    return {
        **made,
        "config": config,
        "threat_model": threat_model,
        "notes": {**(RELEASED if released else {}), **(more or {})},
    }


@pytest.mark.parametrize(
    ("made", "raw"),
    [
        (_record("one_release", "attribute"), False),
        (_record("group_thresholds", "attribute"), True),
        (_record("one_release_record", "record"), True),
        (_record("one_release_record", "record", more=TOLD), False),
        (_record("one_release", "attribute", released=False), True),
        ({**_record("one_release", "attribute"), "epsilon": None}, True),
        (_record("group_thresholds", "attribute", data=ADULT), False),
    ],
    ids=[
        "released",
        "accuracy by group",
        "accuracy of records",
        "released accuracy",
        "gap of test rows",
        "no ε",
        "published data",
    ],
)
def test_a_figure_is_as_raw_as_the_rawest_number_in_it(made: Any, raw: bool) -> None:
    point = read_explored(RunRecord.from_json(made))
    assert point is not None and point.is_raw == raw
    plain = replace(run_table([made])[0], method="none", epsilon=None, constant=0.7)
    drawn = draw_explored([point], plain=plain, title="t", notion="n", wanted=Wanted(0.8, 0.05), waiting=False)
    assert drawn.raw == raw and ("do not publish" in drawn.text.lower()) == raw
    names = {series.name for series in drawn.series}
    beside = raw or made["config"]["data"]["dataset"] is not None
    told = "released_accuracy" in made["notes"]
    assert (END_NAMES[0] in names) != told, "no accuracy of the test rows stands beside a released one"
    assert point.shown.accuracy == (0.79 if told else 0.8)
    assert (END_NAMES[1] in names) == beside, "no raw run without privacy stands beside what may be published"
