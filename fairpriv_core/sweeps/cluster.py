"""A Dask cluster: the connection to its scheduler, and which of its workers may work.

The only file that imports Dask, which a plain install does not have. A worker is asked when it joins, by a plugin and
not by a task; one that may work offers a resource, and tasks ask for that: where they go is Dask's to decide.
"""

from __future__ import annotations

import asyncio
import logging
import re
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any
from uuid import uuid4

import dask
from distributed import Client, Future, KilledWorker, Worker, WorkerPlugin, as_completed
from distributed.client import ClosedClientError
from distributed.versions import VersionMismatchWarning

from fairpriv_core.errors import BadInput, RunFailed
from fairpriv_core.sweeps.cluster_task import Terms, find_fault, work_on_part, work_on_queued

CONNECT_SECONDS = 30.0
RECONNECT_SECONDS = 300.0
_TRY_SECONDS = 5.0
_PAUSE_SECONDS = 1.0  # between two tries
_ADDRESS = re.compile(r"(tcp|tls)://[^\s/]+:\d+")

Say = Callable[[str], None]


class Admission(WorkerPlugin):  # type: ignore[misc]  # Dask has no types
    """Asks a worker as it joins whether it meets `terms`; one that does offers their resource. `name` is the topic."""

    def __init__(self, terms: Terms, name: str) -> None:
        self.name = name
        self._terms = terms

    async def setup(self, worker: Worker) -> None:
        """Say what the answer is; a thread asks, since loading what training needs takes seconds."""
        fault = await asyncio.to_thread(find_fault, self._terms)
        if fault is None:
            await worker.set_resources(**{self._terms.resource: worker.state.nthreads})
        answer = {"worker": worker.address, "threads": worker.state.nthreads, "fault": fault}
        worker.log_event(self.name, answer)


class Link:
    """The connection to a scheduler, made again where it breaks; `generation` counts how often it was made.

    `fit` are the workers that may work (address -> threads), `refused` the others and why. `news` is set where one has
    answered or a task has ended, `joined` where one more may work.
    """

    def __init__(self, address: str, terms: Terms, say: Say) -> None:
        """Connect. BadInput where `address` is none, or nothing answers there for CONNECT_SECONDS."""
        _check(address)
        for name in ("distributed", "distributed.client"):  # it logs what is said here in a sentence
            logging.getLogger(name).setLevel(logging.CRITICAL)
        dask.config.set({"distributed.comm.timeouts.connect": f"{_TRY_SECONDS}s"})
        self.address, self.generation = address, 0
        self.fit: dict[str, int] = {}
        self.refused: dict[str, str] = {}
        self.news, self.joined = threading.Event(), threading.Event()
        self._terms, self._say = terms, say
        self._topic, self._asked = "", set[str]()
        self._client: Client | None = None
        self._tried, self._lost = 0.0, time.monotonic()
        while self._connect() is None:
            if time.monotonic() - self._lost > CONNECT_SECONDS:
                raise _miss("scheduler", address)

    @property
    def settled(self) -> bool:
        """Whether there is a worker, and each that was there has answered."""
        return bool(self.fit or self.refused) and self._asked <= {*self.fit, *self.refused}

    def client(self) -> Client | None:
        """Return the client; None while the scheduler is away. RunFailed once that was for RECONNECT_SECONDS."""
        if self._client is not None and self._client.status == "running":
            return self._client if self._topic or self._register(self._client) else None
        if self._client is not None:
            self._lost = time.monotonic()
            self._say(
                f"the scheduler at {self.address} is gone; trying to reach it for {RECONNECT_SECONDS:.0f} seconds."
            )
            self.close()
        if time.monotonic() - self._lost > RECONNECT_SECONDS:
            raise RunFailed(
                f"the scheduler at {self.address} has been away for {RECONNECT_SECONDS:.0f} seconds; start it again: "
                "what was finished is stored."
            )
        if self._connect() is not None:
            self._say(f"the scheduler at {self.address} is back.")
        return None

    def ask(self, terms: Terms) -> None:
        """Ask all workers again, and from now on each that joins, whether they meet `terms`."""
        self._withdraw()
        self._terms = terms

    @contextmanager
    def breaking(self) -> Iterator[None]:
        """Leave the block where the connection breaks in it; `client` tells and sees to it."""
        with suppress(OSError, CancelledError, ClosedClientError):
            yield

    def give(self, client: Client, which: Mapping[str, str]) -> Future:
        """Let a worker that may work take the queued runs that `which` names."""
        key, resources = f"fairpriv-{uuid4().hex}", {self._terms.resource: 1}
        task = client.submit(work_on_queued, self._terms, dict(which), key=key, pure=False, resources=resources)
        task.add_done_callback(lambda _: self.news.set())
        return task

    def has_fit(self) -> bool:
        """Return whether a worker that may work is there, by the scheduler's own account."""
        with self.breaking():
            return self._client is not None and bool(set(self.fit) & set(self._client.nthreads()))
        return False

    def close(self) -> None:
        """Disconnect; the scheduler drops the tasks that no worker has begun."""
        if self._client is not None:
            self._withdraw()
            with suppress(Exception):  # it may be gone, and there is nothing left to do with it
                self._client.close(timeout=_TRY_SECONDS)
        self._client = None

    def _withdraw(self) -> None:
        """Have nobody asked any more who joins; whoever has answered is forgotten."""
        if self._topic and self._client is not None and self._client.status == "running":
            with suppress(Exception):  # a worker that ends, or another scheduler
                self._client.unregister_worker_plugin(self._topic)
        self._topic, self.fit, self.refused = "", {}, {}

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
        except (ValueError, ImportError, TypeError) as error:  # the last one of tls:// without certificates
            raise BadInput(f"the scheduler at {self.address} cannot be used: {error}", field="scheduler") from error
        self.generation += 1
        return self._client

    def _register(self, client: Client) -> bool:
        """Have each worker asked that is there or joins; return whether they are: none may end meanwhile."""
        topic = f"{self._terms.resource}-{uuid4().hex[:8]}"
        client.subscribe_topic(topic, self._hear)
        try:
            self._asked = set(client.register_plugin(Admission(self._terms, topic)))
        except OSError:
            return False
        except ImportError as error:
            raise BadInput(
                f"a worker of {self.address} cannot load fairpriv ({error}); install the same version there.",
                field="scheduler",
            ) from error
        self._topic = topic
        return True

    def _hear(self, event: tuple[float, Mapping[str, Any]]) -> None:
        message = event[1]
        if message["fault"] is None:
            self.fit[message["worker"]] = message["threads"]
            self.joined.set()
        else:
            self.refused[message["worker"]] = message["fault"]
        self.news.set()


def spread(address: str, terms: Terms, work: Callable[[Any], Any], parts: Sequence[Any]) -> Iterator[Any]:
    """Yield what workers make of each part, as it comes; a part whose worker is lost goes to another one.

    Unfit where a worker has other versions than `terms`; RunFailed where a part ended several workers.
    """
    _check(address)
    try:
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False, name="fairpriv")
    except OSError as error:
        raise _miss("scheduler", address) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except TimeoutError as error:
            raise _miss("worker", address) from error
        try:
            tasks = client.map(partial(work_on_part, terms, work), parts, pure=False)
            for task in as_completed(tasks, loop=client.loop):
                yield task.result()
        except (KilledWorker, CancelledError) as error:
            raise RunFailed(f"the workers of {address} are lost; start the command again: it goes on.") from error


def _check(address: str) -> None:
    if not _ADDRESS.fullmatch(address):
        raise BadInput(f"a scheduler's address is like tcp://host:8786, got '{address}'.", field="scheduler")


def _miss(what: str, address: str) -> BadInput:
    return BadInput(
        f"no Dask {what} answered at {address} for {CONNECT_SECONDS:.0f} seconds; start it (dask {what}), or correct "
        "--scheduler.",
        field="scheduler",
    )


def read_task(task: Future) -> int | str | None:
    """Return how many runs an ended task worked on, or why it ended without; None where it was lost."""
    if task.status == "finished":
        return int(task.result(timeout=_TRY_SECONDS))
    error = task.exception() if task.status == "error" else None
    return None if error is None or isinstance(error, KilledWorker) else f"{type(error).__name__}: {error}"
