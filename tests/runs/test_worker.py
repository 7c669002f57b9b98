"""Runs in this process: what they store, how they are interrupted, and that going on gives the same bits."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairpriv_core.privacy.accountants import epsilon
from fairpriv_core.privacy.event import from_json
from fairpriv_core.records.config import RunConfig
from fairpriv_core.records.model import Model
from fairpriv_core.records.record import RunRecord
from fairpriv_core.runs import session, worker
from fairpriv_core.runs.execute import execute
from fairpriv_core.runs.session import MemoryJournal
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store import checkpoint
from fairpriv_core.store.claim import Progress
from fairpriv_core.store.runs import RunStore, open_store
from fairpriv_core.store.work import WorkStore
from tests.stores import ON_BOTH

Configure = Callable[..., RunConfig]
LARGE = 600  # rows in a batch: ten steps an epoch, each of which is committed


@pytest.fixture(autouse=True)
def commit_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "COMMIT_SECONDS", 0.0)


def run_to(store: RunStore, key: str, *, ask: str = "", at: int = 0) -> None:
    """Work on a run; at step `at`, `ask` for a pause or a stop."""
    work = WorkStore(store.database)

    def watch(progress: Progress) -> None:
        if ask and progress.step == at:
            store.request(key, ask)

    claims = work.claim(key)
    assert len(claims) == 1
    work_on(work, claims, on_commit=watch)


def finished(store: RunStore, key: str) -> RunRecord:
    record = store.record(key)
    assert record is not None and record.status == "finished"
    return record


def parameters(store: RunStore, key: str) -> np.ndarray:
    return Model.read(partial(store.artifact, key)).parameters


@ON_BOTH
def test_a_finished_run_leaves_a_record_that_says_it_all(store: RunStore, configure: Configure) -> None:
    key = store.submit(configure("pf_ld", epochs=3)).key
    run_to(store, key)
    row, record = store.row(key), finished(store, key)
    assert (row.status, row.step, row.steps, row.epoch) == ("finished", record.steps, record.steps, 3)
    assert RunRecord.from_json(json.loads(record.to_text())) == record
    assert record.threat_model == "attribute" and record.variant == "proved"
    assert record.epsilon == pytest.approx(epsilon(from_json(record.event), record.delta)) and record.epsilon <= 1
    assert record.epsilon_published is not None and record.epsilon_reason is None
    assert record.event == record.released and record.resumed_from_step == 0 and record.seconds > 0
    assert record.metrics is not None and record.metrics_are_raw and "not covered by ε" in record.metrics_note
    assert record.assumptions and record.versions["torch"] and record.calibrated["noise_primal"] > 0
    curve = [(step, value) for step, name, value in store.metrics(key) if name == "epsilon"]
    assert curve[-1] == (record.steps, record.epsilon) and [value for _, value in curve] == sorted(v for _, v in curve)
    names = {name for _, name, _ in store.metrics(key)}
    assert {"train/loss", "test/accuracy", "test/demographic_parity_gap", "group/A/positive_rate"} <= names
    assert any(name.startswith("multiplier/") for name in names) and store.row(key).epoch == 3 and store.histograms(key)


@pytest.mark.parametrize("method", ["dp_sgd", "pf_ld"])
def test_a_replayed_run_gives_the_same_bits_paused_or_not(
    method: str, tmp_path: Path, store: RunStore, configure: Configure
) -> None:
    config = configure(method, epochs=3, batch_size=LARGE, replay_noise=11)
    with open_store(str(tmp_path / "other.db")) as other:
        undisturbed = other.submit(config).key
        run_to(other, undisturbed)
        expected, expected_parameters = finished(other, undisturbed), parameters(other, undisturbed)
        curves = other.metrics(undisturbed)
    key, epochs = store.submit(config).key, []
    for at in (1, expected.steps // 3, expected.steps // 2 + 1):
        run_to(store, key, ask="pause", at=at)
        assert store.row(key).status == "paused"
        epochs.append(store.row(key).epoch)
        store.request(key, "resume")
    assert epochs == sorted(epochs) and epochs[-1] == 1
    run_to(store, key)
    record = finished(store, key)
    assert key == undisturbed
    assert record.resumed_from_step == expected.steps // 2 + 2
    assert (record.metrics, record.event, record.notes) == (expected.metrics, expected.event, expected.notes)
    assert np.array_equal(parameters(store, key), expected_parameters)
    assert store.metrics(key) == curves
    assert record.epsilon is None and expected.epsilon_reason


def test_a_replayed_run_has_no_epsilon_and_says_what_it_would_be(local: RunStore, configure: Configure) -> None:
    key = local.submit(configure("dp_sgd", batch_size=LARGE, replay_noise=3)).key
    run_to(local, key)
    record = finished(local, key)
    assert record.epsilon is None and "replay_noise = 3" in (record.epsilon_reason or "")
    assert record.epsilon_if_secret is not None and 0.9 < record.epsilon_if_secret <= 1
    assert not [name for _, name, _ in local.metrics(key) if name == "epsilon"] and local.row(key).epsilon is None


def test_one_seed_gives_one_start_and_split_but_other_noise(configure: Configure) -> None:
    first, second = (execute(configure("pf_ld", seed=4), MemoryJournal()) for _ in range(2))
    assert first.train.digest == second.train.digest and np.array_equal(first.train.X, second.train.X)
    assert first.record.event == second.record.event
    assert not np.array_equal(first.fitted.parameters, second.fitted.parameters)


def test_a_stop_leaves_what_was_spent(store: RunStore, configure: Configure) -> None:
    key = store.submit(configure("dp_sgd")).key
    run_to(store, key, ask="stop", at=3)
    record = store.record(key)
    assert record is not None and (record.status, record.steps) == ("cancelled", 4)
    assert record.released[0]["count"] == 4 < record.event[0]["count"]
    assert record.epsilon is not None and record.epsilon > 0.9
    assert "planned length" in record.warnings[-1]


def test_a_crash_is_tried_again_and_then_fails(
    store: RunStore, configure: Configure, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def break_down(*_: Any) -> None:
        raise ValueError("no such thing")

    monkeypatch.setattr(worker, "train_together", break_down)
    key = store.submit(configure()).key
    for expected in ("queued", "queued", "failed"):
        run_to(store, key)
        assert store.row(key).status == expected
    assert "ValueError: no such thing" in (store.row(key).error or "")
    assert "Traceback" in capsys.readouterr().err


def test_bad_input_ends_a_run_at_once(store: RunStore, configure: Configure) -> None:
    key = store.submit(configure(batch_size=100_000)).key
    run_to(store, key)
    row = store.row(key)
    assert (row.status, row.error_kind, row.attempt) == ("failed", "bad_input", 1)
    assert "batch_size must be at most the 6000 training rows, got 100000" in (row.error or "")
    store.delete(key)
    assert store.tombstones() == []


def test_a_group_below_its_noisy_floor_has_paid_for_its_count(
    tmp_path: Path, local: RunStore, configure: Configure
) -> None:
    path = tmp_path / "own.csv"
    lines = [f"{'few' if row % 60 == 0 else 'many'},{row % 3},{'yes' if row % 7 < 3 else 'no'}" for row in range(600)]
    path.write_text("\n".join(["side,size,label", *lines]) + "\n")
    config = configure("pf_ld")
    data = replace(config.data, dataset=None, file=str(path), label="label", positive="yes", sensitive="side")
    key = local.submit(replace(config, data=data, epsilon=10.0)).key
    run_to(local, key)
    record, row = local.record(key), local.row(key)
    assert record is not None and (record.status, row.error_kind) == ("failed", "failed")
    assert "'few'" in (record.error or "") and row.error == record.error
    assert [event["kind"] for event in record.released] == ["gaussian"] and record.metrics is None
    assert len(record.event) == 3 and record.epsilon == pytest.approx(
        10, rel=1e-2
    )  # as planned: where it broke off tells
    local.delete(key)
    assert local.tombstones()[0]["event"] == record.released


def test_a_checkpoint_serves_no_other_code(
    store: RunStore, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = store.submit(configure("dp_sgd", batch_size=LARGE)).key
    run_to(store, key, ask="pause", at=3)
    store.request(key, "resume")
    with monkeypatch.context() as later:
        later.setattr(checkpoint, "hash_code", lambda: "another")
        run_to(store, key)
        row = store.row(key)
        assert row.status == "paused" and row.step == 4
        assert "cannot go on from step 4: code changed since its checkpoint. It is paused" in (row.error or "")
    store.request(key, "resume")
    run_to(store, key)  # by the version that began it
    row = store.row(key)
    assert (row.status, row.error, row.resumed_from_step) == ("finished", None, 4)


def test_a_checkpoint_serves_no_other_settings(
    store: RunStore, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = store.submit(configure("dp_sgd")).key
    run_to(store, key, ask="pause", at=3)
    store.request(key, "resume")
    monkeypatch.setattr(session, "bind", lambda **given: checkpoint.bind(**given) | {"settings": "others"})
    run_to(store, key)
    record = store.record(key)
    assert record is not None and record.status == "failed"
    assert "cannot go on from step 4: settings changed since its checkpoint; start it anew" in (record.error or "")
    assert record.released[0]["count"] == 4


def test_a_delta_that_lets_a_row_out_is_warned_of(configure: Configure) -> None:
    record = execute(replace(configure("dp_sgd"), delta=1e-3), MemoryJournal()).record
    assert record.warnings and "δ = 0.001 is not below 1/n" in record.warnings[0]


def test_what_is_exported_holds_no_secret(store: RunStore, configure: Configure) -> None:
    key = store.submit(configure("pf_ld", batch_size=LARGE)).key
    run_to(store, key, ask="pause", at=5)
    work = WorkStore(store.database)
    store.request(key, "resume")
    [claim] = work.claim(key)
    saved = work.checkpoint(claim)
    assert saved is not None
    master = saved.arrays()["mechanism_randomness"].tobytes()[1:]
    work.hand_back([claim])
    run_to(store, key)
    exported = finished(store, key).to_text() + json.dumps(store.metrics(key)) + repr(store.histograms(key))
    blobs = exported.encode() + store.artifact(key, "model.safetensors") + store.artifact(key, "model.json")
    assert master not in blobs and master.hex().encode() not in blobs
    assert work.checkpoint(claim) is None
