"""Tables over run records (plain JSON): seeds folded, and only what differs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from fairpriv_core.data.problem import ENCODINGS, DataJson
from fairpriv_core.facts.measures import K, MeanFact, find_kinds, find_worst, fold, widen
from fairpriv_core.facts.wording import ACCOUNTED, format_one_seed, protected
from fairpriv_core.plain import Json
from fairpriv_core.records.release import Kind
from fairpriv_core.records.source import ConfigJson, find_answers, name_unit
from fairpriv_core.stats import mean_interval
from fairpriv_core.text import delta_text, epsilon_text

REPLAYED = "replayed"
UNPROVED = "not proved"
_SEEDS = ("seed", "replay_noise", "adviser")
_IN_COLUMNS = ("data.", "notion", "delta", "file_id", "method.name", "method.variant", "variant")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one finished run came to; shares in [0, 1].

    `epsilon` is the budget asked for, None if not private; of a run on another one's release, what that release cost.
    A run whose noise can be repeated has the variant REPLAYED: no epsilon, and nothing is protected. A private one that
    neither proves nor publishes an epsilon (it was chosen by raw numbers, say) has the variant UNPROVED and no epsilon.
    `setting` is the config without its seeds as JSON text: runs that share it differ by seed alone. `constant` is the
    accuracy of the answer that is right most often, given to everybody. `kinds` are those of accuracy and of the gap.
    `gap_ends` is the 95 % interval of a gap that randomised answers tell, which is "released".
    """

    method: str
    notion: str
    dataset: str
    sensitive: str
    seed: int
    accuracy: float | None
    gap: float | None
    epsilon: float | None = None
    threat_model: str | None = None
    variant: str | None = None
    key: str = ""
    setting: str = ""
    delta: float | None = None
    group_ratio: float | None = None
    rows: int | None = None
    constant: float | None = None
    encoding: str = ENCODINGS[0]
    kinds: tuple[Kind, Kind] = ("raw", "raw")
    gap_ends: tuple[float, float] | None = None


@dataclass(frozen=True)
class Row(Generic[K]):
    """One row of the run table: runs that differ by seed alone. `delta` goes with `epsilon`; the rest as Outcome's.

    `name`, `tags`, `pinned` and `archived` are a person's, for lists and in no export: what its runs are called, their
    tags, whether one is pinned, and whether all are archived, so that lists leave the row out. Archiving some of its
    runs changes no number.
    """

    method: str
    notion: str
    dataset: str
    sensitive: str
    threat_model: str | None
    variant: str | None
    epsilon: float | None
    seeds: tuple[int, ...]
    keys: tuple[str, ...]
    accuracy: MeanFact[K]
    gap: MeanFact[K]
    note: str
    delta: float | None = None
    setting: str = ""
    group_ratio: float | None = None
    rows: int | None = None
    constant: float | None = None
    encoding: str = ENCODINGS[0]
    name: str = ""
    tags: tuple[str, ...] = ()
    pinned: bool = False
    archived: bool = False

    @property
    def kind(self) -> Kind:
        """The worst of accuracy's and the gap's."""
        return find_worst([self.accuracy.kind, self.gap.kind])

    @property
    def by_answers(self) -> bool:
        """Whether its gap is an estimate from randomised answers."""
        return self.gap.kind == "released"

    @property
    def asked(self) -> DataJson:
        """The data as its runs' config names them."""
        data: DataJson = json.loads(self.setting or "{}").get("data", {})
        return data

    @property
    def data(self) -> tuple[str, str, float | None, int | None, str]:
        """What two rows must share to be compared: data set, groups, rows and features."""
        return self.dataset, self.sensitive, self.group_ratio, self.rows, self.encoding


TableRow = Row[Kind]


def read_outcome(record: Json) -> Outcome:
    """Return what a record's JSON came to; accuracy and gap are None while it has no metrics."""
    config, metrics = record["config"], record.get("metrics") or {}
    data, replayed = config["data"], config.get("replay_noise") is not None
    private, variant = record.get("threat_model") is not None, record.get("variant")
    unproved = private and variant != "published" and record.get("epsilon") is None
    variant = REPLAYED if replayed else UNPROVED if unproved else variant
    setting = {name: value for name, value in config.items() if name not in _SEEDS}
    epsilon = record.get("epsilon") if config.get("reuse") else config.get("epsilon")
    kinds, gap_metrics, name = find_kinds(record), metrics, f"{config['notion']}_gap"
    ends = None
    if find_answers(data) is not None:
        kinds, gap_metrics = (kinds[0], "released"), record.get("metrics_private") or {}
        ends = gap_metrics.get(f"{name}_interval")
    return Outcome(
        method=config["method"]["name"],
        notion=config["notion"],
        dataset=str(data.get("dataset") or data.get("file")),
        sensitive=str(data.get("sensitive")),
        seed=config["seed"],
        accuracy=metrics.get("accuracy"),
        gap=gap_metrics.get(name),
        gap_ends=None if ends is None else (ends[0], ends[1]),
        epsilon=None if replayed or unproved else epsilon,
        threat_model=None if replayed else record.get("threat_model"),
        variant=variant,
        key=record["key"],
        setting=sys.intern(json.dumps({**setting, "variant": variant}, sort_keys=True)),  # one for all seeds
        delta=record.get("delta"),
        group_ratio=data.get("group_ratio"),
        rows=data.get("rows"),
        encoding=data.get("encoding", ENCODINGS[0]),
        constant=metrics.get("constant_accuracy"),
        kinds=kinds,
    )


def run_table(records: Iterable[Json]) -> tuple[TableRow, ...]:
    """Return one row for each setting, in order of first appearance, with accuracy and gap as mean ± 95 % over seeds.

    A seed that ran more than once counts once: the first record, so give the newest first.
    """
    return fold_outcomes(map(read_outcome, records), {})


def fold_outcomes(
    outcomes: Iterable[Outcome], rows_by_keys: Mapping[tuple[str, ...], TableRow]
) -> tuple[TableRow, ...]:
    """Return the rows of `run_table`; `rows_by_keys` has rows that were folded already, by their runs' keys."""
    folded: dict[str, dict[int, Outcome]] = {}
    for outcome in outcomes:
        if outcome.accuracy is not None:
            folded.setdefault(outcome.setting, {}).setdefault(outcome.seed, outcome)
    rows = ([runs[seed] for seed in sorted(runs)] for runs in folded.values())
    return tuple(rows_by_keys.get(tuple(run.key for run in row)) or _fold(row) for row in rows)


def format_claim(row: TableRow) -> str:
    """Return the claim of a row's ε: value, δ, how it was accounted, what is protected."""
    if row.variant == REPLAYED:
        return "no ε: its noise can be repeated"
    if row.threat_model is None:
        return "no ε: not private"
    if row.epsilon is None:
        return "no ε is proved"
    accounting = ACCOUNTED[row.variant or "proved"]
    delta = "" if row.delta is None else f"δ = {delta_text(row.delta)}, "
    protects = protected(row.threat_model, name_unit(row.asked))
    return f"ε = {epsilon_text(row.epsilon)} ({delta}{accounting}, protects {protects})"


def name_gap(title: str, rows: Iterable[TableRow]) -> str:
    """Return a gap's title, which says so where randomised answers tell the gap."""
    return f"{title}, by answers" if any(row.by_answers for row in rows) else title


def parameter_diff(configs: Sequence[ConfigJson]) -> dict[str, tuple[Any, ...]]:
    """Return only the settings that differ: name -> each config's value; None where a config has no such setting."""
    flat = [_flatten(config) for config in configs]
    names = list(dict.fromkeys(name for settings in flat for name in settings))
    table = {name: tuple(settings.get(name) for settings in flat) for name in names}
    return {name: values for name, values in table.items() if any(value != values[0] for value in values[1:])}


def varied_settings(rows: Iterable[TableRow]) -> dict[str, dict[str, object]]:
    """Return the settings in which rows of one method differ, by a row's first key: name -> value.

    Data, notion and ε have columns of their own and are left out. The setting with the most values comes first.
    """
    flat = {row.keys[0]: (row.method, _list_untold(row)) for row in rows}
    values: dict[tuple[str, str], set[str]] = {}
    for method, settings in flat.values():
        for name, value in settings.items():
            values.setdefault((method, name), set()).add(repr(value))
    varied_by_key = {}
    for key, (method, settings) in flat.items():
        names = [name for name in settings if len(values[method, name]) > 1]
        names.sort(key=lambda name: -len(values[method, name]))
        varied_by_key[key] = {name: settings[name] for name in names}
    return varied_by_key


def _list_untold(row: TableRow) -> dict[str, object]:
    """Return the settings that have no column in the run table."""
    in_columns = _IN_COLUMNS if row.epsilon is None else (*_IN_COLUMNS, "epsilon")
    settings = _flatten(json.loads(row.setting or "{}"))
    further = {name: value for name, value in settings.items() if not name.startswith(in_columns)}
    return {"data.group_ratio": row.group_ratio, "data.rows": row.rows, "data.encoding": row.encoding, **further}


def _fold(runs: list[Outcome]) -> TableRow:
    first, gap = runs[0], fold((run.gap for run in runs), find_worst([run.kinds[1] for run in runs]))
    return TableRow(
        method=first.method,
        notion=first.notion,
        dataset=first.dataset,
        sensitive=first.sensitive,
        threat_model=first.threat_model,
        variant=first.variant,
        epsilon=first.epsilon,
        seeds=tuple(run.seed for run in runs),
        keys=tuple(run.key for run in runs),
        accuracy=fold((run.accuracy for run in runs), find_worst([run.kinds[0] for run in runs])),
        gap=widen(gap, [run.gap_ends for run in runs if run.gap_ends is not None]),
        note=format_one_seed(by_answers=first.kinds[1] == "released")
        if len(runs) == 1
        else f"{len(runs)} seeds, mean ± 95 %",
        delta=first.delta,
        setting=first.setting,
        group_ratio=first.group_ratio,
        rows=first.rows,
        encoding=first.encoding,
        constant=mean_interval(run.constant for run in runs).mean,
    )


def _flatten(config: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    flat: dict[str, object] = {}
    for name, value in config.items():
        if isinstance(value, Mapping):
            flat.update(_flatten(value, f"{prefix}{name}."))
        else:
            flat[f"{prefix}{name}"] = value
    return flat
