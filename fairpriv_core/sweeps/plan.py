"""What a sweep will launch: its runs' chunks and releases, found out before anything is stored.

Runs of one chunk differ only in what a loop takes model by model: seed, budget, real-valued hyper-parameters, and whose
release they use. A hyper-parameter of 0 sets them apart, since it switches a part of a method off.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import Any

from fairpriv_core.engine.networks import MLP
from fairpriv_core.errors import BadInput, DataUnavailable, Unsupported
from fairpriv_core.grouping import group_by
from fairpriv_core.methods.base import FitsAlone, parameters
from fairpriv_core.methods.fields import network_of
from fairpriv_core.privacy.event import Events
from fairpriv_core.records.advice import settle_method
from fairpriv_core.records.config import RunConfig, draws_samples
from fairpriv_core.records.evidence import Size
from fairpriv_core.records.ledger_entry import Posting, record_posting
from fairpriv_core.records.plan import DatasetCache, Find, check_network, fit_batch, plan_run
from fairpriv_core.records.record import announce_training
from fairpriv_core.records.source import find_seed
from fairpriv_core.runs.expect import expect_seconds
from fairpriv_core.store.rows import RunRow
from fairpriv_core.store.tables import CHUNK_DIGITS
from fairpriv_core.sweeps.spec import Cell, Identify, Sweep, check_cells, expand

_PER_MODEL = ("epsilon", "delta", "seed", "replay_noise")
_SAMPLING = "sampling_rate"  # models with samples of unlike size would wait for the largest
_MOST_PARTS = 16  # of one kind of run: so many processes have work
_MOST_BYTES = 2**30  # of training sets that one chunk holds
_SHORT_SECONDS = 30.0  # in which a chunk ends that somebody waits for
_SHARED = 0.7  # of its time alone a model takes in a loop of 4 to 16: 0.3 to 0.7 were seen of five methods on Adult


@dataclass(frozen=True)
class Chunk:
    """Runs that train together; `id` is the store's name for them."""

    id: str
    configs: tuple[RunConfig, ...]


def form_chunks(
    configs: Sequence[RunConfig],
    split_bytes: Mapping[str, int] | None = None,
    seconds: Mapping[str, float] | None = None,
) -> list[Chunk]:
    """Return the chunks of different configs. `split_bytes` says how large a config's training set is, by its key.

    Runs whose training sets differ in size, as of seeds that split people who have several rows, train apart: noise and
    sampling rates are calibrated to the number of rows. With the `seconds` that each takes alone, where known, chunks
    end within about _SHORT_SECONDS: whoever waits sees points, and keeps them.
    """
    sizes = split_bytes or {}
    kinds = group_by(configs, lambda config: (name_kind(config), sizes.get(config.key, 0)))
    parts: list[Sequence[RunConfig]] = [part for (_, size), kind in kinds.items() for part in _divide(kind, size)]
    if seconds is not None:
        parts = [short for part in parts for short in _cut(part, seconds)]
    return [Chunk(_name(part), tuple(part)) for part in parts]


def most_models(config: RunConfig) -> int:
    """Return how many runs like `config` may train in one loop."""
    method = config.method
    if isinstance(method, FitsAlone) or network_of(method) != MLP:
        return 1  # models of a network of layers are taken one after the other in a loop too
    own_release = bool(method.info.reuses) and config.reuse is None
    own_samples = draws_samples(method) and not config.share_samples
    return 32 if getattr(method, "hidden_layers", 0) or own_release or own_samples else 640


def _least_models(config: RunConfig) -> int:
    """Return how many models a loop should have before another process gets some.

    On Adult a model's step hardly gets cheaper beyond 8 networks, 16 logistic regressions with samples of their own, or
    some 64 that share batches.
    """
    if network_of(config.method) != MLP:
        return 1
    if getattr(config.method, "hidden_layers", 0):
        return 8
    return 64 if most_models(config) > 32 else 16


def _divide(configs: list[RunConfig], split_bytes: int) -> list[list[RunConfig]]:
    """Return the parts of runs of one kind; those of one seed stay together as far as they fit, for their batches."""
    max_models, min_models = most_models(configs[0]), _least_models(configs[0])
    count = max(math.ceil(len(configs) / max_models), min(_MOST_PARTS, len(configs) // min_models), 1)
    size = min(math.ceil(len(configs) / count), max_models)
    seeds = max(_MOST_BYTES // max(split_bytes, 1), 1)
    parts: list[list[RunConfig]] = []
    for seed in dict.fromkeys(config.seed for config in configs):
        alike = [config for config in configs if config.seed == seed]
        for start in range(0, len(alike), size):
            piece = alike[start : start + size]
            n_seeds = len({config.seed for config in parts[-1]}) if parts else 0
            even = n_seeds and len(parts[-1]) == n_seeds * len(piece)  # as many of each seed: they share its batches
            if even and n_seeds < seeds and len(parts[-1]) < size and len(parts[-1]) + len(piece) <= max_models:
                parts[-1] += piece
            else:
                parts.append(piece)
    return parts


def _cut(configs: Sequence[RunConfig], seconds: Mapping[str, float]) -> list[Sequence[RunConfig]]:
    """Return the parts of a chunk that each end within about _SHORT_SECONDS."""
    longest = max(seconds.get(config.key, _SHORT_SECONDS) for config in configs)
    length = max(1, int(_SHORT_SECONDS / (_SHARED * longest)))
    return [configs[start : start + length] for start in range(0, len(configs), length)]


def _lead(chunks: Sequence[Chunk]) -> list[Chunk]:
    """Return the chunks with one run of each method taken out of them, alone and first: a point to look at soon."""
    configs = [config for chunk in chunks for config in chunk.configs]
    first = {config.method.info.name: config for config in reversed(configs)}
    heads = [config for config in configs if first[config.method.info.name] is config]
    parts = [[head] for head in heads]
    parts += [[config for config in chunk.configs if config not in heads] for chunk in chunks]
    return [Chunk(_name(part), tuple(part)) for part in parts if part]


def name_kind(config: RunConfig) -> str:
    """Return what runs must have in common to train together; a loop takes real-valued parameters model by model."""
    settings: dict[str, Any] = {**config.to_json(), **dict.fromkeys(_PER_MODEL), "reuse": config.reuse is not None}
    kinds = {name: str(field.type) for name, (_, field) in parameters(config.method).items()}
    varying = [name for name, kind in kinds.items() if kind.startswith("float") and name != _SAMPLING]
    settings["method"] = {name: value == 0 if name in varying else value for name, value in settings["method"].items()}
    return json.dumps(settings, sort_keys=True)


def _name(configs: Sequence[RunConfig]) -> str:
    keys = sorted(config.key for config in configs)
    return hashlib.sha256("\n".join(keys).encode()).hexdigest()[:CHUNK_DIGITS]


@dataclass(frozen=True)
class SweepPlan:
    """What a sweep launches; configs are known by their keys.

    Attributes:
        cells: all combinations, each with a config or the reason why it has none.
        phases: the chunks in the order in which they may run: those of the second use releases of the first.
        postings: what each run will release, as the ledger sees it.
        alone: each config as it would be with a release of its own.
    """

    cells: tuple[Cell, ...]
    phases: tuple[tuple[Chunk, ...], ...]
    postings: Mapping[str, Posting]
    alone: Mapping[str, RunConfig]

    @property
    def chunks(self) -> list[Chunk]:
        """The chunks of all phases."""
        return [chunk for phase in self.phases for chunk in phase]

    @cached_property
    def keys(self) -> list[str]:
        """The keys of all configs, each once."""
        return [config.key for chunk in self.chunks for config in chunk.configs]


@dataclass(frozen=True)
class _Checked:
    """What planning a run has shown: its line in the ledger, its training releases, the bytes of its training set.

    `seconds` are those that it takes alone, None where nothing tells.
    """

    posting: Posting
    events: Events
    size: int
    seconds: float | None


def plan_sweep(
    sweep: Sweep, *, find_record: Find, identify: Identify | None = None, runs: Sequence[RunRow] | None = None
) -> SweepPlan:
    """Return the plan of a sweep; reads its data. `find_record` as for `plan_run`, `identify` as for `expand`.

    With `runs` of the store, newest first, which tell how long one takes, chunks are short: somebody waits for points.

    Raises:
        BadInput: a combination cannot be and the sweep refuses that, or none can be.
        DataUnavailable: a file cannot be had.
    """
    datasets = DatasetCache(splits=1)

    def settle(raw: Mapping[str, object]) -> dict[str, object]:
        return settle_method(raw, lambda usual: Size.of(datasets.whole(usual)))[0]

    cells = expand(sweep, identify, partial(fit_batch, datasets=datasets), settle)
    configs = {cell.config.key: cell.config for cell in cells if cell.config is not None}
    checked_runs = _check_each(configs, datasets, find_record, runs or ())
    checked = [_refuse(cell, checked_runs) for cell in cells]
    check_cells(checked, sweep)
    alone = {cell.config.key: cell.config for cell in checked if cell.config is not None}
    final = _share_releases(alone, evaluate=not sweep.evaluates_by_default) if sweep.share_release else alone
    fit = {
        final[key].key: checked_run
        for key, checked_run in checked_runs.items()
        if key in final and isinstance(checked_run, _Checked)
    }
    sizes = {key: checked_run.size for key, checked_run in fit.items()}
    seconds = {key: checked_run.seconds for key, checked_run in fit.items() if checked_run.seconds is not None}
    own = [config for key, config in final.items() if config.key == key]
    users = [config for key, config in final.items() if config.key != key]
    first, *later = [form_chunks(part, sizes, None if runs is None else seconds) for part in (own, users) if part]
    phases = tuple(map(tuple, (first if runs is None else _lead(first), *later)))
    streams = {c.key: f"{chunk.id}/{c.seed}" for phase in phases for chunk in phase for c in chunk.configs}
    postings = {
        config.key: _posting(checked_run, config, streams[config.key])
        for key, config in final.items()
        if isinstance(checked_run := checked_runs[key], _Checked)
    }
    final_cells = tuple(replace(cell, config=final[cell.config.key]) if cell.config else cell for cell in checked)
    return SweepPlan(final_cells, phases, postings, {final[key].key: config for key, config in alone.items()})


def _check_each(
    configs: Mapping[str, RunConfig], datasets: DatasetCache, find_record: Find, rows: Sequence[RunRow]
) -> dict[str, _Checked | str]:
    """Return what planning each run has shown, or the reason why it cannot run; splits are read one after the other."""
    ordered = sorted(configs.items(), key=lambda item: (str(item[1].data), item[1].split, item[1].seed))
    return {key: _check(config, datasets, find_record, rows) for key, config in ordered}


def _check(config: RunConfig, datasets: DatasetCache, find_record: Find, rows: Sequence[RunRow]) -> _Checked | str:
    try:
        plan = plan_run(config, config.key, datasets=datasets, find_record=find_record)
        steps = plan.method.steps(plan.train.n)  # says what does not fit this many rows
        shape = check_network(config.method, plan.train)
    except DataUnavailable:
        raise
    except (BadInput, Unsupported) as error:
        return str(error)
    events = announce_training(config, plan.method, plan.train.n)
    time = expect_seconds(config, n_train=plan.train.n, steps=steps, shape=shape, rows=rows)
    size = 4 * plan.train.n * plan.train.d
    return _Checked(record_posting(plan.draft), events, size, None if time is None else time[0])


def _refuse(cell: Cell, checked_runs: Mapping[str, _Checked | str]) -> Cell:
    checked_run = None if cell.config is None else checked_runs[cell.config.key]
    return replace(cell, config=None, reason=checked_run) if isinstance(checked_run, str) else cell


def _share_releases(configs: Mapping[str, RunConfig], *, evaluate: bool) -> dict[str, RunConfig]:
    """Return configs by the keys they had; of those that would make the same release all but the first are given it.

    These `evaluate` privately, at a cost of their own, only where the sweep asks for it.
    """
    first: dict[str, str] = {}
    final: dict[str, RunConfig] = {}
    for key, config in configs.items():
        source = first.setdefault(_name_release(config), key) if _can_share(config) else key
        evaluated = config if evaluate else replace(config, private_evaluation=False)
        final[key] = config if source == key else _use(evaluated, source)
    return final


def _can_share(config: RunConfig) -> bool:
    return bool(config.method.info.reuses) and config.reuse is None and config.replay_noise is None


def _name_release(config: RunConfig) -> str:
    """Return what decides a run's release: the rows, the method's settings that belong to it, and the budget."""
    document = config.to_json()
    own = {name: document["method"].get(name) for name in ("name", *config.method.info.reuses)}
    common = [document["data"], document["file_id"], document["split"], document["epsilon"], document["delta"]]
    return json.dumps([common, own, find_seed(document)], sort_keys=True)


def _use(config: RunConfig, source: str) -> RunConfig:
    """Return `config` on the release of the run `source`; what that release fixes is not set again."""
    method: Any = config.method
    defaults = {item.name: item.default for item in fields(method) if item.name in method.info.reuses}
    return replace(config, reuse=source, epsilon=None, method=replace(method, **defaults))


def _posting(checked_run: _Checked, config: RunConfig, stream: str) -> Posting:
    """Return a run's line in the ledger under its final key, with what it has in common with other runs."""
    entry = replace(checked_run.posting.entry, key=config.key)
    if config.reuse is not None and not config.private_evaluation:
        entry = replace(entry, events=checked_run.events)  # with a release of its own it would have made one
    if _can_share(config) or config.reuse is not None:
        entry = replace(entry, shared=entry.shared or {f"release of {config.reuse or config.key}": checked_run.events})
    if config.share_samples:
        entry = replace(entry, stream=stream)
    return replace(checked_run.posting, entry=entry)
