"""A run without privacy and fairness on the same test rows: what a fair model's accuracy is held against."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress

from fairpriv_core.errors import BadInput
from fairpriv_core.methods.catalog import REFERENCE_METHOD
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.records.record import RunRecord
from fairpriv_core.records.source import ConfigJson, find_answers, is_published, name_file
from fairpriv_core.records.stored import read_stored_runs
from fairpriv_core.store.rows import RunRow
from fairpriv_core.store.runs import GOING_ON, RunStore

_MOST_RUNS = 500  # among the newest of which one is looked for
_FOR_TRAINING = ("schema", "group_ratio")  # say nothing of which rows are test rows
_SHAPE = ("network", "hidden_layers", "width")


def find_plain_run(store: RunStore, config: ConfigJson) -> RunRecord | None:
    """Return the newest finished run of the reference method on the test rows of `config`, JSON; None without one.

    Where the store has none, it is the one that comes with this software.
    """
    return find_plain_runs(store, [config])[0]


def find_plain_runs(store: RunStore, configs: Sequence[ConfigJson]) -> list[RunRecord | None]:
    """Return `find_plain_run` of each of `configs`."""
    keys_by_rows: dict[str, str] = {}
    for row in store.rows(limit=_MOST_RUNS):
        if row.status == "finished" and _is_plain(row.config):
            keys_by_rows.setdefault(name_rows(row.config), row.key)
    keys = [keys_by_rows.get(name_rows(config)) for config in configs]
    records = store.records([*{key for key in keys if key is not None}])
    pairs = zip(keys, configs, strict=True)
    return [find_stored_plain_run(config) if key is None else records.get(key) for key, config in pairs]


def find_stored_plain_run(config: ConfigJson) -> RunRecord | None:
    """Return the run of the reference method on the test rows of `config` that comes with this software."""
    rows = name_rows(config)
    records = (record for record in read_stored_runs().records if _is_plain(record.config))
    return next((record for record in records if name_rows(record.config) == rows), None)


def train_plain_beside(store: RunStore, config: RunConfig) -> RunRow | None:
    """Have plain training done on the rows of `config` too, where they are published and no run of it is there.

    Of a person's own rows it would be one more run that protects nothing, which nobody asked for.
    """
    config_json = config.to_json()
    if not is_published(config_json["data"]) or not lacks_plain_run(store, config_json):
        return None
    with suppress(BadInput):  # a quota, say: nobody has asked for this run
        return store.submit(make_plain(config_json))
    return None


def lacks_plain_run(store: RunStore, config: ConfigJson) -> bool:
    """Return whether `config`, JSON, is of a method to which plain training is still to be done on the same rows.

    On randomised answers none can be done.
    """
    if _is_plain(config) or find_answers(config["data"]) is not None or find_stored_plain_run(config) is not None:
        return False
    runs, rows = store.rows(limit=_MOST_RUNS), name_rows(config)
    return not any(_is_plain(run.config) and run.status in GOING_ON and name_rows(run.config) == rows for run in runs)


def make_plain(config: ConfigJson) -> RunConfig:
    """Return plain training on the rows of `config`, JSON, with a network of its shape."""
    shape = {name: config["method"][name] for name in _SHAPE if name in config["method"]}
    same = {name: config[name] for name in ("data", "notion", "split", "seed")}
    return build_config({**same, "method": {"name": REFERENCE_METHOD, **shape}})


def name_rows(config: ConfigJson) -> str:
    """Return what runs have in common that are measured on the same test rows, by the same features."""
    data = {name: value for name, value in config["data"].items() if name not in _FOR_TRAINING}
    data["file"] = name_file(config["data"])  # `file_id` says which file it is, wherever it lies
    return json.dumps([data, config.get("file_id"), config["split"], config["seed"]], sort_keys=True)


def _is_plain(config: ConfigJson) -> bool:
    return bool(config["method"]["name"] == REFERENCE_METHOD)
