"""One private evaluation of a run that finished without: what it will release, and what that costs.

A run on another's release makes none by itself, nor does one that is explored: of many settings one is chosen, and that
one is worth its price. Test rows are not training rows, so that the run's own epsilon stays; the ledger has a line of
its own for what is read of them.
"""

from __future__ import annotations

import secrets
from dataclasses import replace

from fairpriv_core.errors import BadInput
from fairpriv_core.privacy.calibrate import calibrate
from fairpriv_core.privacy.event import Gaussian, Parallel
from fairpriv_core.records.ledger_entry import Posting, record_posting
from fairpriv_core.records.paid import price_schema
from fairpriv_core.records.record import RunRecord


def request_evaluation(key: str, *, owner: str) -> dict[str, object]:
    """Return the request for an evaluation of the run `key`, as a preview."""
    return {"evaluate": key, "owner": owner}


def plan_late_evaluation(record: RunRecord) -> tuple[Posting, Gaussian]:
    """Return the evaluation's line in the ledger and its release: the noisy joint counts, which meet the run's epsilon.

    BadInput where the run has not finished, has an evaluation, or states no epsilon that could cover one.
    """
    if record.status != "finished" or record.metrics_private is not None:
        state = record.status if record.status != "finished" else "evaluated already"
        raise BadInput(f"run {record.key} is {state}: a finished run without an evaluation can have one.", field="key")
    if record.epsilon is None or record.epsilon <= 0:
        why = record.epsilon_reason or "its epsilon is 0."
        raise BadInput(f"no epsilon can cover an evaluation of run {record.key}: {why}", field="key")
    price = price_schema(record.config, record.threat_model)
    noise = calibrate(lambda level: (*price, Gaussian(level)), epsilon=record.epsilon, delta=record.delta)
    return _posting(record, Gaussian(noise)), Gaussian(noise)


def _posting(record: RunRecord, release: Gaussian) -> Posting:
    """Return the line of what reads a run's test rows alone."""
    own = record_posting(record)
    entry = replace(
        own.entry,
        key=f"evaluation-{secrets.token_hex(6)}",
        events=(Parallel(((), (release,)), fixed=True),),
        reads_sensitive=True,
        shared={},
        stream=None,
        whole={},
    )
    return replace(own, what="evaluation", entry=entry)
