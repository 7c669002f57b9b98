"""The CPU seconds of the tests and of all that they start, browsers and servers too.

The system adds up what is waited for alone, and a browser does not wait for its own processes. So all are looked at
every two seconds; what one spends after it was last looked at is missed.
"""

from __future__ import annotations

import os
import threading
import time

import psutil

LOOK_SECONDS = 2.0


class Meter(threading.Thread):
    """Looks at the processes that this one has started, at any depth, as long as this one lives."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._spent: dict[psutil.Process, float] = {}

    def run(self) -> None:
        """Look every two seconds."""
        while True:
            time.sleep(LOOK_SECONDS)
            self._look()

    def sum(self) -> float:
        """Return the seconds so far."""
        self._look()
        return sum(os.times()[:2]) + sum(list(self._spent.values()))

    def _look(self) -> None:
        for process in psutil.Process().children(recursive=True):
            try:
                times = process.cpu_times()
            except psutil.Error:  # it has ended
                continue
            self._spent[process] = times.user + times.system
