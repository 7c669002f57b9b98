"""Everything that a report tells of finished runs, as plain JSON: the report itself reads no store and no catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairpriv_core.errors import BadInput
from fairpriv_core.runs.certificate import describe_certificates
from fairpriv_core.runs.record import RunRecord
from fairpriv_core.runs.store import RunStore
from fairpriv_core.runs.store_audits import AuditStore
from fairpriv_core.runs.together import add_up
from fairpriv_core.runs.told import tell_data, tell_method, tell_notion, tell_odds
from fairpriv_core.runs.toml import write_toml


def gather_handout(store: RunStore, keys: Sequence[str]) -> dict[str, Any]:
    """Return what a report on the finished runs `keys` tells, JSON, in their order.

    `runs` has for each its `record`, `curves` (step, name, value), `audit`, `certificates` (name, sentence), `config`
    (TOML), what its data, method and notion are in words, and the `odds` that its proved epsilon leaves. `together` is
    what all of them spent, for each thing that is protected: `epsilon`, None with a `reason`.

    Raises:
        BadInput: no key is given, or a run is unknown or has not finished.
    """
    wanted = list(dict.fromkeys(keys))
    if not wanted:
        raise BadInput("name the key of one finished run or more.", field="key")
    records = store.records([store.row(key).key for key in wanted])
    for key in wanted:
        if key not in records or records[key].status != "finished":
            status = records[key].status if key in records else store.row(key).status
            raise BadInput(f"run {key} is {status}: only finished runs can be reported.", field="key")
    told = [_tell_run(store, records[key]) for key in wanted]
    return {"runs": told, "together": add_up([records[key] for key in wanted])}


def _tell_run(store: RunStore, record: RunRecord) -> dict[str, Any]:
    found = record.notes.get("certificates")
    return {
        "record": record.to_json(),
        "curves": store.metrics(record.key),
        "audit": AuditStore(store.database).find(record.key),
        "certificates": describe_certificates(found) if found else [],
        "config": write_toml(record.config),
        "data": tell_data(record),
        "method": tell_method(record),
        "notion": tell_notion(record),
        "odds": tell_odds(record),
    }
