"""The private evaluation of a run that finished without one: a page asks, and a child of the supervisor makes it.

The noise is fresh at each try, and nothing leaves before the transaction that pays for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.training import Fitted
from fairpriv_core.errors import BadInput
from fairpriv_core.ledger.late_evaluation import plan_late_evaluation
from fairpriv_core.privacy.event import Gaussian
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness
from fairpriv_core.records.config import build_config
from fairpriv_core.records.model import Model
from fairpriv_core.records.plan import DatasetCache
from fairpriv_core.records.record import RunRecord, evaluated_record
from fairpriv_core.runs.execute import evaluate_privately
from fairpriv_core.store.database import Database
from fairpriv_core.store.ledger import EVALUATED, list_evaluated
from fairpriv_core.store.runs import RunStore


def compute(place: str | None, request: Mapping[str, Any]) -> dict[str, Any]:
    """Evaluate the run that `request` (see `request_evaluation`) names, in the store at `place`, and pay for it.

    From then on the store gives the run's record with the evaluation. BadInput where the run is another's or cannot
    have one, its data are not what they were, or a cap forbids it; nothing is released then.
    """
    key = request["evaluate"]
    with RunStore(Database(place), request["owner"]) as store:
        row, record = store.row(key), store.record(key)
        if record is None or row.owner != store.payer:
            state = "has not begun" if record is None else "is someone else's"
            raise BadInput(f"run {key} {state}: it cannot be evaluated.", field="key")
        posting, release = plan_late_evaluation(record)
        store.ledger.check(posting)
        train, test = DatasetCache(lend=store.files.lend).parts(build_config(row.config))
        if record.data["digest"] not in ("", train.digest):
            raise BadInput(f"the data of run {key} are not what it was trained on.", field="data")
        evaluated = _release(store, record, test, release)
        store.ledger.pay(posting, {EVALUATED: key, **list_evaluated(evaluated)}, store.payer)
        return {EVALUATED: key}


def _release(store: RunStore, record: RunRecord, test: Dataset, release: Gaussian) -> RunRecord:
    """Return the record of a run with what its model's decisions on the test rows were, counted with noise."""
    model, mechanism = Model.read(partial(store.artifact, record.key)), Mechanism(Randomness.fresh())
    model_fit = Fitted(model.network, model.parameters, (), record.steps)
    release_events, numbers = evaluate_privately(
        model_fit, test, planned=(release,), mechanism=mechanism, threat_model=record.threat_model
    )
    return evaluated_record(record, release_events, numbers or {})
