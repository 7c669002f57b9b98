"""`fairpriv test`: whether this installation works, without a checkout, data or network.

It is no substitute for the project's tests, which `./fairpriv test` runs in a checkout.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import click
import numpy as np

from fairpriv_core.cli import options
from fairpriv_core.cli.output import Answer, report
from fairpriv_core.data.dataset import load_dataset
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.documents.forms import forms_of, open_report, write_image
from fairpriv_core.documents.report_data import gather_report
from fairpriv_core.errors import BadInput, FairprivError
from fairpriv_core.figures.export import find_browser
from fairpriv_core.methods.base import Method, parameters
from fairpriv_core.methods.catalog import DEFAULT_METHOD, find_plugin, methods
from fairpriv_core.notions.catalog import DEFAULT_NOTION
from fairpriv_core.privacy.accountants import epsilon
from fairpriv_core.privacy.event import from_json
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.runs.in_memory import IN_MEMORY, run_in_memory
from fairpriv_core.runs.supervisor import Supervisor
from fairpriv_core.store.runs import RunStore, open_store

EPSILON, DELTA = 2.0, 1e-5  # with less, some methods refuse so few rows
ROWS = 2_000
DATA = DataSpec(dataset="synthetic", sensitive="group")
_FEW = {"epochs": 2, "batch_size": 200, "iterations": 5}
_PATIENCE_SECONDS = 60.0
_AT_WORK = ("queued", "running", "stopping")


@dataclass(frozen=True)
class CheckResult:
    """What one check found: a sentence; `seconds` is how long it took."""

    name: str
    well: bool
    says: str
    seconds: float


class Unwell(Exception):
    """A check has found something that is not as it must be."""


@click.command("test")
@options.json
def selftest(as_json: bool) -> None:
    """Check within two minutes that this installation trains, stores, reports and serves; exit code 1 where not."""
    checks = list(run_checks())
    lines = [f"{'ok    ' if check.well else 'FAILED'} {check.says} ({check.seconds:.1f} s)" for check in checks]
    failed = [check.says for check in checks if not check.well]
    answer = {"version": version("fairpriv"), "checks": [asdict(check) for check in checks]}
    report(Answer(answer, "\n".join(lines), failed=bool(failed), error=" ".join(failed) or None), None, as_json)


def run_checks() -> Iterator[CheckResult]:
    """Yield what each check found, one after the other."""
    with tempfile.TemporaryDirectory() as folder, open_store(place := str(Path(folder) / "runs.db")) as store:
        yield _run("methods", check_methods)
        yield _run("store", lambda: check_store(store, place))
        yield _run("report", lambda: check_report(store))
        yield _run("pages", check_pages)


def check_methods() -> str:
    """Train every method for a moment: it releases what it announced, and its epsilon follows from that alone."""
    some = load_dataset(DATA).take(np.arange(ROWS))
    own = [method for name, method in methods().items() if find_plugin(name) is None]
    for method in own:
        record = run_in_memory(_configure(method, IN_MEMORY), some).record
        if record.event != record.released:
            raise Unwell(f"method '{record.config['method']['name']}' released something else than it announced.")
        if method.info.threat_model is None:
            continue
        again = epsilon(from_json(record.event), DELTA)
        if not (record.epsilon == again and again <= EPSILON):
            raise Unwell(f"method '{method.info.name}' states epsilon {record.epsilon}; its releases cost {again}.")
    return f"All {len(own)} methods train, and each epsilon follows from what was released."


def check_store(store: RunStore, place: str) -> str:
    """Launch a run and have a process of its own train it, which loads PyTorch."""
    key = store.submit(_configure(methods()[DEFAULT_METHOD], DATA)).key
    supervisor = Supervisor(place, slots=1)
    ends = time.monotonic() + _PATIENCE_SECONDS
    try:
        while store.row(key).status in _AT_WORK and time.monotonic() < ends:
            time.sleep(supervisor.attend())
    finally:
        supervisor.stop()
    row = store.row(key)
    if row.status != "finished":
        raise Unwell(f"the run that was launched is {row.status}: {row.error or 'its time is over'}.")
    return "A run was launched, trained by a process of its own, and stored."


def check_report(store: RunStore) -> str:
    """Write the report on that run, with an image where there is a browser."""
    opened = open_report(gather_report(store, [row.key for row in store.rows()]), "analyst")
    forms_of(opened)["html"].make(opened, lambda _: None)
    try:
        find_browser()
    except BadInput:
        return "Its report was written as HTML; PNG, SVG and PDF need Chromium, which is not installed."
    write_image(opened, "png")
    return "Its report was written, with an image by Chromium."


def check_pages() -> str:
    """Serve the dashboard, as a demonstration, until it answers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    with _serve(port) as pages:
        ends = time.monotonic() + _PATIENCE_SECONDS
        while not _answers(port):
            if pages.poll() is not None or time.monotonic() > ends:
                raise Unwell("the dashboard does not answer; start it by 'fairpriv app' to see why.")
            time.sleep(0.1)
    return "The dashboard answers."


def _run(name: str, check: Callable[[], str]) -> CheckResult:
    started = time.monotonic()
    try:
        says, well = check(), True
    except (Unwell, FairprivError) as error:
        says, well = str(error), False
    except Exception as error:  # whatever a package of another version does
        says, well = f"{name}: {type(error).__name__}: {error}.", False
    return CheckResult(name, well, says, round(time.monotonic() - started, 1))


def _configure(method: type[Method], data: DataSpec) -> RunConfig:
    declared, info = parameters(method), method.info
    settings = {name: value for name, value in _FEW.items() if name in declared}
    notion = DEFAULT_NOTION if DEFAULT_NOTION in info.notions else info.notions[0]
    budget = EPSILON if info.threat_model else None
    config = {"notion": notion, "epsilon": budget, "delta": DELTA, "method": {"name": info.name, **settings}}
    return build_config(config, data=data)


@contextmanager
def _serve(port: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "fairpriv_core", "demo", "--server.port", port]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.terminate()


def _answers(port: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://localhost:{port}/_stcore/health", timeout=1) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
