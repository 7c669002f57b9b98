"""One release, many runs: what is used again is checked, costs nothing more and is counted once."""

from __future__ import annotations

from typing import Any

import pytest

from fairpriv_core.cli.ledger import answer_cap, answer_ledger
from fairpriv_core.errors import BadInput
from fairpriv_core.facts.terminal import format_record
from fairpriv_core.records.config import build_config
from fairpriv_core.records.record import RunRecord
from fairpriv_core.runs import session
from fairpriv_core.runs.execute import execute
from fairpriv_core.runs.foreground import train
from fairpriv_core.runs.session import MemoryJournal
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.claim import Progress
from fairpriv_core.store.runs import open_store
from fairpriv_core.store.work import WorkStore
from fairpriv_core.text import Reporter

DATA = {"dataset": "synthetic", "sensitive": "group"}


def _raw(**given: Any) -> dict[str, Any]:
    method = {"name": "one_release", "epochs": 2, **given.pop("method", {})}
    return {"data": DATA, "notion": "demographic_parity", "method": method, **given}


def _run(**given: Any) -> RunRecord:
    record = train(build_config(_raw(**given)), Reporter(say=lambda _: None, show=lambda _: None))[1]
    assert record is not None and record.status == "finished"
    return record


def _spent() -> float:
    (found,) = answer_ledger("synthetic", None, "group", None).document["ledgers"]
    return float(found["protected"][0]["epsilon"])


def test_a_run_on_a_release_costs_nothing_more_and_the_ledger_counts_it_once() -> None:
    first = _run(epsilon=0.5)
    spent = _spent()
    again = _run(reuse=first.key, notion="equalized_odds", method={"hidden_layers": 1, "width": 4, "gap_target": 0.1})
    assert again.epsilon == first.epsilon and again.event == first.event == again.released
    assert again.notes["statistic"] == first.notes["statistic"]
    assert f"that of run {first.key}" in format_record(again) and "that of run" not in format_record(first)
    assert again.calibrated["noise_statistic"] == first.calibrated["noise_statistic"]
    assert again.notes["released_gaps"] != first.notes["released_gaps"]
    assert _spent() == spent == pytest.approx(0.5, abs=1e-3)
    with open_store() as store:
        store.delete(first.key)
    assert _spent() == spent
    _run(epsilon=0.5, seed=0, method={"epochs": 3})
    assert _spent() > 1.3 * spent


def test_another_gap_on_a_softmax_of_group_and_label_is_counted_once() -> None:
    first = _run(epsilon=3.0, method={"name": "one_release_record", "gap_target": 1.0})
    spent = _spent()
    raw = {**_raw(reuse=first.key), "method": {"name": "one_release_record", "gap_target": 0.0}}
    _, again = train(build_config(raw), Reporter(say=lambda _: None, show=lambda _: None))
    assert again is not None
    assert again.epsilon == first.epsilon and again.event == first.event == again.released
    assert again.notes["joint"] == first.notes["joint"] and first.notes["multiplier"] == 0.0
    assert _spent() == spent > 3.0  # the attribute is replaced, where a record is zeroed out


def test_a_cap_that_is_used_up_lets_a_run_on_a_release_through() -> None:
    first = _run(epsilon=0.5)
    answer_cap("synthetic", "group", epsilon=0.7, delta=None, record=False, lift=False)
    with pytest.raises(BadInput, match="cap"):
        _run(epsilon=0.5, method={"epochs": 3})
    assert _run(reuse=first.key, notion="equal_opportunity").epsilon == first.epsilon


def test_a_paused_run_on_a_release_goes_on_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    first = _run(epsilon=0.5)
    monkeypatch.setattr(session, "COMMIT_SECONDS", 0.0)
    with open_store() as store:
        key = store.submit(build_config(_raw(reuse=first.key, notion="equalized_odds"))).key
        work = WorkStore(store.database)

        def ask(progress: Progress) -> None:
            if progress.step == 5:
                store.request(key, "pause")

        for _ in range(2):
            work_on(work, work.claim(key), on_commit=ask)
            if store.row(key).status == "paused":
                store.request(key, "resume")
        record = store.record(key)
    assert record is not None and record.status == "finished" and record.resumed_from_step > 0
    assert record.event == record.released == first.event
    assert record.notes["statistic"] == first.notes["statistic"]


def test_only_a_release_about_the_same_rows_with_a_proved_epsilon_can_be_used() -> None:
    first = _run(epsilon=0.5)
    shown = _run(epsilon=0.5, replay_noise=1)
    plain = _run(method={"name": "none"})
    for given, message in (
        ({"reuse": first.key, "seed": 1}, "about other training rows; seed must be as it was there"),
        ({"reuse": first.key, "data": {**DATA, "sensitive": "region"}}, "other training rows; data must be"),
        ({"reuse": plain.key}, f"reuse names run {plain.key}, which was trained with 'none', not 'one_release'"),
        ({"reuse": shown.key}, "cannot be used again: The noise can be repeated"),
        ({"reuse": "nobody"}, "no run 'nobody' in the store"),
        ({"reuse": first.key, "epsilon": 1}, f"epsilon and reuse exclude each other: run {first.key} has spent"),
        ({"reuse": first.key, "method": {"clip": 3.0}}, f"clip and reuse exclude each other: .* run {first.key}"),
        ({"reuse": first.key, "method": {"name": "pf_ld"}}, "'pf_ld' makes no release that another run can use; one_"),
    ):
        with pytest.raises(BadInput, match=message):
            _run(**given)
    with open_store() as store:
        assert len(store.rows()) == 3


def test_a_run_without_a_store_has_no_other_run_to_ask() -> None:
    with pytest.raises(BadInput, match="run any is not here: this run keeps no store"):
        execute(build_config(_raw(reuse="any")), MemoryJournal())


def test_a_config_without_it_keeps_its_key() -> None:
    config = build_config(_raw(epsilon=1))
    assert build_config({**config.to_json(), "reuse": None}).key == config.key
    assert build_config(_raw(reuse="a")).key != build_config(_raw(reuse="b")).key
