"""Whoever names no data trains on Adult, which is said first; what is said of data that are not named is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairpriv_core.cli.request import settle_data
from fairpriv_core.errors import BadInput
from tests.cli.commands import Call

SAID = "no data named: Adult (public)"
ASKED = ("--notion", "demographic_parity", "--method", "none", "--set", "epochs=1", "--json")


def test_without_data_a_run_and_a_sweep_take_adult_and_say_so_first(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key is that of a run that names the data, however the default was come by."""
    monkeypatch.setenv("FAIRPRIV_DATA", str(tmp_path))
    first = call("train", *ASKED)
    assert first.code == 0 and first.err.splitlines()[0] == SAID
    assert first.json["config"]["data"] == first.json["config"]["data"] | {"dataset": "adult", "sensitive": "sex"}
    named = call("train", "--dataset", "adult", "--sensitive", "sex", *ASKED)
    assert SAID not in named.err and named.json == first.json
    toml, sweep = tmp_path / "run.toml", tmp_path / "sweep.toml"
    toml.write_text('notion = "demographic_parity"\nmethod = "none"\n')
    assert call("train", "--config", str(toml), *ASKED).json == first.json
    sweep.write_text('notion = "demographic_parity"\n[method]\nepochs = 1\n[axes]\nmethod = ["none"]\n')
    swept = call("sweep", str(sweep), "--json")
    assert swept.err.splitlines()[0] == SAID
    assert swept.json["sweep"]["new"] == 0 and swept.json["runs"][0]["key"] == first.json["key"]


@pytest.mark.parametrize("option", ["label", "positive", "schema", "person"])
def test_what_is_said_of_data_that_are_not_named_is_refused(option: str, call: Call, tmp_path: Path) -> None:
    schema = tmp_path / "schema.toml"
    schema.write_text('[columns.paid]\nrole = "label"\ntype = "category"\ncategories = ["no", "yes"]\n')
    refused = call("train", f"--{option}", str(schema) if option == "schema" else "income", *ASKED)
    assert refused.code == 2 and refused.out == ""
    assert refused.err.startswith(f"Error: {option} is given, but no data are named")


def test_data_count_as_named_wherever_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert settle_data({"dataset": "bank", "label": "y"}) == {"dataset": "bank", "label": "y"}
    assert settle_data({"file": "own.csv"}) == {"file": "own.csv"}
    assert settle_data({"sensitive": "sex"}, ["dataset"]) == {"sensitive": "sex"}
    assert capsys.readouterr().err == ""
    assert settle_data({"sensitive": "race"}) == {"sensitive": "race", "dataset": "adult"}
    assert settle_data({}, ["sensitive", "seed"]) == {"dataset": "adult"}
    assert capsys.readouterr().err.splitlines() == [SAID, SAID]
    with pytest.raises(BadInput, match="positive is given, but no data are named"):
        settle_data({}, ["positive"])
