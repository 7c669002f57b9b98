"""The ledger in the store: whatever was launched and however it ended, it counts."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fairpriv_core.errors import BadInput
from fairpriv_core.ledger.launch import foresee_launch, read_page
from fairpriv_core.privacy.accountants import epsilon
from fairpriv_core.privacy.event import Events, Gaussian, SampledGaussian, from_json, to_json
from fairpriv_core.privacy.ledger import Total, compose
from fairpriv_core.privacy.rdp import Cap
from fairpriv_core.records.config import build_config
from fairpriv_core.records.ledger_entry import identify_data, list_sensitive, record_posting
from fairpriv_core.records.record import failed_record
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.claim import Beginning, Ending, Progress
from fairpriv_core.store.runs import RunStore, open_store
from fairpriv_core.store.work import MOST_CRASHES, WorkStore
from tests.launched import DELTA, begin, commit, config, evaluated, finish, name
from tests.stores import ON_BOTH

PF_LD: Events = (Gaussian(9.0), SampledGaussian(9.0, 0.02, 100, "replace"))
DP_SGD: Events = (SampledGaussian(2.0, 0.02, 100),)


def total(store: RunStore, column: str | None = "group", dataset: str = "synthetic", *, planned: bool = False) -> Total:
    lines = store.ledger.lines(name(dataset))
    return compose([entry for line in lines if (entry := line.planned if planned else line.spent) is not None], column)


def cost(store: RunStore, column: str | None = "group", dataset: str = "synthetic", **how: bool) -> float:
    return total(store, column, dataset, **how).epsilon(DELTA)


def test_every_run_on_a_data_set_adds_up(store: RunStore) -> None:
    finish(store, config(), PF_LD)
    finish(store, config(seed=1, epsilon=2), PF_LD)
    finish(store, config(dataset="adult", sensitive="sex"), PF_LD)
    assert cost(store) == epsilon((*PF_LD, *PF_LD), DELTA)
    assert cost(store, "sex", "adult") == epsilon(PF_LD, DELTA)
    assert cost(store, None) == math.inf and "in clear" in total(store, None).unbounded[0]
    assert store.ledger.data_sets() == {name(): "synthetic", name("adult"): "adult"}


def test_what_others_did_counts_and_is_not_named(store: RunStore, tmp_path: Path) -> None:
    ana, bo = (RunStore(store.database, name) for name in ("ana", "bo"))
    path = tmp_path / "salaries of bo.csv"
    path.write_text("a,sex,y\n1,f,0\n", "utf-8")
    own = {"file": str(path), "label": "y", "positive": "1", "sensitive": "sex"}
    bo.submit(build_config({"data": own, "notion": "demographic_parity", "method": "pf_ld", "epsilon": 1}))
    finish(bo, config("dp_sgd"), DP_SGD)
    finish(bo, config(seed=3), PF_LD)
    assert set(ana.ledger.data_sets().values()) == {"synthetic"}
    assert set(bo.ledger.data_sets().values()) == set(store.ledger.data_sets().values()) == {"synthetic", path.name}
    for viewer, named in ((ana, False), (bo, True), (store, True)):
        [records, group, *_] = foresee_launch(read_page(viewer, name()), None, delta=DELTA)
        assert (records.runs, group.runs) == (2, 2) and records.reason is not None
        assert ("of somebody else" in records.reason) is not named
        keys = repr([line.planned for line in read_page(viewer, name()).lines])
        assert all((each.key in keys) is named for each in bo.rows() if each.config["data"]["dataset"])


def test_a_clone_a_new_attempt_and_a_changed_setting_count_beside_the_first(store: RunStore) -> None:
    for asked in (config(), config(), config(delta=1e-6)):
        finish(store, asked, PF_LD)
    assert len(store.rows()) == 3 and cost(store) == epsilon(PF_LD * 3, DELTA)


def test_a_record_release_is_in_every_columns_ledger_under_replacement(store: RunStore) -> None:
    finish(store, config("dp_sgd"), DP_SGD)
    replaced = epsilon((SampledGaussian(2.0, 0.02, 100, "replace"),), DELTA)
    assert (cost(store, None), cost(store), cost(store, "region")) == (epsilon(DP_SGD, DELTA), replaced, replaced)


def test_what_a_run_uses_in_clear_has_no_bound(store: RunStore) -> None:
    finish(store, config(dataset="adult", sensitive="sex"), PF_LD)
    assert cost(store, "sex", "adult") < 2
    for column in ("race", "education", "income"):
        assert total(store, column, "adult").unbounded[0].endswith("among what it predicts from or as its label.")
    crossed = finish(store, config(dataset="adult", sensitive="sex+race"), PF_LD)
    [line] = [line for line in store.ledger.lines(name("adult")) if line.planned.key == crossed]
    assert line.planned.sensitive == ("sex", "race")


@pytest.mark.parametrize(
    ("method", "given", "bounded"),
    [
        ("none", {}, True),
        ("f_ld", {}, False),
        ("pf_ld", {"epsilon": None, "epsilon_reason": "The published accounting does not hold."}, False),
        ("dp_sgd", {"epsilon": None, "epsilon_reason": "The noise can be repeated."}, False),
    ],
)
def test_a_run_without_a_bound_has_none_in_the_ledger(
    method: str, given: dict[str, Any], bounded: bool, store: RunStore
) -> None:
    finish(store, config(method), (), **given)
    assert (cost(store) == 0.0) == bounded and (cost(store) == math.inf) != bounded


def test_a_shared_release_counts_once_and_a_shared_sample_jointly(store: RunStore) -> None:
    release: Events = (Gaussian(4.0),)
    for seed in range(3):
        notes = {"shared_releases": {"statistic": to_json(release)}}
        finish(store, config(epsilon=1 + seed), (*release, *DP_SGD), notes=notes)
    assert cost(store) == epsilon((*release, SampledGaussian(2.0, 0.02, 300)), DELTA)


def test_models_on_one_secret_sample_are_one_gaussian_a_step(store: RunStore) -> None:
    for number in range(4):
        finish(store, config(epsilon=1 + number), DP_SGD, notes={"sample_stream": "s1"})
    assert cost(store) == pytest.approx(epsilon((SampledGaussian(1.0, 0.02, 100),), DELTA), abs=1e-9)


def test_training_and_evaluation_of_one_split_combine_by_the_larger(store: RunStore) -> None:
    evaluation: Events = (Gaussian(6.0),)
    finish(store, config(), evaluated(PF_LD, evaluation))
    finish(store, config(epsilon=2), evaluated(PF_LD, evaluation))
    alike = max(epsilon(PF_LD * 2, DELTA), epsilon(evaluation * 2, DELTA))
    assert cost(store) == alike
    finish(store, config(seed=1), evaluated((Gaussian(100.0),), evaluation))
    assert cost(store) == epsilon(evaluation * 3, DELTA) > alike, "who is tested under one seed may be under the other"


@ON_BOTH
def test_a_run_under_way_counts_by_what_it_has_committed_and_holds_back_its_plan(store: RunStore) -> None:
    work, claim, record = begin(store, config(), PF_LD)
    assert cost(store) == 0.0 and cost(store, planned=True) == epsilon(PF_LD, DELTA)
    commit(work, claim, PF_LD[:1])
    assert cost(store) == epsilon(PF_LD[:1], DELTA)
    work.crash([claim], "it was ended by SIGKILL")
    assert cost(store) == epsilon(PF_LD[:1], DELTA), "what it released stays, whoever died"
    work.begin(work.claim(claim.key), [Beginning(record, 10)])
    assert cost(store, planned=True) == epsilon(PF_LD, DELTA), "a retry from the checkpoint is the same release"


def test_a_run_that_failed_has_paid_for_what_it_released(store: RunStore) -> None:
    work, claim, record = begin(store, config(), PF_LD)
    ended = failed_record(record, released=PF_LD[:1], error="group 'B' is too small.")
    work.finish([claim], [Ending(ended, Progress(1, 0, 1.0), error_kind="failed")])
    assert cost(store) == epsilon(PF_LD[:1], DELTA)
    work, claim, record = begin(store, config(seed=7), DP_SGD)
    for attempt in range(MOST_CRASHES):
        [claim] = work.claim() if attempt else [claim]
        commit(work, claim, DP_SGD)
        work.crash([claim], "it was ended by SIGKILL")
    assert store.row(claim.key).status == "failed"
    assert cost(store) == pytest.approx(epsilon((Gaussian(9.0), *DP_SGD), DELTA), abs=0.01)


def test_a_cancelled_run_counts_its_planned_length(store: RunStore) -> None:
    work, claim, _ = begin(store, config(), PF_LD)
    commit(work, claim, PF_LD[:1])
    store.request(claim.key, "stop")
    work.hand_back([claim])
    assert cost(store) == epsilon(PF_LD, DELTA)


def test_deleting_gives_nothing_back_but_what_was_refused_cost_nothing(store: RunStore) -> None:
    key = finish(store, config(), PF_LD)
    before = cost(store)
    store.delete(key)
    assert store.rows() == [] and cost(store) == before == epsilon(PF_LD, DELTA)
    assert [line.status for line in store.ledger.lines(name())] == ["deleted"]
    work, claim, record = begin(store, config(seed=3), PF_LD)
    refused = failed_record(record, released=(), error="batch_size is too large.")
    work.finish([claim], [Ending(refused, Progress(0, 0, 0.0), error_kind="bad_input")])
    assert cost(store) == before
    store.delete(claim.key)
    assert cost(store) == before and len(store.ledger.lines(name())) == 1


def test_a_cap_refuses_what_does_not_fit_and_stores_nothing_of_it(store: RunStore) -> None:
    finish(store, config(), PF_LD)
    spent = cost(store)
    store.ledger.set_cap(name(), "group", Cap(spent + 0.4, DELTA), where="synthetic")
    with pytest.raises(BadInput, match=r"the cap on 'group' is epsilon = .* remains, and this would spend 1\.00"):
        store.submit(config(epsilon=1, seed=1))
    with pytest.raises(BadInput, match="and this would spend 1"):
        store.explore(config(epsilon=1, seed=1))
    with pytest.raises(BadInput, match="has no bound: it is not private and it uses 'group'; nothing was launched"):
        store.submit(config("f_ld"))
    assert len(store.rows()) == 1 and cost(store, planned=True) == spent
    assert store.submit(config("none")).status == "queued", "what never looks at the attribute costs it nothing"
    assert store.submit(config(epsilon=0.01, seed=1)).status == "queued"
    assert cost(store, planned=True) > spent == cost(store), "a queued run holds back what it plans"
    store.ledger.set_cap(name(), "group", None, where="synthetic")
    assert store.submit(config(epsilon=5, seed=2)).status == "queued"


def test_a_cap_below_what_is_spent_is_refused(store: RunStore) -> None:
    finish(store, config(), PF_LD)
    with pytest.raises(BadInput, match=r"cap 0\.1 on 'group' of synthetic is exceeded already: .* is spent or planned"):
        store.ledger.set_cap(name(), "group", Cap(0.1, DELTA), where="synthetic")
    with pytest.raises(BadInput, match="cap 5 on whole records of synthetic is exceeded already: an unbounded epsilon"):
        store.ledger.set_cap(name(), None, Cap(5, DELTA), where="synthetic")
    assert store.ledger.caps(name()) == {}


def test_a_run_that_was_queued_before_the_cap_is_held_under_it_when_it_begins(store: RunStore) -> None:
    store.submit(config(seed=5))
    store.ledger.set_cap(name(), "group", Cap(0.1, DELTA), where="synthetic")
    with pytest.raises(BadInput, match="nothing was launched"):
        begin(store, config(seed=5), PF_LD)
    assert cost(store, planned=True) == 0.0


@ON_BOTH
def test_of_two_launches_at_once_a_cap_lets_one_through(place: str) -> None:
    with open_store(place) as store:
        store.ledger.set_cap(name(), "group", Cap(1.2, DELTA), where="synthetic")

    def launch(seed: int) -> bool:
        with open_store(place) as own:
            try:
                own.submit(config(seed=seed))
            except BadInput:
                return False
            return True

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(launch, range(4))) == 1
    with open_store(place) as store:
        assert len(store.rows()) == 1


def test_the_same_people_are_one_data_set_whatever_it_is_called() -> None:
    assert name("bank") == name("bank_no_duration") != name("adult")
    assert identify_data(None, "a" * 16) == "a" * 16
    assert identify_data(None, "a" * 16) != identify_data(None, "b" * 16)


def test_columns_that_a_run_protects_are_those_found_in_its_data_or_all_that_its_text_may_mean() -> None:
    assert list_sensitive(None, "a+b") == ("a+b", "a", "b")
    assert list_sensitive(None, "a+b", ["A+b", "c"]) == ("a+b", "c")


def test_a_label_that_is_cut_is_used_in_clear(store: RunStore) -> None:
    asked = {"dataset": "adult", "sensitive": "sex", "label": "hours-per-week:40"}
    record = store.record(finish(store, config(data=asked), PF_LD))
    assert record is not None
    assert "hours-per-week" in (record_posting(record).entry.clear or ())
    own = {"data": {**asked, "dataset": None, "file": "own.csv", "positive": None}, "file_id": "a" * 16}
    own_record = replace(record, config={**record.config, **own})
    assert "hours-per-week" in (record_posting(own_record).entry.clear or ())


def test_two_runs_share_a_split_only_if_they_divided_the_rows_alike(store: RunStore) -> None:
    keys = [finish(store, config(**given), PF_LD) for given in ({}, {"epsilon": 2}, {"seed": 1})]
    first, alike, other = (record_posting(store.record(key)).entry.split for key in keys)  # type: ignore[arg-type]
    assert first == alike != other


def test_a_transaction_of_the_ledger_survives_a_power_cut(local: RunStore) -> None:
    def mode(connection: Any) -> Any:
        return connection.exec_driver_sql("PRAGMA synchronous").scalar()

    with local.database.ledger() as connection:
        assert mode(connection) == 2
    with local.database.write(durable=True) as connection:
        assert mode(connection) == 2
    with local.database.write() as connection:
        assert mode(connection) == 1


def test_what_a_real_run_keeps_of_its_release_is_known_as_shared(local: RunStore) -> None:
    asked = config({"name": "one_release", "epochs": 1})
    work = WorkStore(local.database)
    [claim] = work.claim(local.submit(asked).key)
    work_on(work, [claim])
    record = local.record(claim.key)
    assert record is not None and record.status == "finished"
    entry = record_posting(record).entry
    assert list(entry.shared.values()) == [entry.events] == [from_json(record.event)]
    alike = replace(entry, key="another run on the same release")
    assert compose([entry, alike], "group").epsilon(DELTA) == epsilon(entry.events, DELTA)
