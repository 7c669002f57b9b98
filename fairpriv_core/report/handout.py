"""Everything that a report tells of finished runs, as plain JSON: the report itself reads no store and no catalogue."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from fairpriv_core.errors import BadInput
from fairpriv_core.ledger.launch import foresee_launch, read_page
from fairpriv_core.ledger.report import add_up
from fairpriv_core.methods.catalog import REFERENCE_METHOD
from fairpriv_core.records.config import write_toml
from fairpriv_core.records.ledger_entry import call_data, identify_data, list_sensitive
from fairpriv_core.records.record import RunRecord
from fairpriv_core.records.source import key_split
from fairpriv_core.records.told import tell_data, tell_method, tell_notion, tell_odds
from fairpriv_core.runs.certificate import describe_certificates
from fairpriv_core.store.audits import AuditStore
from fairpriv_core.store.runs import RunStore
from fairpriv_core.sweeps.spec import write_sweep

_MOST_RUNS = 500  # among the newest of which a reference is looked for


def gather_handout(store: RunStore, keys: Sequence[str]) -> dict[str, Any]:
    """Return what a report on the finished runs `keys` tells, JSON, in their order.

    `runs` has for each its `record`, `curves` (step, name, value), `audit`, `certificates` (name, sentence), `config`
    (TOML), what its data, method and notion are in words, and the `odds` that its proved epsilon leaves. `together` is
    what all of them spent, for each thing that is protected: `epsilon`, None with a `reason`. `ledger` is what
    everything on the same people has spent and will, as the ledger's gauge says it, on `day` (UTC). `references` are
    runs without privacy and fairness on the same question: `key`, `seed`, `accuracy` and `gap`, which are raw. `sweep`
    is the TOML of the sweep that trains exactly these runs; None where they are none.

    Raises:
        BadInput: no key is given, or a run is unknown or has not finished.
    """
    wanted = list(dict.fromkeys(store.row(key).key for key in keys))
    if not wanted:
        raise BadInput("name the key of one finished run or more.", field="key")
    records = store.records(wanted)
    for key in wanted:
        if key not in records or records[key].status != "finished":
            status = records[key].status if key in records else store.row(key).status
            raise BadInput(f"run {key} is {status}: only finished runs can be reported.", field="key")
    told = [_tell_run(store, records[key]) for key in wanted]
    chosen = [records[key] for key in wanted]
    return {
        "runs": told,
        "together": add_up(chosen),
        "ledger": _tell_ledger(store, chosen),
        "references": _find_references(store, chosen),
        "sweep": write_sweep([record.config for record in chosen]),
    }


def _tell_ledger(store: RunStore, records: Sequence[RunRecord]) -> dict[str, Any]:
    """Return the ledger's totals for the people of `records`: whole records, and the attributes that these runs name.

    Each is at the smallest δ of the runs on the same people.
    """
    pages: dict[str, list[RunRecord]] = {}
    for record in records:
        pages.setdefault(identify_data(record.config["data"], record.config.get("file_id")), []).append(record)
    lines = []
    for data, about in pages.items():
        delta = min(record.delta for record in about)
        named = {None, *(column for record in about for column in list_sensitive(record.config["data"], record.data))}
        for effect in foresee_launch(read_page(store, data), None, delta=delta):
            if not effect.runs or effect.column not in named:
                continue
            bounded = math.isfinite(effect.planned)
            reason = None if bounded else effect.reason or "No finite epsilon is proved for the releases."
            line = {"data": call_data(about[0].config["data"]), "column": effect.column, "runs": effect.runs}
            lines.append({**line, "epsilon": effect.planned if bounded else None, "reason": reason, "delta": delta})
    return {"day": datetime.now(UTC).date().isoformat(), "lines": lines}


def _find_references(store: RunStore, records: Sequence[RunRecord]) -> list[dict[str, Any]]:
    """Return the reference method's newest finished run on each question of `records`, without those among them."""
    asked = [_name_question(record.config) for record in records]
    found: dict[str, str] = {}
    for row in store.rows(limit=_MOST_RUNS):
        question = _name_question(row.config)
        if row.status == "finished" and row.config["method"]["name"] == REFERENCE_METHOD and question in asked:
            found.setdefault(question, row.key)
    others = store.records([key for key in found.values() if key not in {record.key for record in records}])
    return [_tell_reference(record) for record in others.values()]


def _name_question(config: Mapping[str, Any]) -> str:
    split = key_split(config["split"], config["data"]["dataset"])
    return repr([split, *(config.get(name) for name in ("data", "file_id", "notion", "seed"))])


def _tell_reference(record: RunRecord) -> dict[str, Any]:
    metrics, gap = record.metrics or {}, f"{record.config['notion']}_gap"
    seed = record.config["seed"]
    return {"key": record.key, "seed": seed, "accuracy": metrics.get("accuracy"), "gap": metrics.get(gap)}


def _tell_run(store: RunStore, record: RunRecord) -> dict[str, Any]:
    document = record.to_document()
    return {
        "record": document,
        "curves": store.metrics(record.key),
        "audit": AuditStore(store.database).find(record.key),
        "certificates": describe_certificates(record),
        "config": write_toml(document["config"]),
        "data": tell_data(record),
        "method": tell_method(record),
        "notion": tell_notion(record),
        "odds": tell_odds(record),
    }
