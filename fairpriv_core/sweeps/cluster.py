"""A Dask cluster: the connection to its scheduler, and those of its workers that may work on a sweep.

The only file that imports Dask, which a plain install does not have.
"""

from __future__ import annotations

import logging
import re
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any
from uuid import uuid4

import dask
from distributed import Client, Future, KilledWorker
from distributed.client import ClosedClientError
from distributed.versions import VersionMismatchWarning

from fairpriv_core.errors import BadInput, RunFailed
from fairpriv_core.sweeps.cluster_task import (
    DataNames,
    Terms,
    find_fault,
    find_other_version,
    hand_back,
    read_versions,
    work_on_chunk,
)

CONNECT_SECONDS = 30.0
RECONNECT_SECONDS = 300.0
_TRY_SECONDS = 5.0
_PAUSE_SECONDS = 1.0  # between two tries
_ADDRESS = re.compile(r"(tcp|tls)://[^\s/]+:\d+")

Say = Callable[[str], None]


class Link:
    """The connection to a scheduler; made again where it breaks. `generation` counts how often it was made."""

    def __init__(self, address: str, say: Say) -> None:
        """Connect. BadInput where `address` is none, or nothing answers there for CONNECT_SECONDS."""
        if not _ADDRESS.fullmatch(address):
            raise BadInput(f"a scheduler's address is like tcp://host:8786, got '{address}'.", field="scheduler")
        for name in ("distributed", "distributed.client"):  # it logs what is said here in a sentence
            logging.getLogger(name).setLevel(logging.CRITICAL)
        dask.config.set({"distributed.comm.timeouts.connect": f"{_TRY_SECONDS}s"})
        self.address, self.generation = address, 0
        self._say = say
        self._client: Client | None = None
        self._tried, self._lost = 0.0, time.monotonic()
        while self._connect() is None:
            if time.monotonic() - self._lost > CONNECT_SECONDS:
                raise BadInput(
                    f"no Dask scheduler answered at {address} for {CONNECT_SECONDS:.0f} seconds; start it "
                    "(dask scheduler), or correct --scheduler.",
                    field="scheduler",
                )

    @property
    def current(self) -> Client | None:
        """The client where it is connected just now."""
        return self._client if self._client is not None and self._client.status == "running" else None

    def client(self) -> Client | None:
        """Return the client; None while the scheduler is away. RunFailed once that was for RECONNECT_SECONDS."""
        if self.current is not None:
            return self.current
        if self._client is not None:
            self._lost = time.monotonic()
            self._say(
                f"the scheduler at {self.address} is gone; trying to reach it for {RECONNECT_SECONDS:.0f} seconds."
            )
            self.close()
        if time.monotonic() - self._lost > RECONNECT_SECONDS:
            raise RunFailed(
                f"the scheduler at {self.address} has been away for {RECONNECT_SECONDS:.0f} seconds; start it again, "
                "then start the sweep with --resume: what was finished is stored."
            )
        if self._connect() is not None:
            self._say(f"the scheduler at {self.address} is back.")
        return self._client

    @contextmanager
    def breaking(self) -> Iterator[None]:
        """Leave the block where the connection breaks in it; `client` tells and sees to it."""
        with suppress(OSError, CancelledError, ClosedClientError):
            yield

    def close(self) -> None:
        """Disconnect; the scheduler drops the tasks that no worker has begun."""
        if self._client is not None:
            with suppress(Exception):  # it may be gone, and there is nothing left to do with it
                self._client.close(timeout=_TRY_SECONDS)
        self._client = None

    def _connect(self) -> Client | None:
        """Try once, if the last try is long enough ago."""
        time.sleep(max(0.0, self._tried + _PAUSE_SECONDS - time.monotonic()))
        self._tried = time.monotonic()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", VersionMismatchWarning)  # workers are checked against what counts
                self._client = Client(self.address, timeout=_TRY_SECONDS, set_as_default=False, name="fairpriv")
        except OSError:
            return None
        except (ValueError, ImportError) as error:
            raise BadInput(f"the scheduler at {self.address} cannot be used: {error}", field="scheduler") from error
        self.generation += 1
        return self._client


class Workers:
    """The workers of a cluster: `fit` are those that may work (address -> threads), `refused` the others and why."""

    def __init__(self, terms: Terms) -> None:
        self.fit: dict[str, int] = {}
        self.refused: dict[str, str] = {}
        self._terms = terms
        self._checks: dict[str, Future] = {}

    @property
    def settled(self) -> bool:
        """Whether there is a worker, and each was checked."""
        return not self._checks and bool(self.fit or self.refused)

    def update(self, client: Client) -> list[str]:
        """Look who has come and gone; return a sentence for each worker that was refused now."""
        present = client.scheduler_info()["workers"]
        for known in (self.fit, self.refused, self._checks):
            for address in [address for address in known if address not in present]:
                del known[address]
        before = set(self.refused)
        new = [name for name in present if name not in {**self.fit, **self.refused, **self._checks}]
        if new:
            self._greet(client, new)
        for address, check in [one for one in self._checks.items() if one[1].status != "pending"]:
            del self._checks[address]
            fault = _read_fault(check)
            if fault is None:
                self.fit[address] = int(present[address]["nthreads"])
            elif fault:
                self.refused[address] = fault
        return [f"worker {address} {fault}" for address, fault in self.refused.items() if address not in before]

    def _greet(self, client: Client, new: list[str]) -> None:
        """Ask new workers for their versions, then those that have the same for the rest.

        The first is no task: a worker that cannot load a task ends.
        """
        for address, answer in client.run(read_versions, workers=new, on_error="return").items():
            if isinstance(answer, OSError):
                continue  # it is gone
            if isinstance(answer, Exception):
                self.refused[address] = f"cannot run fairpriv ({answer}); install the same version there."
            elif (fault := find_other_version(self._terms, *answer)) is not None:
                self.refused[address] = fault
            else:
                key = f"fairpriv-check-{uuid4().hex[:8]}"
                self._checks[address] = client.submit(find_fault, self._terms, key=key, pure=False, workers=[address])

    def require(self, data: DataNames) -> None:
        """Ask the fit workers again, now for these data as well."""
        self._terms = replace(self._terms, data=data)
        self.forget()

    def forget(self) -> None:
        """Forget who is fit, as after another scheduler has taken over: they are asked again."""
        self.fit, self._checks = {}, {}

    def give(self, client: Client, chunk: str) -> Future:
        """Let one of the workers work on a chunk."""
        key = f"fairpriv-{chunk}-{uuid4().hex[:8]}"
        return client.submit(work_on_chunk, chunk, self._terms, key=key, pure=False, workers=list(self.fit))

    def read(self, task: Future) -> int | str | None:
        """Return how many runs an ended task worked on, or why it ended without; None where it was lost."""
        if task.status == "finished":
            return int(_result(task))
        error = task.exception() if task.status == "error" else None
        return None if error is None or isinstance(error, KilledWorker) else f"{type(error).__name__}: {error}"

    def dismiss(self, client: Client) -> None:
        """Let all workers hand back what they work on."""
        client.run(hand_back, self._terms.token, workers=list(self.fit), on_error="ignore")


def _read_fault(check: Future) -> str | None:
    """Return why a worker may not work, None where it may, "" where it was lost while it was asked."""
    if check.status == "finished":
        return None if (fault := _result(check)) is None else str(fault)
    error = check.exception() if check.status == "error" else None
    if error is None or isinstance(error, KilledWorker):
        return ""
    if "deserialization of the task graph" in str(error):
        raise BadInput(
            "the scheduler cannot load fairpriv; it needs the same packages as the workers.", field="scheduler"
        )
    return f"cannot say whether it may work ({type(error).__name__}: {error})."


def _result(task: Future) -> Any:
    return task.result(timeout=_TRY_SECONDS)
