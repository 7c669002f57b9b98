"""Finished runs that are kept folded, on SQLite and on PostgreSQL: the same rows as folding all of them anew."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import update

from fairpriv_core.facts import finished
from fairpriv_core.facts.finished import FinishedRuns, list_together
from fairpriv_core.facts.tables import TableRow, run_table
from fairpriv_core.ledger.selection import Criterion, select_run
from fairpriv_core.privacy.event import Gaussian
from fairpriv_core.records.config import RunConfig
from fairpriv_core.store.claim import Ending, Progress
from fairpriv_core.store.runs import RunStore
from fairpriv_core.store.tables import run
from tests.launched import begin, config, measured


def finish(store: RunStore, asked: RunConfig, share: float = 0.5) -> str:
    """Launch a run and end it, with as many chosen; return its key."""
    work, claim, draft = begin(store, asked, (Gaussian(9.0),))
    ended = replace(draft, status="finished", released=draft.event, metrics=measured((share, 0.5)))
    work.finish([claim], [Ending(ended, Progress(10, 1, 1.0))])
    return claim.key


def fold_anew(store: RunStore) -> tuple[TableRow, ...]:
    return run_table(store.each_brief())


@pytest.fixture
def read(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the list of how many briefs each reading of them took."""
    counts: list[int] = []
    each = RunStore.each_brief

    def counted(self: RunStore, *note: Any, **asked: Any) -> Any:
        found = list(each(self, *note, **asked))
        counts.append(len(found))
        return iter(found)

    monkeypatch.setattr(RunStore, "each_brief", counted)
    return counts


@pytest.mark.usefixtures("own_rows")
def test_what_finishes_goes_and_is_chosen_gives_the_rows_that_all_runs_give(store: RunStore) -> None:
    kept, asked = FinishedRuns(), [config(seed=seed, epsilon=epsilon) for epsilon in (1, 2) for seed in range(3)]
    assert kept.read(store).rows == ()
    work, claim, draft = begin(store, config(seed=9), (Gaussian(9.0),))  # launched first, finished last
    keys = []
    for number, each in enumerate(asked):
        keys.append(finish(store, each, 0.1 * number))
        assert kept.read(store).rows == fold_anew(store)
    again = finish(store, asked[0], 0.9)  # the newer run of a seed counts
    assert kept.read(store).rows == fold_anew(store) and again in kept.read(store).rows[0].keys
    ended = replace(draft, status="finished", released=draft.event, metrics=measured((0.3, 0.5)))
    work.finish([claim], [Ending(ended, Progress(10, 1, 1.0))])
    assert kept.read(store).rows == fold_anew(store) and claim.key in kept.read(store).rows[0].keys
    store.delete(again)
    assert kept.read(store).rows == fold_anew(store) and keys[0] in {
        key for row in kept.read(store).rows for key in row.keys
    }
    select_run(store, keys[:2], Criterion("raw"), without_epsilon=True)
    assert kept.read(store).rows == fold_anew(store) and any(row.epsilon is None for row in kept.read(store).rows)


@pytest.mark.usefixtures("own_rows")
def test_runs_fit_together_unless_one_of_them_would_be_missing(store: RunStore) -> None:
    keys = [finish(store, config(seed=seed, epsilon=epsilon)) for epsilon in (1, 2) for seed in range(2)]
    [among] = store.candidates(keys[:1])
    together = list_together(store, among, max_rows=2)
    assert [set(row.keys) for row in together] == [set(keys[2:]), set(keys[:2])]
    assert not list_together(store, among, max_rows=1)
    finish(store, config(seed=0, epsilon=1))
    [among] = store.candidates(keys[:1])
    assert not list_together(store, among, max_rows=2), "of a seed that ran again the earlier run is not told of"


def test_only_what_is_new_is_read(store: RunStore, read: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    kept = FinishedRuns()
    for seed in range(3):
        finish(store, config(seed=seed))
    before = kept.read(store).rows
    finish(store, config(seed=3, epsilon=2))
    after = kept.read(store).rows
    assert read == [3, 1] and after[1] is before[0] and kept.read(store).rows == after and read == [3, 1]
    monkeypatch.setattr(finished, "_FEW", 1)
    for seed in (4, 5):
        finish(store, config(seed=seed))
    kept.read(store)
    assert read == [3, 1, 6] and kept.read(store).rows == fold_anew(store)


def test_an_owner_has_their_own_and_a_damaged_run_is_counted_once(store: RunStore, read: list[int]) -> None:
    ana = RunStore(store.database, "ana")
    mine, damaged = finish(ana, config(seed=0)), finish(ana, config(seed=1))
    finish(store, config(seed=2))
    with store.database.write() as connection:
        connection.execute(update(run).where(run.c.key == damaged).values(brief={"accuracy": 1.0, "sha256": "0" * 64}))
    kept = FinishedRuns()
    for _ in range(2):
        found = kept.read(ana)
        assert found.damaged == 1 and [row.keys for row in found.rows] == [(mine,)]
    assert read == [1]
