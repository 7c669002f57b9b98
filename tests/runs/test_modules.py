"""Runs of a person's own network: killed and gone on with bit for bit, told, predicted with, attacked."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fairpriv_core.cli.runs import answer_prediction, answer_run
from fairpriv_core.data.catalog import problems
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.engine import predict
from fairpriv_core.engine.torch import module as opened
from fairpriv_core.errors import BadInput
from fairpriv_core.privacy.accountants import epsilon
from fairpriv_core.privacy.event import from_json
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.records.model import Model
from fairpriv_core.records.plan import plan_posting
from fairpriv_core.runs import session
from fairpriv_core.runs.audit import audit_model
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store import checkpoint
from fairpriv_core.store.claim import Progress
from fairpriv_core.store.runs import RunStore, open_store
from fairpriv_core.store.work import WorkStore
from tests.launched import KILLED_AT
from tests.patience import PATIENCE

DATA = {"dataset": "synthetic", "sensitive": "group", "rows": 2000}
SETTINGS: dict[str, dict[str, Any]] = {
    "dp_sgd": {"epochs": 2, "batch_size": 150},
    "pf_ld_record": {"epochs": 2, "sampling_rate": 0.1},
}


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def ask(network: str, method: str = "dp_sgd", **more: Any) -> RunConfig:
    named = {"name": method, "network": f"tests.modules:{network}", **SETTINGS[method]}
    return build_config({"data": DATA, "notion": "demographic_parity", "method": named, "epsilon": 2, **more})


def finish(store: RunStore, key: str) -> np.ndarray:
    """Work on a run to its end and return its parameters."""
    work = WorkStore(store.database)
    work_on(work, work.claim(key))
    assert store.row(key).status == "finished", store.row(key).error
    return Model.read(partial(store.artifact, key)).parameters


@pytest.mark.parametrize(
    ("network", "method"),
    [
        ("normed", "pf_ld_record"),
        pytest.param("block", "dp_sgd", marks=pytest.mark.long),
        pytest.param("words", "dp_sgd", marks=pytest.mark.long),
    ],
)
def test_a_killed_run_goes_on_bit_for_bit(network: str, method: str, tmp_path: Path, local: RunStore) -> None:
    config = ask(network, method, replay_noise=3)
    with open_store(str(tmp_path / "other.db")) as other:
        undisturbed = other.submit(config).key
        expected = finish(other, undisturbed)
        record = other.record(undisturbed)
    key = local.submit(config).key
    killed = subprocess.run([sys.executable, "-c", KILLED_AT, key, "5"], timeout=PATIENCE)
    assert killed.returncode == -signal.SIGKILL and local.row(key).status == "lost"
    assert WorkStore(local.database).recover() == 1
    found, again = finish(local, key), local.record(key)
    assert record is not None and again is not None and again.resumed_from_step >= 5
    assert np.array_equal(found, expected) and (again.metrics, again.event) == (record.metrics, record.event)
    if network == "normed":
        assert_told(local, key)


def assert_told(store: RunStore, key: str) -> None:
    """Assert that a finished run says what it takes as given and how it was trained, and can be attacked."""
    record = store.record(key)
    assert record is not None and record.epsilon_if_secret is not None
    assert epsilon(from_json(record.event), 1e-5) == record.epsilon_if_secret <= 2.0
    (assumed,) = [each for each in record.assumptions if "tests.modules:normed" in each]
    assert "depend on that record alone, and breaks off on none, which was tried on made-up rows" in assumed
    assert len(record.versions["network"]) == 64 and record.versions["opacus"]
    assert "network tests.modules:normed" in " ".join(answer_run(store.row(key), record).text.split())
    assert build_config(record.config).key == key
    found = audit_model(record, Model.read(partial(store.artifact, key)), seed=0)
    assert len(found["membership"]["attackers"]) == 4


def test_a_model_predicts_where_its_network_is_and_says_where_it_is_not(local: RunStore, tmp_path: Path) -> None:
    key, out, rows = local.submit(ask("normed")).key, tmp_path / "out.csv", tmp_path / "rows.csv"
    finish(local, key)
    model = Model.read(partial(local.artifact, key))
    assert (model.network.kind, model.network.reference) == ("module", "tests.modules:normed")
    assert b"class" not in local.artifact(key, "model.json")
    data = _read_synthetic()
    rows.write_text("\n".join([",".join(data), *(",".join(map(str, row)) for row in zip(*data.values(), strict=True))]))
    assert answer_prediction(key, str(rows), str(out)).document["rows"] == 3
    network = replace(model.network, reference="gone_since:build")
    others = replace(model.network, trained=replace(model.network.trained, code="0"))
    with pytest.raises(BadInput, match="network 'gone_since:build' is not installed here"):
        predict.predict_proba(network, model.parameters, np.zeros((2, network.inputs)))
    with pytest.raises(BadInput, match="is not the one that this model was trained with"):
        predict.predict_proba(others, model.parameters, np.zeros((2, network.inputs)))
    with pytest.raises(BadInput, match=r"the model takes .* encoded columns, got 3"):
        predict.predict_proba(model.network, model.parameters, np.zeros((2, 3)))


def _read_synthetic() -> Mapping[str, Any]:
    columns = problems()["synthetic"].columns
    return {name: [0, 1, 2] if each.is_quantity else [each.categories[0]] * 3 for name, each in columns.items()}


def test_a_checkpoint_serves_no_other_network(local: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its sources changed, or what it does not train: the run waits for those that began it."""
    key = local.submit(ask("normed")).key
    work = WorkStore(local.database)
    monkeypatch.setattr(session, "COMMIT_SECONDS", 0.0)

    def pause(progress: Progress) -> None:
        if progress.step == 3:
            local.request(key, "pause")

    work_on(work, work.claim(key), on_commit=pause)
    assert local.row(key).status == "paused"
    local.request(key, "resume")
    with monkeypatch.context() as later:
        opened.OPENED.clear()
        later.setattr(opened, "hash_sources", lambda reference: "another")
        work_on(work, work.claim(key))
    row = local.row(key)
    assert row.status == "paused" and "network changed since its checkpoint. It is paused" in (row.error or "")
    opened.OPENED.clear()
    local.request(key, "resume")
    work_on(work, work.claim(key))
    assert local.row(key).status == "finished"


@pytest.mark.parametrize(
    ("network", "says"),
    [("nothing", "cannot be imported"), ("math", "must be a function"), ("Size", "could not be built|must build")],
)
def test_a_network_that_is_none_ends_a_run_before_anything_is_released(
    network: str, says: str, local: RunStore
) -> None:
    key = local.submit(ask(network)).key
    work = WorkStore(local.database)
    work_on(work, work.claim(key))
    row = local.row(key)
    assert row.status == "failed" and row.error is not None and local.record(key) is None
    assert any(part in row.error for part in says.split("|"))


def test_outputs_that_are_no_logits_are_told_in_the_record(local: RunStore) -> None:
    config = ask("squashed")
    finish(local, local.submit(config).key)
    record = local.record(config.key)
    assert record is not None and "ends in a sigmoid" in " ".join(record.warnings)


def test_what_pages_ask_of_a_run_runs_no_code_of_its_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairpriv_core.engine.modules.import_build", lambda reference: pytest.fail("it was imported"))
    config = ask("normed")

    def forget(key: str) -> Mapping[str, Any]:
        raise AssertionError(key)

    posted = plan_posting(config, find_record=forget)
    assert posted is not None
    assert checkpoint.bind(settings={}, data="")["network"] is None


def test_settings_of_an_mlp_do_not_go_with_it() -> None:
    data = DataSpec(dataset="synthetic", sensitive="group").to_json()
    method = {"name": "dp_sgd", "network": "a:b", "hidden_layers": 2}
    with pytest.raises(BadInput, match="hidden_layers is of network mlp, and a:b has layers of its own"):
        build_config({"data": data, "method": method, "epsilon": 1})


@pytest.mark.parametrize("network", ["tests.modules:normed", "mlp"])
def test_a_machine_says_on_which_device_its_runs_multiply(
    network: str, local: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PyTorch's CPU device, under a name that is not the kernel's own."""
    monkeypatch.setenv("FAIRPRIV_DEVICE", "cpu:0")
    method = {"name": "dp_sgd", "network": network, **SETTINGS["dp_sgd"]}
    config = build_config({"data": DATA, "method": method, "epsilon": 2})
    key = local.submit(config).key
    finish(local, key)
    record = local.record(key)
    assert record is not None and record.versions["device"] == "cpu:0"
    assert checkpoint.bind(settings={}, data="", device="cpu:0")["device"] == "cpu:0"
    assert checkpoint.bind(settings={}, data="", device="cpu")["device"] is None


def test_a_device_that_is_not_there_ends_a_run_with_a_sentence(
    local: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRPRIV_DEVICE", "cuda:99")
    key = local.submit(ask("normed")).key
    work = WorkStore(local.database)
    work_on(work, work.claim(key))
    row = local.row(key)
    assert row.status == "failed" and "device 'cuda:99' cannot be used here" in (row.error or "")
