"""Working on one run in this process until it ends, by the same code as the supervisor's children."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from fairpriv_core.errors import FairprivError
from fairpriv_core.runs.children import use_one_thread
from fairpriv_core.runs.prose import describe_progress
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.claim import Claim, LeaseLost
from fairpriv_core.store.rows import RunRow
from fairpriv_core.store.runs import RunStore
from fairpriv_core.store.work import WorkStore

_POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Talk:
    """How the foreground speaks to a person: sentences, and a line on each commit."""

    say: Callable[[str], None]
    show: Callable[[str], None]


def work_in_foreground(store: RunStore, key: str, talk: Talk) -> RunRow:
    """Work on the queued run `key` until it ends, and return its row; where another process was faster, wait for it.

    A crash is tried again from the last checkpoint, as the supervisor does. Raises KeyboardInterrupt after handing
    the run back as paused.
    """
    use_one_thread()
    work = WorkStore(store.database)
    while (row := store.row(key)).status == "queued":
        for claim in work.claim(key):
            _hold(work, claim, talk)
    if row.status in ("running", "stopping"):
        talk.say(f"run {key} is at work in another process; waiting for it.")
    while row.status in ("queued", "running", "stopping"):
        time.sleep(_POLL_SECONDS)
        row = store.row(key)
    return row


def _hold(work: WorkStore, claim: Claim, talk: Talk) -> None:
    going_on = f"fairpriv resume {claim.key} goes on from the last checkpoint."
    try:
        work_on(work, [claim], on_commit=lambda progress: talk.show(describe_progress(progress)))
    except KeyboardInterrupt:
        try:
            work.hand_back([claim], "paused")
        except LeaseLost:
            talk.say("the run had just ended.")
        else:
            talk.say(f"paused; {going_on}")
        raise
    except FairprivError:
        talk.say(going_on)
        raise
