"""Working on claimed runs, in this process or in a child of the supervisor: execute, and write down how they ended."""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable, Sequence
from functools import cache, partial

from fairpriv_core.errors import BadInput, FairprivError, StoreError
from fairpriv_core.records.config import build_config
from fairpriv_core.records.model import Model
from fairpriv_core.records.plan import DatasetCache, Plan, plan_run, with_doubts
from fairpriv_core.records.record import failed_record
from fairpriv_core.runs.children import live_with_parent
from fairpriv_core.runs.execute import FitOutcome, train_together
from fairpriv_core.runs.log import note, set_up_log
from fairpriv_core.runs.session import Interrupted, RunSession, StoreJournal, keep_lease
from fairpriv_core.store.checkpoint import OtherVersion
from fairpriv_core.store.claim import Artifact, Claim, Ending, LeaseLost, Progress
from fairpriv_core.store.database import Database
from fairpriv_core.store.work import WorkStore

LINGER_SECONDS = 300.0
_LOOK_SECONDS = 0.05
_MOST_SPLITS = 2


def work_on(
    work: WorkStore,
    claims: Sequence[Claim],
    *,
    on_commit: Callable[[Progress], None] | None = None,
    datasets: DatasetCache | None = None,
) -> None:
    """Work on runs that were claimed together until they end, are paused, or crash; every end is in the store.

    `datasets` has the data that were read for earlier ones.

    A run whose plan cannot be made fails alone. Where training cannot go on, the chunk is queued again as two halves,
    until the run that fails is alone. Raises StoreError or LeaseLost where the end could not be written.
    """
    ordered = sorted(claims, key=lambda claim: (claim.config["seed"], claim.key))  # models of one seed share batches
    journal = StoreJournal(work, ordered, on_commit=on_commit)
    with keep_lease(work, journal):
        try:
            plans = _plan_each(work, journal, datasets)
            outcomes = train_together(plans, journal.begin(plans), journal) if plans else []
        except Interrupted:
            work.hand_back(journal.claims)
            for claim in journal.claims:
                note("run_handed_back", run=claim.key)
        except (StoreError, LeaseLost):
            raise
        except Exception as error:
            _give_up(work, journal, error)
        else:
            endings = [_end(journal, *pair) for pair in zip(journal.sessions, outcomes, strict=True)]
            if endings:
                _finish(work, journal.claims, endings)


def _finish(work: WorkStore, claims: Sequence[Claim], endings: Sequence[Ending]) -> None:
    work.finish(claims, endings)
    for claim, end in zip(claims, endings, strict=True):
        _note_end(claim, end.record.status, end.error_kind, steps=end.record.steps, seconds=end.progress.seconds)


def _note_end(claim: Claim, status: str, kind: str | None, **numbers: float) -> None:
    level = logging.WARNING if status == "failed" else logging.INFO
    note("run_ended", level=level, run=claim.key, status=status, kind=kind, **numbers)


def run_child(place: str | None, claims: Sequence[Claim]) -> None:
    """Work on runs in a process of its own, which ends with its parent; started by the supervisor."""
    live_with_parent()
    set_up_log()
    try:
        work_on(WorkStore(Database(place)), claims)
    except FairprivError as error:
        raise SystemExit(f"fairpriv: {error}") from error


def run_explorer(place: str | None) -> None:
    """Work on runs that are explored, one after another, until none comes for a while; started by the supervisor.

    Their data stay in memory: on a small table reading it takes as long as training.
    """
    live_with_parent()
    set_up_log()
    try:
        work = WorkStore(Database(place))
        datasets = DatasetCache(lend=work.files.lend, splits=_MOST_SPLITS)
        last = time.monotonic()
        while time.monotonic() - last < LINGER_SECONDS:
            claims = work.claim(exploring=True)
            if claims:
                work_on(work, claims, datasets=datasets)
                last = time.monotonic()
            else:
                time.sleep(_LOOK_SECONDS)
    except FairprivError as error:
        raise SystemExit(f"fairpriv: {error}") from error


def _plan_each(work: WorkStore, journal: StoreJournal, datasets: DatasetCache | None) -> list[Plan]:
    """Return the plans of a journal's runs; those that have none have left it, failed or paused.

    Each owner's runs read what their owner may use.
    """
    plans, of_owner = [], cache(lambda owner: DatasetCache(lend=partial(work.files.lend, person=owner)))
    for session in list(journal.sessions):
        claim = session.claim
        cached = datasets or of_owner(claim.owner)
        try:
            plan = plan_run(build_config(claim.config), claim.key, datasets=cached, find_record=work.find_record)
            plan = with_doubts(plan)
            session.bind(plan, work.files.seal)
            plans.append(plan)
        except OtherVersion as error:
            work.hand_back([session.claim], "paused", str(error))
            note("run_paused", run=session.claim.key, because="version")
            journal.sessions.remove(session)
        except FairprivError as error:
            if isinstance(error, StoreError):
                raise
            _fail(work, journal, session, error)
            journal.sessions.remove(session)
    return plans


def _give_up(work: WorkStore, journal: StoreJournal, error: Exception) -> None:
    """End a run that cannot go on, or queue its chunk as two halves."""
    if len(journal.sessions) > 1:
        work.split(journal.claims, [session.start() for session in journal.sessions])
    elif isinstance(error, FairprivError):
        _fail(work, journal, journal.sessions[0], error)
    else:
        traceback.print_exception(error)
        work.crash(journal.claims, f"of {type(error).__name__}: {error}")


def _end(journal: StoreJournal, session: RunSession, outcome: FitOutcome) -> Ending:
    artifacts = [Artifact(*item) for item in Model.of(outcome.fitted, outcome.train).write().items()]
    return Ending(outcome.record, journal.leftover(session, outcome.record), artifacts)


def _fail(work: WorkStore, journal: StoreJournal, session: RunSession, error: FairprivError) -> None:
    """End a run as failed; it has paid for what it released, the counts behind its message included."""
    kind = "bad_input" if isinstance(error, BadInput) else "failed"
    if session.watch is None:
        work.refuse(session.claim, str(error), kind)
        _note_end(session.claim, "failed", kind)
        return
    plan, seconds = session.watch.plan, journal.spent(journal.sessions.index(session))
    record = failed_record(plan.draft, released=session.released, error=str(error), steps=session.step, **seconds)
    _finish(work, [session.claim], [Ending(record, journal.leftover(session, record), error_kind=kind)])
