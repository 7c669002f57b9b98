"""Chunks executed in this process: a child of its own for each is slow, and a few tests have one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.runs import open_store
from fairpriv_core.store.work import WorkStore


class Here:
    """Executes chunks in this process, one after the other; `stop` after so many is Ctrl-C."""

    def __init__(self, stop: int | None = None) -> None:
        self.stop, self.taken = stop, list[int]()

    def __call__(
        self, place: str | None, chunks: Sequence[str], watch: Callable[[], None], *, workers: int = 1
    ) -> None:
        with open_store(place) as store:
            work = WorkStore(store.database)
            while claims := work.claim(chunk=chunks):
                if len(self.taken) == self.stop:
                    work.hand_back(claims)
                    raise KeyboardInterrupt
                self.taken.append(len(claims))
                work_on(work, claims)
                watch()
