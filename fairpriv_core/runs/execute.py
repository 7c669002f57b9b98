"""Runs, from their configs to their records: the whole experiment. Runs of one chunk train in one loop.

The private evaluation releases the joint counts of (decision, group, label) on the test split once, and they are paid
for. A person is moved from one count to another (attribute) or leaves one (record): L2 sensitivity sqrt(2) or 1. Test
people are not training people, so a run costs the larger of training and evaluation (records/record.py). The noise has
a stream of its own under the run's key: a run that is interrupted between this release and its end, and goes on from
its checkpoint, makes the identical release again; without a checkpoint nothing had left the process.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.data.table_schema import from_text
from fairpriv_core.engine.predict import decisions, evaluate
from fairpriv_core.engine.training import Fitted, Training
from fairpriv_core.methods.shared.responses import measure_answers
from fairpriv_core.notions.noisy import measure_noisy
from fairpriv_core.notions.rates import count_cells
from fairpriv_core.privacy.event import Events, Gaussian, subtract
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.records.config import RunConfig
from fairpriv_core.records.plan import DatasetCache, Plan, plan_run
from fairpriv_core.records.record import RunRecord, finished_record, with_evaluation
from fairpriv_core.records.reuse import name_stream
from fairpriv_core.runs.certificate import certify_exported
from fairpriv_core.runs.session import MemoryJournal, StoreJournal

_SENSITIVITIES = {"attribute": math.sqrt(2.0), "record": 1.0}
UNSTORED = "unstored"  # the key of a run that no store keeps


def evaluate_privately(
    fitted: Fitted, test: Dataset, *, planned: Events, mechanism: Mechanism, threat_model: str | None
) -> tuple[Events, dict[str, object] | None]:
    """Return what was released and the record's `metrics_private`; ((), None) where nothing is planned."""
    if not planned:
        return (), None
    [release] = planned
    assert isinstance(release, Gaussian)
    sensitivity = _SENSITIVITIES[threat_model or "record"]
    decided = decisions(fitted.network, fitted.parameters, test)
    present = slice(None) if test.present is None else test.present
    counts = count_cells(decided[present], test.y[present], test.group[present], test.groups, test.labels)
    before = mechanism.events
    noisy = mechanism.gaussian(
        counts.ravel(),
        sensitivity=sensitivity,
        noise_multiplier=release.noise_multiplier,
        purpose="evaluation",
        index=0,
    )
    deviation = sensitivity * release.noise_multiplier
    numbers = measure_noisy(np.reshape(noisy, counts.shape), deviation, test.group_names, test.label_names)
    return subtract(mechanism.events, before), numbers


@dataclass(frozen=True)
class FitOutcome:
    """A finished run: its record, its model and the training data that says how rows are encoded."""

    record: RunRecord
    fitted: Fitted
    train: Dataset


def execute(config: RunConfig, journal: MemoryJournal) -> FitOutcome:
    """Run `config` alone; raises BadInput for what a person gave, RunFailed where training cannot go on."""
    plan = plan_run(config, UNSTORED, datasets=DatasetCache(), find_record=journal.find_record)
    return train_together([plan], journal.begin([plan]), journal)[0]


def train_together(
    plans: Sequence[Plan], trainings: Sequence[Training], journal: StoreJournal | MemoryJournal
) -> list[FitOutcome]:
    """Train runs of one method in one loop, measure each, and return their outcomes in order; errors as `execute`."""
    fits = fit_together(plans, trainings)
    measures = [_measure(*parts) for parts in zip(plans, trainings, fits, strict=True)]
    times = [journal.spent(place) for place in range(len(plans))]
    return [
        FitOutcome(finished_record(plan.draft, plan.method, steps=fit.steps, **measure, **time), fit, plan.train)
        for plan, fit, measure, time in zip(plans, fits, measures, times, strict=True)
    ]


def fit_together(plans: Sequence[Plan], trainings: Sequence[Training]) -> list[Fitted]:
    """Train runs of one method in one loop; RunFailed where it cannot go on."""
    inputs = [
        training if plan.source is None else replace(training, given=plan.source.notes)
        for plan, training in zip(plans, trainings, strict=True)
    ]
    methods, trains = [plan.method for plan in plans], [plan.train for plan in plans]
    return type(methods[0]).fit_many(methods, trains, inputs)


def _measure(plan: Plan, training: Training, fit: Fitted) -> dict[str, Any]:
    """Return the metrics and notes of a trained model under the record's names, and all that the run released."""
    test, mechanism = plan.test, training.mechanism
    metrics = evaluate(fit.network, fit.parameters, test)
    evaluation, private = evaluate_privately(
        fit, test, planned=plan.evaluation, mechanism=mechanism, threat_model=plan.draft.threat_model
    )
    if test.answered is not None:
        private = measure_answers(test, decisions(fit.network, fit.parameters, test))
    data = plan.config.data
    learned = data.file is not None and (data.schema is None or from_text(data.schema).values_from != "declared")
    certified = certify_exported(plan.method, test, private, learned=learned)
    notes = {**fit.notes, **name_stream(mechanism), **certified}
    events = with_evaluation(fit.events, evaluation)
    return {"events": events, "metrics": metrics, "metrics_private": private, "notes": notes}
