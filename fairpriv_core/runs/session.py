"""Sessions of runs that train: their mechanisms, what is watched of them, the journal that stores both, the lease.

Nothing that depends on protected data leaves the process before the transaction that commits it together with the
checkpoint and the count of releases; the runs of a chunk commit in one. Each is given an equal share of its chunk's
seconds. While nothing is committed (data is being read, noise calibrated, an epoch measured) a heartbeat keeps leases.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, TypedDict

import numpy as np

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.modules import ModuleShape
from fairpriv_core.engine.predict import evaluate
from fairpriv_core.engine.training import Histogram, Observer, Snapshot, Training, Unwatched, find_device
from fairpriv_core.errors import BadInput, Damaged, RunFailed, StoreError
from fairpriv_core.methods.catalog import why_unproved
from fairpriv_core.notions.catalog import notions
from fairpriv_core.privacy.curve import LiveEpsilon
from fairpriv_core.privacy.event import Events, covers, from_json
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness
from fairpriv_core.records.config import RunConfig, build_shape
from fairpriv_core.records.paid import price_schema
from fairpriv_core.records.plan import Plan
from fairpriv_core.records.record import RunRecord, announce_training, name_plugin, name_sources
from fairpriv_core.records.reuse import count_shared, name_stream
from fairpriv_core.runs.children import beating
from fairpriv_core.store.checkpoint import Checkpoint, bind, check_binding, pack
from fairpriv_core.store.claim import LEASE_SECONDS, Beginning, Claim, LeaseLost, Progress
from fairpriv_core.store.curves import is_swept_point
from fairpriv_core.store.work import WorkStore

Arrays = Mapping[str, np.ndarray]
_CONSTANT = ("size", "positives", "selected", "correct", "base_rate")  # of a group: counts, and what no epoch changes
_OF_CLASS = ("accuracy", "accuracy_low", "accuracy_high", "decided")
#: the curves that a run keeps that trains with others
_SWEPT = re.compile(
    r"train/loss|test/(accuracy|constant_accuracy|\w+_gap)|group/.+/(positive_rate|accuracy)|class/.+/accuracy"
    r"|multiplier/.+"
)
NOISE = "mechanism_"  # what names of arrays of `Mechanism.state` begin with
Values = list[tuple[int, str, float | None]]
COMMIT_SECONDS = 0.2
MOST_COMMIT_SECONDS = 5.0  # between two commits of a chunk
_DAMAGED = (
    "run {key} cannot go on: its checkpoint is damaged in the run store; start it again (train --again). All that it "
    "planned to release counts as released."
)
_COMMIT_SHARE = 0.05  # of a chunk's time
HEARTBEAT_SECONDS = 2.0


def open_mechanisms(plans: Sequence[Plan], checkpoints: Sequence[Arrays | None]) -> list[Mechanism]:
    """Return the mechanisms of runs that begin together: their checkpoints' (as arrays), else new ones.

    New noise is under a fresh key or, in replay mode, a repeatable one. Runs that share samples draw them from one
    stream a seed, under one key; their noise is independent.
    """
    restored = iter(Mechanism.from_states([arrays for arrays in checkpoints if arrays is not None]))
    opened: dict[int | None, Randomness] = {}
    mechanisms = []
    for model, (plan, arrays) in enumerate(zip(plans, checkpoints, strict=True)):
        mechanisms.append(next(restored) if arrays is not None else _open(plan, model, opened))
    return mechanisms


def _open(plan: Plan, model: int, opened: dict[int | None, Randomness]) -> Mechanism:
    config, released = plan.config, count_shared(plan.draft.notes)
    if not config.share_samples:
        return Mechanism(_open_randomness(config), released=released)
    if config.replay_noise not in opened:
        opened[config.replay_noise] = _open_randomness(config)
    return Mechanism(opened[config.replay_noise], model=model, released=released, stream=config.seed)


def _open_randomness(config: RunConfig) -> Randomness:
    return Randomness.fresh() if config.replay_noise is None else Randomness.replay(config.replay_noise)


class FitObserver:
    """One run's plan while it trains; `values`, `histograms`, `epoch` are what it showed and is not stored yet.

    Of a run that does not train `alone` some epochs are shown, without histograms and what clipping does, and no
    epsilon is stated before its end.
    """

    def __init__(self, plan: Plan, *, alone: bool = True, epoch: int = 0) -> None:
        self.plan = plan
        self.mechanism: Mechanism | None = None
        self.values: Values = []
        self.histograms: Mapping[str, Histogram] = {}
        self.epoch = epoch
        self._replayed, self._alone = plan.config.replay_noise is not None, alone
        self._live: LiveEpsilon | None = None
        self._before = price_schema(plan.draft.config, plan.draft.threat_model)
        events = announce_training(plan.config, plan.method, plan.train.n)
        if alone and events and why_unproved(plan.method) is None:
            self._live = LiveEpsilon((*self._before, *events), plan.config.delta)

    def open(self, observer: Observer, mechanism: Mechanism, checkpoint: Arrays | None = None) -> Training:
        """Return what the fit is given: `mechanism`, and the arrays that it goes on from (None: it begins)."""
        self.mechanism = mechanism
        return Training(
            notion=notions()[self.plan.config.notion],
            seed=self.plan.config.seed,
            mechanism=mechanism,
            observer=observer,
            checkpoint=None if checkpoint is None or is_start(checkpoint) else checkpoint,
            device=find_device(),
        )

    def watches(self, epoch: int) -> bool:
        """Return whether the end of an epoch, counted from 0, is to be measured."""
        return self._alone or is_swept_point(epoch + 1, int(getattr(self.plan.method, "epochs", 1)))

    def show(self, snapshot: Snapshot) -> None:
        """Take the end of an epoch: scalars, clipped shares, and all that is measured on the test split."""
        self.epoch = snapshot.epoch
        values = snapshot_values(snapshot, self.plan.test)
        if not self._alone:
            self.values += [value for value in values if _SWEPT.fullmatch(value[1])]
            return
        self.values += values
        self.values += [(snapshot.step, name, value) for name, value in self._spent()]
        self.histograms = snapshot.histograms

    def spent(self) -> float | None:
        """Return the epsilon spent by now; None where none may be stated."""
        return dict(self._spent()).get("epsilon")

    def _spent(self) -> list[tuple[str, float]]:
        if self._live is None or self.mechanism is None:
            return []
        value = self._live.epsilon_at((*self._before, *self.mechanism.events))
        return [("epsilon_if_secret" if self._replayed else "epsilon", value)] if math.isfinite(value) else []


def is_start(checkpoint: Arrays) -> bool:
    """Return whether a checkpoint holds the noise alone: the run begins anew, with the noise that it had."""
    return all(name.startswith(NOISE) for name in checkpoint)


def snapshot_values(snapshot: Snapshot, test: Dataset) -> Values:
    """Return (step, name, value) of the end of an epoch."""
    metrics = evaluate(snapshot.network, snapshot.parameters, test)
    values: dict[str, float | None] = {
        "train/loss" if name == "loss" else name: value for name, value in snapshot.scalars.items()
    }
    values |= name_measured(metrics)
    for name, histogram in snapshot.histograms.items():
        values |= {f"clipped/{name}/{group}": share for group, share in histogram.clipped.items()}
    return [(snapshot.step, name, _finite(value)) for name, value in values.items()]


def name_measured(metrics: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the numbers of `measure` as curves name them: of all rows, of each group and of each class."""
    values = {f"test/{name}": value for name, value in metrics.items() if _is_number(value)}
    for group in metrics["groups"]:
        rates = {name: group[name] for name in group if _is_number(group[name]) and not name.startswith(_CONSTANT)}
        values |= {f"group/{group['name']}/{name}": value for name, value in rates.items()}
    for label in metrics.get("classes", ()):
        values |= {f"class/{label['name']}/{name}": label[name] for name in _OF_CLASS}
    return values


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None


class RunTimes(TypedDict, total=False):
    """What a record says of the time that its run took, all attempts together, and where the last one went on."""

    seconds: float
    resumed_from_step: int


class Interrupted(Exception):
    """A person asked for a pause or a stop of one of the runs; everything up to the last commit is stored."""


class RunSession:
    """One run's place in a journal, and the observer of its fit."""

    def __init__(self, journal: StoreJournal, claim: Claim, work: WorkStore, *, alone: bool) -> None:
        self.claim = claim
        self.saved: Checkpoint | None = None
        self._damaged = False
        try:
            self.saved = work.checkpoint(claim)
        except Damaged:
            self._damaged = True
        self._alone = alone
        self.watch: FitObserver | None = None
        self.step = self.resumed_from = claim.step
        self.taken: Checkpoint | None = None
        self._journal = journal
        self.begun = False
        self._binding: Mapping[str, object] = {}
        self._start: Arrays = {}

    def bind(self, plan: Plan, seal: Callable[[str], str]) -> None:
        """Take the run's plan, and open its network where that is a person's own: BadInput where it cannot be trained.

        RunFailed where its checkpoint is damaged or of something else. `seal` keys the digest of its data. A run never
        begins anew by itself: it would release all once more, at its price.
        """
        shape = build_shape(plan.method, plan.train)
        own = {**shape.to_json(), **name_sources(shape.reference)} if isinstance(shape, ModuleShape) else None
        settings, data = self.claim.config, seal(plan.train.digest)
        method = name_plugin(plan.method)
        self._binding = bind(settings=settings, data=data, method=method, network=own, device=find_device())
        self.watch = FitObserver(plan, alone=self._alone, epoch=self.claim.epoch)
        if self._damaged:
            raise RunFailed(_DAMAGED.format(key=self.claim.key))
        if self.saved is not None:
            check_binding(self.saved, self._binding, self.claim.key)

    def open(self, mechanism: Mechanism, checkpoint: Arrays | None) -> Training:
        """Return what the fit is given; the record says whose secret samples the run uses as well."""
        assert self.watch is not None
        training = self.watch.open(self, mechanism, checkpoint)
        self._start = mechanism.state()
        draft = self.watch.plan.draft
        draft = replace(draft, notes={**draft.notes, **name_stream(mechanism)})
        self.watch.plan = replace(self.watch.plan, draft=draft)
        return training

    def start(self) -> Checkpoint | None:
        """Return a checkpoint of the beginning, with what has been released since; None where the store has a later."""
        if self.saved is not None or not self.begun:
            return None
        return Checkpoint(0, pack(self._start), self.released, self._binding)

    @property
    def released(self) -> Events:
        """What the run has released so far, committed or not; all that it planned where its checkpoint is damaged."""
        if self._damaged and self.watch is not None:
            return from_json(self.watch.plan.draft.event)
        if self.begun and self.watch is not None and self.watch.mechanism is not None:
            return self._count(self.watch.mechanism.events)
        return self._count(())

    def _count(self, events: Events) -> Events:
        """Return what counts as released where this attempt has released `events`.

        A run that begins anew with the noise that it had makes the same releases again, which count once: until it is
        as far as it was, what the store counts holds.
        """
        earlier = self.saved.released if self.saved else ()
        return events if covers(events, earlier) else earlier

    def watches(self, epoch: int) -> bool:
        """Return whether the end of an epoch is measured and kept."""
        return self.watch is not None and self.watch.watches(epoch)

    def due(self) -> bool:
        """Return whether all runs of the journal are to be committed at this step."""
        return self._journal.due(self)

    def show(self, snapshot: Snapshot) -> None:
        """Measure the end of an epoch; kept until the next commit."""
        assert self.watch is not None
        self.watch.show(snapshot)

    def commit(self, *, step: int, events: Events, checkpoint: Arrays) -> None:
        """Take a checkpoint; the last run's stores those of all."""
        self.step = step
        self.taken = Checkpoint(step, pack(checkpoint), self._count(events), self._binding)
        self._journal.commit()


class StoreJournal:
    """The journal of claimed runs. `claims` are those that it holds, `sessions` the same runs in the same order."""

    def __init__(
        self, work: WorkStore, claims: Sequence[Claim], *, on_commit: Callable[[Progress], None] | None = None
    ) -> None:
        alone = len(claims) == 1
        self.sessions = [RunSession(self, claim, work, alone=alone) for claim in claims]
        self._work, self._on_commit = work, on_commit
        self._begun = self._committed = time.monotonic()
        self._interval, self._due = COMMIT_SECONDS, False

    @property
    def claims(self) -> list[Claim]:
        """The claims on the runs that have not ended."""
        return [session.claim for session in self.sessions]

    def begin(self, plans: Sequence[Plan]) -> list[Training]:
        """Store the drafts; return what the fits are given. BadInput where that is beyond a cap."""
        self._begun = time.monotonic()
        checkpoints = [None if session.saved is None else session.saved.arrays() for session in self.sessions]
        opened = zip(self.sessions, open_mechanisms(plans, checkpoints), checkpoints, strict=True)
        trainings = [session.open(mechanism, checkpoint) for session, mechanism, checkpoint in opened]
        own = [session.watch.plan for session in self.sessions if session.watch is not None]
        self._work.begin(self.claims, [Beginning(plan.draft, plan.method.steps(plan.train.n)) for plan in own])
        for session in self.sessions:
            session.begun = True
        return trainings

    def spent(self, place: int) -> RunTimes:
        """Return the record's `seconds` (all attempts) and `resumed_from_step`."""
        session = self.sessions[place]
        return {"seconds": round(self._seconds(session), 3), "resumed_from_step": session.resumed_from}

    def hurry(self) -> None:
        """Make the next commit come at once."""
        self._interval = 0.0

    def due(self, session: RunSession) -> bool:
        """Return whether a commit is due. The first run asks the clock at each step; the others take its answer."""
        if session is self.sessions[0]:
            self._due = time.monotonic() - self._committed >= self._interval
        return self._due

    def commit(self) -> None:
        """Store what is new in one transaction, once all runs' checkpoints are taken.

        Interrupted where a person asked for it, LeaseLost if overtaken. A store that cannot be written for a while is
        tried again at the next commit, until the lease is over.
        """
        saved = [session.taken for session in self.sessions if session.taken is not None]
        if len(saved) < len(self.sessions):
            return
        now = time.monotonic()
        progress = [
            self._progress(session, None if session.watch is None else session.watch.spent())
            for session in self.sessions
        ]
        try:
            requests = self._work.commit(self.claims, progress, saved)
        except StoreError:
            if now - self._committed > LEASE_SECONDS:
                raise
            return
        self._note_commit(now)
        if self._on_commit is not None:
            self._on_commit(progress[0])
        if requests:
            raise Interrupted

    def leftover(self, session: RunSession, record: RunRecord) -> Progress:
        """Return what is not stored yet, to be stored with `record`; the epsilon curve ends in its epsilon."""
        assert session.watch is not None
        if record.status == "finished" and record.epsilon is not None:
            session.watch.values.append((record.steps, "epsilon", record.epsilon))
        session.step = record.steps
        return self._progress(session, record.epsilon)

    def _note_commit(self, begun: float) -> None:
        """Take note of a commit that was begun at `begun`: a chunk's next one is the later the longer this one took."""
        self._committed = time.monotonic()
        for session in self.sessions:
            assert session.watch is not None
            session.saved, session.taken = session.taken, None
            session.watch.values, session.watch.histograms = [], {}
        took = self._committed - begun
        grown = min(max(COMMIT_SECONDS, took / _COMMIT_SHARE), MOST_COMMIT_SECONDS)
        self._interval = COMMIT_SECONDS if len(self.sessions) == 1 else grown

    def _progress(self, session: RunSession, epsilon: float | None) -> Progress:
        assert session.watch is not None
        watch = session.watch
        values = list({(at, name): (at, name, value) for at, name, value in watch.values}.values())
        return Progress(session.step, watch.epoch, self._seconds(session), epsilon, values, watch.histograms)

    def _seconds(self, session: RunSession) -> float:
        return session.claim.seconds + (time.monotonic() - self._begun) / len(self.sessions)


@contextmanager
def keep_lease(work: WorkStore, journal: StoreJournal) -> Iterator[None]:
    """Hold a journal's runs in this process's name and extend their leases every HEARTBEAT_SECONDS.

    LeaseLost if overtaken. What a person asks of a run makes its next commit come at once.
    """

    def extend() -> None:
        with suppress(LeaseLost):  # a run that has just ended, or whoever was overtaken: the next commit tells
            if work.adopt(journal.claims):
                journal.hurry()

    work.adopt(journal.claims)
    with beating(extend, every=HEARTBEAT_SECONDS):
        yield


class MemoryJournal:
    """`execute(config, MemoryJournal())` runs a config in memory and returns its outcome."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._runs = 1

    def find_record(self, key: str) -> RunRecord:
        """There is no other run: BadInput."""
        raise BadInput(f"run {key} is not here: this run keeps no store.", field="reuse")

    def begin(self, plans: Sequence[Plan]) -> list[Training]:
        """Return what each fit is given."""
        self._begun, self._runs = time.monotonic(), len(plans)
        mechanisms = open_mechanisms(plans, [None] * len(plans))
        pairs = zip(plans, mechanisms, strict=True)
        return [FitObserver(plan, alone=False).open(Unwatched(), mechanism) for plan, mechanism in pairs]

    def spent(self, place: int) -> RunTimes:
        """Return the record's `seconds`: an equal share of what all took."""
        return {"seconds": round((time.monotonic() - self._begun) / self._runs, 3)}
