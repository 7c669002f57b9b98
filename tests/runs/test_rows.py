"""A run on some of the rows: its key, its way through TOML, JSON and the command line, and its place in the ledger."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from fairpriv_core.cli.main import cli
from fairpriv_core.errors import BadInput
from fairpriv_core.facts.tables import run_table
from fairpriv_core.plain import read_toml
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.records.ledger_entry import record_posting
from fairpriv_core.runs.execute import execute
from fairpriv_core.runs.session import MemoryJournal
from pages.widgets.compare.differences import TITLES
from pages.widgets.shared.run_table import key_data

DATA = {"dataset": "synthetic", "sensitive": "region"}


def build(rows: Any = None, **given: Any) -> RunConfig:
    data = DATA if rows is None else {**DATA, "rows": rows}
    method = {"name": "dp_sgd", "epochs": 1, "batch_size": 256}
    return build_config({"data": data, "notion": "demographic_parity", "method": method, "epsilon": 1, **given})


def test_it_goes_both_ways_and_each_number_has_its_key() -> None:
    config = build(500)
    assert config.data.rows == 500 and build().data.rows is None
    assert build_config(read_toml(config.to_toml())) == build_config(config.to_json()) == build("500") == config
    assert len({build().key, config.key, build(501).key}) == 3


@pytest.mark.parametrize("rows", ["half", "", 0, 1, -1, 2.5, "nan", True, [500]])
def test_a_wrong_number_is_a_sentence(rows: Any) -> None:
    with pytest.raises(BadInput, match=r"^rows must be a whole number") as raised:
        build(rows)
    assert raised.value.field == "rows"


def test_a_record_says_which_rows_and_runs_on_others_do_not_share_a_split() -> None:
    records = [execute(build(rows), MemoryJournal()).record for rows in (None, 500, 600)]
    assert [record.data["n_train"] + record.data["n_test"] for record in records[1:]] == [500, 600]
    assert [sum("rows are used is public" in said for said in record.assumptions) for record in records] == [0, 1, 1]
    posts = [record_posting(record) for record in records]
    assert len({post.entry.split for post in posts}) == 3 and len({post.data for post in posts}) == 1
    table = run_table([{**record.to_json(), "key": str(place)} for place, record in enumerate(records)])
    assert [key_data(row) for row in table] == [f"synthetic:region{few}" for few in ("", " · 500 rows", " · 600 rows")]
    assert len({row.data for row in table}) == 3 and "data.rows" in TITLES


def test_the_command_line_takes_it(own_store: Any) -> None:
    command = ["train", "--dataset", "synthetic", "--sensitive", "region", "--notion", "demographic_parity", "--json"]
    said = CliRunner().invoke(cli, [*command, "--method", "none", "--set", "epochs=1", "--rows", "500"])
    record = json.loads(said.stdout)
    assert said.exit_code == 0 and record["config"]["data"]["rows"] == 500
    assert record["data"]["n_train"] == 375
