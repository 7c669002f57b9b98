"""The results pages: they say what the exported records say, of the settings that the software has today."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from functools import cache
from statistics import mean
from typing import Any

import pytest

from examples import make_local
from examples.make_results import PAGE, RECORDS, SPEC
from examples.results_page import configs_of, judge, list_rows, name_rows, read_records, read_spec, render_results
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.catalog import methods
from fairpriv_core.privacy.accountants import epsilon
from fairpriv_core.privacy.event import from_json

ROWS = list(list_rows(read_spec(SPEC)))
PARITY = "demographic_parity_gap"


def test_the_page_is_what_the_exported_records_make_of_it() -> None:
    page = PAGE.read_text("utf-8")
    assert page == render_results(read_spec(SPEC), read_records(RECORDS)), "run: python -m examples.make_results write"


def test_the_page_on_everybodys_own_answer_is_what_its_table_makes_of_it() -> None:
    head, *lines = csv.reader((make_local.FOLDER / "local.csv").read_text("utf-8").splitlines())
    assert tuple(head) == make_local.COLUMNS
    asked = len(make_local.TABLES) * len(make_local.NOTIONS) * len(make_local.EPSILONS)
    assert len({tuple(line[:3]) for line in lines}) == len(lines) == asked
    assert (make_local.FOLDER / "local.md").read_text("utf-8") == make_local.render(lines)


def test_every_exported_record_stands_in_the_rows_that_it_names_and_no_key_in_prose() -> None:
    records = read_records(RECORDS)
    assert {key: record["rows"] for key, record in records.items()} == name_rows(read_spec(SPEC))
    assert [key for key, record in records.items() if record["key"] != key] == []
    assert not [key for key in records if key in PAGE.read_text("utf-8")]
    assert {row["method"] for row in ROWS} <= set(methods())
    assert len({row["id"] for row in ROWS}) == len(ROWS)


def test_each_epsilon_is_that_of_what_was_released_and_within_the_budget() -> None:
    records = read_records(RECORDS)
    for record in (records[config.key] for row in ROWS for config in configs_of(row)):
        if "epsilon" not in record:
            assert record["epsilon_reason"]
            continue
        assert epsilon(from_json(record["event"]), record["delta"]) == pytest.approx(record["epsilon"], rel=1e-3)
        assert record["epsilon"] <= (record["config"]["epsilon"] or math.inf)


def test_what_prose_says_of_rows_that_no_table_shows_is_in_their_records() -> None:
    prose, shipped = " ".join(PAGE.read_text("utf-8").split()), "shipped-dp_sgd"
    hidden = {row["id"]: row for row in ROWS if row.get("hidden") and not row["id"].endswith("-plain")}
    relatives = [name for name, row in hidden.items() if name.startswith("shipped-") and "epsilon" in row]
    *most, last = (f"`{hidden[name]['method']}`" for name in relatives)
    assert f"{', '.join(most)} and {last} are within 0.3 points of `dp_sgd`" in prose
    assert max(abs(_mean(name, "accuracy") - _mean(shipped, "accuracy")) for name in relatives) <= 0.003
    gaps = [_mean(name, PARITY) for name in relatives]
    assert f"with gaps of {min(gaps):.3f} to {max(gaps):.3f}." in prose
    for value in ("accuracy", PARITY):
        assert _mean("shipped-fairsmooth", value) == pytest.approx(_mean("shipped-none", value), abs=1e-3)
        assert _mean("votes-bank-4-groups", value) == pytest.approx(_mean("votes-bank-1-groups", value), abs=1e-3)
    votes = [f"votes-bank-4-{of}" for of in ("labels", "fair")]
    assert max(_mean(name, "positive_rate") for name in votes) < 0.01  # "nearly everybody one answer, at ε = 4 too"
    assert set(hidden) == {*relatives, *votes, "shipped-fairsmooth", "votes-bank-4-groups"}


def test_the_epsilons_that_the_text_of_fairdps_table_1_has_are_those_of_its_rows() -> None:
    runs = [(row["id"], run) for row in ROWS if row["id"].startswith("table1-") for run in _runs(row["id"])]
    proved = {f"{run['epsilon']:.2f}" for _, run in runs if "epsilon" in run}
    claimed = [run["epsilon_published"] for _, run in runs if "epsilon_published" in run]
    unproved = {name for name, run in runs if "epsilon" not in run and "epsilon_published" in run}
    assert unproved == {"table1-class-printed", "table1-group-printed"} and len(proved) == 1
    said = f"{proved.pop()} proved, none for the two published rows; {min(claimed):.2f} to {max(claimed):.2f} by the"
    assert said in " ".join(PAGE.read_text("utf-8").split())


def test_a_changed_number_or_a_missing_record_shows() -> None:
    spec, records = read_spec(SPEC), read_records(RECORDS)
    key = next(configs_of(ROWS[0])).key
    changed = {**records, key: {**records[key], "metrics": {**records[key]["metrics"], "accuracy": 0.5}}}
    assert render_results(spec, changed) != render_results(spec, records)
    with pytest.raises(BadInput, match=f"'{ROWS[0]['id']}' has no record {key}"):
        render_results(spec, {name: record for name, record in records.items() if name != key})


def test_a_verdict_says_what_is_missing() -> None:
    runs = [{"metrics": {"accuracy": value, "gap": 0.03}} for value in (0.82, 0.84)]
    assert judge({"least": {"metrics/accuracy": 0.83}, "most": {"metrics/gap": 0.03}}, runs) == "reached"
    assert judge({"least": {"metrics/accuracy": 0.84}}, runs) == "accuracy 0.0100 too low"
    assert judge({"most": {"metrics/gap": 0.02}}, runs) == "gap 0.0100 too high"
    assert judge({"most": {"metrics/nothing": 0.02}}, runs) == "nothing undefined, too high"
    assert judge({}, runs) == "–"
    eights = [{"metrics": {"groups": [{"name": "8", "accuracy": 0.9}]}}]
    assert judge({"least": {"metrics/groups/8/accuracy": 0.94}}, eights) == "accuracy of 8 0.0400 too low"


@cache
def _runs(name: str) -> list[Mapping[str, Any]]:
    records = read_records(RECORDS)
    return [records[config.key] for row in ROWS if row["id"] == name for config in configs_of(row)]


def _mean(name: str, value: str) -> float:
    return mean(run["metrics"][value] for run in _runs(name))
