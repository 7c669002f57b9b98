"""Configs as TOML, both ways: values and one level of tables."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from typing import Any

from fairpriv_core.errors import BadInput


def read_toml(text: str, *, what: str = "the config") -> dict[str, Any]:
    """Return the mapping that `text` holds; BadInput where it is not TOML, which calls the text `what`."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{what} is not valid TOML: {error}.", field="config") from error


def write_toml(plain: Mapping[str, Any]) -> str:
    """Return `plain` as TOML; None, which TOML does not have, is left out."""
    own = {name: value for name, value in plain.items() if not isinstance(value, Mapping)}
    lines = _assign(own)
    for name, table in plain.items():
        if isinstance(table, Mapping):
            lines += ["", f"[{name}]", *_assign(table)]
    return "\n".join(lines) + "\n"


def _assign(values: Mapping[str, Any]) -> list[str]:
    return [f"{name} = {_value(value)}" for name, value in values.items() if value is not None]


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(item) for item in value)}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
