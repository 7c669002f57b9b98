"""Which data, as one short text that fits in an address: `adult:sex`, `adult:sex+race`, `age:25,60` for edges.

Training rows thinned to a ratio of the groups' sizes: `adult:sex?group_ratio=0.8`; fewer rows: `adult:sex?rows=500`.
Features without bins: `adult:sex?encoding=plain`.
A file of the user's own is named by the start of its id: `file-3fa94c0d12ab:sex?label=income&positive=%3E50K`.
One in the data folder that the operator offers is named relative to it: `folder-2024/people.csv:sex?label=income`.
A schema is packed: as it is, that of 40 columns would make a link longer than the 8 kB that many proxies let through.
"""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast
from urllib.parse import parse_qsl, quote, unquote, urlencode

import streamlit as st

from fairpriv_core.data.catalog import problems
from fairpriv_core.data.problem import ENCODINGS, DataJson, DataSpec
from fairpriv_core.errors import BadInput, FairprivError
from fairpriv_core.facts.wording import data_title
from fairpriv_core.files.folder import find_named, name_in_folder
from fairpriv_core.records.source import DATA_FIELDS, name_unit, read_ratio, read_rows
from fairpriv_core.store.runs import RunStore
from pages.widgets.shared.access import find_store

_ID = re.compile(r"(?:file-)?\b([0-9a-f]{12})[0-9a-f]*(?:\.[a-z0-9]{1,8})?\b")
_FRESH_SECONDS = 2.0
_DIGITS = 12
_RATIO, _ROWS, _ENCODING = "group_ratio", "rows", "encoding"
_UPLOAD, _FOLDER = "file-", "folder-"
_LONGEST_SCHEMA = 1_000_000  # characters, once it is unpacked
_ASKED = ("label", "positive", "image", "unreadable", "person", "schema")


def call_files(text: str) -> str:
    """Return `text` with names in place of the ids, or starts of ids, of files that the person may use.

    Files of one name are told apart by the first digits of their ids. What is not a file stays as it is.
    """
    if not _ID.search(text):
        return text
    names = _find_names()
    return _ID.sub(lambda match: names.get(match[1], match[0]), text)


def _find_names() -> Mapping[str, str]:
    store = find_store()
    if store is None:
        return {}
    try:
        return _list_names(str(store.database.url), store.payer, store)
    except FairprivError:
        return {}


@st.cache_data(ttl=_FRESH_SECONDS, max_entries=32, show_spinner=False)
def _list_names(place: str, person: str, _store: RunStore) -> dict[str, str]:
    files = {item.id[:_DIGITS]: item.name for item in _store.uploads.visible(person)}
    names = list(files.values())
    return {digits: name if names.count(name) == 1 else f"{name} ({digits[:6]})" for digits, name in files.items()}


def write_reference(spec: DataSpec) -> str:
    """Return the text for `spec`.

    >>> write_reference(DataSpec(dataset="adult", sensitive="sex"))
    'adult:sex'
    """
    name = spec.dataset if spec.file is None else write_file(spec.file)
    further = {name: getattr(spec, name) for name in _ASKED}
    further["schema"] = pack_schema(spec.schema) if spec.schema else None
    further[_ENCODING] = None if spec.encoding == ENCODINGS[0] else spec.encoding
    numbers = {_RATIO: spec.group_ratio, _ROWS: spec.rows}
    texts = {name: str(number) for name, number in numbers.items() if number is not None}
    query = urlencode({key: text for key, text in {**further, **texts}.items() if text})
    sensitive = spec.sensitive.replace("%", "%25").replace("?", "%3F")  # where a reference is cut, and its own sign
    return f"{name}:{sensitive}" + (f"?{query}" if query else "")


def pack_schema(text: str) -> str:
    """Return a schema's text in letters, digits, - and _ alone, which no address writes longer.

    >>> unpack_schema(pack_schema('{"columns": {}}'))
    '{"columns": {}}'
    """
    return base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")


def unpack_schema(packed: str) -> str:
    """Return the text that `pack_schema` packed; BadInput where it did not, or where it is longer than one may be."""
    try:
        unpacking = zlib.decompressobj()
        text = unpacking.decompress(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)), _LONGEST_SCHEMA)
        if not unpacking.eof:
            raise ValueError("too long")
        return text.decode()
    except (ValueError, zlib.error) as error:
        raise BadInput("the schema in this link cannot be read; copy the link again.", field="data") from error


def write_config(data: DataJson) -> str:
    """Return the text for a config's data."""
    return write_reference(DataSpec(**data))


def write_file(path: str) -> str:
    """Return the name by which a reference calls the file at `path`: by its id, or by its place in the folder."""
    name = name_in_folder(path)
    return f"{_UPLOAD}{Path(path).name[:_DIGITS]}" if name is None else f"{_FOLDER}{quote(name)}"


def read_file(name: str, find_upload: Callable[[str], Path]) -> Path:
    """Return the file that `write_file` called `name`; `find_upload` gives an upload by the start of its id.

    Raises:
        BadInput: there is no such file, or it is not for who asks.
    """
    if name.startswith(_FOLDER):
        return find_named(unquote(name.removeprefix(_FOLDER)))
    return find_upload(name.removeprefix(_UPLOAD))


def read_reference(text: str, find_upload: Callable[[str], Path]) -> DataSpec:
    """Return the data that `text` names; errors as `read_file`, and for an unknown data set."""
    head, _, query = text.partition("?")
    name, _, sensitive = head.partition(":")
    further = dict(parse_qsl(query))
    is_file = name.startswith((_UPLOAD, _FOLDER))
    if not is_file and name not in problems():
        raise BadInput(f"unknown data set '{name}'; choose from {', '.join(problems())}.", field="data")
    further |= {"schema": unpack_schema(further["schema"])} if further.get("schema") else {}
    return DataSpec(
        dataset=None if is_file else name,
        file=str(read_file(name, find_upload)) if is_file else None,
        sensitive=unquote(sensitive),
        group_ratio=read_ratio(further.get(_RATIO)),
        rows=read_rows(further.get(_ROWS)),
        encoding=further.get(_ENCODING, ENCODINGS[0]),
        **{field: further.get(field) for field in _ASKED},
    )


def name_unit_of(text: str) -> str:
    """Return whom an epsilon on the data protects: see `records.source.name_unit`; no file is looked for.

    >>> name_unit_of("adult:sex"), name_unit_of("file-3fa94c0d12ab:sex?label=hired")
    ('person', 'row')
    """
    return name_unit(_read_data(text))


def list_reference(text: str) -> str:
    """Return the data as a list of them names it: what is predicted, by which groups, on which rows.

    >>> list_reference("adult:sex?group_ratio=0.8")
    'Adult: income by sex · group ratio 0.8'
    >>> list_reference("folder-people.csv:sex?label=hired&positive=yes")
    'people.csv: hired = yes by sex'
    """
    return call_files(data_title(_read_data(text)) + _format_rows(text))


def _read_data(text: str) -> DataJson:
    """Return what a reference says of the data, without looking for a file."""
    head, _, query = text.partition("?")
    name, _, sensitive = head.partition(":")
    place = "file" if name.startswith((_UPLOAD, _FOLDER)) else "dataset"
    fields = {place: unquote(name.removeprefix(_FOLDER)), "sensitive": unquote(sensitive)}
    return cast(DataJson, {**dict.fromkeys(DATA_FIELDS), **dict(parse_qsl(query)), **fields})


def _format_rows(text: str) -> str:
    options = dict(parse_qsl(text.partition("?")[2]))
    ratio = f" · group ratio {options[_RATIO]}" if _RATIO in options else ""
    small = f" · {options[_ROWS]} rows" if _ROWS in options else ""
    return ratio + small + (f" · {options[_ENCODING]} encoding" if _ENCODING in options else "")
