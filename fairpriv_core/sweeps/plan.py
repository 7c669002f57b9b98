"""What a sweep will launch: its runs' chunks and releases, found out before anything is stored."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from fairpriv_core.errors import BadInput, DataUnavailable, Unsupported
from fairpriv_core.methods.base import Method
from fairpriv_core.privacy.event import Events
from fairpriv_core.records.config import RunConfig
from fairpriv_core.records.ledger_entry import Post, post_record
from fairpriv_core.records.plan import Shelf, plan_run
from fairpriv_core.records.source import find_seed
from fairpriv_core.store.chunks import Chunk, form_chunks
from fairpriv_core.sweeps.spec import Cell, Identify, Sweep, check_cells, expand

Find = Callable[[str], Mapping[str, Any]]


@dataclass(frozen=True)
class SweepPlan:
    """What a sweep launches; configs are known by their keys.

    Attributes:
        cells: all combinations, each with a config or the reason why it has none.
        phases: the chunks in the order in which they may run: those of the second use releases of the first.
        posts: what each run will release, as the ledger sees it.
        alone: each config as it would be with a release of its own.
    """

    cells: tuple[Cell, ...]
    phases: tuple[tuple[Chunk, ...], ...]
    posts: Mapping[str, Post]
    alone: Mapping[str, RunConfig]

    @property
    def chunks(self) -> list[Chunk]:
        """The chunks of all phases."""
        return [chunk for phase in self.phases for chunk in phase]

    @property
    def keys(self) -> list[str]:
        """The keys of all configs, each once."""
        return [config.key for chunk in self.chunks for config in chunk.configs]


@dataclass(frozen=True)
class _Look:
    """What planning a run has shown: its line in the ledger, its training releases, the bytes of its training set."""

    post: Post
    events: Events
    size: int


def plan_sweep(sweep: Sweep, *, find_record: Find, identify: Identify | None = None) -> SweepPlan:
    """Return the plan of a sweep; reads its data. `find_record` as for `plan_run`, `identify` as for `expand`.

    Raises:
        BadInput: a combination cannot be and the sweep refuses that, or none can be.
        DataUnavailable: a file cannot be had.
    """
    cells = expand(sweep, identify)
    looks = _look_at_each({cell.config.key: cell.config for cell in cells if cell.config is not None}, find_record)
    checked = [_refuse(cell, looks) for cell in cells]
    check_cells(checked, sweep)
    alone = {cell.config.key: cell.config for cell in checked if cell.config is not None}
    final = _share_releases(alone) if sweep.share_release else alone
    sizes = {final[key].key: look.size for key, look in looks.items() if key in final and isinstance(look, _Look)}
    own = [config for key, config in final.items() if config.key == key]
    users = [config for key, config in final.items() if config.key != key]
    phases = tuple(tuple(form_chunks(part, sizes)) for part in (own, users) if part)
    streams = {c.key: f"{chunk.id}/{c.seed}" for phase in phases for chunk in phase for c in chunk.configs}
    posts = {
        config.key: _post(look, config, streams[config.key])
        for key, config in final.items()
        if isinstance(look := looks[key], _Look)
    }
    named = tuple(replace(cell, config=final[cell.config.key]) if cell.config else cell for cell in checked)
    return SweepPlan(named, phases, posts, {final[key].key: config for key, config in alone.items()})


def _look_at_each(configs: Mapping[str, RunConfig], find_record: Find) -> dict[str, _Look | str]:
    """Return what planning each run has shown, or the reason why it cannot run; splits are read one after the other."""
    shelf = Shelf(splits=1)
    ordered = sorted(configs.items(), key=lambda item: (str(item[1].data), item[1].split, item[1].seed))
    return {key: _look_at(config, shelf, find_record) for key, config in ordered}


def _look_at(config: RunConfig, shelf: Shelf, find_record: Find) -> _Look | str:
    try:
        plan = plan_run(config, config.key, shelf=shelf, find_record=find_record)
        plan.method.steps(plan.train.n)  # says what does not fit this many rows
    except DataUnavailable:
        raise
    except (BadInput, Unsupported) as error:
        return str(error)
    events = plan.method.event(plan.train.n)
    return _Look(post_record(plan.draft.to_json()), events, 4 * plan.train.n * plan.train.d)


def _refuse(cell: Cell, looks: Mapping[str, _Look | str]) -> Cell:
    look = None if cell.config is None else looks[cell.config.key]
    return replace(cell, config=None, reason=look) if isinstance(look, str) else cell


def _share_releases(configs: Mapping[str, RunConfig]) -> dict[str, RunConfig]:
    """Return configs by the keys they had; of those that would make the same release all but the first are given it."""
    first: dict[str, str] = {}
    final: dict[str, RunConfig] = {}
    for key, config in configs.items():
        source = first.setdefault(_name_release(config), key) if _can_share(config) else key
        final[key] = config if source == key else _use(config, source)
    return final


def _can_share(config: RunConfig) -> bool:
    return bool(config.method.info.reuses) and config.reuse is None and config.replay_noise is None


def _name_release(config: RunConfig) -> str:
    """Return what decides a run's release: the rows, the method's settings that belong to it, and the budget."""
    asked, taken = config.to_json(), config.method.info.reuses
    names = ("data", "file_id", "split", "epsilon", "delta")
    own = {name: asked["method"][name] for name in ("name", *taken)}
    return json.dumps([[asked[name] for name in names], own, find_seed(asked)], sort_keys=True)


def _use(config: RunConfig, source: str) -> RunConfig:
    """Return `config` on the release of the run `source`; what that release fixes is not set again."""
    return replace(config, reuse=source, epsilon=None, method=_without_release(config.method))


def _without_release(method: Any) -> Method:
    defaults = {item.name: item.default for item in fields(method) if item.name in method.info.reuses}
    cleared: Method = replace(method, **defaults)
    return cleared


def _post(look: _Look, config: RunConfig, stream: str) -> Post:
    """Return a run's line in the ledger under its final key, with what it has in common with other runs."""
    entry = replace(look.post.entry, key=config.key)
    if _can_share(config) or config.reuse is not None:
        entry = replace(entry, shared=entry.shared or {f"release of {config.reuse or config.key}": look.events})
    if config.share_samples:
        entry = replace(entry, stream=stream)
    return replace(look.post, entry=entry)
