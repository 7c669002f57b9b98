"""A run on rows that are in memory already: nothing is stored, and no row is kept back for testing."""

from __future__ import annotations

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.engine.training import Training, Unwatched, find_device
from fairpriv_core.errors import RunFailed
from fairpriv_core.notions.catalog import notions
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness
from fairpriv_core.records.config import RunConfig
from fairpriv_core.records.plan import calibrate_method
from fairpriv_core.records.record import draft_record, finished_record
from fairpriv_core.runs.execute import UNSTORED, Outcome
from fairpriv_core.runs.session import MemoryJournal
from fairpriv_core.text import epsilon_text

#: what the config of such a run has in place of a data set
IN_MEMORY = DataSpec(dataset="in memory", sensitive="sensitive_features")


def run_in_memory(config: RunConfig, train: Dataset) -> Outcome:
    """Train on all of `train`; errors as `execute`. The record's metrics are None; its noise cannot be repeated."""
    method = calibrate_method(config, train.n)
    journal = MemoryJournal()
    nobody = train.take(train.y[:0])
    draft = draft_record(key=UNSTORED, config=config, method=method, train=train, test=nobody)
    notion, mechanism = notions()[config.notion], Mechanism(Randomness.fresh())
    training = Training(notion, config.seed, mechanism, Unwatched(), device=find_device())
    try:
        fitted = method.fit(train, training)
    except RunFailed as error:
        if draft.epsilon and training.mechanism.events:
            stated = epsilon_text(draft.epsilon)
            raise RunFailed(f"{error} It costs epsilon = {stated}, that of its planned length.") from error
        raise
    made = {"metrics": None, "steps": fitted.steps, "notes": dict(fitted.notes), **journal.spent(0)}
    return Outcome(finished_record(draft, method, events=fitted.events, **made), fitted, train)
