"""The training loop's own: one thread multiplies while it trains."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from fairpriv_core.engine import loop
from fairpriv_core.engine.training import Unwatched
from fairpriv_core.methods.none import Plain
from tests.methods.harness import RecordingMechanism, make_data, train


def count_threads() -> list[int]:
    """Return how many threads each library that multiplies takes."""
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_one_thread_multiplies_and_others_are_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Sequence[int]] = []
    monkeypatch.setattr(Unwatched, "watches", lambda self, epoch: seen.append(count_threads()) or False)
    with threadpool_limits(limits=2, user_api="blas"):
        before = count_threads()
        for _ in range(2):
            train(Plain(epochs=1), [make_data(n=300)], [RecordingMechanism()])
        assert count_threads() == before and set(before) == {2}
    assert seen and all(set(threads) == {1} for threads in seen)


def test_libraries_are_looked_for_again_where_a_module_was_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    before = loop.find_pools(len(sys.modules))
    assert loop.find_pools(len(sys.modules)) is before
    monkeypatch.setitem(sys.modules, "loaded_since", ModuleType("loaded_since"))
    assert loop.find_pools(len(sys.modules)) is not before
