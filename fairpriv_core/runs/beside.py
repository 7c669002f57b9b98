"""The process that trains, beside one that shows: a dashboard has one started where none is at work.

One supervisor a host trains for a store, whoever started it: the lock that it holds decides. It ends with the process
that started it, however that one ends: the system closes the pipe between them.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path

import fairpriv_core
from fairpriv_core.errors import FairprivError
from fairpriv_core.store.database import Database
from fairpriv_core.store.health import is_served
from fairpriv_core.store.mode import is_demo

LOOK_SECONDS = 1.0
_PATIENCE_SECONDS = 10.0  # until it has handed its runs back
# Where this process found it: a checkout that Streamlit alone has on its path is on no path of another process.
_RUN = (
    "import sys; sys.path.append(sys.argv[1]); from fairpriv_core.runs.supervisor import main; "
    "sys.exit(main(sys.stdin.fileno()))"
)
ENDED = "fairpriv: the process that trains ended with exit code {}; what is launched waits until the next start."


@cache
def train_beside() -> None:
    """Have a process that trains at work for the default store from now on, as long as this process lives.

    One that is killed is replaced. One that ends with an error has said why on standard error, and is not. In a
    demonstration nothing trains.
    """
    if is_demo():
        return
    leaving = threading.Event()
    keeper = threading.Thread(target=_keep_training, args=(leaving,), daemon=True)
    keeper.start()
    atexit.register(_leave, leaving, keeper)


def _leave(leaving: threading.Event, keeper: threading.Thread) -> None:
    leaving.set()
    keeper.join(_PATIENCE_SECONDS)


def _keep_training(leaving: threading.Event) -> None:
    database = None
    while not leaving.is_set():
        try:
            database = database or Database(None)
            served = is_served(database)
        except FairprivError:  # the pages say what is wrong with the store
            served = True
        if not served and (code := _train(leaving)) > 0:
            print(ENDED.format(code), file=sys.stderr, flush=True)
            return
        leaving.wait(LOOK_SECONDS)


def _train(leaving: threading.Event) -> int:
    """Start a supervisor and return its exit code when it has ended; `leaving` ends it."""
    # what keeps the pages' memory small makes training slow
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    command = [sys.executable, "-P", "-c", _RUN, str(Path(fairpriv_core.__file__).parents[1])]
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment) as process:
        while process.poll() is None and not leaving.wait(LOOK_SECONDS):
            pass
    return process.returncode
