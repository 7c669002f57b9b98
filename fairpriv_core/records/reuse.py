"""What runs have in common: a release that an earlier run made and paid for, or their secret samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, Literal

from fairpriv_core.errors import BadInput
from fairpriv_core.methods.base import Method
from fairpriv_core.privacy.event import Events, from_json
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.records.record import RunRecord
from fairpriv_core.records.source import ConfigJson, find_seed, is_published

#: under this name a run's notes say which of its releases other runs use as well, and what they cost
SHARED_RELEASES = "shared_releases"
#: under this name a run's notes say which secret samples other runs use as well
SAMPLE_STREAM = "sample_stream"
#: what decides which rows a release is about
_ALIKE: tuple[Literal["data", "split", "seed", "file_id"], ...] = ("data", "split", "seed", "file_id")


def use_release(method: Method, source: RunRecord, config: ConfigJson, digest: str) -> tuple[Method, dict[str, object]]:
    """Return `method` with what the release of `source` fixes, and the notes by which the ledger counts that once.

    `config` is the JSON of that of the run that uses the release, `digest` that of the rows that
    run would train on. BadInput where it cannot.
    """
    _check_source(source, config, digest)
    defaults = {item.name: item.default for item in fields(method)}
    fixed: dict[str, object] = {name: source.calibrated.get(name, defaults[name]) for name in method.info.reuses}
    return replace(method, **fixed), {SHARED_RELEASES: source.notes[SHARED_RELEASES]}


def count_shared(notes: Mapping[str, Any]) -> Events:
    """Return what the shared releases in a run's notes cost."""
    return tuple(event for part in notes.get(SHARED_RELEASES, {}).values() for event in from_json(part))


def name_stream(mechanism: Mechanism) -> dict[str, object]:
    """Return the note by which the ledger knows whose secret samples a run uses as well; {} where it has its own."""
    name = mechanism.stream_name
    return {} if name is None else {SAMPLE_STREAM: name}


def _check_source(source: RunRecord, config: ConfigJson, digest: str) -> None:
    key, name, source_method = source.key, config["method"]["name"], source.config["method"]["name"]
    if source_method != name:
        raise BadInput(f"reuse names run {key}, which was trained with '{source_method}', not '{name}'.", field="reuse")
    if source.status != "finished" or source.epsilon is None:
        reason = source.epsilon_reason or f"it is {source.status}."
        raise BadInput(f"the release of run {key} cannot be used again: {reason}", field="reuse")
    alike = [item for item in _ALIKE if item != "seed" or find_seed(config) is not None]
    differing = next((item for item in alike if source.config[item] != config[item]), None)
    public = is_published(config["data"])  # of other rows no digest is written down
    if differing is not None or (public and source.data["digest"] != digest):
        raise BadInput(
            f"the release of run {key} is about other training rows; {differing or 'data'} must be as it was there.",
            field=differing or "data",
        )
