"""Finished runs in brief: the same numbers as the records, and quick to tell a change."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest
from sqlalchemy import event, update

from fairpriv_core.errors import Damaged
from fairpriv_core.facts.tables import read_outcome
from fairpriv_core.ledger.selection import Criterion, select_run
from fairpriv_core.records.config import RunConfig
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.checksum import open_document, seal_document
from fairpriv_core.store.runs import RunStore
from fairpriv_core.store.tables import run
from fairpriv_core.store.work import WorkStore
from tests.stores import ON_BOTH

Train = Callable[..., str]


@pytest.fixture
def train(store: RunStore, configure: Callable[..., RunConfig]) -> Train:
    """Return a function that trains a short run in the store and returns its key."""

    def make(method: str = "none", *, seed: int = 0) -> str:
        asked = replace(configure(method, seed=seed), epsilon=None if method == "none" else 1.0)
        work = WorkStore(store.database)
        work_on(work, work.claim(store.submit(asked).key))
        return store.find(asked.key).key  # type: ignore[union-attr]

    return make


def test_a_brief_says_what_the_record_says(store: RunStore, train: Train) -> None:
    keys = [train("pf_ld"), train()]
    for brief in store.each_brief():
        record = store.records(keys)[brief["key"]].to_json()
        single = {name: value for name, value in record["metrics"].items() if not isinstance(value, (dict, list))}
        assert brief["metrics"] == single and len(single) > 15
        assert {name: record[name] for name in brief if name in record and name != "metrics"} == {
            name: value for name, value in brief.items() if name in record and name != "metrics"
        }
        assert read_outcome(brief) == read_outcome(record)
    assert [brief["key"] for brief in store.each_brief()] == keys[::-1]


def test_only_finished_runs_are_told(store: RunStore, train: Train, configure: Callable[..., RunConfig]) -> None:
    train(seed=1)
    newest = train(seed=2)
    store.submit(configure(seed=3))
    assert [brief["key"] for brief in store.each_brief()][:1] == [newest] and len(list(store.each_brief())) == 2
    assert list(RunStore(store.database, "somebody").each_brief()) == []


@pytest.mark.usefixtures("own_rows")
def test_the_stamp_changes_when_the_briefs_do(store: RunStore, train: Train) -> None:
    def look() -> tuple[object, object]:
        return store.stamp(), list(store.each_brief())

    seen = [look()]
    keys = [train("pf_ld"), train("pf_ld", seed=1)]
    seen.append(look())
    assert store.stamp() == seen[-1][0]
    select_run(store, keys, Criterion("raw"), without_epsilon=True)
    seen.append(look())
    assert [brief["epsilon"] for brief in store.each_brief()].count(None) == 1
    store.delete(keys[0])
    seen.append(look())
    store.delete(keys[1])
    train("pf_ld", seed=2)
    train("pf_ld", seed=3)
    store.delete(next(store.each_brief())["key"])
    seen.append(look())
    stamps, briefs = zip(*seen, strict=True)
    assert len(set(stamps)) == 5 and all(one != other for one, other in pairwise(briefs))


@ON_BOTH
def test_a_list_reads_no_record_and_tells_what_is_damaged(store: RunStore, train: Train) -> None:
    kept, spoilt, plain = train("pf_ld"), train("pf_ld", seed=1), train()
    asked: list[str] = []
    event.listen(store.database._readers, "before_cursor_execute", lambda *given: asked.append(given[2]))
    assert [brief["key"] for brief in store.each_brief()] == [plain, spoilt, kept]
    assert [row.key for row in store.rows(limit=2)] == [plain, spoilt]
    assert [brief["key"] for brief in store.each_brief(keys=[plain])] == [plain]
    assert asked and not any(re.search(r"\brecord\b", query) for query in asked)
    with store.database.write() as connection:
        connection.execute(update(run).where(run.c.key == spoilt).values(brief={"threat_model": None, "sha256": "0"}))
    damaged: list[str] = []
    assert [brief["key"] for brief in store.each_brief(damaged.append)] == [plain, kept]
    assert damaged == [spoilt]


def test_a_document_is_verified_as_text_as_it_is_as_a_value() -> None:
    sealed = seal_document({"epsilon": 1.5, "name": 'é " sha256', "inner": {"sha256": "x"}})
    text = json.dumps(sealed)
    whole = {name: value for name, value in sealed.items() if name != "sha256"}
    assert open_document(text, "it") == open_document(sealed, "it") == whole
    for other in (text.replace("1.5", "1.4"), text[:-3] + '0"}', text[:-1], json.dumps(whole), "", "[]", "null", "3"):
        with pytest.raises(Damaged, match="it is damaged"):
            open_document(other, "it")
    assert open_document(json.dumps(sealed, indent=1), "it") == whole, "however a database writes it down"
