"""From what a person typed to a method's hyper-parameters: names, kinds of value and choices, checked at the edge."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any, Literal

from fairpriv_core import checks
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.base import Method, parameters
from fairpriv_core.methods.catalog import methods
from fairpriv_core.methods.fields import GROUP_NEEDED

_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def check_texts(kind: type, raw: Mapping[str, object]) -> None:
    """Raise BadInput where a field of the dataclass `kind` is text by its annotation and is given a list or table."""
    for name in _name_texts(kind) & set(raw):
        if isinstance(raw[name], list | tuple | Mapping):
            raise BadInput(f"{name} must be text, got {raw[name]}.", field=name)


@cache
def _name_texts(kind: type) -> frozenset[str]:
    hints = _read_hints(kind)
    return frozenset(name for name, hint in hints.items() if str in (hint, *typing.get_args(hint)))


def read_method(raw: Any) -> Method:
    """Return the method that `raw` names: a name of the catalogue, or {"name": …, hyper-parameters…}.

    Raises:
        BadInput: no name, an unknown one, or what `build_method` refuses.
    """
    table = read_method_table(raw)
    name = table.pop("name", None)
    if name is None:
        raise BadInput(f"method is not given; choose from {', '.join(methods())}.", field="method")
    if not isinstance(name, str) or name not in methods():
        raise BadInput(f"unknown method '{name}'; choose from {', '.join(methods())}.", field="method")
    kind = methods()[name]
    return build_method(kind, _read_variant(kind, table))


def format_group_needed(config: Mapping[str, Any]) -> str | None:
    """Return that the model of a config, in its JSON form, decides by group.

    None where it does not, and of a method whose package is not installed: nothing is known of it.
    """
    is_known = config["method"]["name"] in methods()
    return GROUP_NEEDED if is_known and read_method(config["method"]).decides_by_group() else None


def read_method_table(raw: Any) -> dict[str, Any]:
    """Return a method's table, of one that is a name alone {"name": …}, of none {}; BadInput for anything else."""
    if not isinstance(raw, str | Mapping | None):
        raise BadInput(f"method must be a name or a table with a name, got '{raw}'.", field="method")
    return {"name": raw} if isinstance(raw, str) else dict(raw or {})


def build_method(kind: type[Method], raw: Mapping[str, object]) -> Method:
    """Return `kind` with the hyper-parameters `raw`; values may be text, as on a command line.

    Raises:
        BadInput: an unknown name (the message lists those that are), or a value of the wrong kind or range.
    """
    checks.known_names(f"parameter of method '{kind.info.name}'", tuple(raw), parameters(kind))
    hints = _read_hints(kind)
    values = {name: _coerce(name, value, hints[name]) for name, value in raw.items()}
    for name, (parameter, _) in parameters(kind).items():
        if parameter.choices and not parameter.open and name in values and values[name] is not None:
            checks.one_of(parameter.choices, **{name: values[name]})
    return kind(**_add_defaults(kind, values))


def _add_defaults(kind: type[Method], settings: Mapping[str, object]) -> Mapping[str, object]:
    """Return `settings` with the defaults that follow from it.

    No gap is aimed at as published, nor where what it would replace is set: whoever sets λ means λ.
    """
    if "gap_target" not in parameters(kind):
        return settings
    parameter, field = parameters(kind)["gap_target"]
    by_hand = settings.get("variant") == "published" or any(name in settings for name in parameter.replaces)
    aim = settings.get("gap_target", None if by_hand else field.default)
    return {"gap_target": aim, **(parameter.otherwise if aim is None else {}), **settings}


@cache
def _read_hints(kind: type) -> Mapping[str, object]:
    """Return the types of a class's attributes by name: to read them takes longer than to build an instance."""
    return typing.get_type_hints(kind)


def method_to_json(method: Method) -> dict[str, Any]:
    """Return {"name", every hyper-parameter} with tuples as lists; `build_method` reads the parameters back."""
    values = {name: getattr(method, name) for name in parameters(method)}
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
    return {"name": method.info.name, **plain}


def noise_is_set(method: Method) -> bool:
    """Return whether the field that calibration would set has been set by hand."""
    if method.info.calibrates is None:
        return False
    defaults = {item.name: item.default for item in fields(method)}
    return bool(getattr(method, method.info.calibrates) != defaults[method.info.calibrates])


def _read_variant(kind: type[Method], settings: dict[str, object]) -> dict[str, object]:
    """Refuse a variant that the method does not have; leave it out where there is no choice."""
    variant = settings.get("variant")
    if variant is None:
        return {name: value for name, value in settings.items() if name != "variant"}
    if variant not in kind.info.variants:
        choices = ", ".join(kind.info.variants) or "none: it is not private"
        raise BadInput(f"method '{kind.info.name}' has no variant '{variant}'; it has {choices}.", field="variant")
    has_choice = "variant" in parameters(kind)
    return {name: value for name, value in settings.items() if name != "variant" or has_choice}


def _coerce(name: str, value: Any, hint: Any) -> Any:
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        kinds = [kind for kind in typing.get_args(hint) if kind is not type(None)]
        is_optional = len(kinds) < len(typing.get_args(hint))
        empty = is_optional and (value is None or str(value).lower() in ("none", "null", "auto"))
        return None if empty else _coerce(name, value, kinds[0])
    if origin is Literal:
        checks.one_of(typing.get_args(hint), **{name: value})
        return value
    if origin is tuple:
        parts = [part for part in value.split(",") if part.strip()] if isinstance(value, str) else value
        if not isinstance(parts, list | tuple):
            raise BadInput(f"{name} must be a list, got {value}.", field=name)
        return tuple(_coerce(name, part, typing.get_args(hint)[0]) for part in parts)
    return read_plain(name, value, hint)


def read_plain(name: str, value: Any, kind: type) -> Any:
    """Return a value, which may be text, as `kind`: bool, float, int or str. BadInput where it is none."""
    try:
        if kind is bool:
            return value if isinstance(value, bool) else _TRUTH[str(value).lower()]
        if kind is float and not isinstance(value, bool):
            return float(value)
        if kind is int and not isinstance(value, bool):
            return _whole(value)
        if kind is str and isinstance(value, str):
            return value
    except (KeyError, TypeError, ValueError, OverflowError):
        pass
    raise BadInput(f"{name} must be {_WORDS.get(kind, 'a value')}, got '{value}'.", field=name)


def _whole(value: Any) -> int:
    number = float(value)
    if number != int(number):
        raise ValueError
    return int(value) if isinstance(value, int | str) and str(value).lstrip("+-").isdigit() else int(number)
