"""Audits in the run store: one file a run, the latest; it goes with the run."""

from __future__ import annotations

import json

from sqlalchemy import select

from fairpriv_core.records.audit import Audit
from fairpriv_core.store.checksum import check_content
from fairpriv_core.store.claim import Artifact
from fairpriv_core.store.database import Database, upsert
from fairpriv_core.store.tables import artifact

AUDIT = "audit.json"


class AuditStore:
    """The verbs of audits; each is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def keep(self, key: str, audit: Audit) -> None:
        """Store the audit of run `key` in place of an earlier one."""
        file = Artifact(AUDIT, json.dumps(audit, indent=1, ensure_ascii=False, allow_nan=False).encode())
        row = {"content": file.content, "bytes": len(file.content), "sha256": file.sha256}
        with self._database.write() as connection:
            upsert(connection, artifact, [{"key": key, "name": file.name, **row}])

    def find(self, key: str) -> Audit | None:
        """Return the audit of run `key`; None where it has none, Damaged where it is not what was stored."""
        query = select(artifact.c.content, artifact.c.sha256).where(artifact.c.key == key, artifact.c.name == AUDIT)
        with self._database.read() as connection:
            row = connection.execute(query).first()
        if row is None:
            return None
        audit: Audit = json.loads(check_content(bytes(row.content), row.sha256, f"the audit of run {key}"))
        return audit
