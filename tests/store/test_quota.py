"""What one person who signed in may have in a store, and whoever sits at the machine may have more of."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest

from fairpriv_core.errors import BadInput
from fairpriv_core.records.config import RunConfig
from fairpriv_core.store.runs import RunStore
from fairpriv_core.store.sweeps import SweepStore
from tests.stores import ON_BOTH

Configure = Callable[..., RunConfig]
RUNS = "2 of your runs have not ended, and 1 more would pass the 2 that one person may have here; wait for some, or"


@pytest.fixture(autouse=True)
def quotas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRPRIV_MOST_RUNS", "2")
    monkeypatch.setenv("FAIRPRIV_MOST_MEGABYTES", "1")


def test_runs_that_have_not_ended_are_counted(store: RunStore, configure: Configure) -> None:
    mine = RunStore(store.database, "me")
    keys = [mine.submit(configure(seed=seed)).key for seed in (0, 1)]
    with pytest.raises(BadInput, match=RUNS):
        mine.submit(configure(seed=2))
    assert mine.submit(configure(seed=1)).key == keys[1]  # it is there
    mine.request(keys[0], "pause")
    with pytest.raises(BadInput, match=RUNS):
        mine.submit(configure(seed=2))
    mine.request(keys[0], "stop")
    assert mine.submit(configure(seed=2)).status == "queued"
    assert RunStore(store.database, "you").submit(configure(seed=3)).status == "queued"


@ON_BOTH
def test_a_sweep_is_launched_whole_or_not_at_all(store: RunStore, configure: Configure) -> None:
    mine = RunStore(store.database, "me")
    runs, sweeps = [(configure(seed=seed), "one") for seed in range(3)], SweepStore(mine)
    for attempt in (lambda: sweeps.check(runs, {}), lambda: sweeps.submit(runs)):
        with pytest.raises(BadInput, match="0 of your runs have not ended, and 3 more would pass the 2 that one"):
            attempt()
    assert mine.rows() == []
    sweeps.submit(runs[:2])
    sweeps.submit(runs[:2])
    assert len(mine.rows()) == 2


def test_bytes_of_uploads_are_counted(local: RunStore) -> None:
    first = local.uploads.put(io.BytesIO(b"a" * 600_000), "a.csv", "me")
    with pytest.raises(BadInput, match=r"your uploads take 0\.6 MB, and 0\.5 MB more would pass the 1 MB that one"):
        local.uploads.put(io.BytesIO(b"b" * 500_000), "b.csv", "me")
    assert [path.name for path in first.path.parent.iterdir()] == [first.path.name]
    assert local.uploads.put(io.BytesIO(b"a" * 600_000), "again.csv", "me") == first
    local.uploads.delete(first.id, "me")
    assert local.uploads.put(io.BytesIO(b"b" * 500_000), "b.csv", "me").bytes == 500_000


def test_what_another_person_stored_stays_where_the_same_bytes_are_refused(local: RunStore) -> None:
    yours = local.uploads.put(io.BytesIO(b"b" * 500_000), "b.csv", "you")
    local.uploads.put(io.BytesIO(b"a" * 600_000), "a.csv", "me")
    with pytest.raises(BadInput, match="would pass the 1 MB"):
        local.uploads.put(io.BytesIO(b"b" * 500_000), "b.csv", "me")
    assert yours.path.is_file()


def test_whoever_sits_at_the_machine_has_no_quota(local: RunStore, configure: Configure) -> None:
    SweepStore(local).submit([(configure(seed=seed), "one") for seed in range(3)])
    assert len(local.rows()) == 3 and local.submit(configure(seed=3)).status == "queued"
    assert local.uploads.put(io.BytesIO(b"a" * 1_200_000), "a.csv", "local").bytes == 1_200_000


@pytest.mark.parametrize("value", ["many", "-1", "1.5", "9" * 30])
def test_a_quota_that_is_no_number_is_named(
    store: RunStore, configure: Configure, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("FAIRPRIV_MOST_RUNS", value)
    with pytest.raises(BadInput, match=f"FAIRPRIV_MOST_RUNS must be a whole number, got '{value}'"):
        RunStore(store.database, "me").submit(configure())
