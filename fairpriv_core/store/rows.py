"""A run's row as pages and the command line see it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from fairpriv_core.store.claim import is_dead
from fairpriv_core.text import drop_folders

STATUSES = ("queued", "running", "stopping", "paused", "finished", "failed", "cancelled", "lost")
ENDED = ("finished", "failed", "cancelled")


@dataclass(frozen=True)
class RunRow:
    """One row of the run table; times are seconds since 1970.

    Attributes:
        key: names the run in its store; `config_key` its config, `repeat` which of the config's runs it is (from 1).
        status: one of STATUSES. "stopping": told to stop, still running. "lost": its process is gone, `resume` helps.
        request: "pause" or "stop" where a running run was told so and has not reached it.
        step, steps, epoch: made; `steps` is None until training starts or where it is not known.
        epsilon: spent so far (proved); None where there is none to state.
        attempt: how often a process took the run up; `crashes`: how often one died on it.
        error, error_kind: why it failed, every path by its last name: "bad_input", "failed" or "crashed".
        chunk: what runs have in common that train together; None for a run on its own.
    """

    key: str
    config_key: str
    repeat: int
    status: str
    request: str | None
    owner: str
    config: Mapping[str, Any]
    step: int
    steps: int | None
    epoch: int
    epsilon: float | None
    seconds: float
    attempt: int
    crashes: int
    resumed_from_step: int
    worker: str | None
    created: float
    started: float | None
    finished: float | None
    heartbeat: float | None
    error: str | None
    error_kind: str | None
    chunk: str | None

    @property
    def ended(self) -> bool:
        """Whether the run will not go on by itself or by `resume`."""
        return self.status in ENDED

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form, without the process that holds the run."""
        return {name: value for name, value in asdict(self).items() if name != "worker"}


def read_row(stored: Mapping[Any, Any]) -> RunRow:
    """Return the row with its status as of now: a running row whose process or lease is gone is lost."""
    values = {name: stored[name] for name in RunRow.__dataclass_fields__}
    if stored["status"] == "running":
        values["status"] = "stopping" if stored["request"] == "stop" else "running"
        if is_lost(stored):
            values["status"] = "lost"
    if stored["error"]:
        values["error"] = drop_folders(stored["error"], stored["config"]["data"].get("file"))
    return RunRow(**values)


def is_lost(stored: Mapping[Any, Any]) -> bool:
    """Return whether nobody works on a row that says running."""
    expired = stored["lease_expires"] is not None and stored["lease_expires"] < time.time()
    return stored["status"] == "running" and (expired or is_dead(stored["worker"]))
