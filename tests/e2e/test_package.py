"""The package: built from its own source archive, installed where there is no checkout, and used as a person would."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import tarfile
import time
import tomllib
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import keyed, open_page, wait_for_state
from tests.patience import PATIENCE, wait_until

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ENDS = ("lock", "lowest", "newest")
TORCH = next(line for line in (ROOT / "requirements.txt").read_text().splitlines() if line.startswith("torch=="))
ELSEWHERE = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "FAIRPRIV_DATA")}
LONGEST = 120.0  # seconds of `fairpriv test`


def call(*command: str | Path, cwd: Path) -> str:
    run = subprocess.run(command, cwd=cwd, env=ELSEWHERE, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def make_environment(folder: Path, *packages: str | Path) -> Path:
    call(sys.executable, "-m", "venv", folder, cwd=ROOT)
    call(folder / "bin/python", "-m", "pip", "install", "-q", *packages, cwd=ROOT)
    return folder / "bin"


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the source archive and the wheel that was built from that."""
    folder = tmp_path_factory.mktemp("built")
    tools = make_environment(folder / "tools", "build")
    call(tools / "python", "-m", "build", "--outdir", folder, ROOT, cwd=folder)
    return folder


def find_packages(end: str, folder: Path) -> list[str | Path]:
    """Return what pip is told to install beside the wheel; PyTorch is the same at all ends, since it is large."""
    if end == "lock":
        return ["-c", ROOT / "constraints.txt"]
    if end == "newest":
        return ["--upgrade", TORCH]
    pins = [re.sub(r"^([\w-]+)>=([\w.]+),.*", r"\1==\2", each) for each in PROJECT["dependencies"]]
    (folder / "lowest.txt").write_text("\n".join(pins))
    return ["-r", folder / "lowest.txt"]


@contextmanager
def serve(fairpriv: Path, folder: Path) -> Iterator[SimpleNamespace]:
    """Start the installed dashboard in a folder of its own; give its address when it answers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    environment = {**ELSEWHERE, "FAIRPRIV_STORE": str(folder / "runs.db")}
    with (folder / "log.txt").open("w") as log:
        command = [fairpriv, "app", "--server.port", port]
        app = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
        try:
            wait_until(lambda: _answers(port) or app.poll() is not None, "the dashboard's answer")
            assert app.poll() is None, (folder / "log.txt").read_text()
            yield SimpleNamespace(address=f"http://localhost:{port}")
        finally:
            app.terminate()
            app.wait(PATIENCE)


def _answers(port: str) -> bool:
    try:
        return bool(urllib.request.urlopen(f"http://localhost:{port}/_stcore/health", timeout=1).status == 200)
    except OSError:
        return False


def train_a_run(tab: Page, site: SimpleNamespace) -> None:
    """Go from Start by Data and Train to a finished run."""
    open_page(tab, site)
    expect(tab.locator("h1").first).to_contain_text("private and fair")
    open_page(tab, site, "data?data=synthetic:group")
    expect(tab.get_by_role("heading", name="Groups of")).to_be_visible()
    open_page(tab, site, "train?data=synthetic:group&method=pf_ld&expert=True&p.epochs=3")
    expect(keyed(tab, "launch", "button")).to_be_enabled()
    keyed(tab, "launch", "button").click()
    tab.wait_for_url("**/run?run=*")
    wait_for_state(tab, "finished")
    expect(tab.get_by_test_id("stProgress").nth(1)).to_contain_text("ε spent")
    assert "Traceback" not in tab.locator("body").inner_text()


@pytest.mark.long
def test_the_archives_hold_what_they_must_and_take_no_common_name(built: Path) -> None:
    [wheel], [source] = built.glob("*.whl"), built.glob("*.tar.gz")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {
        "fairpriv_core",
        f"fairpriv-{PROJECT['version']}.dist-info",
    }
    inside = "fairpriv_core/_dashboard/"
    pages = {
        f"{inside}{path.relative_to(ROOT).as_posix()}"
        for path in (ROOT / "pages").rglob("*.*")
        if path.suffix != ".pyc"
    }
    assert {f"{inside}app.py", f"{inside}.streamlit/config.toml", "fairpriv_core/py.typed", *pages} <= set(names)
    assert {"fairpriv_core/data/adult.parquet", "fairpriv_core/data/adult.NOTICE.txt"} <= set(names)
    assert {name.rpartition("/")[2] for name in names if "/licenses/" in name} == {"LICENSE", "NOTICE"}
    assert not [name for name in names if "secrets" in name or name.endswith((".db", ".pyc"))]
    kept = call("git", "ls-files", cwd=ROOT).splitlines()
    with tarfile.open(source) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    assert not set(kept) - packed


@pytest.mark.long
@pytest.mark.parametrize("end", ENDS)
def test_it_works_where_there_is_no_checkout(end: str, built: Path, fresh_tab: Page, tmp_path: Path) -> None:
    [wheel] = built.glob("*.whl")
    tools = make_environment(tmp_path / "installed", wheel, *find_packages(end, tmp_path))
    call(tools / "python", "-m", "pip", "check", cwd=tmp_path)
    started = time.monotonic()
    found = json.loads(call(tools / "fairpriv", "test", "--json", cwd=tmp_path))
    assert time.monotonic() - started < LONGEST
    assert [each["well"] for each in found["checks"]] == [True] * 4
    with serve(tools / "fairpriv", tmp_path) as site:
        train_a_run(fresh_tab, site)
