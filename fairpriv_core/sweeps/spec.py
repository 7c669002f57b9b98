"""A sweep's file: what all runs have in common, as for one run, and axes along which they differ; its combinations.

Several tables of axes are several grids, whose runs are one sweep.

The way back is here too: several configs as the file of a sweep that expands to exactly these.
"""

from __future__ import annotations

import difflib
import itertools
import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, Literal

from fairpriv_core import checks
from fairpriv_core.data.table_schema import find_stated
from fairpriv_core.errors import BadInput
from fairpriv_core.facts.wording import cell_text
from fairpriv_core.files.forms import Stated
from fairpriv_core.methods.base import parameters
from fairpriv_core.methods.catalog import methods
from fairpriv_core.paths import read_text
from fairpriv_core.plain import check_plain, read_toml, write_toml
from fairpriv_core.records.advice import ASKED, AUTO
from fairpriv_core.records.config import RunConfig, build_config, draws_samples, pays_itself
from fairpriv_core.records.parameters import method_to_json, read_method
from fairpriv_core.records.source import DATA_FIELDS, ConfigJson

#: so many runs start without being asked for twice
MOST_RUNS = 100
#: of the axes' values: a query of SQLite takes 32,766 keys; the papers' own sweeps have up to 26,881
MOST_COMBINATIONS = 30_000
_FIELDS = tuple(item.name for item in fields(RunConfig) if item.name not in ("file_id", "share_samples"))
_OPTIONS = ("invalid", "share_samples", "share_release", "max_runs")
Identify = Callable[[str, Stated], str]
Fit = Callable[[RunConfig, Collection[str]], RunConfig]
Settle = Callable[[Mapping[str, Any]], dict[str, Any]]
Axes = Mapping[str, tuple[Any, ...]]
_TABLES: tuple[Literal["data", "method"], ...] = ("data", "method")
_WHICH = ("name", "variant")


@dataclass(frozen=True)
class Sweep:
    """What is asked for.

    Attributes:
        base: fields of a config, as `build_config` reads them.
        axes: one table or more of name -> values; the runs are all combinations within each. Names are fields of a
            config, of its data, or "method." and a hyper-parameter.
        invalid: what becomes of a combination that no run can have: "refuse" the sweep or "skip" it.
        share_samples: whether runs on one split draw the same secret samples.
        share_release: whether runs that could make the same release make it once.
        max_runs: how many runs start without being asked for twice.
    """

    base: Mapping[str, Any]
    axes: tuple[Axes, ...]
    invalid: Literal["refuse", "skip"] = "refuse"
    share_samples: bool = False
    share_release: bool = False
    max_runs: int = MOST_RUNS

    def __post_init__(self) -> None:
        for name, switch in (("share_samples", self.share_samples), ("share_release", self.share_release)):
            if not isinstance(switch, bool):
                raise BadInput(f"{name} must be true or false, got {switch!r}.", field=name)
        checks.one_of(("refuse", "skip"), invalid=self.invalid)
        checks.whole(low=1, max_runs=self.max_runs)

    @property
    def combinations(self) -> int:
        """How many there are, counted without making one."""
        return sum(math.prod(map(len, axes.values())) for axes in self.axes)

    @property
    def evaluates_by_default(self) -> bool:
        """Whether it says nothing of private evaluations: runs that pay for themselves make one then."""
        return not any("private_evaluation" in table for table in (self.base, *self.axes))


def read_sweep_file(path: str) -> dict[str, object]:
    """Return what the TOML file at `path` holds, as for `build_sweep`; BadInput where it is missing or no TOML."""
    text = read_text(path, field="sweep", what="the sweep's file")
    return read_toml(text, what=f"the sweep's file {path}")


def build_sweep(raw: Mapping[str, Any]) -> Sweep:
    """Return the sweep that `raw` asks for: a config's fields, the table `axes`, or several of it, and `sweep`.

    BadInput where an axis is unknown, empty, no list or names a value twice, and for more than MOST_COMBINATIONS.
    """
    check_plain(raw, "the sweep")
    base = {name: value for name, value in raw.items() if name not in ("axes", "sweep")}
    checks.known_names("setting", tuple(base), (*_FIELDS, "axes", "sweep"))
    options = _read_table(raw, "sweep")
    raw_axes = raw.get("axes", {})
    grids = raw_axes if isinstance(raw_axes, list) else [raw_axes]
    tables = [_read_table({"axes": axes}, "axes") for axes in grids]
    if not tables or not all(tables):
        raise BadInput("the sweep has no [axes]: name at least one, such as seed = [0, 1, 2].", field="axes")
    checks.known_names("setting of [sweep]", tuple(options), _OPTIONS)
    sweep = Sweep(base, tuple(_read_axes(base, axes) for axes in tables), **options)
    if sweep.combinations > MOST_COMBINATIONS:
        raise BadInput(
            f"the axes must have at most {MOST_COMBINATIONS:,} combinations, got {sweep.combinations:,}; make several "
            "sweeps of it.",
            field="axes",
        )
    return sweep


def _read_axes(base: Mapping[str, Any], axes: Mapping[str, Any]) -> Axes:
    flat = _flatten(axes)
    names = list_methods(base, flat.get("method", []))
    return {name: _read_axis(name, flat[name]) for name in _check_names(flat, names)}


def list_methods(base: Mapping[str, object], axis: Any) -> list[str]:
    """Return the names of the methods of a sweep, those that there are."""
    own = _name_method(base.get("method"))
    values = axis if isinstance(axis, list) and axis else [own]
    names = [_name_method(value) or own for value in values]
    return [
        name
        for name in dict.fromkeys(name for name in names if isinstance(name, str))
        if name == AUTO or name in methods()
    ]


def _name_method(value: Any) -> Any:
    return value.get("name") if isinstance(value, Mapping) else value


def _read_table(raw: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = raw.get(name, {})
    if not isinstance(table, Mapping):
        raise BadInput(f"{name} must be a table, [{name}], got {table!r}.", field=name)
    return table


def _flatten(axes: Mapping[str, object]) -> dict[str, object]:
    """Return axes by name: tables within [axes] as "method.epochs"; a field of the data by its own name."""
    flat: dict[str, object] = {}
    for name, values in axes.items():
        inner = {f"{name}.{part}": value for part, value in values.items()} if isinstance(values, Mapping) else {}
        flat |= inner or {name: values}
    return {_shorten(name): values for name, values in flat.items()}


def _shorten(name: str) -> str:
    table, dot, part = name.partition(".")
    return part if dot and table == "data" and part in DATA_FIELDS else name


def _check_names(axes: Mapping[str, object], method_names: Sequence[str]) -> list[str]:
    """Return the axes' names, each of them known; BadInput names the nearest."""
    kinds = [ASKED if name == AUTO else parameters(methods()[name]) for name in method_names]
    own = dict.fromkeys(part for kind in kinds for part in kind)
    choices = [*_FIELDS, *DATA_FIELDS, *(f"method.{part}" for part in own)]
    for name in axes:
        if name not in choices:
            near = difflib.get_close_matches(name, choices, n=1, cutoff=0.4) or [f"method.{name}"]
            meant = f"did you mean '{near[0]}'?" if near[0] in choices else f"choose from {', '.join(choices)}."
            raise BadInput(f"unknown axis '{name}'; {meant}", field="axes")
    return list(axes)


def _read_axis(name: str, values: Any) -> tuple[Any, ...]:
    if not isinstance(values, list):
        raise BadInput(f"axis '{name}' must be a list, such as [{json.dumps(values)}], got {values!r}.", field=name)
    if not values:
        raise BadInput(f"axis '{name}' is empty; give it one value or more, or leave it out.", field=name)
    texts: set[str] = set()
    for value in values:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        text = json.dumps(float(value) if is_number else value, sort_keys=True)
        if text in texts:
            raise BadInput(f"axis '{name}' names {value!r} twice; name each value once.", field=name)
        texts.add(text)
    return tuple(values)


@dataclass(frozen=True)
class Cell:
    """One combination: its values by axis, and its config or the reason why it cannot be."""

    values: Mapping[str, Any]
    config: RunConfig | None
    reason: str | None = None

    @property
    def name(self) -> str:
        """The combination in words: "epsilon = 1, seed = 0"."""
        return cell_text(self.values)


def expand(sweep: Sweep, identify: Identify | None = None, fit: Fit | None = None, settle: Settle = dict) -> list[Cell]:
    """Return all combinations of a sweep's axes, table by table, the last axis fastest.

    `identify` returns the id of the content of a person's file; without it configs have none. `fit` suits a config to
    its data, given the names of the hyper-parameters that the sweep sets; without it configs are as asked for.
    `settle` returns the fields of a config with its method named, where that is `auto`.
    """
    identify = None if identify is None else cache(identify)
    return [
        _build(sweep, dict(zip(axes, values, strict=True)), identify, fit, settle)
        for axes in sweep.axes
        for values in itertools.product(*axes.values())
    ]


def _build(sweep: Sweep, values: Mapping[str, Any], identify: Identify | None, fit: Fit | None, settle: Settle) -> Cell:
    try:
        raw = settle(_fill(sweep.base, values))
        config = build_config(raw)
        if config.data.file is not None and identify is not None:
            config = replace(config, file_id=identify(config.data.file, find_stated(config.data.schema)))
        if fit is not None:
            config = fit(config, raw["method"])
        if sweep.share_samples and draws_samples(config.method):
            config = replace(config, share_samples=True)
        if "private_evaluation" not in raw:
            config = replace(config, private_evaluation=pays_itself(config))
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


def _choose(base: Mapping[str, object], method: Mapping[str, object]) -> dict[str, object]:
    """Return a method's table over the base's, whose hyper-parameters hold for the method that it names, or for all."""
    is_other = "name" in base and method.get("name", base["name"]) != base["name"]
    return {**({} if is_other else base), **method}


def _table(value: Any) -> dict[str, object]:
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


def write_sweep(configs: Sequence[ConfigJson]) -> str | None:
    """Return the TOML of a sweep whose runs are exactly those of `configs` (JSON); None where there is none.

    There is none for fewer than two, for runs that are not all combinations of what differs, and for files of a
    person's own, whose content would decide which runs these are.
    """
    if len(configs) < 2 or any(config["data"].get("file") for config in configs):
        return None
    try:
        parsed = [build_config(config) for config in configs]
        text = write_toml(_arrange(_flatten_configs(parsed)))
        cells = expand(build_sweep(read_toml(text)))
    except BadInput:
        return None
    keys = sorted(cell.config.key if cell.config else "" for cell in cells)
    return text if keys == sorted(config.key for config in parsed) else None


def _flatten_configs(configs: Sequence[RunConfig]) -> list[dict[tuple[str, str], Any]]:
    """Return the settings of each, without private evaluations where all are as runs make them by default."""
    usual = all(config.private_evaluation == pays_itself(config) for config in configs)
    unsaid = {("", "private_evaluation")} if usual else set()
    flat = [_flatten_config(config.to_json()) for config in configs]
    return [{name: value for name, value in settings.items() if name not in unsaid} for settings in flat]


def _flatten_config(config: ConfigJson) -> dict[tuple[str, str], Any]:
    """Return a config's settings by table ("" for its own) and name."""
    flat = {("", name): value for name, value in config.items() if name not in _TABLES}
    return flat | {(table, name): value for table in _TABLES for name, value in config[table].items()}


def _arrange(flat: Sequence[Mapping[tuple[str, str], Any]]) -> dict[str, object]:
    """Return the sweep: what all have in common, and an axis for each setting that all have and that differs."""
    has_several = len({(settings["method", "name"], settings.get(("method", "variant"))) for settings in flat}) > 1
    own: dict[str, object] = {}
    tables: dict[str, dict[str, object]] = {"data": {}, "method": {}, "axes": {}, "sweep": {}}
    for table, name in flat[0]:
        if has_several and table == "method" and all(_is_default(settings, name) for settings in flat):
            continue  # each method and variant has a default of its own
        values = [settings[table, name] for settings in flat if (table, name) in settings]
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
    plain = method_to_json(read_method({own: flat.get(("method", own)) for own in _WHICH}))
    return name not in _WHICH and flat.get(("method", name)) == plain.get(name)
