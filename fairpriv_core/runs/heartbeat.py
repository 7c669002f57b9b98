"""Keeping a run's lease while nothing is committed: data is being read, noise calibrated, an epoch measured."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from fairpriv_core.errors import StoreError
from fairpriv_core.runs.claim import Claim, LeaseLost
from fairpriv_core.runs.store_work import WorkStore

HEARTBEAT_SECONDS = 2.0


@contextmanager
def keep_lease(work: WorkStore, claim: Claim) -> Iterator[None]:
    """Hold the run in this process's name and extend its lease every HEARTBEAT_SECONDS; LeaseLost if overtaken."""
    work.adopt(claim)
    done = threading.Event()
    thread = threading.Thread(target=_beat, args=(work, claim, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _beat(work: WorkStore, claim: Claim, done: threading.Event) -> None:
    while not done.wait(HEARTBEAT_SECONDS):
        try:
            work.adopt(claim)
        except LeaseLost:
            return
        except StoreError:
            continue
