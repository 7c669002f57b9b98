"""The audit of a stored run: its method's code with its noise, and its model. Stored with the run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from fairpriv_core.errors import BadInput
from fairpriv_core.runs.artifact import DESCRIPTION, PARAMETERS
from fairpriv_core.runs.audit_method import AuditPlan, Report, audit_method
from fairpriv_core.runs.audit_model import audit_model
from fairpriv_core.runs.record import method_of
from fairpriv_core.runs.store import RunStore, open_store
from fairpriv_core.runs.store_audits import AuditStore
from fairpriv_core.runs.versions import library_versions


def audit_run(store: RunStore, key: str, plan: AuditPlan, report: Report) -> dict[str, Any]:
    """Audit the finished run `key`, store what was found in place of an earlier audit, and return it as JSON.

    `code` is None for a method that is not private. Raises BadInput where the run has not finished or its data are
    gone, RunFailed where its method cannot be trained on the audit's data.
    """
    record = store.record(key)
    if record is None or record.status != "finished":
        raise BadInput(f"run {key} is {store.row(key).status}; only a finished run can be audited.", field="key")
    report("attacking the trained model")
    files = {name: store.artifact(key, name) for name in (PARAMETERS, DESCRIPTION)}
    method, notion = method_of(record), record.config["notion"]
    code = None  # where nothing is promised there is nothing to hold it to
    store.files.check(record.config["data"]["file"], record.config.get("file_id"))
    model = audit_model(record, files, seed=plan.seed)
    if method.info.threat_model is not None:
        code = audit_method(method, notion=notion, delta=record.delta, plan=plan, report=report)
    found = {
        "key": key,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": library_versions(),
        "run": {name: getattr(record, name) for name in ("threat_model", "epsilon", "epsilon_published", "delta")},
        "model": model,
        "code": code,
    }
    plain: dict[str, Any] = json.loads(json.dumps(found, allow_nan=False))
    AuditStore(store.database).keep(key, plain)
    return plain


def audit_once(store: RunStore, key: str, plan: AuditPlan, report: Report, *, again: bool) -> dict[str, Any]:
    """Return the stored audit of run `key`; where there is none, or with `again`, make it. Errors as `audit_run`."""
    stored = None if again else AuditStore(store.database).find(key)
    if stored is None:
        return audit_run(store, key, plan, report)
    report(f"the audit of {stored['made']} is stored, so nothing ran; --again makes a new one")
    return stored


def compute(place: str | None, request: Mapping[str, Any]) -> dict[str, Any]:
    """Do the audit that a page asked for, `{"audit": key, "runs", "seed"}`; return where its result is."""
    with open_store(place) as store:
        plan = AuditPlan(runs=request["runs"], seed=request["seed"])
        audit_run(store, request["audit"], plan, lambda _: None)
    return {"audit": request["audit"]}
