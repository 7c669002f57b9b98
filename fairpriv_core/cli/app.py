"""`fairpriv app`, `try` and `demo`: the dashboard, which Streamlit serves and has a process that trains beside it.

The dashboard is `app.py` and `pages/` of a checkout. A package holds copies of both (pyproject.toml says where).
"""

from __future__ import annotations

import atexit
import os
import runpy
import shutil
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

import click

import fairpriv_core
from fairpriv_core.errors import BadInput
from fairpriv_core.records.stored import read_stored_runs
from fairpriv_core.runs.beside import train_beside
from fairpriv_core.runs.device import check_device
from fairpriv_core.runs.log import LEVELS, VARIABLE
from fairpriv_core.store.runs import open_store

# One heap for all threads, which gives back what was held for one moment: the pages stay small.
_MEMORY = {"MALLOC_ARENA_MAX": "1", "MALLOC_TRIM_THRESHOLD_": "1000000", "MALLOC_MMAP_THRESHOLD_": "65536"}
_THROWN_AWAY = "FAIRPRIV_THROWN_AWAY"  # the folder that goes with the process
_PASSED_ON = {"ignore_unknown_options": True, "help_option_names": ["-h", "--help"]}


@click.command(context_settings=_PASSED_ON)
@click.option(
    "--log-level",
    type=click.Choice(list(LEVELS)),
    help="Write what becomes of runs to standard error. Default: nothing.",
)
@click.argument("options", metavar="[STREAMLIT OPTIONS]...", nargs=-1, type=click.UNPROCESSED)
def app(log_level: str | None, options: tuple[str, ...]) -> NoReturn:
    """Serve the dashboard, and train what is launched there; other options go to Streamlit, as --server.port 8600."""
    check_device()
    _serve(options, {VARIABLE: log_level} if log_level else {})


@click.command("try", context_settings=_PASSED_ON)
@click.argument("options", metavar="[STREAMLIT OPTIONS]...", nargs=-1, type=click.UNPROCESSED)
def try_command(options: tuple[str, ...]) -> NoReturn:
    """Serve the dashboard for strangers to try: small runs on public data, thrown away at the end."""
    folder = tempfile.mkdtemp(prefix="fairpriv-try-")
    place = str(Path(folder, "runs.db"))
    with open_store(place) as store:
        store.add(read_stored_runs().records)
    _serve(options, {"FAIRPRIV_TRY": "1", "FAIRPRIV_STORE": place, _THROWN_AWAY: folder})


@click.command(context_settings=_PASSED_ON)
@click.argument("options", metavar="[STREAMLIT OPTIONS]...", nargs=-1, type=click.UNPROCESSED)
def demo(options: tuple[str, ...]) -> NoReturn:
    """Serve the dashboard to look at alone: nothing can be launched or changed."""
    _serve(options, {"FAIRPRIV_DEMO": "1"})


def find_dashboard() -> Path:
    """Return the script that Streamlit runs. Raises BadInput where neither a checkout nor a package has it."""
    package = Path(fairpriv_core.__file__).parent
    for script in (package / "_dashboard" / "app.py", package.with_name("app.py")):
        if script.is_file():
            return script
    raise BadInput(
        f"the dashboard is not installed: there is no app.py beside or in {package}; install fairpriv again."
    )


def _serve(options: tuple[str, ...], settings: dict[str, str]) -> NoReturn:
    """Become the process that serves the pages; without docstrings (-OO), which are 20 MB of the libraries."""
    command = ["-P", "-OO", "-m", "fairpriv_core.cli.app", "run", str(find_dashboard()), *options]
    os.execve(sys.executable, [sys.executable, *command], {**os.environ, **_MEMORY, **settings})


if __name__ == "__main__":
    if _THROWN_AWAY in os.environ:  # once what trains has ended
        atexit.register(shutil.rmtree, os.environ[_THROWN_AWAY], ignore_errors=True)
    train_beside()
    runpy.run_module("streamlit", run_name="__main__", alter_sys=True)
