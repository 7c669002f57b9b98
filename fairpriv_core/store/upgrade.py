"""Bringing a store of an earlier version to this one; nothing that was stored is lost.

Checksums of people's files become ids. Whoever knows all rows of a file but one can confirm a guess of it by a
checksum, and by all that is computed from one: a run's key, its data's digest, what its chunk and its ledger page are
called. None of it stays. The same bytes are found again by a keyed digest, and runs by their former keys.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from sqlalchemy import JSON, Column, Connection, RowMapping, Table, delete, insert, select, text, update

from fairpriv_core.data.catalog import problems
from fairpriv_core.data.roles import Groups
from fairpriv_core.errors import BadInput, Damaged
from fairpriv_core.privacy import event as events_of
from fairpriv_core.privacy.event import Events, Parallel, SampledGaussian
from fairpriv_core.records.config import name_config
from fairpriv_core.records.ledger_entry import find_published, identify_data, name_bytes
from fairpriv_core.records.model import DESCRIPTION
from fairpriv_core.records.record import RunRecord
from fairpriv_core.store.claim import Artifact
from fairpriv_core.store.identity import BYTES, add_alias, add_digests, draw_id, make_secret
from fairpriv_core.store.rows import RECORD, read_document, summarise
from fairpriv_core.store.tables import (
    ADDED,
    CHUNK_DIGITS,
    SCHEMA_VERSION,
    artifact,
    cap,
    charge,
    checkpoint,
    metric,
    preview,
    run,
    schema,
    snapshot,
    store_info,
    tombstone,
    upload,
)
from fairpriv_core.text import epsilon_text

_IDS_FROM = 5  # the version that has ids in place of checksums of files
_SUMS_FROM = 5  # the version from which on sums keep their bound
_LARGE_SAMPLE = 30_000
_UNDER_WAY = ("queued", "running", "paused")
_NO_LONGER = (
    "It was stated as {epsilon} before sums kept their bound. In samples of about {rows:,.0f} rows rounding may add "
    "over 1 % to what one row moves, so it does not hold."
)
_NAMED = re.compile(r"(?<![0-9a-f])(?:[0-9a-f]{64}|[0-9a-f]{16})(?![0-9a-f])")
_OF_A_FILE = re.compile(r"[0-9a-f]{64}(?=\.|$)")
_ASSUMED = (
    "The record and the run's key name the file by a checksum of its content, which is taken to give nothing away: "
    "whoever knows all of the file but one value could check a guess of it."
)
_CHILDREN = (metric, snapshot, checkpoint, artifact)
_DOCUMENTS = (run, tombstone, charge, preview)
Words = dict[str, str]


def upgrade(connection: Connection, version: int) -> None:
    """Add what a store of an earlier version lacks: columns, indexes, ids of files; and summarise its runs anew."""
    if version < _IDS_FROM:
        connection.execute(text("ALTER TABLE upload RENAME COLUMN sha256 TO id"))
    for first, column in ADDED:
        if version < first:
            kind = column.type.compile(connection.dialect)
            connection.execute(text(f"ALTER TABLE {column.table.name} ADD COLUMN {column.name} {kind}"))
    for index in [each for table in schema.tables.values() for each in table.indexes]:
        index.create(connection, checkfirst=True)
    _forget_measured(connection)
    if version < _SUMS_FROM:
        _take_back_large_samples(connection)
    if version < _IDS_FROM:
        name_files(connection)
    _summarise(connection)
    connection.execute(update(store_info).values(version=SCHEMA_VERSION))


def find_under_way(connection: Connection) -> list[str]:
    """Return the keys of runs that have begun and not ended: only the version that began them goes on with them."""
    begun = select(checkpoint.c.key)
    query = select(run.c.key).where(run.c.status.in_(_UNDER_WAY), run.c.key.in_(begun)).order_by(run.c.key)
    return list(connection.scalars(query))


def _summarise(connection: Connection) -> None:
    """Write anew what is read of thousands of runs, from their records; a run whose record is damaged stays without."""
    for key in connection.scalars(select(run.c.key).where(run.c.record.is_not(None))).all():
        stored = (
            connection.execute(select(run.c.key, run.c.error_kind, RECORD).where(run.c.key == key)).mappings().one()
        )
        with suppress(BadInput, Damaged, AttributeError, KeyError, TypeError, ValueError):
            document = read_document(stored) or {}
            summary = summarise(RunRecord.from_json(document), document, stored["error_kind"])
            connection.execute(update(run).where(run.c.key == key).values(**summary))


def _forget_measured(connection: Connection) -> None:
    """Take out of stored models what earlier versions measured of a sensitive column: range, mean, deviation, deciles.

    Of models that decide by group the edges and the listed values stay, which is all that predicting needs.
    """
    models = connection.execute(select(artifact.c.key, artifact.c.content).where(artifact.c.name == DESCRIPTION))
    for key, content in models.all():
        described = json.loads(content)
        if described.get("grouping") is None:
            continue
        described["grouping"] = Groups.from_json(described["grouping"]).to_json()
        file = Artifact(DESCRIPTION, json.dumps(described, indent=1).encode())
        held = {"content": file.content, "bytes": len(file.content), "sha256": file.sha256}
        own = (artifact.c.key == key) & (artifact.c.name == DESCRIPTION)
        connection.execute(update(artifact).where(own).values(**held))


def _take_back_large_samples(connection: Connection) -> None:
    """Take back the epsilon of runs whose sums over many rows lost precision: nothing finite is proved of them.

    One product in float32 over s rows, whose errors are taken to be independent, is off by 2^-24 s^(3/2) / 34 of what a
    row may add (BLAS adds some 384 rows at a time): by 1 % at _LARGE_SAMPLE.
    """
    stored = connection.execute(select(run.c.key, run.c.record).where(run.c.record.is_not(None)))
    for key, record in stored.all():
        rows = _sampling_rate(events_of.from_json(record["event"])) * record["data"].get("n_train", 0)
        if record["epsilon"] is None or rows <= _LARGE_SAMPLE:
            continue
        reason = _NO_LONGER.format(epsilon=epsilon_text(record["epsilon"]), rows=rows)
        restated = {**record, "epsilon": None, "epsilon_reason": reason}
        connection.execute(update(run).where(run.c.key == key).values(record=restated, epsilon=None))


def _sampling_rate(events: Events) -> float:
    """Return the highest rate at which rows were sampled for a sum; 0.0 for none."""
    branches = [branch for event in events if isinstance(event, Parallel) for branch in event.branches]
    own = [event.sampling_rate for event in events if isinstance(event, SampledGaussian)]
    return max([*own, *(_sampling_rate(branch) for branch in branches)], default=0.0)


def name_files(connection: Connection) -> None:
    """Give the store its secret, and ids and new keys in place of checksums and of what was computed from them."""
    make_secret(connection)
    words = _name_contents(connection)
    keys = _name_runs(connection, words)
    if not words:
        return
    for table in _DOCUMENTS:
        _rewrite(connection, table, words)
    _rewrite_files(connection, words)
    for column in (tombstone.c.key, tombstone.c.config_key, charge.c.key, cap.c.data, upload.c.id):
        _rename(connection, column, words)
    for before, key in keys.items():
        _rename_run(connection, before, key, words)


def _name_contents(connection: Connection) -> Words:
    """Return the ids of all files that the store knows of, by their checksums and by their pages in the ledger."""
    configs = list(connection.scalars(select(run.c.config)))
    sealed = {each["file_sha256"] for each in configs if each.get("file_sha256")}
    sealed |= {each for each in connection.scalars(select(upload.c.id)) if _OF_A_FILE.fullmatch(each)}
    stones = connection.execute(select(tombstone.c.data, tombstone.c.post)).all()
    sealed |= {found[0] for data, _ in stones if (found := _OF_A_FILE.match(data["name"]))}
    words: Words = {}
    for checksum in sorted(sealed):
        page, published = name_bytes(checksum), find_published(checksum)
        words[checksum] = published or _name_page(connection, page)
        words |= {} if published else {page: words[checksum]}
    public = {identify_data({"dataset": name, "file": None}, None) for name in problems()}
    posts = [post for _, post in stones if post] + list(connection.scalars(select(charge.c.post)))
    for page in [post["data"] for post in posts] + list(connection.scalars(select(cap.c.data))):
        if page not in public and page not in words:
            words[page] = _name_page(connection, page)
    return words


def _name_page(connection: Connection, page: str) -> str:
    """Return a new id for the content whose page in the ledger was `page`, which follows from the file's bytes."""
    name = draw_id()
    add_digests(connection, name, {BYTES: page})
    return name


def _name_runs(connection: Connection, words: Words) -> Words:
    """Return the new keys of runs on people's files by their former ones; put what they were named after into `words`.

    Of a deleted run there is no config from which its key could follow, so that it is drawn.
    """
    query = select(run.c.key, run.c.config_key, run.c.repeat, run.c.config, run.c.chunk)
    rows = {row["key"]: row for row in connection.execute(query).mappings()}
    own = {key: row for key, row in rows.items() if row["config"].get("file_sha256")}
    keys: Words = {}
    for key in own:
        _find_key(key, own, words, keys)
    words |= {row["config_key"]: keys[key].partition("-")[0] for key, row in own.items()}
    chunks = {row["chunk"][:CHUNK_DIGITS] for row in own.values() if row["chunk"]}
    stones = connection.execute(select(tombstone.c.config_key, tombstone.c.data, tombstone.c.post)).all()
    buried = [
        (key, data)
        for key, data, post in stones
        if (post["data"] in words if post is not None else data["name"] not in problems())
    ]
    words |= {name: draw_id() for name in sorted(chunks | {key for key, _ in buried if key not in words})}
    records = connection.scalars(select(run.c.record).where(run.c.key.in_(own), run.c.record.is_not(None)))
    summaries = [record["data"] for record in records] + [data for _, data in buried]
    words |= {each["digest"]: "" for each in summaries if each.get("digest")}
    return keys


def _find_key(key: str, own: Mapping[str, RowMapping], words: Words, keys: Words) -> str:
    """Return the new key of a run, which follows from its config, and that from the run whose release it uses."""
    if key not in own or key in keys:
        return keys.get(key, key)
    row = own[key]
    config = _rewrite_config(dict(row["config"]), words)
    if config.get("reuse"):
        config["reuse"] = _find_key(config["reuse"], own, words, keys)
    repeated = "" if row["repeat"] == 1 else f"-{row['repeat']}"
    keys[key] = f"{name_config(config)}{repeated}"
    return keys[key]


def _rewrite_config(config: dict[str, Any], words: Words) -> dict[str, Any]:
    """Return a config (JSON) with `file_id` where it had `file_sha256`."""
    checksum = config.pop("file_sha256")
    return {**config, "file_id": words.get(checksum)}


def _rewrite(connection: Connection, table: Table, words: Words) -> None:
    """Rewrite the documents and messages of a table."""
    written = [column for column in table.c if isinstance(column.type, JSON) or column.name == "error"]
    for row in connection.execute(select(table.c.key, *written)).mappings().all():
        after = {column.name: _replace(row[column.name], words) for column in written}
        changed = {name: value for name, value in after.items() if value != row[name]}
        if changed and table is preview:
            changed["key"] = draw_id()  # it was a checksum of the request
        if changed:
            connection.execute(update(table).where(table.c.key == row["key"]).values(**changed))


def _replace(value: Any, words: Words) -> Any:
    """Return a document with new names, without digests of a person's rows, and without what was assumed of them."""
    if isinstance(value, str):
        return _NAMED.sub(lambda found: words.get(found[0], found[0]), value)
    if isinstance(value, list):
        return [_replace(item, words) for item in value if item != _ASSUMED]
    if not isinstance(value, dict):
        return value
    if value.get("file_sha256"):
        value = _rewrite_config(dict(value), words)
    return {_replace(name, words): _replace(item, words) for name, item in value.items()}


def _rewrite_files(connection: Connection, words: Words) -> None:
    """Rewrite the stored files of runs that are text."""
    query = select(artifact).where(artifact.c.name.like("%.json"))
    for row in connection.execute(query).mappings().all():
        content = str(_replace(bytes(row["content"]).decode(), words)).encode()
        if content != bytes(row["content"]):
            mine = (artifact.c.key == row["key"]) & (artifact.c.name == row["name"])
            known = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            connection.execute(update(artifact).where(mine).values(content=content, **known))


def _rename(connection: Connection, column: Column[str], words: Words) -> None:
    """Give new names to what a column names."""
    for before in connection.scalars(select(column).distinct()).all():
        after = _replace(before, words)
        if after != before:
            connection.execute(update(column.table).where(column == before).values({column.name: after}))


def _rename_run(connection: Connection, before: str, key: str, words: Words) -> None:
    """Move a run and all that belongs to it to a new key; it is still found by the former one."""
    row = dict(connection.execute(select(run).where(run.c.key == before)).mappings().one())
    named = {name: _replace(row[name], words) for name in ("config_key", "chunk")}
    connection.execute(insert(run).values({**row, **named, "key": key}))
    for table in _CHILDREN:
        connection.execute(update(table).where(table.c.key == before).values(key=key))
    connection.execute(delete(run).where(run.c.key == before))
    add_alias(connection, before, key)
