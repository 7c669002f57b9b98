"""Every config that is committed says all its settings, and names its key, wherever this stands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from examples.rename_keys import list_named, read, read_stored
from fairpriv_core.records.config import build_config, name_config

AGAIN = "run: python -m examples.rename_keys"


@pytest.fixture(scope="module")
def stored() -> dict[Path, Any]:
    return read_stored()


def test_a_committed_config_says_all_its_settings(stored: dict[Path, Any]) -> None:
    unlike = [path.name for path, content in stored.items() if read(path) != content]
    assert not unlike, AGAIN


def test_each_committed_config_names_its_key(stored: dict[Path, Any]) -> None:
    named = list(list_named(stored))
    assert len(named) > 28_500 and not [key for key, config in named if name_config(config) != key], AGAIN


def test_a_key_follows_from_every_setting_but_a_files_place() -> None:
    asked = {"data": {"dataset": "adult", "sensitive": "sex"}, "notion": "demographic_parity", "method": "pf_ld"}
    said = build_config({**asked, "epsilon": 1}).to_json()
    assert build_config(json.loads(json.dumps(said))).to_json() == said and said["method"]["network"] == "mlp"
    keys = {name_config(said)}
    for name in said:
        keys.add(name_config({**said, name: "another"} if name != "data" else {**said, name: {"dataset": "bank"}}))
    for name in said["method"]:
        keys.add(name_config({**said, "method": {**said["method"], name: "another"}}))
    assert len(keys) == 1 + len(said) + len(said["method"])
    own = {**said, "file_id": "ab" * 8}
    places = [{**own, "data": {**said["data"], "dataset": None, "file": file}} for file in ("/a.csv", "/b.csv")]
    assert len({name_config(each) for each in places}) == 1
