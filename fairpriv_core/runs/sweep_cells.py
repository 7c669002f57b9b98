"""A sweep's combinations, and the config of each or the reason why it has none."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from fairpriv_core.errors import BadInput
from fairpriv_core.runs.config import RunConfig, build_config, draws_samples
from fairpriv_core.runs.source import DATA_FIELDS
from fairpriv_core.runs.sweep_spec import Sweep

Identify = Callable[[str], str]


@dataclass(frozen=True)
class Cell:
    """One combination: its values by axis, and its config or the reason why it cannot be."""

    values: Mapping[str, Any]
    config: RunConfig | None
    reason: str | None = None

    @property
    def name(self) -> str:
        """The combination in words: "epsilon = 1, seed = 0"."""
        return ", ".join(f"{axis} = {show_value(value)}" for axis, value in self.values.items())


def expand(sweep: Sweep, identify: Identify | None = None) -> list[Cell]:
    """Return all combinations of a sweep's axes, the last axis fastest.

    `identify` returns the id of the content of a person's file; without it configs have none.
    """
    identify = None if identify is None else cache(identify)
    return [
        _build(sweep, dict(zip(sweep.axes, values, strict=True)), identify)
        for values in itertools.product(*sweep.axes.values())
    ]


def show_value(value: Any) -> str:
    """Return an axis's value in a word: of a table its name, or what it sets."""
    if not isinstance(value, Mapping):
        return f"{value:g}" if isinstance(value, float) else str(value)
    rest = ", ".join(f"{name} {show_value(part)}" for name, part in value.items() if name != "name")
    return f"{value['name']} ({rest})" if rest and "name" in value else str(value.get("name", rest))


def _build(sweep: Sweep, values: Mapping[str, Any], identify: Identify | None) -> Cell:
    try:
        config = build_config(_fill(sweep.base, values))
        if config.data.file is not None and identify is not None:
            config = replace(config, file_id=identify(config.data.file))
        if sweep.share_samples and draws_samples(config.method):
            config = replace(config, share_samples=True)
        return Cell(values, config)
    except BadInput as error:
        return Cell(values, None, str(error))


def _fill(base: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of one combination's config: the base with the axes' values in their places."""
    raw = {**base, "data": _table(base.get("data")), "method": _table(base.get("method"))}
    for axis in sorted(values, key=lambda name: "." in name):  # hyper-parameters after the method that they are of
        value = values[axis]
        if axis == "method":
            raw["method"] = _choose(raw["method"], _table(value))
        elif axis == "data":
            raw["data"] = {**raw["data"], **_table(value)}
        elif axis.startswith("method."):
            raw["method"] = {**raw["method"], axis.partition(".")[2]: value}
        elif axis in DATA_FIELDS:
            raw["data"] = {**raw["data"], axis: value}
        else:
            raw[axis] = value
    return raw


def _choose(base: Mapping[str, Any], method: Mapping[str, Any]) -> dict[str, Any]:
    """Return a method's table over the base's, whose hyper-parameters hold for the method that it names, or for all."""
    other = "name" in base and method.get("name", base["name"]) != base["name"]
    return {**({} if other else base), **method}


def _table(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    return {} if value is None else {"name": value}


def check_cells(cells: Sequence[Cell], sweep: Sweep) -> None:
    """Raise BadInput where a combination cannot be and the sweep refuses that, or where none can be."""
    wrong = [cell for cell in cells if cell.config is None]
    if len(wrong) == len(cells):
        raise BadInput(f"no combination of the sweep can run; {wrong[0].name}: {wrong[0].reason}", field="axes")
    if wrong and sweep.invalid == "refuse":
        reason = str(wrong[0].reason).rstrip(".")
        raise BadInput(
            f"{len(wrong)} of {len(cells)} combinations cannot run, the first for {wrong[0].name}: {reason}; change "
            'the axes, or set invalid = "skip" under [sweep].',
            field="axes",
        )
