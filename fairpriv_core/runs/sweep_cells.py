"""A sweep's combinations, and the config of each or the reason why it has none."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fairpriv_core.errors import BadInput
from fairpriv_core.runs.config import RunConfig, build_config, draws_samples
from fairpriv_core.runs.source import DATA_FIELDS, hash_file
from fairpriv_core.runs.sweep_spec import Sweep


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


def expand(sweep: Sweep) -> list[Cell]:
    """Return all combinations of a sweep's axes, the last axis fastest; pure but for the content of a person's file."""
    files: dict[str, str | None] = {}
    return [
        _build(sweep, dict(zip(sweep.axes, values, strict=True)), files)
        for values in itertools.product(*sweep.axes.values())
    ]


def show_value(value: Any) -> str:
    """Return an axis's value in a word: of a table its name, or what it sets."""
    if not isinstance(value, Mapping):
        return f"{value:g}" if isinstance(value, float) else str(value)
    rest = ", ".join(f"{name} {show_value(part)}" for name, part in value.items() if name != "name")
    return f"{value['name']} ({rest})" if rest and "name" in value else str(value.get("name", rest))


def _build(sweep: Sweep, values: Mapping[str, Any], files: dict[str, str | None]) -> Cell:
    try:
        raw = _fill(sweep.base, values)
        config = build_config(_with_digest(raw, files))
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


def _with_digest(raw: dict[str, Any], files: dict[str, str | None]) -> dict[str, Any]:
    """Return `raw` with the checksum of its file, which is read once for all combinations."""
    file = raw["data"].get("file")
    if file is None or raw.get("file_sha256") is not None:
        return raw
    if file not in files:
        files[file] = hash_file(str(Path(str(file)).expanduser()))
    return {**raw, "file_sha256": files[file]}


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
