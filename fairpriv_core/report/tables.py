"""Tables over run records (plain JSON): seeds folded, only what differs, and a paired comparison."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scipy.special import stdtr, stdtrit

from fairpriv_core.report.wording import ONE_SEED

Record = Mapping[str, Any]
REPLAYED = "replayed"
_SEEDS = ("seed", "replay_noise")


@dataclass(frozen=True)
class Mean:
    """A mean over seeds and its 95 % t interval; the interval is None for one seed, all is None without values."""

    mean: float | None
    low: float | None
    high: float | None
    n: int

    @property
    def half(self) -> float | None:
        """Half the interval's length: the number after ±."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2


@dataclass(frozen=True)
class Outcome:
    """What one finished run came to; shares in [0, 1].

    `epsilon` is the budget asked for, None if not private; of a run on another one's release, what that release cost.
    A run whose noise can be repeated has the variant REPLAYED: no epsilon, and nothing is protected. `setting` is the
    config without its seeds as JSON text: runs that share it differ by seed alone.
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


@dataclass(frozen=True)
class TableRow:
    """One row of the run table: runs that differ by seed alone."""

    method: str
    notion: str
    dataset: str
    sensitive: str
    threat_model: str | None
    variant: str | None
    epsilon: float | None
    seeds: tuple[int, ...]
    keys: tuple[str, ...]
    accuracy: Mean
    gap: Mean
    note: str


@dataclass(frozen=True)
class Paired:
    """The mean difference (run minus reference) over shared seeds, its 95 % t interval and the two-sided p-value."""

    difference: Mean
    p_value: float | None
    seeds: tuple[int, ...]


def mean_interval(values: Iterable[float | None]) -> Mean:
    """Return the mean with its 95 % t interval; None values are left out."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    n = len(known)
    if n == 0:
        return Mean(None, None, None, 0)
    mean = math.fsum(known) / n
    if n == 1:
        return Mean(mean, None, None, 1)
    half = float(stdtrit(n - 1, 0.975)) * _standard_error(known)
    return Mean(mean, mean - half, mean + half, n)


def read_outcome(record: Record) -> Outcome:
    """Return what a record's JSON came to; accuracy and gap are None while it has no metrics."""
    config, metrics = record["config"], record.get("metrics") or {}
    data, replayed = config["data"], config.get("replay_noise") is not None
    asked = {name: value for name, value in config.items() if name not in _SEEDS} | {"replayed": replayed}
    epsilon = record.get("epsilon") if config.get("reuse") else config.get("epsilon")
    return Outcome(
        method=config["method"]["name"],
        notion=config["notion"],
        dataset=str(data.get("dataset") or data.get("file")),
        sensitive=str(data.get("sensitive")),
        seed=config["seed"],
        accuracy=metrics.get("accuracy"),
        gap=metrics.get(f"{config['notion']}_gap"),
        epsilon=None if replayed else epsilon,
        threat_model=None if replayed else record.get("threat_model"),
        variant=REPLAYED if replayed else record.get("variant"),
        key=record["key"],
        setting=json.dumps(asked, sort_keys=True),
    )


def run_table(records: Iterable[Record]) -> tuple[TableRow, ...]:
    """Return one row for each setting, in order of first appearance, with accuracy and gap as mean ± 95 % over seeds.

    A seed that ran more than once counts once: the first record, so give the newest first.
    """
    folded: dict[str, dict[int, Outcome]] = {}
    for record in records:
        outcome = read_outcome(record)
        if outcome.accuracy is not None:
            folded.setdefault(outcome.setting, {}).setdefault(outcome.seed, outcome)
    return tuple(_fold([runs[seed] for seed in sorted(runs)]) for runs in folded.values())


def parameter_diff(records: Sequence[Record]) -> dict[str, tuple[Any, ...]]:
    """Return only the settings that differ: name -> each record's value; None where a record has no such setting."""
    flat = [_flatten(record["config"]) for record in records]
    names = list(dict.fromkeys(name for each in flat for name in each))
    table = {name: tuple(each.get(name) for each in flat) for name in names}
    return {name: values for name, values in table.items() if any(value != values[0] for value in values[1:])}


def paired_difference(records: Iterable[Record], reference: Iterable[Record], metric: str) -> Paired:
    """Compare `metric` between two settings, seed by seed, on the seeds that both ran (paired t test).

    The p-value is None with fewer than two shared seeds, or where every difference is the same.
    """
    ours, theirs = _by_seed(records, metric), _by_seed(reference, metric)
    seeds = tuple(sorted(ours.keys() & theirs.keys()))
    differences = [ours[seed] - theirs[seed] for seed in seeds]
    found = mean_interval(differences)
    error = _standard_error(differences) if len(differences) > 1 else 0.0
    if found.mean is None or error <= 1e-12 * max(1.0, abs(found.mean)):
        return Paired(found, None, seeds)
    return Paired(found, float(2 * stdtr(len(seeds) - 1, -abs(found.mean / error))), seeds)


def _fold(runs: list[Outcome]) -> TableRow:
    one = runs[0]
    return TableRow(
        method=one.method,
        notion=one.notion,
        dataset=one.dataset,
        sensitive=one.sensitive,
        threat_model=one.threat_model,
        variant=one.variant,
        epsilon=one.epsilon,
        seeds=tuple(run.seed for run in runs),
        keys=tuple(run.key for run in runs),
        accuracy=mean_interval(run.accuracy for run in runs),
        gap=mean_interval(run.gap for run in runs),
        note=ONE_SEED if len(runs) == 1 else f"{len(runs)} seeds, mean ± 95 %",
    )


def _flatten(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in config.items():
        if isinstance(value, Mapping):
            flat.update(_flatten(value, f"{prefix}{name}."))
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def _by_seed(records: Iterable[Record], metric: str) -> dict[int, float]:
    found: dict[int, float] = {}
    for record in records:
        value = (record.get("metrics") or {}).get(metric)
        if value is not None:
            found.setdefault(record["config"]["seed"], float(value))
    return found


def _standard_error(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values))
