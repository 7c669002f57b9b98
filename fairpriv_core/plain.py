"""Plain values, of which a config, a sweep or a schema is made, and their texts: TOML and JSON."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any

from fairpriv_core.errors import BadInput

Json = Mapping[str, Any]  # an object of JSON or TOML where it is read or written
_DEEPEST = 8  # tables and lists within each other; a sweep's have four
_LEAST, _LARGEST = -(2**63), 2**63 - 1
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def read_toml(text: str, *, what: str = "the config") -> dict[str, Any]:
    """Return the mapping of plain values that `text` holds; BadInput, which calls it `what`, for anything else."""
    return _read("TOML", tomllib.loads, text, what)


def read_json(text: str, *, what: str = "the config") -> dict[str, object]:
    """Return the mapping of plain values that `text` holds; BadInput, which calls it `what`, for anything else."""
    return _read("JSON", json.loads, text, what)


def _read(form: str, loads: Callable[[str], Any], text: str, what: str) -> dict[str, object]:
    try:
        document = loads(text)
    except (tomllib.TOMLDecodeError, json.JSONDecodeError) as error:
        raise BadInput(f"{what} is not valid {form}: {error}.", field="config") from error
    except ValueError as error:
        raise BadInput(f"{what} cannot be read: it has a number with too many digits.", field="config") from error
    except RecursionError as error:
        raise BadInput(f"{what} cannot be read: it has too many brackets within each other.", field="config") from error
    check_plain(document)
    return dict(document)


def check_plain(value: Any, where: str = "the config") -> None:
    """Raise BadInput unless `value` is plain: none, true or false, numbers, texts; lists and tables of such, not deep.

    A text must have a UTF-8 form, a whole number fit into 64 bits. `where` names the value in the message.
    """
    _check(value, where, 0)


def _check(value: Any, where: str, depth: int) -> None:
    if depth > _DEEPEST:
        raise BadInput(f"{where} has more than {_DEEPEST} lists or tables within each other.", field="config")
    if isinstance(value, str):  # the most of them, so first
        if not value.isascii() and value != value.encode(errors="ignore").decode():
            raise BadInput(f"{where} must be text with a UTF-8 form, got '{value}'.", field=where)
    elif isinstance(value, Mapping):
        for name, part in value.items():
            _check(name, "a setting's name", depth + 1)
            _check(part, str(name), depth + 1)
    elif isinstance(value, list | tuple):
        for part in value:
            _check(part, where, depth + 1)
    elif isinstance(value, int) and not _LEAST <= value <= _LARGEST:
        raise BadInput(f"{where} must be a whole number from {_LEAST} to {_LARGEST}, got a longer one.", field=where)
    elif not isinstance(value, int | float | PurePath | None):
        raise BadInput(f"{where} must be a number, text, list or table, got {value}; quote it as text.", field=where)


def freeze(value: Any) -> Any:
    """Return JSON's lists as tuples, in mappings too."""
    if isinstance(value, list):
        return tuple(freeze(item) for item in value)
    return {name: freeze(item) for name, item in value.items()} if isinstance(value, dict) else value


def write_toml(plain: Mapping[str, object]) -> str:
    """Return `plain` as TOML; None, which TOML does not have, is left out."""
    return "\n".join(_write_table(plain, ())) + "\n"


def _write_table(table: Mapping[str, object], path: tuple[str, ...]) -> list[str]:
    own = {name: value for name, value in table.items() if not isinstance(value, Mapping)}
    lines = [f"{_key(name)} = {_value(value)}" for name, value in own.items() if value is not None]
    if path and (lines or len(own) == len(table)):
        lines = ["", f"[{'.'.join(map(_key, path))}]", *lines]
    for name, inner in table.items():
        if isinstance(inner, Mapping):
            lines += _write_table(inner, (*path, name))
    return lines


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _value(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(item) for item in value)}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
