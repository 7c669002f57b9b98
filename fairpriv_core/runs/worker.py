"""Working on a claimed run, in this process or in a child of the supervisor: execute, and write down how it ended."""

from __future__ import annotations

import traceback
from collections.abc import Callable

from fairpriv_core.errors import BadInput, FairprivError, StoreError
from fairpriv_core.runs.artifact import model_files
from fairpriv_core.runs.children import live_with_parent
from fairpriv_core.runs.claim import Artifact, Claim, LeaseLost, Progress
from fairpriv_core.runs.config import build_config
from fairpriv_core.runs.execute import execute
from fairpriv_core.runs.heartbeat import keep_lease
from fairpriv_core.runs.journal import Interrupted, StoreJournal
from fairpriv_core.runs.record import failed_record
from fairpriv_core.runs.store_work import WorkStore, open_work


def work_on(work: WorkStore, claim: Claim, *, on_commit: Callable[[Progress], None] | None = None) -> None:
    """Work on a run until it ends, is paused, or crashes (it is then queued again); every end is in the store.

    Raises StoreError or LeaseLost where the end could not be written.
    """
    journal = StoreJournal(work, claim, on_commit=on_commit)
    with keep_lease(work, claim):
        try:
            outcome = execute(build_config(claim.config), journal)
        except Interrupted as interrupt:
            _obey(work, claim, interrupt.asked)
        except (StoreError, LeaseLost):
            raise
        except FairprivError as error:
            _write_failure(work, claim, journal, error)
        except Exception as error:
            traceback.print_exc()
            work.crash(claim, f"of {type(error).__name__}: {error}")
        else:
            artifacts = [Artifact(*item) for item in model_files(outcome.fitted, outcome.train).items()]
            work.finish(claim, outcome.record, journal.leftover(outcome.record), artifacts)


def run_child(place: str | None, claim: Claim) -> None:
    """Work on a run in a process of its own, which ends with its parent; started by the supervisor."""
    live_with_parent()
    try:
        work_on(open_work(place), claim)
    except FairprivError as error:
        raise SystemExit(f"fairpriv: {error}") from error


def _obey(work: WorkStore, claim: Claim, asked: str) -> None:
    if asked == "stop":
        work.cancel(claim)
    else:
        work.hand_back(claim, "paused")


def _write_failure(work: WorkStore, claim: Claim, journal: StoreJournal, error: FairprivError) -> None:
    """End a run as failed; it has paid for what it released, the counts behind its message included."""
    kind = "bad_input" if isinstance(error, BadInput) else "failed"
    watch = journal.watch
    if watch is None:
        work.refuse(claim, str(error), kind)
        return
    spent = {"steps": journal.step, **journal.spent()}
    record = failed_record(watch.draft, watch.method, released=journal.released, error=str(error), **spent)
    work.finish(claim, record, journal.leftover(record), error_kind=kind)
