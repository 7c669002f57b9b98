"""A run on thinned groups: its key, its way through TOML and JSON, its record, its line in the ledger, its release."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from fairpriv_core.audit import inference
from fairpriv_core.cli.ledger import answer_ledger
from fairpriv_core.cli.main import cli
from fairpriv_core.cli.runs import run_to_json
from fairpriv_core.data.dataset import split_dataset
from fairpriv_core.errors import BadInput
from fairpriv_core.facts.terminal import format_record, format_runs
from fairpriv_core.plain import read_toml
from fairpriv_core.privacy.ledger import compose
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.records.ledger_entry import record_posting
from fairpriv_core.records.plan import DatasetCache
from fairpriv_core.records.record import RunRecord
from fairpriv_core.records.reuse import use_release
from fairpriv_core.runs import audit
from fairpriv_core.runs.execute import FitOutcome, execute
from fairpriv_core.runs.foreground import train
from fairpriv_core.runs.session import MemoryJournal
from fairpriv_core.store.runs import open_store
from fairpriv_core.sweeps.plan import plan_sweep
from fairpriv_core.sweeps.spec import build_sweep
from fairpriv_core.text import Reporter
from tests.documents.made_up import make_record

SILENT = Reporter(say=lambda _: None, show=lambda _: None)
DATA = {"dataset": "synthetic", "sensitive": "region"}
TRAIN = ("train", "--dataset", "synthetic", "--sensitive", "region", "--notion", "demographic_parity", "--json")
BAD = r"group_ratio must (be a number|lie) in \(0, 1\], got "


def build(ratio: Any = None, method: str = "dp_sgd", **given: Any) -> RunConfig:
    data = DATA if ratio is None else {**DATA, "group_ratio": ratio}
    raw = {"data": data, "notion": "demographic_parity", "method": {"name": method, "epochs": 1}, "epsilon": 1}
    return build_config({**raw, **given})


def run(**given: Any) -> FitOutcome:
    return execute(build(**given), MemoryJournal())


def test_a_ratio_goes_both_ways_and_each_has_its_key() -> None:
    config = build(0.8)
    assert config.data.group_ratio == 0.8
    assert build_config(read_toml(config.to_toml())) == build_config(config.to_json()) == config
    assert build("0.8") == config and build(1).key == build(1.0).key
    assert len({build().key, config.key, build(0.9).key}) == 3


@pytest.mark.parametrize("ratio", ["half", "", 0, -1, 1.5, "nan", True, [0.5]])
def test_a_wrong_ratio_is_a_sentence(ratio: Any) -> None:
    with pytest.raises(BadInput, match=BAD) as raised:
        build(ratio)
    assert raised.value.field == "group_ratio"


@pytest.mark.parametrize(("method", "protects"), [("pf_ld", "attribute"), ("dp_sgd", "record")])
def test_wherever_an_epsilon_is_told_it_is_told_with_what_it_takes_as_given(
    method: str, protects: str, own_store: Any
) -> None:
    (thinned, record), (_, other) = (_train(ratio, method) for ratio in (1.0, None))
    assert record.threat_model == protects and record.data["n_train"] < other.data["n_train"]
    assert sum("group ratio of 1 is assumed public" in said for said in record.assumptions) == 1
    for each in (record, other):
        told = " ".join(format_record(each).split())
        assert each.assumptions and all(f"assumes {said}" in told for said in each.assumptions)
    with open_store() as store:
        listed = format_runs([run_to_json(*each) for each in store.read_all()[0]])
    assert listed.endswith(f"assumes that the rows left out for a group ratio are public, in: {thinned}")
    told = " ".join(answer_ledger(None, None, None, None).text.split())
    assert "assume what each run's epsilon assumes, such as which rows were left out" in told


def _train(ratio: float | None, method: str) -> tuple[str, RunRecord]:
    row, record = train(build(ratio, method=method), SILENT)
    assert record is not None
    return row.key, record


def test_groups_that_are_thinned_to_a_ratio_of_1_are_of_one_size() -> None:
    (whole, _), (thinned, _) = (DatasetCache().parts(build(ratio)) for ratio in (None, 1.0))
    assert len(set(np.bincount(thinned.group))) == 1 < len(set(np.bincount(whole.group)))
    assert thinned.n < whole.n


def test_runs_share_a_split_in_the_ledger_only_where_they_thin_alike() -> None:
    names = {
        (ratio, split, seed): record_posting(_draft(build(ratio, split=split, seed=seed))).entry.split
        for ratio in (None, 0.8, 0.9)
        for split in ("stratified", "official")
        for seed in (0, 1)
    }
    assert names[None, "official", 0] == names[None, "official", 1]
    assert len(set(names.values())) == 11


def test_runs_share_a_split_in_the_ledger_only_where_they_leave_out_the_same_rows() -> None:
    schema = '{"values_from":"rows","columns":{"age":{"type":"number"}}}'
    asked = {"file": "people.csv", "label": "paid", "sensitive": "sex"}
    further: list[dict[str, str]] = [{}, {"person": "who"}, {"schema": schema}, {"person": "who", "schema": schema}]
    configs = [build_config({"data": {**asked, **one}, "method": "dp_sgd", "epsilon": 1.0}) for one in further]
    assert len({record_posting(_draft(config)).entry.split for config in configs}) == 4


def _draft(config: RunConfig) -> RunRecord:
    return replace(
        RunRecord.from_json(make_record()),
        config=config.to_json(),
        threat_model="record",
        event=[],
        data={"columns": ["x"]},
    )


def test_a_model_without_privacy_on_thinned_rows_looks_at_the_groups() -> None:
    plain, thinned = (record_posting(run(ratio=ratio, method="none").record).entry for ratio in (None, 1.0))
    assert compose([plain], "region").unbounded == ()
    assert "not private and it uses 'region'" in compose([thinned], "region").unbounded[0]


def test_a_release_is_not_used_for_rows_that_are_thinned_otherwise() -> None:
    source = run(ratio=1.0, method="one_release").record
    for given in ({}, {"ratio": 0.9}, {"ratio": 1.0, "seed": 1}):
        config = build(**given, method="one_release", epsilon=None, reuse="k")
        digest = DatasetCache().parts(config)[0].digest
        with pytest.raises(BadInput, match="about other training rows"):
            use_release(config.method, source, config.to_json(), digest)


def test_a_published_split_that_is_thinned_is_read_for_each_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def split(dataset: Any, *, seed: int, split: str) -> Any:
        asked.append(seed)
        return split_dataset(dataset, seed=seed)

    monkeypatch.setattr("fairpriv_core.records.plan.split_dataset", split)
    for ratio in (None, 1.0):
        datasets = DatasetCache()
        for seed in (0, 1, 1):
            datasets.parts(build(ratio, split="official", seed=seed))
    assert asked == [0, 0, 1]


def test_members_are_told_from_others_of_the_same_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[int]] = []

    def see(_: Any, part: Any) -> Any:
        seen.append([int((part.group == one).sum()) for one in range(part.groups)])
        return inference.stack_answers(part.X[:, 0], part.y)

    monkeypatch.setattr(audit, "_see", see)
    monkeypatch.setattr(audit, "_MOST", 200)
    audit.attack_membership({}, *DatasetCache().parts(build(1.0)), seed=0)
    assert all(len(set(sizes)) == 1 for sizes in seen) and len(seen) == 2


def test_members_of_a_published_split_are_told_from_others_in_the_same_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[np.ndarray] = []

    def see(_: Any, part: Any) -> Any:
        seen.append(part.group)
        return inference.stack_answers(np.full(part.n, 0.5), part.y)

    monkeypatch.setattr(audit, "_see", see)
    monkeypatch.setattr(audit, "_MOST", 200)
    whole = DatasetCache().parts(build())[0]
    rare = np.flatnonzero((whole.group != 0) | (np.arange(whole.n) % 10 == 0))  # of group 0 a tenth is trained on
    for one_split in (False, True):
        audit.attack_membership({}, replace(whole.take(rare), one_split=one_split), whole, seed=0)
    shares = [np.bincount(group, minlength=whole.groups) / len(group) for group in seen]
    assert np.allclose(shares[2], shares[3], atol=0.005) and not np.allclose(shares[0], shares[1], atol=0.05)


def test_a_sweep_over_ratios_skips_what_cannot_be_thinned() -> None:
    asked = {"data": DATA, "notion": "demographic_parity", "method": {"name": "none", "epochs": 1}}
    raw = {**asked, "axes": {"group_ratio": [0.01, 0.9, 1.0]}, "sweep": {"invalid": "skip"}}
    plan = plan_sweep(build_sweep(raw), find_record=lambda key: {})
    assert [cell.config and cell.config.data.group_ratio for cell in plan.cells] == [None, 0.9, 1.0]
    assert "leaves no row out" in str(plan.cells[0].reason) and len(plan.keys) == 2


def test_the_command_line_trains_on_thinned_rows_and_says_so(own_store: Any) -> None:
    options = ["--method", "none", "--set", "epochs=1", "--group-ratio"]
    said = CliRunner().invoke(cli, [*TRAIN, *options, "0.9"])
    record = json.loads(said.stdout)
    assert said.exit_code == 0 and record["config"]["data"]["group_ratio"] == 0.9
    told = CliRunner().invoke(cli, [*TRAIN[:-1], *options, "0.9"])
    assert "synthetic, region · group ratio 0.9" in " ".join(told.stdout.split())
    with pytest.raises(BadInput, match=BAD):
        CliRunner().invoke(cli, [*TRAIN, *options, "much"], catch_exceptions=False)
