"""What a run will release, found out before it is launched: for caps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fairpriv_core.runs.config import RunConfig
from fairpriv_core.runs.execute import plan_run
from fairpriv_core.runs.ledger_entry import Post, post_record
from fairpriv_core.runs.shelf import Shelf


def plan_post(
    config: RunConfig, *, find_record: Callable[[str], Mapping[str, Any]], shelf: Shelf | None = None
) -> Post:
    """Return the ledger's line of a run of `config` under its key; reads the data, from `shelf` where it is there.

    `find_record` returns the JSON of the record of the run whose release it uses. Errors as `execute`.
    """
    plan = plan_run(config, config.key, shelf=shelf or Shelf(), find_record=find_record)
    return post_record(plan.draft.to_json())
