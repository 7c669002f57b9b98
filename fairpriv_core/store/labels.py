"""What a person calls a run: a name, tags, a note; and whether lists put it first or leave it out.

These are their own words, kept beside the run: no key, record, file or report holds them, and they go with the run.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, select, update

from fairpriv_core.errors import BadInput
from fairpriv_core.store.database import upsert
from fairpriv_core.store.tables import label, store_info

#: characters of a name, a tag and a note, and how many tags a run may have
MOST_OF_NAME, MOST_OF_TAG, MOST_OF_NOTE, MOST_TAGS = 80, 30, 2_000, 10


@dataclass(frozen=True)
class RunLabel:
    """A run's label; one that was never labelled has the empty one. Texts are raw: escape them where they are shown."""

    name: str = ""
    tags: tuple[str, ...] = ()
    note: str = ""
    pinned: bool = False
    archived: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {**vars(self), "tags": list(self.tags)}


def check_label(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns that hold `values`, by the fields of a label; blanks around texts are dropped.

    Raises:
        BadInput: a text is too long or holds what no database keeps, or the tags are too many.
    """
    columns: dict[str, Any] = {name: int(values[name]) for name in ("pinned", "archived") if name in values}
    texts = {"name": MOST_OF_NAME, "note": MOST_OF_NOTE}
    columns |= {name: _check_text(name, values[name], limit) for name, limit in texts.items() if name in values}
    return columns | ({"tags": _check_tags(values["tags"])} if "tags" in values else {})


def write_label(connection: Connection, key: str, columns: Mapping[str, object]) -> RunLabel:
    """Store `columns` (of `check_label`) of the label of run `key`, the others as they are; return the whole label."""
    if columns:
        upsert(connection, label, [{"key": key, **columns}])
        note_change(connection)
    row = connection.execute(select(label).where(label.c.key == key)).mappings().first()
    return RunLabel() if row is None else read_label(row)


def read_label(row: Mapping[Any, Any]) -> RunLabel:
    """Return a row's label; tags that are no list any more are none."""
    tags = row["tags"] if isinstance(row["tags"], list) else []
    flags = {name: bool(row[name]) for name in ("pinned", "archived")}
    return RunLabel(name=row["name"], tags=tuple(map(str, tags)), note=row["note"], **flags)


def note_change(connection: Connection) -> None:
    """Count a change, so that what was read of labels is known to be old."""
    connection.execute(update(store_info).values(labelled=func.coalesce(store_info.c.labelled, 0) + 1))


def _check_tags(tags: Iterable[str]) -> list[str]:
    texts = list(dict.fromkeys(text for tag in tags if (text := _check_text("tag", tag, MOST_OF_TAG))))
    if len(texts) > MOST_TAGS:
        raise BadInput(f"a run has at most {MOST_TAGS} tags, got {len(texts):,}.", field="tags")
    return texts


def _check_text(name: str, text: str, limit: int) -> str:
    text = text.strip()
    if len(text) > limit:
        raise BadInput(f"a run's {name} has at most {limit:,} characters, got {len(text):,}.", field=name)
    wrong = next((sign for sign in text if sign == "\0" or unicodedata.category(sign) == "Cs"), None)
    if wrong is not None:
        raise BadInput(f"a run's {name} must be text, got the character {wrong!r} in it.", field=name)
    return text
