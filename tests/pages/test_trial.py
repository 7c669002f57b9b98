"""On trial strangers launch small runs, see their own and what everybody sees, and can upload nothing."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest

from fairpriv_core.errors import BadInput
from fairpriv_core.records.config import build_config
from fairpriv_core.records.stored import read_stored_runs
from fairpriv_core.runs import supervisor
from fairpriv_core.store.decisions import DecisionStore
from fairpriv_core.store.mode import EVERYBODY
from fairpriv_core.store.runs import RunStore, open_store
from fairpriv_core.store.sweeps import SweepStore
from fairpriv_core.store.uploads import UploadStore
from fairpriv_core.store.work import WorkStore
from pages.widgets.shared import frame
from tests.pages.shown import PAGES, Open, buttons, open_frame, said, whole
from tests.processes import Ready

RAW = {"data": {"dataset": "synthetic", "sensitive": "group"}, "notion": "demographic_parity", "epsilon": 1.0}
SMALL = {"name": "pf_ld", "epochs": 2}


@pytest.fixture(autouse=True)
def trial(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let strangers try this test's dashboard."""
    monkeypatch.setenv("FAIRPRIV_TRY", "1")


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"epochs": 31}, "at most 30 can be tried here, got 31"),
        ({"hidden_layers": 2}, "at most 1 can be tried here, got 2"),
        ({"hidden_layers": 1, "width": 65}, "at most 64 can be tried here, got 65"),
        ({"batch_size": 1}, "this takes 100,000; take a larger batch"),
        ({"network": "cnn_small"}, "only the network mlp can be tried here, got 'cnn_small'"),
    ],
)
def test_a_run_that_takes_more_is_refused_however_it_is_asked_for(
    own_store: Path, change: dict[str, object], wrong: str
) -> None:
    config = build_config({**RAW, "method": {**SMALL, **change}})
    with open_store(str(own_store)) as store:
        asked = (store.submit, store.explore, lambda config: SweepStore(store).submit([(config, "a" * 16)]))
        for ask in asked:
            with pytest.raises(BadInput, match=wrong):
                ask(config)
        assert store.rows() == [] == store.explored(9)


def test_other_data_are_refused(own_store: Path, tmp_path: Path) -> None:
    table = tmp_path / "own.csv"
    table.write_text("a,sex,y\n1,f,0\n2,m,1\n", "utf-8")
    with open_store(str(own_store)) as store:
        for data in (
            {"dataset": "compas", "sensitive": "race"},
            {"file": str(table), "label": "y", "sensitive": "sex"},
        ):
            with pytest.raises(BadInput, match="only synthetic and adult can be tried here"):
                store.submit(build_config({**RAW, "data": data, "method": SMALL}))


def test_nothing_can_be_uploaded_and_few_runs_wait(own_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_store(str(own_store)) as store:
        mine = RunStore(store.database, "visitor 1")
        with pytest.raises(BadInput, match="pass the 0 MB"):
            UploadStore(store.database).put(BytesIO(b"a,b\n1,2\n"), "a.csv", "visitor 1")
        with pytest.raises(BadInput, match="pass the 0 MB"):
            DecisionStore(store.database, "visitor 1").put(BytesIO(b"a\n1\n"), "a.csv", run="0" * 16, limit_bytes=99)
        rows = [mine.submit(build_config({**RAW, "method": SMALL, "seed": seed})) for seed in range(3)]
        with pytest.raises(BadInput, match="3 that one person may have"):
            mine.submit(build_config({**RAW, "method": SMALL, "seed": 3}))
        assert [mine.count_before(row) for row in rows] == [0, 1, 2]
        another = RunStore(store.database, "visitor 2")
        for most, words in (("_ALL_WAITING", "3 runs of visitors have not ended"), ("_ALL_STORED", "has its 3 runs")):
            with monkeypatch.context() as patch, pytest.raises(BadInput, match=words):
                patch.setattr(f"fairpriv_core.store.quota.{most}", 3)
                another.submit(build_config({**RAW, "method": SMALL, "seed": 9}))


def test_everybody_sees_what_was_put_there_and_their_own(own_store: Path, open_page: Open) -> None:
    stored = read_stored_runs().records
    with open_store(str(own_store)) as store:
        store.add(stored)
        one, other = RunStore(store.database, "visitor 1"), RunStore(store.database, "visitor 2")
        key = one.submit(build_config({**RAW, "method": SMALL})).key
        assert {row.key for row in other.rows()} == {record.key for record in stored}
        assert [row.key for row in one.rows() if row.owner != EVERYBODY] == [key]
        assert store.record(stored[0].key) == stored[0]
        with pytest.raises(BadInput, match="someone else's"):
            other.delete(stored[0].key)
    page = whole(open_page("compare", data="adult:sex"))
    assert page.dataframe and "No finished run yet" not in said(page)


def test_two_sessions_are_two_people_and_see_their_place(own_store: Path, open_page: Open) -> None:
    first, second = open_page("train"), open_page("train", epsilon="2")
    for page in (first, second):
        whole(page.button("launch").click().run())
    with open_store(str(own_store)) as store:
        owners = {row.owner for row in store.rows()}
    assert len(owners) == 2 and all(owner.startswith("visitor ") for owner in owners)
    places = [each.proto.text for each in second.get("progress")]
    assert any("waiting for a worker, 1 run before it" in place for place in places)
    assert "do_stop" in buttons(second)


def test_pages_that_take_files_or_much_time_are_not_there(own_store: Path) -> None:
    offered = {name for name in PAGES if frame.is_offered(name)}
    assert set(PAGES) - offered == {"data", "tradeoffs", "audit", "report"}
    for name in sorted(offered):
        page = open_frame(name)
        assert not page.exception and "a reload throws them away" in said(page, "caption"), name
        assert not page.get("file_uploader"), name
    start = open_frame()
    assert start.button("go_own").disabled and not start.button("go_train").disabled


def test_two_train_at_a_time_of_which_the_explorer_is_one(own_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nursery = Ready()
    monkeypatch.setattr(supervisor, "ChildProcesses", lambda: nursery)
    with open_store(str(own_store)) as store:
        crew, work = supervisor.Supervisor(str(own_store)), WorkStore(store.database)
        queued = [store.submit(build_config({**RAW, "method": SMALL, "seed": seed})).key for seed in range(3)]
        explored = build_config({**RAW, "method": SMALL, "seed": 9})

        def look() -> list[list[str]]:
            for _ in range(3):
                crew.tick()
            return [[claim.key for claim in process.claims] for process in nursery.started]

        store.explore(explored)
        assert look() == [[], queued[:1]], "the explorer has no claims"
        explorer, first = nursery.started
        for claim in (*first.claims, *work.claim(exploring=True)):
            work.refuse(claim, "the test ends it", "failed")
        first.alive = False
        assert look() == [[], queued[:1], queued[1:2]]
        explorer.alive = False
        assert look() == [[], *([key] for key in queued)]
        store.explore(replace(explored, seed=10))
        assert len(look()) == 4, "an explorer waits for its place too"


def test_what_takes_more_is_said_at_once_and_nothing_is_made_for_it(own_store: Path, open_page: Open) -> None:
    page = open_page("train", expert="True", p__hidden_layers="5")
    assert "at most 1 can be tried here, got 5" in said(page, "error").lower() and page.button("launch").disabled
    with open_store(str(own_store)) as store:
        assert store.previews.claim() is None
