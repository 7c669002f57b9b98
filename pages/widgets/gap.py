"""What a fairness gap is to be held against: the ideal, and the gap without privacy and fairness."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fairpriv_core.notions.catalog import notions
from fairpriv_core.report.wording import points
from fairpriv_core.runs.store import RunStore
from pages.widgets.finished import find_rows


def say_reference(store: RunStore, config: Mapping[str, Any]) -> str:
    """Return what the gap of a run of `config` is to be held against; the plain model's gap where a run has it."""
    notion = notions()[config["notion"]]
    constant = ", and the constant answer has 0" if notion.target == "score" else ""
    found = next((row for row in find_rows(store) or () if row.method == "none" and _asks(row.setting, config)), None)
    ideal = f"Fairness gap: 0 is ideal{constant}."
    if found is None or config["method"]["name"] == "none":
        return ideal
    return f"{ideal} Without privacy and fairness it is {points(found.gap.mean)} on the same data."


def _asks(setting: str, config: Mapping[str, Any]) -> bool:
    asked = json.loads(setting)
    return all(asked[name] == config[name] for name in ("data", "notion", "split"))
