"""What the `audit` command answers."""

from __future__ import annotations

from fairpriv_core.runs.answers import Answer
from fairpriv_core.runs.audit import audit_once
from fairpriv_core.runs.audit_method import AuditPlan, Report
from fairpriv_core.runs.prose_audit import describe_audit
from fairpriv_core.runs.store import open_store


def answer_audit(key: str, plan: AuditPlan, report: Report, *, again: bool) -> Answer:
    """Audit a run, or tell what its stored audit found."""
    with open_store() as store:
        found = audit_once(store, store.row(key).key, plan, report, again=again)
    return Answer(found, describe_audit(found))
