"""A sweep that a page asks for: a worker tells its cost and launches it once; the queue keeps its phases."""

from __future__ import annotations

from typing import Any

import pytest

from fairpriv_core.cli.ledger import answer_cap
from fairpriv_core.errors import BadInput
from fairpriv_core.runs.preview import run_preview
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.runs import RunStore
from fairpriv_core.store.sweeps import SweepStore
from fairpriv_core.store.work import WorkStore
from fairpriv_core.sweeps.launch import compute, list_launched, request_cost, request_launch
from tests.stores import ON_BOTH

DATA = {"dataset": "synthetic", "sensitive": "group"}
BASE = {"data": DATA, "notion": "demographic_parity"}
FEW = {**BASE, "method": {"name": "pf_ld", "epochs": 2}, "axes": {"epsilon": [1, 3], "seed": [0, 1]}}
FRONTIER = {
    **BASE,
    "method": {"name": "one_release", "epochs": 2},
    "axes": {"epsilon": [1.0], "method": {"gap_target": [0.01, 0.02, 0.04]}},
    "sweep": {"share_release": True},
}


@pytest.fixture
def here(local: RunStore) -> str:
    return str(local.database.path)


def launch(place: str, raw: dict[str, Any], *, confirmed: bool = False) -> int:
    return int(compute(place, request_launch(raw, owner="local", confirmed=confirmed))["launched"])


def test_a_sweep_tells_its_cost_and_launches_nothing(local: RunStore, here: str) -> None:
    told = compute(here, request_cost(FEW, owner="local"))
    assert (told["cost"]["runs"], told["cost"]["new"], len(set(told["keys"]))) == (4, 4, 4)
    assert told["refusal"] is None and told["cost"]["seconds"] > 0 and told["max_runs"] == 100
    [item] = [item for item in told["cost"]["protected"] if item["column"] == "group"]
    assert item["most_alone"] == pytest.approx(3, rel=0.02) and item["epsilon"] > 3
    assert not local.rows()


def test_a_store_that_shows_some_data_lists_the_sweeps_on_these_alone(local: RunStore) -> None:
    both = {
        "notion": "demographic_parity",
        "axes": [{"data": [DATA], "seed": [0]}, {"data": [{"dataset": "adult", "sensitive": "sex"}], "seed": [0]}],
    }
    for raw in (FEW, both):
        list_launched(local, raw, {"new": 2}, [])
    listed = [
        len(SweepStore(RunStore(local.database, data_sets=shown)).launched())
        for shown in (None, ["synthetic"], ["synthetic", "adult"], ["adult"])
    ]
    assert listed == [2, 1, 2, 0]


def test_launching_twice_launches_once(local: RunStore, here: str) -> None:
    assert [launch(here, FEW), launch(here, FEW)] == [4, 0]
    assert [row.status for row in local.rows()] == ["queued"] * 4


def test_more_runs_than_the_sweep_lets_start_must_be_confirmed(local: RunStore, here: str) -> None:
    raw = {**FEW, "sweep": {"max_runs": 3}}
    with pytest.raises(BadInput, match="4 runs would start, and more than 3"):
        launch(here, raw)
    assert not local.rows()
    assert launch(here, raw, confirmed=True) == 4


def test_a_cap_is_told_before_and_holds_at_the_launch(local: RunStore, here: str) -> None:
    answer_cap("synthetic", "group", record=False, lift=False, epsilon=4.0, delta=1e-5)
    told = compute(here, request_cost(FEW, owner="local"))
    assert "the cap on 'group'" in told["refusal"] and "nothing was launched" in told["refusal"]
    with pytest.raises(BadInput, match="the cap on 'group'"):
        launch(here, FEW)
    assert not local.rows()


def test_a_mistake_is_a_sentence_in_the_preview(local: RunStore, here: str) -> None:
    wrong = {"data": DATA, "notion": "demographic_parity", "axes": {"method": ["zafar"]}, "epsilon": -1}
    key = local.previews.ask(request_cost(wrong, owner="local"))
    assert local.previews.claim() == key
    run_preview(here, key)
    found = local.previews.look(key)
    assert found.status == "failed" and "no combination of the sweep can run" in (found.error or "")
    with pytest.raises(BadInput, match="unknown axis 'epsilom'"):
        request_cost({**FEW, "axes": {"epsilom": [1]}}, owner="local")
    with pytest.raises(BadInput, match="finite"):
        request_cost({**FEW, "axes": {"epsilon": [float("inf")]}}, owner="local")


@ON_BOTH
def test_runs_on_a_release_wait_for_it_and_pay_once(default: RunStore, place: str) -> None:
    answer_cap("synthetic", "group", record=False, lift=False, epsilon=1.3, delta=1e-5)
    assert compute(place, request_cost(FRONTIER, owner="local"))["refusal"] is None
    assert launch(place, FRONTIER) == 3
    work, order = WorkStore(default.database), []
    while claims := work.claim():
        order.append([claim.config["reuse"] for claim in claims])
        if len(order) == 1:
            assert work.claim() == ()  # while the release is being made
        work_on(work, claims)
    source = next(row for row in default.rows() if row.config["reuse"] is None)
    assert order == [[None], [source.key, source.key]]
    assert {row.status for row in default.rows()} == {"finished"}


def test_runs_whose_release_was_not_made_fail_with_that_reason(local: RunStore, here: str) -> None:
    launch(here, FRONTIER)
    source = next(row for row in local.rows() if row.config["reuse"] is None)
    local.request(source.key, "stop")
    work = WorkStore(local.database)
    while claims := work.claim():
        work_on(work, claims)
    assert {row.error for row in local.rows() if row.config["reuse"]} != {None}
    assert sorted(row.status for row in local.rows()) == ["cancelled", "failed", "failed"]


def test_a_sweep_is_cancelled_and_goes_on(local: RunStore, here: str) -> None:
    launch(here, FEW)
    work, sweeps = WorkStore(local.database), SweepStore(local)
    keys = compute(here, request_cost(FEW, owner="local"))["keys"]
    claims = work.claim()
    sweeps.pause(keys, also_working=True)
    asked = {row.request for row in sweeps.find(keys).values() if row.status == "running"}
    assert asked == {"pause"} and len(claims) == len([row for row in local.rows() if row.request])
    assert work.claim() == ()
    SweepStore(RunStore(local.database, "somebody else")).go_on(keys)
    assert work.claim() == ()
    sweeps.go_on(keys)
    assert {row.request for row in local.rows()} == {None}
    work.hand_back(claims)
    while claims := work.claim():
        work_on(work, claims)
    assert {row.status for row in local.rows()} == {"finished"}
