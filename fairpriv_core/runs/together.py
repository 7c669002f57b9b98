"""What several runs cost together, for everything that one of them protects. JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from fairpriv_core.privacy.accountants import coarse_epsilon, epsilon
from fairpriv_core.privacy.ledger import Entry, Total, compose
from fairpriv_core.runs.ledger_entry import call_data, post_record
from fairpriv_core.runs.ledger_report import join_reasons
from fairpriv_core.runs.record import RunRecord


def add_up(records: Sequence[RunRecord]) -> list[dict[str, Any]]:
    """Return what the runs cost together, for each data set and each thing that one of them protects."""
    posts = [(post_record(record.to_json()), call_data(record.config["data"]), record.delta) for record in records]
    found = []
    for data in dict.fromkeys(post.data for post, _, _ in posts):
        here = [(post.entry, name, delta) for post, name, delta in posts if post.data == data]
        entries, delta = [entry for entry, _, _ in here], min(delta for _, _, delta in here)
        for column in _list_protected(entries):
            said = {"data": here[0][1], "column": column, "delta": delta, "runs": len(entries)}
            found.append({**said, **_state(compose(entries, column), delta, alone=len(entries) == 1)})
    return found


def _list_protected(entries: Iterable[Entry]) -> list[str | None]:
    named: list[str | None] = []
    for entry in entries:
        if entry.threat_model is not None:
            named += [None] if entry.threat_model == "record" else entry.sensitive
    return list(dict.fromkeys(named))


def _state(total: Total, delta: float, *, alone: bool) -> Mapping[str, Any]:
    cost = _cost(total, delta, alone=alone)
    if math.isfinite(cost):
        return {"epsilon": cost, "reason": None}
    return {"epsilon": None, "reason": join_reasons(total.unbounded) or "No finite epsilon is proved for the releases."}


@lru_cache(maxsize=64)
def _cost(total: Total, delta: float, *, alone: bool) -> float:
    return total.epsilon(delta, epsilon if alone else coarse_epsilon)
