"""Keeping runs' leases while nothing is committed: data is being read, noise calibrated, an epoch measured."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from fairpriv_core.errors import StoreError
from fairpriv_core.runs.claim import LeaseLost
from fairpriv_core.runs.journal import StoreJournal
from fairpriv_core.runs.store_work import WorkStore

HEARTBEAT_SECONDS = 2.0


@contextmanager
def keep_lease(work: WorkStore, journal: StoreJournal) -> Iterator[None]:
    """Hold a journal's runs in this process's name and extend their leases every HEARTBEAT_SECONDS.

    LeaseLost if overtaken. What a person asks of a run makes its next commit come at once.
    """
    work.adopt(journal.claims)
    done = threading.Event()
    thread = threading.Thread(target=_beat, args=(work, journal, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _beat(work: WorkStore, journal: StoreJournal, done: threading.Event) -> None:
    while not done.wait(HEARTBEAT_SECONDS):
        try:
            if work.adopt(journal.claims):
                journal.hurry()
        except (LeaseLost, StoreError):  # a run that has just ended, or whoever was overtaken: the next commit tells
            continue
