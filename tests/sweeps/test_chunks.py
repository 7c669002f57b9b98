"""Runs of one chunk: claimed, committed and ended together, with the results that each has alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairpriv_core.errors import RunFailed
from fairpriv_core.privacy.event import SampledGaussian, from_json
from fairpriv_core.privacy.ledger import compose
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.records.config import RunConfig
from fairpriv_core.records.ledger_entry import identify_data, record_posting
from fairpriv_core.records.model import Model
from fairpriv_core.records.record import FAILED_SENTENCE, SHARED_SAMPLES_ASSUMED, RunRecord
from fairpriv_core.records.reuse import SAMPLE_STREAM
from fairpriv_core.runs import session, worker
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.claim import Claim, Progress
from fairpriv_core.store.curves import SWEPT_POINTS
from fairpriv_core.store.runs import RunStore, open_store
from fairpriv_core.store.sweeps import SweepStore
from fairpriv_core.store.work import MOST_CRASHES, WorkStore
from fairpriv_core.sweeps.plan import Chunk, form_chunks
from tests.stores import ON_BOTH

CHUNK, OTHER = "c" * 16, "d" * 16
Configure = Callable[..., RunConfig]
Value = tuple[int, str, float | None]
NAMES = ("accuracy", "balanced_accuracy", "roc_auc", "demographic_parity_gap", "equalized_odds_gap")


@pytest.fixture
def commit_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "COMMIT_SECONDS", 0.0)
    monkeypatch.setattr(session, "MOST_COMMIT_SECONDS", 0.0)


def submit(store: RunStore, configs: Sequence[RunConfig]) -> list[str]:
    """Queue runs as one chunk; return their keys."""
    SweepStore(store).submit([(config, CHUNK) for config in configs])
    return [config.key for config in configs]


def work_off(store: RunStore) -> list[tuple[str, ...]]:
    """Work until nothing waits; return the keys that were claimed together, in order."""
    work, taken = WorkStore(store.database), []
    while claims := work.claim():
        taken.append(tuple(claim.key for claim in claims))
        work_on(work, claims)
    return taken


def finished(store: RunStore, key: str) -> RunRecord:
    record = store.record(key)
    assert record is not None and record.status == "finished", record and record.error
    return record


def parameters(store: RunStore, key: str) -> np.ndarray:
    return Model.read(partial(store.artifact, key)).parameters


def small_groups(tmp_path: Path, config: RunConfig) -> RunConfig:
    """Return a config on a file of 600 rows with a group of 120."""
    path = tmp_path / "own.csv"
    lines = [f"{'few' if row % 5 == 0 else 'many'},{row % 3},{'yes' if row % 7 < 3 else 'no'}" for row in range(600)]
    path.write_text("\n".join(["side,size,label", *lines]) + "\n")
    data = replace(config.data, dataset=None, file=str(path), label="label", positive="yes", sensitive="side")
    return replace(config, data=data)


def test_which_runs_train_together_follows_from_all_of_them_alone(configure: Configure) -> None:
    cells = [configure("f_ld", multiplier_max=m, seed=s) for s in range(4) for m in (0.5, 1.0, 2.0)]
    alone = [configure("jagielski_post", difference_bound=bound) for bound in (0.01, 0.02)]
    odd = [configure("f_ld", epochs=3), *alone, configure()]
    chunks = form_chunks([*cells, *odd])
    assert [len(chunk.configs) for chunk in chunks] == [12, 1, 1, 1, 1]
    assert [chunk.id for chunk in chunks] == [chunk.id for chunk in form_chunks([*cells, *odd])]
    assert {c.key for chunk in chunks for c in chunk.configs} == {config.key for config in [*cells, *odd]}
    none = configure("f_ld", multiplier_max=0.0)
    assert len(form_chunks([*cells, none])) == 2, "a penalty of 0 switches a part of the method off"


def test_a_chunk_has_as_many_models_as_pay_and_whole_seeds(configure: Configure) -> None:
    def sizes(chunks: list[Chunk]) -> list[int]:
        return [len(chunk.configs) for chunk in chunks]

    wide = [configure("f_ld", multiplier_max=0.1 + m, seed=s) for s in range(15) for m in range(40)]
    assert sizes(form_chunks(wide)) == [80] * 7 + [40]
    assert sizes(form_chunks(wide, {config.key: 2**30 for config in wide})) == [40] * 15
    unlike = {config.key: 4000 + config.seed % 2 for config in wide}
    assert all(len({config.seed % 2 for config in chunk.configs}) == 1 for chunk in form_chunks(wide, unlike))
    own = [replace(config, method=configure("pf_ld", multiplier_max=1.0 + at).method) for at, config in enumerate(wide)]
    assert max(sizes(form_chunks(own))) == 32
    shared = [replace(config, share_samples=True) for config in own]
    assert sizes(form_chunks(shared)) == sizes(form_chunks(wide))
    deep = [configure("f_ld", hidden_layers=2, multiplier_max=0.1 + m) for m in range(64)]
    assert sizes(form_chunks(deep)) == [8] * 8
    images = [configure("dp_sgd", network="cnn_small", clip_primal=0.1 + m) for m in range(5)]
    assert sizes(form_chunks(images)) == [1] * 5


def assert_thinned(kept: list[Value], shown: list[Value]) -> None:
    """Assert that a swept run kept up to SWEPT_POINTS of each curve that it keeps, and what the run alone has there."""
    whole = {(step, name): value for step, name, value in shown}
    accuracies = [step for step, name, _ in kept if name == "test/accuracy"]
    assert 1 <= len(accuracies) <= SWEPT_POINTS
    assert accuracies[-1] == max(step for step, name, _ in shown if name == "test/accuracy")
    for step, name, value in kept:
        if name == "test/accuracy":
            assert value == pytest.approx(whole[step, name], abs=2e-3)


@pytest.mark.parametrize("method", ["pf_ld", "dp_sgd", "one_release"])
def test_a_chunk_gives_what_its_runs_give_alone(
    method: str, tmp_path: Path, local: RunStore, configure: Configure
) -> None:
    configs = [
        configure(method, batch_size=600, replay_noise=at, seed=at // 2, learning_rate=0.02 + 0.01 * at)
        for at in range(4)
    ]
    keys = submit(local, configs)
    assert work_off(local) == [tuple(sorted(keys))]
    with open_store(str(tmp_path / "alone.db")) as alone:
        for config in configs:
            alone.submit(config)
        assert len(work_off(alone)) == 4
        for key in keys:
            expected, record = finished(alone, key), finished(local, key)
            assert np.allclose(parameters(local, key), parameters(alone, key), rtol=1e-4, atol=1e-6)
            assert record.metrics is not None and expected.metrics is not None
            for name in NAMES:  # rounding may move a score across the threshold: one row of 2,000
                assert record.metrics[name] == pytest.approx(expected.metrics[name], abs=2e-3)
            assert (record.event, record.calibrated) == (expected.event, expected.calibrated)
            assert_thinned(local.metrics(key), alone.metrics(key))


@pytest.mark.usefixtures("commit_often")
@pytest.mark.parametrize("shared", [False, True])
def test_a_chunk_that_was_interrupted_gives_the_same_bits(
    shared: bool, tmp_path: Path, local: RunStore, configure: Configure
) -> None:
    cells = [configure("dp_fermi", replay_noise=1, multiplier=0.5 + at, seed=at % 2) for at in range(4)]
    configs = [replace(cell, share_samples=shared) for cell in cells]
    with open_store(str(tmp_path / "other.db")) as other:
        keys = submit(other, configs)
        work_off(other)
        submit(local, configs)
        work = WorkStore(local.database)
        for stop in (2, 7, 20):
            claims = work.claim()
            with pytest.raises(KeyboardInterrupt):
                work_on(work, claims, on_commit=lambda progress, stop=stop: interrupt(progress, stop))
            assert {local.row(key).step for key in keys} == {local.row(keys[0]).step} and local.row(
                keys[0]
            ).step >= stop
            work.hand_back(claims)
        assert work_off(local) == [tuple(sorted(keys))]
        for key in keys:
            record, expected = finished(local, key), finished(other, key)
            assert record.resumed_from_step >= 20
            assert (record.metrics, record.event, record.notes) == (expected.metrics, expected.event, expected.notes)
            assert np.array_equal(parameters(local, key), parameters(other, key))
            assert local.row(key).chunk == CHUNK and record.seconds > 0


def test_runs_of_a_seed_share_samples_where_that_is_asked(local: RunStore, configure: Configure) -> None:
    cells = [configure("dp_sgd", clip_primal=0.5 + at, seed=at % 2) for at in range(4)]
    keys = submit(local, [replace(cell, share_samples=True) for cell in cells])
    work_off(local)
    records = [finished(local, key) for key in keys]
    streams = [record.notes[SAMPLE_STREAM] for record in records]
    assert streams[0] == streams[2] != streams[1] == streams[3]
    assert all(SHARED_SAMPLES_ASSUMED in record.assumptions for record in records)
    assert all(0.99 < (record.epsilon or 0.0) <= 1 for record in records)
    entries = [line.planned for line in local.ledger.lines(record_posting(records[0]).data)]
    joint, own = compose(entries, None), compose([replace(entry, stream=None) for entry in entries], None)
    assert joint.epsilon(1e-5) > 1.1 * own.epsilon(1e-5)


def interrupt(progress: Progress, stop: int) -> None:
    if progress.step >= stop:
        raise KeyboardInterrupt


def test_a_run_that_fails_in_a_chunk_ends_alone(tmp_path: Path, local: RunStore, configure: Configure) -> None:
    noises = {"noise_primal": 2.0, "noise_dual": 2.0}
    base = replace(small_groups(tmp_path, configure("pf_ld")), epsilon=None, replay_noise=1)
    method: Any = base.method
    configs = [replace(base, method=replace(method, noise_counts=noise, **noises)) for noise in (2.0, 200.0, 3.0, 4.0)]
    keys = submit(local, configs)
    claimed = work_off(local)
    assert [local.row(key).status for key in keys] == ["finished", "failed", "finished", "finished"]
    sizes = [len(taken) for taken in claimed]
    assert sizes[:2] == [4, 2] and sorted(sizes[2:]) == [1, 1, 2], "each half again, whichever is claimed first"
    failed, row = local.record(keys[1]), local.row(keys[1])
    assert failed is not None and failed.status == "failed" and row.error_kind == "failed"
    assert row.error == failed.error and "noisy" in (row.error or "")
    assert [event["count"] for event in failed.released] == [1], "released once, however often it is tried"
    assert FAILED_SENTENCE in failed.warnings and len(failed.event) == 3
    counted = record_posting(failed).entry.events
    assert counted == from_json(failed.released) != from_json(failed.event)
    assert all(finished(local, key).event == finished(local, key).released for key in keys if key != keys[1])
    assert local.row(keys[1]).crashes == 0


def count_noise(local: RunStore, base: RunConfig, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Work off four runs with secret noise, of which one breaks off after its release; return how often each was tried.

    Of each run, how many unlike vectors were released as its counts comes after.
    """
    honest, seen = Mechanism.gaussian, dict[float, list[bytes]]()

    def release(self: Mechanism, value: np.ndarray, **told: Any) -> np.ndarray:
        out = honest(self, value, **told)
        if told["purpose"] == "counts":
            seen.setdefault(told["noise_multiplier"], []).append(out.tobytes())
            if told["noise_multiplier"] == 2.5:
                raise RunFailed("it breaks off here.")
        return out

    monkeypatch.setattr(Mechanism, "gaussian", release)
    method: Any = base.method
    noises = {"noise_primal": 2.0, "noise_dual": 2.0}
    configs = [replace(base, method=replace(method, noise_counts=level, **noises)) for level in (2.0, 2.5, 3.0, 4.0)]
    submit(local, configs)
    work_off(local)
    return [*(len(each) for each in seen.values()), *(len(set(each)) for each in seen.values())]


def test_what_a_split_chunk_released_is_released_with_one_noise(
    tmp_path: Path, local: RunStore, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = replace(small_groups(tmp_path, configure("pf_ld")), epsilon=None)
    found = count_noise(local, base, monkeypatch)
    assert max(found[:4]) > 1, "some were tried again"
    assert found[4:] == [1] * 4


def test_a_split_chunk_that_starts_with_fresh_noise_is_caught(
    tmp_path: Path, local: RunStore, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same sizes with another noise each time: their mean has less noise than is counted."""
    honest = WorkStore.split
    monkeypatch.setattr(WorkStore, "split", lambda work, claims, kept: honest(work, claims, [None] * len(claims)))
    base = replace(small_groups(tmp_path, configure("pf_ld")), epsilon=None)
    assert max(count_noise(local, base, monkeypatch)[4:]) > 1


@pytest.mark.parametrize("again", [2, 5], ids=["earlier", "at the same step"])
def test_what_a_split_chunk_released_stays_counted(
    local: RunStore, configure: Configure, monkeypatch: pytest.MonkeyPatch, again: int
) -> None:
    """Two runs break off at step 5, uncommitted, and begin anew alone: at no commit they count less than before."""
    base, honest = configure("dp_sgd", epochs=1, batch_size=600), Mechanism._count_sum
    tries, counted = list[int](), list[dict[str, int]]()
    method: Any = base.method
    levels = [replace(base, epsilon=None, method=replace(method, noise_primal=level)) for level in (2.0, 3.0)]
    breaking = submit(local, levels)[1]

    def count(self: Mechanism, event: SampledGaussian, step: int, part: str) -> None:
        honest(self, event, step, part)
        if event.noise_multiplier == 3.0 and step == (5 if len(tries) == 1 else again):
            raise RunFailed("it breaks off here.")

    def look(_: Any = None) -> None:
        spent = [line.spent for line in local.ledger.lines(identify_data(base.data.dataset, None))]
        counted.append({each.key: sum(event.count for event in each.events) for each in spent if each is not None})

    monkeypatch.setattr(Mechanism, "_count_sum", count)
    monkeypatch.setattr(session, "COMMIT_SECONDS", 1e9)  # the first try commits nothing by itself
    work = WorkStore(local.database)
    while claims := work.claim():
        tries.append(len(claims))
        work_on(work, claims, on_commit=look)
        look()
        monkeypatch.setattr(session, "COMMIT_SECONDS", 0.0)
    assert tries == [2, 1, 1] and min(counted[0].values()) >= 5
    for key in counted[0]:
        course = [each[key] for each in counted]
        assert course == sorted(course), f"run {key}"
    failed = local.record(breaking)
    assert failed is not None and failed.status == "failed"
    assert [event["count"] for event in failed.released] == [counted[0][breaking]]


def test_a_run_whose_settings_are_refused_leaves_the_others_alone(local: RunStore, configure: Configure) -> None:
    configs = [configure("dp_sgd", seed=seed) for seed in range(3)]
    wrong = configure("dp_sgd", batch_size=100_000)
    submit(local, [*configs, wrong])
    assert len(work_off(local)) == 1
    assert local.row(wrong.key).error_kind == "bad_input"
    assert all(finished(local, config.key) for config in configs)


@pytest.mark.usefixtures("commit_often")
def test_a_pause_and_a_stop_reach_one_run_of_a_chunk(local: RunStore, configure: Configure) -> None:
    keys = submit(local, [configure("dp_sgd", epochs=1, batch_size=600, seed=seed) for seed in range(4)])
    work = WorkStore(local.database)

    def ask(progress: Progress) -> None:
        if progress.step == 3:
            local.request(keys[0], "pause")
            local.request(keys[1], "stop")

    work_on(work, work.claim(), on_commit=ask)
    assert [local.row(key).status for key in keys] == ["paused", "cancelled", "queued", "queued"]
    assert {local.row(key).step for key in keys} == {4}
    local.request(keys[0], "resume")
    assert {len(taken) for taken in work_off(local)} == {3}, "at the same step they go on together"
    for key in (keys[0], *keys[2:]):
        assert finished(local, key).resumed_from_step == 4
    cancelled = local.record(keys[1])
    assert cancelled is not None and cancelled.released[0]["count"] == 4


def test_a_chunk_that_keeps_dying_is_split_until_the_run_is_found(
    local: RunStore, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = submit(local, [configure(seed=seed) for seed in range(4)])
    deadly, work, sizes = keys[2], WorkStore(local.database), []
    while claims := work.claim():
        sizes.append(len(claims))
        if deadly in [claim.key for claim in claims]:
            work.crash(claims, "it was ended by SIGKILL")
        else:
            work_on(work, claims)
    assert sizes[:MOST_CRASHES] == [4] * MOST_CRASHES and sorted(sizes[MOST_CRASHES:]) == [1, 1, 2, 2]
    assert [local.row(key).status for key in keys] == ["finished", "finished", "failed", "finished"]
    assert local.row(deadly).error_kind == "crashed"


def test_an_error_in_the_code_is_pinned_on_one_run(
    local: RunStore, configure: Configure, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = worker.train_together
    keys = submit(local, [configure(seed=seed) for seed in range(4)])

    def break_down(plans: list[worker.Plan], *rest: object) -> list[worker.FitOutcome]:
        if any(plan.config.seed == 1 for plan in plans):
            raise ValueError("no such thing")
        return real(plans, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(worker, "train_together", break_down)
    work_off(local)
    assert [local.row(key).status for key in keys] == ["finished", "failed", "finished", "finished"]
    assert "ValueError: no such thing" in (local.row(keys[1]).error or "")


@ON_BOTH
def test_claims_are_of_a_whole_chunk_at_one_step(store: RunStore, configure: Configure) -> None:
    configs = [configure(seed=seed) for seed in range(6)]
    sweeps, work = SweepStore(store), WorkStore(store.database)
    sweeps.submit([(config, CHUNK if config.seed < 4 else OTHER) for config in configs])
    keys = [config.key for config in configs]
    alone = work.claim(keys[1])
    assert [claim.key for claim in alone] == [keys[1]]
    assert {claim.key for claim in work.claim(chunk=OTHER)} == set(keys[4:])
    rest = work.claim()
    assert {claim.key for claim in rest} == {keys[0], *keys[2:4]} and work.claim() == ()
    work.split(rest, [None] * len(rest))
    parts = [work.claim(chunk=CHUNK), work.claim(chunk=CHUNK)]
    assert sorted(len(part) for part in parts) == [1, 2] and work.claim(chunk=CHUNK) == ()
    assert {key for part in parts for key in chunk_of(store, part)} == {f"{CHUNK}.0", f"{CHUNK}.1"}
    assert sweeps.waiting([CHUNK]) == 4 and sweeps.waiting([OTHER, CHUNK]) == 6


def chunk_of(store: RunStore, claims: Sequence[Claim]) -> set[str | None]:
    return {store.row(claim.key).chunk for claim in claims}
