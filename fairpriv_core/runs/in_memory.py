"""A run on rows that are in memory already: nothing is stored, and no row is kept back for testing."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.engine.predict import evaluate
from fairpriv_core.engine.training import Snapshot, Training, Unwatched, find_device
from fairpriv_core.errors import RunFailed
from fairpriv_core.notions.catalog import notions
from fairpriv_core.privacy.curve import LiveEpsilon
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness
from fairpriv_core.records.config import RunConfig
from fairpriv_core.records.ledger_entry import identify_data, record_posting
from fairpriv_core.records.plan import calibrate_method, find_counts
from fairpriv_core.records.record import RAW, RunRecord, doubt_network, draft_record, finished_record, list_warnings
from fairpriv_core.runs.execute import UNSTORED, FitOutcome
from fairpriv_core.runs.session import MemoryJournal
from fairpriv_core.store.identity import draw_id
from fairpriv_core.store.runs import open_store
from fairpriv_core.text import epsilon_text
from fairpriv_core.warnings import FairprivWarning, PrivacyWarning, warn_once

#: what the config of such a run has in place of a data set
IN_MEMORY = DataSpec(dataset="in memory", sensitive="sensitive_features")
#: takes the end of an epoch: "epoch", "step", "loss" (None of a method that has none), "epsilon" spent by then (None
#: where none is proved), and every single number of `measure`, such as "accuracy" and "demographic_parity_gap", on the
#: rows that it trains on
Watch = Callable[[Mapping[str, object]], None]


class _Watched(Unwatched):
    """The observer of a fit that somebody watches. What it shows is raw: computed on protected rows, without noise."""

    def __init__(self, watch: Watch, train: Dataset, mechanism: Mechanism, live: LiveEpsilon | None) -> None:
        self._watch, self._train, self._mechanism, self._live = watch, train, mechanism, live

    def watches(self, epoch: int) -> bool:
        """It wants to see each."""
        return True

    def show(self, snapshot: Snapshot) -> None:
        """Measure the end of an epoch and hand it on."""
        epsilon = math.inf if self._live is None else self._live.epsilon_at(self._mechanism.events)
        metrics = evaluate(snapshot.network, snapshot.parameters, self._train)
        single = {name: value for name, value in metrics.items() if value is None or isinstance(value, int | float)}
        progress = {"epoch": snapshot.epoch, "step": snapshot.step, "loss": snapshot.scalars.get("loss")}
        self._watch({**progress, "epsilon": epsilon if math.isfinite(epsilon) else None, **single})


def run_in_memory(
    config: RunConfig,
    train: Dataset,
    *,
    watch: Watch | None = None,
    ledger: str | None = None,
    doubts: Sequence[FairprivWarning] = (),
) -> FitOutcome:
    """Train on all of `train`; errors as `execute`. The record's metrics are None; its noise cannot be repeated.

    `watch` is called at the end of each epoch; what it raises ends the fit. The default store's ledger counts what is
    planned against the data called `ledger`: BadInput, and nothing is trained, where that is beyond a cap. One warning
    says the `doubts` of the caller and its own, before anything is spent.
    """
    method = calibrate_method(config, train.n)
    counts = find_counts(config, method, train)
    journal = MemoryJournal()
    nobody = train.take(train.y[:0])
    draft = draft_record(key=UNSTORED, config=config, method=method, train=train, test=nobody)
    warnings = [*list_warnings(config, method, train), *doubt_network(method, train)]
    draft = replace(draft, warnings=tuple(map(str, warnings)))
    risk = None if counts is None else counts.format_risk(draft.epsilon)
    warn_once([*doubts, *warnings, *([] if risk is None else [PrivacyWarning(f"{risk} {RAW}")])])
    if ledger is not None:
        _count(draft, ledger)
    mechanism = Mechanism(Randomness.fresh())
    live = LiveEpsilon(method.event(train.n), config.delta) if watch is not None and draft.epsilon else None
    observer = Unwatched() if watch is None else _Watched(watch, train, mechanism, live)
    training = Training(notions()[config.notion], config.seed, mechanism, observer, device=find_device())
    try:
        fit = method.fit(train, training)
    except RunFailed as error:
        if draft.epsilon and training.mechanism.events:
            cost = epsilon_text(draft.epsilon)
            raise RunFailed(f"{error} It costs epsilon = {cost}, that of its planned length.") from error
        raise
    notes, time = dict(fit.notes), journal.spent(0)
    record = finished_record(draft, method, events=fit.events, metrics=None, steps=fit.steps, notes=notes, **time)
    return FitOutcome(record, fit, train)


def _count(draft: RunRecord, name: str) -> None:
    """Write what a fit will release into the ledger of the data called `name`, where runs on them count too."""
    posting = record_posting(draft).named(f"fit-{draw_id()}")
    page = identify_data(name, None)
    with open_store() as store:
        store.ledger.pay(replace(posting, data=page, name=name), {"fit": draft.config["method"]["name"]}, store.payer)
