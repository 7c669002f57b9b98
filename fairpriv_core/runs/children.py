"""Processes of the supervisor: forked from a server that has torch loaded, and gone when the supervisor is."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from multiprocessing import forkserver, get_context, parent_process
from multiprocessing.process import BaseProcess

from fairpriv_core.errors import StoreError

_PRELOADED = [
    *("torch", "fairpriv_core.runs.worker", "fairpriv_core.runs.preview"),
    *("sklearn.compose", "dp_accounting.pld.privacy_loss_mechanism"),  # else each run loads them, in a CPU second
]
_ONE_THREAD = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
_PR_SET_PDEATHSIG = 1


class ChildProcesses:
    """Starts children; making one starts the fork server, single-threaded so that runs do not fight for cores.

    `ready` says whether the server has torch loaded: on a busy machine that takes longer than a claim's lease lasts.
    """

    def __init__(self) -> None:
        use_one_thread()
        self._context = get_context("forkserver")
        self._context.set_forkserver_preload(_PRELOADED)
        forkserver.ensure_running()
        self._loading = threading.Thread(target=self._load, daemon=True)
        self._loading.start()

    @property
    def ready(self) -> bool:
        """Whether a child starts at once."""
        return not self._loading.is_alive()

    def start(self, target: Callable[..., None], *arguments: object) -> Child:
        """Start `target` in a child with this moment's environment; it must call `live_with_parent` first."""
        inputs = (dict(os.environ), target, *arguments)
        process: BaseProcess = self._context.Process(target=_call_in, args=inputs, daemon=True)
        process.start()
        return Child(process)

    def _load(self) -> None:
        """Return when a first child, which does nothing, has ended."""
        self.start(use_one_thread).mishap()


class Child:
    """One child at work."""

    def __init__(self, process: BaseProcess) -> None:
        self._process = process
        self._asked_since: float | None = None

    @property
    def alive(self) -> bool:
        """Whether it is still at work."""
        return self._process.is_alive()

    def patience(self, asked: bool) -> float:
        """Return for how many seconds the child has not done what is `asked` of it."""
        now = time.monotonic()
        self._asked_since = self._asked_since or now if asked else None
        return 0.0 if self._asked_since is None else now - self._asked_since

    def end(self) -> None:
        """End it at once: what it committed is safe, and the rest has not left it."""
        self._process.kill()
        self._process.join()

    def mishap(self) -> str | None:
        """Return how an ended child came to grief; None where it ended well."""
        self._process.join()
        code = self._process.exitcode or 0
        if code < 0:
            return f"it was ended by {signal.Signals(-code).name}"
        return f"it ended with exit code {code}" if code else None


def _call_in(environment: Mapping[str, str], target: Callable[..., None], *arguments: object) -> None:
    """Call `target` in another process's environment; a child's own is what the fork server was once started with."""
    os.environ.clear()
    os.environ.update(environment)
    target(*arguments)


def use_one_thread() -> None:
    """Make numeric libraries that are loaded from now on use one thread: more are slower, and round differently."""
    for name in _ONE_THREAD:
        os.environ[name] = "1"


def count_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def live_with_parent() -> None:
    """Make this child end with its parent, whatever ends that one, and leave the terminal's Ctrl-C to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


@contextmanager
def beating(beat: Callable[[], object], *, every: float) -> Iterator[None]:
    """Call `beat` in a thread every so many seconds within the block; a store that cannot be used is tried again."""
    stopping = threading.Event()

    def go_on() -> None:
        while not stopping.wait(every):
            with suppress(StoreError):
                beat()

    thread = threading.Thread(target=go_on, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGKILL)
