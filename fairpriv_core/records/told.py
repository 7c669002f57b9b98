"""What a run is about, in words: its data, its method, its fairness notion, and what its epsilon promises. JSON."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from fairpriv_core.data.catalog import problems
from fairpriv_core.methods.catalog import methods
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.notion import explain
from fairpriv_core.privacy.explain import odds, sentence
from fairpriv_core.records.record import RunRecord

_CELL = re.compile(r" because of '.*'( in row [^.]*)?\.$", re.DOTALL)


def tell_data(record: RunRecord) -> dict[str, Any]:
    """Return the data in words; of a person's own file its caveats are told without the cell that they quote.

    `positive` is None where there are more than two labels.
    """
    asked = record.config["data"]
    problem = problems().get(asked["dataset"] or "")
    caveats = [_CELL.sub(" because of one of its values.", caveat) for caveat in record.data["caveats"]]
    first = problem.labels[0].column.name if problem is not None else ""
    labels = record.data["label_names"]
    return {
        "title": problem.title if problem is not None else f"an own file, {Path(str(asked['file'])).name[:24]}",
        "summary": problem.summary if problem is not None else "A file of its user's own.",
        "citation": problem.citation if problem is not None else None,
        "licence": problem.licence if problem is not None else None,
        "label": asked["label"] or first,
        "positive": labels[-1] if len(labels) == 2 else None,
        "caveats": caveats,
        "own_file": problem is None,
    }


def tell_method(record: RunRecord) -> dict[str, Any]:
    """Return what trained the run."""
    info = methods()[record.config["method"]["name"]].info
    return {
        "title": info.title,
        "summary": info.summary,
        "citation": info.citation,
        "needs_group_at_prediction": info.needs_group_at_prediction,
        "pursues_notion": info.pursues_notion,
    }


def tell_notion(record: RunRecord) -> dict[str, Any]:
    """Return which fairness was asked for, on the run's own groups and label."""
    notion = notions()[record.config["notion"]]
    return {
        "title": notion.title,
        "citation": notion.citation,
        "asks": explain(notion, record.data["group_names"], record.data["label_names"]),
        "misleads": notion.misleads,
    }


def tell_odds(record: RunRecord) -> dict[str, Any]:
    """Return what the proved epsilon says in odds, and how `sure` an attacker can end, in 100; None without a bound."""
    if record.threat_model is None:
        return {"sentence": "Nothing limits what an attacker can learn: this method is not private.", "sure": None}
    if record.config["replay_noise"] is not None:
        return {
            "sentence": "Nothing is protected: whoever knows how the noise was drawn can take it off.",
            "sure": None,
        }
    said = sentence(record.epsilon, record.delta, record.threat_model)
    return {"sentence": said, "sure": None if record.epsilon is None else odds(record.epsilon)}
