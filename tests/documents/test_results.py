"""The results page: it says what the exported records say, of the settings that the software has today."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from examples.make_results import render_documents
from examples.results_page import configs_of, judge, read_records, read_spec, render_results
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.catalog import methods
from fairpriv_core.privacy.accountants import epsilon
from fairpriv_core.privacy.event import from_json

FOLDER = Path(__file__).parents[2] / "docs" / "results"
SPEC = read_spec(FOLDER / "rows.toml")
ROWS: list[dict[str, Any]] = [row for section in SPEC["section"] for row in section["row"]]


def test_the_page_is_what_the_exported_records_make_of_it() -> None:
    documents = render_documents(SPEC, read_records(FOLDER / "records.json"))
    unlike = [path.name for path, text in documents.items() if path.read_text("utf-8") != text]
    assert not unlike, "run: python -m examples.make_results write"


def test_keys_of_records_stand_in_their_file_and_not_in_prose() -> None:
    stored = {record["key"] for record in json.loads((FOLDER / "records.json").read_text("utf-8"))}
    keys = json.loads((FOLDER / "keys.json").read_text("utf-8"))
    assert set(keys) == {row["id"] for row in ROWS}
    assert {key for row in keys.values() for key in row} == stored
    assert not [key for key in stored if key in FOLDER.with_suffix(".md").read_text("utf-8")]


def test_every_exported_record_stands_in_a_row() -> None:
    asked = {config.key for row in ROWS for config in configs_of(row)}
    assert set(read_records(FOLDER / "records.json")) == asked
    assert {row["method"] for row in ROWS} <= set(methods())
    assert len({row["id"] for row in ROWS}) == len(ROWS)


def test_each_epsilon_is_that_of_what_was_released_and_within_the_budget() -> None:
    records = read_records(FOLDER / "records.json")
    for row in ROWS:
        record = records[next(configs_of(row)).key]
        if record["epsilon"] is None:
            assert record["epsilon_reason"]
            continue
        assert epsilon(from_json(record["event"]), record["delta"]) == pytest.approx(record["epsilon"], rel=1e-3)
        assert record["epsilon"] <= (record["config"]["epsilon"] or math.inf)


def test_a_changed_number_or_a_missing_record_shows() -> None:
    records = read_records(FOLDER / "records.json")
    key = next(configs_of(ROWS[0])).key
    changed = {**records, key: {**records[key], "metrics": {**records[key]["metrics"], "accuracy": 0.5}}}
    assert render_results(SPEC, changed) != render_results(SPEC, records)
    with pytest.raises(BadInput, match=f"'{ROWS[0]['id']}' has no record {key}"):
        render_results(SPEC, {name: record for name, record in records.items() if name != key})


def test_a_verdict_says_what_is_missing() -> None:
    runs = [{"metrics": {"accuracy": value, "gap": 0.03}} for value in (0.82, 0.84)]
    assert judge({"least": {"metrics/accuracy": 0.83}, "most": {"metrics/gap": 0.03}}, runs) == "reached"
    assert judge({"least": {"metrics/accuracy": 0.84}}, runs) == "accuracy 0.0100 too low"
    assert judge({"most": {"metrics/gap": 0.02}}, runs) == "gap 0.0100 too high"
    assert judge({"most": {"metrics/nothing": 0.02}}, runs) == "nothing undefined, too high"
    assert judge({}, runs) == "–"
    eights = [{"metrics": {"groups": [{"name": "8", "accuracy": 0.9}]}}]
    assert judge({"least": {"metrics/groups/8/accuracy": 0.94}}, eights) == "accuracy of 8 0.0400 too low"
