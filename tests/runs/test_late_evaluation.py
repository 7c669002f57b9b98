"""A private evaluation of a run that finished without one: what it releases, what it costs, and who may have it."""

from __future__ import annotations

from typing import Any

import pytest

from fairpriv_core.cli.ledger import answer_cap
from fairpriv_core.errors import BadInput
from fairpriv_core.ledger.late_evaluation import plan_late_evaluation, request_evaluation
from fairpriv_core.ledger.selection import take_epsilon
from fairpriv_core.privacy.accountants import epsilon
from fairpriv_core.privacy.event import Parallel, from_json
from fairpriv_core.privacy.ledger import compose
from fairpriv_core.records.config import build_config
from fairpriv_core.records.ledger_entry import identify_data
from fairpriv_core.records.record import RunRecord
from fairpriv_core.runs import evaluate as runs_evaluate
from fairpriv_core.runs.evaluate import compute
from fairpriv_core.runs.preview import run_preview
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.runs import RunStore
from fairpriv_core.store.work import WorkStore

DATA = {"dataset": "synthetic", "sensitive": "group"}
SYNTHETIC = identify_data("synthetic", None)


def finish(store: RunStore, **asked: Any) -> RunRecord:
    raw = {"data": DATA, "notion": "demographic_parity", "epsilon": 1.0, **asked}
    work, row = WorkStore(store.database), store.submit(build_config(raw))
    work_on(work, work.claim(row.key))
    record = store.record(row.key)
    assert record is not None and record.status == "finished"
    return record


def evaluate(store: RunStore, record: RunRecord) -> RunRecord:
    compute(str(store.database.path), request_evaluation(record.key, owner=store.payer))
    found = store.record(record.key)
    assert found is not None
    return found


def spend(store: RunStore) -> float:
    lines = [line.planned for line in store.ledger.lines(SYNTHETIC)]
    return compose(lines, "group").epsilon(1e-5)


def test_a_setting_on_a_shared_release_is_evaluated_at_its_cost(local: RunStore) -> None:
    source = finish(local, method={"name": "one_release", "epochs": 2})
    method = {"name": "one_release", "epochs": 2, "gap_target": 0.02}
    before = finish(local, method=method, reuse=source.key, epsilon=None)
    alone, planned = spend(local), plan_late_evaluation(before)[1]
    after = evaluate(local, before)
    found = after.metrics_private
    assert before.metrics_private is None and found is not None and after.is_covered
    assert found["noise"] == pytest.approx(2**0.5 * planned.noise_multiplier)
    assert found["accuracy"] == pytest.approx((after.metrics or {})["accuracy"], abs=0.05)
    [event] = from_json(after.event)
    assert isinstance(event, Parallel) and event.fixed and event.branches == (from_json(before.event), (planned,))
    assert after.epsilon == pytest.approx(max(before.epsilon or 0.0, epsilon((planned,), 1e-5)))
    assert after.epsilon == pytest.approx(before.epsilon, rel=2e-3)
    assert alone <= spend(local) <= 1.01 * alone, "test rows are not training rows"
    assert [line.what for line in local.ledger.lines(SYNTHETIC)] == ["one_release", "one_release", "evaluation"]
    assert local.records([after.key])[after.key] == after
    with pytest.raises(BadInput, match="is evaluated already"):
        evaluate(local, after)
    local.delete(after.key)
    assert local.ledger.lines(SYNTHETIC)[-1].what == "evaluation" or len(local.ledger.lines(SYNTHETIC)) == 3


def test_evaluations_of_one_split_add_up(local: RunStore) -> None:
    records = [finish(local, method={"name": "pf_ld", "epochs": 2}, seed=0, delta=delta) for delta in (1e-5, 1e-6)]
    evaluate(local, records[0])
    once = spend(local)
    evaluate(local, records[1])
    assert spend(local) >= once


def test_what_no_epsilon_covers_is_not_evaluated(local: RunStore) -> None:
    plain = finish(local, method={"name": "none", "epochs": 2}, epsilon=None)
    replayed = finish(local, method={"name": "pf_ld", "epochs": 2}, replay_noise=3)
    chosen = [finish(local, method={"name": "pf_ld", "epochs": epochs}) for epochs in (2, 3)]
    take_epsilon(local, [chosen[0].key], [each.key for each in chosen])
    lines = len(local.ledger.lines(SYNTHETIC))
    for record, why in ((plain, "is not private"), (replayed, "can be repeated"), (chosen[0], "chosen among 2 runs")):
        with pytest.raises(BadInput, match=f"no epsilon can cover an evaluation of run {record.key}: .*{why}"):
            evaluate(local, record)
    with pytest.raises(BadInput, match="is someone else's"):
        compute(str(local.database.path), request_evaluation(chosen[1].key, owner="https://id.example.org#ana"))
    assert len(local.ledger.lines(SYNTHETIC)) == lines


def test_of_two_evaluations_at_once_one_is_made(local: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second ends while the first is being made: the first is refused when it comes to pay, and shows nothing."""
    record, real = finish(local, method={"name": "pf_ld", "epochs": 2}), runs_evaluate._release

    def release_after_another(*given: Any) -> RunRecord:
        monkeypatch.setattr(runs_evaluate, "_release", real)
        evaluate(local, record)
        return real(*given)

    monkeypatch.setattr(runs_evaluate, "_release", release_after_another)
    with pytest.raises(BadInput, match=f"run {record.key} is evaluated already; nothing more was released"):
        evaluate(local, record)
    assert [line.what for line in local.ledger.lines(SYNTHETIC)].count("evaluation") == 1
    found = local.record(record.key)
    assert found is not None and found.metrics_private is not None


def test_a_cap_holds_an_evaluation_back(local: RunStore) -> None:
    records = [finish(local, method={"name": "dp_sgd", "epochs": 1}, delta=delta) for delta in (1e-5, 1e-6)]
    spent = compose([line.planned for line in local.ledger.lines(SYNTHETIC)], None).epsilon(1e-5)
    answer_cap("synthetic", None, epsilon=1.02 * spent, delta=None, record=True, lift=False)
    refused = 0
    for record in [*records, *records]:
        try:
            evaluate(local, record)
        except BadInput as error:
            refused += "the cap on whole records" in str(error)
    assert refused and len(local.ledger.lines(SYNTHETIC)) <= 4


def test_a_page_asks_and_a_worker_answers(local: RunStore) -> None:
    record = finish(local, method={"name": "pf_ld", "epochs": 2})
    local.previews.ask(request_evaluation(record.key, owner=local.payer))
    key = local.previews.claim()
    assert key is not None
    run_preview(str(local.database.path), key)
    answer, found = local.previews.look(key), local.record(record.key)
    assert (answer.status, answer.error) == ("finished", None)
    assert found is not None and found.metrics_private is not None
