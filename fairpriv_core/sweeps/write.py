"""Several runs' configs as the file of one sweep, where a sweep expands to exactly these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairpriv_core.errors import BadInput
from fairpriv_core.methods.catalog import methods
from fairpriv_core.records.config import build_config
from fairpriv_core.records.parameters import method_to_json
from fairpriv_core.records.toml import read_toml, write_toml
from fairpriv_core.sweeps.spec import build_sweep, expand

_TABLES = ("data", "method")


def write_sweep(configs: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the TOML of a sweep whose runs are exactly those of `configs` (JSON); None where there is none.

    There is none for fewer than two, for runs that are not all combinations of what differs, and for files of a
    person's own, whose content would decide which runs these are.
    """
    if len(configs) < 2 or any(config["data"].get("file") for config in configs):
        return None
    try:
        asked = [build_config(config) for config in configs]
        text = write_toml(_arrange([_flatten(config.to_json()) for config in asked]))
        cells = expand(build_sweep(read_toml(text)))
    except BadInput:
        return None
    found = sorted(cell.config.key if cell.config else "" for cell in cells)
    return text if found == sorted(config.key for config in asked) else None


def _flatten(config: Mapping[str, Any]) -> dict[tuple[str, str], Any]:
    """Return a config's settings by table ("" for its own) and name."""
    flat = {("", name): value for name, value in config.items() if name not in _TABLES}
    return flat | {(table, name): value for table in _TABLES for name, value in config[table].items()}


def _arrange(flat: Sequence[Mapping[tuple[str, str], Any]]) -> dict[str, Any]:
    """Return the sweep: what all have in common, and an axis for each setting that all have and that differs."""
    several = len({each["method", "name"] for each in flat}) > 1
    own: dict[str, Any] = {}
    tables: dict[str, dict[str, Any]] = {"data": {}, "method": {}, "axes": {}, "sweep": {}}
    for table, name in flat[0]:
        if several and table == "method" and all(_is_default(each, name) for each in flat):
            continue  # each method has a default of its own
        values = [each[table, name] for each in flat if (table, name) in each]
        different = list({repr(value): value for value in values}.values())
        if (table, name) == ("", "share_samples"):
            tables["sweep"][name] = any(values)
        elif len(values) == len(flat) and len(different) == 1:
            (tables[table] if table else own)[name] = values[0]
        elif len(values) == len(flat):
            axis = "method" if (table, name) == ("method", "name") else f"{table}.{name}" if table else name
            tables["axes"][axis] = different
    return own | tables


def _is_default(flat: Mapping[tuple[str, str], Any], name: str) -> bool:
    """Return whether a hyper-parameter is as its method has it where nothing is said, or absent there."""
    plain = method_to_json(methods()[flat["method", "name"]]())
    return name != "name" and flat.get(("method", name)) == plain.get(name)
