"""The run store's tables. A change of any column is a new SCHEMA_VERSION; a store of another one is refused.

So is a change of what `record_posting` says of a record, since postings are stored.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Column,
    ColumnElement,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    func,
)

SCHEMA_VERSION = 15

schema = MetaData()
# `secret` keys what is stored in place of a digest of a person's data (`store_identity.py`). Never exported.
# `labelled` grows with each change of a label, so that what was read of them is known to be old.
store_info = Table(
    "store_info",
    schema,
    Column("version", Integer, primary_key=True),
    Column("secret", String, nullable=True),
    Column("labelled", Integer),
)
# `brief` is what `RunRecord.to_brief` keeps of a finished run, `posting` what the ledger needs of one that has begun.
# Runs with one `chunk` train together: they are claimed, committed and finished in one transaction each.
# `exploring` is 1 of a run that lists leave out until somebody keeps it, 2 of one that was opened by its key since; it
# counts in the ledger as any other. `question` is of a finished run that a choice can take its epsilon from, and stays
# when it is deleted (`candidates.py`); `raw` is 1 where Explore shows raw numbers of it.
run = Table(
    "run",
    schema,
    Column("key", String, primary_key=True),
    Column("config_key", String, nullable=False, index=True),
    Column("repeat", Integer, nullable=False),
    Column("status", String, nullable=False, index=True),
    Column("request", String),
    Column("owner", String, nullable=False),
    Column("config", JSON, nullable=False),
    Column("record", JSON(none_as_null=True)),
    Column("attempt", Integer, nullable=False, default=0),
    Column("crashes", Integer, nullable=False, default=0),
    Column("host_deaths", Integer, nullable=False, default=0),
    Column("worker", String),
    Column("lease_expires", Double),
    Column("heartbeat", Double),
    Column("created", Double, nullable=False, index=True),  # lists are by it
    Column("started", Double),
    Column("finished", Double),
    Column("step", Integer, nullable=False, default=0),
    Column("steps", Integer),
    Column("epoch", Integer, nullable=False, default=0),
    Column("epsilon", Double),
    Column("seconds", Double, nullable=False, default=0.0),
    Column("resumed_from_step", Integer, nullable=False, default=0),
    Column("error", String),
    Column("error_kind", String),
    Column("reserved", JSON(none_as_null=True)),
    Column("chunk", String, index=True),
    Column("brief", JSON(none_as_null=True)),
    Column("posting", JSON(none_as_null=True)),
    Column("exploring", Integer),
    Column("question", String, index=True),
    Column("raw", Integer),
)
CHUNK_DIGITS = 16
tombstone = Table(
    "tombstone",
    schema,
    Column("key", String, primary_key=True),
    Column("config_key", String, nullable=False),
    Column("repeat", Integer, nullable=False),
    Column("owner", String, nullable=False),
    Column("data", JSON, nullable=False),
    Column("threat_model", String),
    Column("event", JSON, nullable=False),
    Column("deleted", Double, nullable=False),
    Column("post", JSON, nullable=False),
    Column("question", String, index=True),
)
# Paid releases that are no runs. Never deleted.
charge = Table(
    "charge",
    schema,
    Column("key", String, primary_key=True),
    Column("owner", String, nullable=False),
    Column("post", JSON, nullable=False),
    Column("result", JSON, nullable=False),
    Column("created", Double, nullable=False),
)
# `column` is a sensitive column, or empty for whole records.
cap = Table(
    "cap",
    schema,
    Column("data", String, primary_key=True),
    Column("column", String, primary_key=True),
    Column("epsilon", Double, nullable=False),
    Column("delta", Double, nullable=False),
)
preview = Table(
    "preview",
    schema,
    Column("key", String, primary_key=True),
    Column("owner", String),
    Column("request", JSON, nullable=False),
    Column("status", String, nullable=False, index=True),
    Column("result", JSON(none_as_null=True)),
    Column("error", String),
    Column("attempt", Integer, nullable=False, default=0),
    Column("worker", String),
    Column("lease_expires", Double),
    Column("created", Double, nullable=False),
)
upload = Table(
    "upload",
    schema,
    Column("id", String, primary_key=True),
    Column("owner", String, primary_key=True),
    Column("name", String, nullable=False),
    Column("bytes", Integer, nullable=False),
    Column("created", Double, nullable=False),
)
# The bytes of an upload, for machines that have no file of it: in PostgreSQL alone. They go with its row.
upload_part = Table(
    "upload_part",
    schema,
    Column("id", String, primary_key=True),
    Column("owner", String, primary_key=True),
    Column("place", Integer, primary_key=True),
    Column("content", LargeBinary, nullable=False),
    ForeignKeyConstraint(["id", "owner"], ["upload.id", "upload.owner"], ondelete="CASCADE"),
)
# Ids that share a digest are one content; `kind` is "bytes" or "content". Digests are keyed with the store's secret.
data_identity = Table(
    "data_identity",
    schema,
    Column("id", String, primary_key=True),
    Column("digest", String, primary_key=True),
    Column("kind", String, nullable=False),
    Column("created", Double, nullable=False),
)


def _key() -> Column[str]:
    return Column("key", String, ForeignKey("run.key", ondelete="CASCADE"), primary_key=True)


def whole_chunk() -> ColumnElement[str]:
    """Return the chunk that a run was in before its chunk was split: parts are named "<chunk>.0", "<chunk>.1"."""
    return func.substr(run.c.chunk, 1, CHUNK_DIGITS)


# What a person calls a run. Their own words: no part of its config, record or files, and in no export.
label = Table(
    "label",
    schema,
    _key(),
    Column("name", String, nullable=False, default=""),
    Column("tags", JSON, nullable=False, default=list),
    Column("note", String, nullable=False, default=""),
    Column("pinned", Integer, nullable=False, default=0),
    Column("archived", Integer, nullable=False, default=0),
)

metric = Table(
    "metric",
    schema,
    _key(),
    Column("name", String, primary_key=True),
    Column("step", Integer, primary_key=True),
    Column("value", Double),
    sqlite_with_rowid=False,
)

snapshot = Table(
    "snapshot",
    schema,
    _key(),
    Column("step", Integer, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("histograms", JSON, nullable=False),
)

# Secret: `content` holds generator state. Never exported, never shown; mode 0600 with the rest of the store.
checkpoint = Table(
    "checkpoint",
    schema,
    _key(),
    Column("step", Integer, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("released", JSON, nullable=False),
    Column("binding", JSON, nullable=False),
)

artifact = Table(
    "artifact",
    schema,
    _key(),
    Column("name", String, primary_key=True),
    Column("content", LargeBinary, nullable=False),
    Column("bytes", Integer, nullable=False),
    Column("sha256", String, nullable=False),
)
