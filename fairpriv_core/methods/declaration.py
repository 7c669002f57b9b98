"""Whether a class declares itself as a method does: what forms, figures, records and tests read of it."""

from __future__ import annotations

import dataclasses
import inspect
import json
import sys
import typing
from typing import Any

from fairpriv_core.errors import BadInput
from fairpriv_core.methods.base import COLORS, DASHES, MARKERS, Method, MethodInfo, Parameter, parameters
from fairpriv_core.methods.shared.noisy_sums import AdaptiveBounds
from fairpriv_core.methods.shared.releases import Private
from fairpriv_core.methods.shared.setting import SettingRule, check_built
from fairpriv_core.notions.catalog import notions

_VERBS = (
    *("steps", "event", "sensitivities", "published_epsilon", "calibrated", "unproved_reason", "assumptions"),
    *("idle_reason", "fit", "fit_many"),
)
_ROWS = 100_000
_PURSUED = ("decisions", "errors", "labels", "scores")


def check_declaration(name: str, kind: Any) -> None:
    """Raise BadInput unless `kind` is a class that declares a method called `name`; nothing is trained."""
    if not isinstance(kind, type) or not dataclasses.is_dataclass(kind):
        raise BadInput(f"a method must be a frozen dataclass, got {_name(kind)}.")
    if not typing.cast(Any, kind).__dataclass_params__.frozen:
        raise BadInput(f"{_name(kind)} must be a frozen dataclass, and it is not frozen.")
    missing = [verb for verb in _VERBS if not callable(getattr(kind, verb, None))]
    if missing or inspect.isabstract(kind):
        unwritten = ", ".join(missing or sorted(kind.__abstractmethods__))
        raise BadInput(f"{_name(kind)} must have every verb of a method; missing: {unwritten}.")
    _check_info(name, getattr(kind, "info", None))
    _check_reason(kind)
    _check_rules(kind)
    _check_fields(typing.cast(type[Method], kind))
    _check_defaults(kind)


def _name(kind: Any) -> str:
    return kind.__qualname__ if isinstance(kind, type) else f"'{type(kind).__name__}'"


def _check_info(name: str, info: Any) -> None:
    if not isinstance(info, MethodInfo):
        raise BadInput(f"info must be a MethodInfo, got '{type(info).__name__}'.")
    if info.name != name:
        raise BadInput(f"info.name must be the entry point's name '{name}', got '{info.name}'.")
    for part in ("title", "summary", "citation"):
        if not isinstance(getattr(info, part), str) or not getattr(info, part).strip():
            raise BadInput(f"info.{part} must be text, got '{getattr(info, part)}'.")
    if info.threat_model not in (None, "attribute", "record"):
        raise BadInput(f"info.threat_model must be attribute, record or None, got '{info.threat_model}'.")
    _check_among("pursued", info.pursued, _PURSUED, optional=True)
    if info.only is not None:
        _check_among("only", info.only, notions())
    _check_among("variants", info.variants, ("proved", "published"), optional=info.threat_model is None)
    for part, choices in (("color", COLORS), ("dash", DASHES), ("marker", MARKERS)):
        if getattr(info.style, part, None) not in choices:
            raise BadInput(
                f"style.{part} must be one of {', '.join(choices)}, got '{getattr(info.style, part, None)}'."
            )


def _check_among(part: str, value: Any, choices: typing.Collection[str], *, optional: bool = False) -> None:
    if not isinstance(value, tuple) or not (value or optional) or set(value) - set(choices):
        raise BadInput(f"info.{part} must be a tuple of some of {', '.join(choices)}, got {value!r}.")


def _check_reason(kind: type[Any]) -> None:
    own = kind.unproved_reason not in (Private.unproved_reason, AdaptiveBounds.unproved_reason)
    if "published" in kind.info.variants and issubclass(kind, Private) and not (own or hasattr(kind, "UNPROVED")):
        raise BadInput(f"{_name(kind)} has a published variant; say in UNPROVED why that proves no epsilon.")


def _check_rules(kind: type[Any]) -> None:
    """Raise BadInput for a rule, among all that the files of `kind` and of its bases name, that cannot be built."""
    for module in {base.__module__ for base in kind.__mro__}:
        for value in list(vars(sys.modules[module]).values()):
            if isinstance(value, type) and issubclass(value, SettingRule):
                check_built(value)


def _check_fields(kind: type[Method]) -> None:
    declared = parameters(kind)
    typing.get_type_hints(kind)  # as forms read them
    for item in dataclasses.fields(kind):
        form = declared.get(item.name, (None, item))[0]
        if not isinstance(form, Parameter) or not form.title or not form.help.endswith("."):
            raise BadInput(
                f"field '{item.name}' must be declared by parameter(default, title, help), its help a sentence."
            )
        default: Any = item.default
        if form.low is not None and default is not None and not form.low <= default <= (form.high or default):
            raise BadInput(f"the default of '{item.name}' must lie in its range, got {default}.")
    if kind.info.calibrates is not None and kind.info.calibrates not in declared:
        raise BadInput(f"info.calibrates must name a field, got '{kind.info.calibrates}'.")


def _check_defaults(kind: type[Any]) -> None:
    method = kind()
    steps = method.steps(_ROWS)
    if not isinstance(steps, int) or steps <= 0:
        raise BadInput(f"steps({_ROWS}) must be a whole number > 0, got {steps!r}.")
    assumed = method.assumptions()
    if not isinstance(assumed, tuple) or not all(isinstance(sentence, str) for sentence in assumed):
        raise BadInput(f"assumptions() must be a tuple of sentences, got {assumed!r}.")
    json.dumps({name: getattr(method, name) for name in parameters(kind)}, allow_nan=False)
