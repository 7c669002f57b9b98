"""A run under an encoding: its key, its way through TOML and commands, its features, its place in the ledger."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from fairpriv_core.cli.main import cli
from fairpriv_core.data.catalog import problems
from fairpriv_core.data.dataset import Dataset, load_dataset, split_dataset
from fairpriv_core.data.encode import Encoder
from fairpriv_core.data.encodings import encode_as, name_encodings
from fairpriv_core.data.gather import gather
from fairpriv_core.data.problem import ENCODINGS, DataSpec
from fairpriv_core.data.schema import declare_problem
from fairpriv_core.engine.predict import predict_proba
from fairpriv_core.errors import BadInput
from fairpriv_core.facts.tables import run_table
from fairpriv_core.facts.terminal import format_record
from fairpriv_core.files.table import Codes
from fairpriv_core.ledger.report import report_ledgers
from fairpriv_core.plain import read_toml
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.records.ledger_entry import record_posting
from fairpriv_core.records.model import Model
from fairpriv_core.records.plan import DatasetCache
from fairpriv_core.records.record import RunRecord
from fairpriv_core.records.reuse import use_release
from fairpriv_core.runs.execute import execute
from fairpriv_core.runs.foreground import Reporter, train
from fairpriv_core.runs.plain_run import find_plain_run
from fairpriv_core.runs.session import MemoryJournal
from fairpriv_core.store.runs import open_store
from fairpriv_core.sweeps.plan import plan_sweep
from fairpriv_core.sweeps.spec import build_sweep
from tests.data.encoders import load_encoder
from tests.documents.made_up import make_record

SILENT = Reporter(say=lambda _: None, show=lambda _: None)
DATA = {"dataset": "synthetic", "sensitive": "region"}
ADULT = {"dataset": "adult", "sensitive": "sex"}
COUNTS = {
    "synthetic": (13, 13), "adult": (130, 102), "bank": (99, 51), "bank_no_duration": (87, 50), "compas": (30, 12),
    "credit_default": (106, 27), "dutch_census": (72, 72), "parkinsons": (18, 18), "acs_income": (117, 101),
}  # fmt: skip


def build(encoding: str | None = None, method: str = "dp_sgd", *, data: Any = None, **given: Any) -> RunConfig:
    asked = {**(data or DATA), **({} if encoding is None else {"encoding": encoding})}
    few = {"name": method, "epochs": 1, "batch_size": 256}
    epsilon = None if method == "none" else 1
    return build_config({"data": asked, "notion": "demographic_parity", "method": few, "epsilon": epsilon, **given})


def test_it_goes_both_ways_and_the_usual_one_keeps_the_key() -> None:
    usual, plain = build(), build("plain")
    assert build("binned") == usual
    assert build_config(read_toml(plain.to_toml())) == build_config(plain.to_json()) == plain
    assert plain.to_json()["data"]["encoding"] == "plain" and plain.key != usual.key


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({**DATA, "encoding": "fine"}, r"^encoding must be one of binned, plain, got 'fine'\.$"),
        ({**DATA, "encoding": 1}, r"^encoding must be one of binned, plain, got '1'\.$"),
        ({**DATA, "encoding": ["plain"]}, r"^encoding must be text, got \['plain'\]\.$"),
        (
            {"file": "people.csv", "label": "paid", "sensitive": "sex", "encoding": "plain"},
            r"^encoding is about a benchmark, got 'plain' and a file: the edges in its schema are its bins\.$",
        ),
    ],
)
def test_a_wrong_one_is_a_sentence(asked: Any, says: str) -> None:
    with pytest.raises(BadInput, match=says) as raised:
        build_config({"data": asked, "method": "none"})
    assert raised.value.field == "encoding"


def test_images_have_none() -> None:
    with pytest.raises(BadInput, match=r"^encoding plain is about numbers in columns, and the rows of 'utkface' are"):
        load_dataset(DataSpec(dataset="utkface", sensitive="race", encoding="plain"))
    assert name_encodings(problems()["utkface"]) == ("binned",)


@pytest.mark.parametrize("name", COUNTS)
def test_plain_has_one_feature_for_a_number_but_for_groups_of_the_code_book(name: str) -> None:
    problem = problems()[name]
    specs = [DataSpec(dataset=name, sensitive=problem.sensitive[0], encoding=encoding) for encoding in ENCODINGS]
    assert tuple(len(load_encoder(spec).feature_names) for spec in specs) == COUNTS[name]
    assert len(name_encodings(problem)) == (1 if len(set(COUNTS[name])) == 1 else 2)
    for column in encode_as(problem, "plain").schema:
        assert not column.is_quantity or not column.log
        assert not column.is_quantity or not column.edges or column.name in problem.coded


def test_what_epsilon_takes_as_given_calls_bins_a_choice() -> None:
    adult = problems()["adult"]
    said = [declare_problem(encode_as(adult, encoding)).assumed[0] for encoding in ENCODINGS]
    assert [each.partition(" of ")[0] for each in said] == ["Ranges and bins", "Ranges"]
    assert all("are this project's choice and taken as public" in each for each in said)
    assert declare_problem(encode_as(problems()["acs_income"], "plain")).assumed[0].startswith("Ranges of the features")
    assert "code book's" in declare_problem(problems()["dutch_census"]).assumed[0]


def load_adult(encoding: str) -> Dataset:
    return load_dataset(DataSpec(**ADULT, encoding=encoding))


def test_rows_labels_groups_and_splits_are_the_same() -> None:
    binned, plain = map(load_adult, ENCODINGS)
    assert (binned.d, plain.d) == (130, 102) and binned.digest != plain.digest
    for split in ("rows", "stratified", "official"):
        for own, other in zip(*(split_dataset(each, seed=3, split=split) for each in (binned, plain)), strict=True):
            assert np.array_equal(own.y, other.y) and np.array_equal(own.group, other.group)
    shared = [name for name in plain.feature_names if name in binned.feature_names and "capital" not in name]
    own, other = (each.X[:, [each.feature_names.index(name) for name in shared]] for each in (binned, plain))
    assert len(shared) == 100 and np.array_equal(own, other)


def draft(config: RunConfig) -> RunRecord:
    columns = {"columns": ["age", "race"]}
    return replace(
        RunRecord.from_json(make_record()), config=config.to_json(), threat_model="record", event=[], data=columns
    )


def test_two_encodings_are_one_data_set_in_the_ledger_on_one_split() -> None:
    posts = [record_posting(draft(build(encoding, data=ADULT))) for encoding in ENCODINGS]
    assert len({post.data for post in posts}) == len({post.entry.split for post in posts}) == 1
    assert posts[0].entry.clear == posts[1].entry.clear


def test_runs_under_two_encodings_add_up(own_store: Any) -> None:
    keys = [train(build(encoding), SILENT)[0].key for encoding in ENCODINGS]
    with open_store() as store:
        [ledger] = report_ledgers(store, delta=1e-5)
        alone = [record.epsilon for record in store.records(keys).values()]
    [whole] = [each for each in ledger["protected"] if each["column"] is None]
    assert len(keys) == len(ledger["lines"]) == 2
    assert all(each is not None and each < 0.9 * whole["epsilon"] for each in alone)


def test_a_release_is_not_used_under_another_encoding() -> None:
    source = execute(build(method="one_release"), MemoryJournal()).record
    config = build("plain", method="one_release", epsilon=None, reuse="k")
    digest = DatasetCache().parts(config)[0].digest
    with pytest.raises(BadInput, match="about other training rows; data must be as it was there"):
        use_release(config.method, source, config.to_json(), digest)


def test_a_run_is_told_with_its_encoding_and_held_against_plain_training_under_the_same(own_store: Any) -> None:
    runs = {encoding: train(build(encoding, method="none"), SILENT)[1] for encoding in ENCODINGS}
    record = runs["plain"]
    assert record is not None and runs["binned"] is not None
    assert "synthetic, region · plain encoding" in format_record(record)
    assert "encoding" not in format_record(runs["binned"])
    rows = run_table([each.to_json() for each in runs.values() if each is not None])
    assert [row.encoding for row in rows] == list(ENCODINGS) and len({row.data for row in rows}) == 2
    with open_store() as store:
        found = find_plain_run(store, build("plain").to_json())
    assert found is not None and found.key == record.key


def test_the_command_line_and_a_sweep_take_it(own_store: Any) -> None:
    command = ["train", "--dataset", "synthetic", "--sensitive", "region", "--json", "--method", "none"]
    said = CliRunner().invoke(cli, [*command, "--set", "epochs=1", "--encoding", "plain"])
    assert said.exit_code == 0 and json.loads(said.stdout)["config"]["data"]["encoding"] == "plain"
    asked = {"data": DATA, "notion": "demographic_parity", "method": {"name": "none", "epochs": 1}}
    plan = plan_sweep(build_sweep({**asked, "axes": {"encoding": list(ENCODINGS)}}), find_record=lambda key: {})
    assert [cell.config and cell.config.data.encoding for cell in plan.cells] == list(ENCODINGS)
    assert json.loads(said.stdout)["key"] in plan.keys and len(set(plan.keys)) == 2


def test_a_model_encodes_a_file_as_it_was_trained(tmp_path: Path) -> None:
    outcome = execute(build("plain", method="none", data=ADULT), MemoryJournal())
    model = Model.of(outcome.fitted, outcome.train)
    assert len(Encoder.from_json(model.encoder).feature_names) == 102
    dataset = load_adult("plain")
    write_rows(tmp_path / "new.csv", DataSpec(**ADULT), 200)
    Model.read(model.write().__getitem__).predict_file(str(tmp_path / "new.csv"), str(tmp_path / "out.csv"))
    predicted = [float(line.split(",")[1]) for line in (tmp_path / "out.csv").read_text().splitlines()[1:]]
    scores = predict_proba(outcome.fitted.network, outcome.fitted.parameters, dataset.X[:200])[:, 1]
    assert predicted == pytest.approx(scores.tolist(), rel=1e-4) and len(set(predicted)) > 100


def write_rows(path: Path, spec: DataSpec, n: int) -> None:
    """Write the first rows of a benchmark as a table of texts."""
    table = gather(spec).table

    def read(name: str) -> Callable[[int], str]:
        column = table[name]
        if isinstance(column, Codes):
            return lambda row: column.values[column.codes[row]]
        return lambda row: str(float(column.values[row]))

    readers = [read(name) for name in table]
    lines = [",".join(f'"{each(row)}"' for each in readers) for row in range(n)]
    path.write_text("\n".join([",".join(table), *lines]) + "\n")
