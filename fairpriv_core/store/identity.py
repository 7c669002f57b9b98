"""What a store calls the content of a person's file: an id at random, found again by digests that its secret keys.

Whoever knows all rows but one could hash the candidates and compare, so no digest of a person's rows is written
anywhere in clear: what leaves holds the id, and the id tells nothing. Ids that share a digest are one content.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Mapping

from sqlalchemy import Connection, func, insert, select, update

from fairpriv_core.store.tables import data_identity, store_info

BYTES, CONTENT = "bytes", "content"
_ID_BYTES = 8
_SECRET_BYTES = 32


def make_secret(connection: Connection) -> None:
    """Give the store its secret, unless it has one."""
    fresh = secrets.token_hex(_SECRET_BYTES)
    connection.execute(update(store_info).where(store_info.c.secret.is_(None)).values(secret=fresh))


def seal(connection: Connection, text: str) -> str:
    """Return a digest of `text` that nobody can make without the store's secret."""
    secret = bytes.fromhex(connection.scalars(select(store_info.c.secret)).one())
    return hmac.new(secret, text.encode(), "sha256").hexdigest()


def draw_id() -> str:
    """Return a new id: 16 hex digits at random."""
    return secrets.token_hex(_ID_BYTES)


def find_ids(connection: Connection, digests: Mapping[str, str]) -> list[str]:
    """Return the ids of a content by its digests (by kind, in clear); first those whose rows have been read, then age.

    The first one is what new runs are called by.
    """
    sealed = [seal(connection, f"{kind} {digest}") for kind, digest in digests.items()]
    are_read = select(data_identity.c.id).where(data_identity.c.kind == CONTENT)
    query = select(data_identity.c.id, func.min(data_identity.c.created)).where(data_identity.c.digest.in_(sealed))
    rows = connection.execute(query.group_by(data_identity.c.id)).all()
    read_ids = set(connection.scalars(are_read.where(data_identity.c.id.in_([name for name, _ in rows]))))
    return [name for name, _ in sorted(rows, key=lambda row: (row[0] not in read_ids, row[1], row[0]))]


def is_read(connection: Connection, name: str) -> bool:
    """Return whether the rows of the content `name` have been digested, not only a file's bytes."""
    query = select(data_identity.c.id).where(data_identity.c.id == name, data_identity.c.kind == CONTENT)
    return connection.execute(query).first() is not None


def add_digests(connection: Connection, name: str, digests: Mapping[str, str]) -> None:
    """Store that the content `name` has these digests (by kind, in clear)."""
    sealed = {seal(connection, f"{kind} {digest}"): kind for kind, digest in digests.items()}
    stored_digests = set(connection.scalars(select(data_identity.c.digest).where(data_identity.c.id == name)))
    rows = [{"digest": digest, "kind": kind} for digest, kind in sealed.items() if digest not in stored_digests]
    for row in rows:
        connection.execute(insert(data_identity).values(id=name, created=time.time(), **row))


def find_same(connection: Connection, name: str) -> set[str]:
    """Return all ids of the content that is called `name`, this one included; what is no file's id stands alone."""
    ids, before = {name}, 0
    while len(ids) > before:
        before = len(ids)
        digests = select(data_identity.c.digest).where(data_identity.c.id.in_(ids))
        ids |= set(connection.scalars(select(data_identity.c.id).where(data_identity.c.digest.in_(digests))))
    return ids
