"""The package: built from its own source archive, installed where there is no checkout, and used as a person would."""

from __future__ import annotations

import json
import os
import re
import shutil
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

from tests.e2e.steps import open_page, start, wait_for_state
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
    """Return what pip is told to install beside the wheel; the newest PyTorch is the pinned one: each is large."""
    if end == "lock":
        return ["-c", ROOT / "constraints.txt"]
    if end == "newest":
        return ["--upgrade", TORCH]
    pins = [re.sub(r"^([\w-]+)>=([\w.]+),.*", r"\1==\2", each) for each in PROJECT["dependencies"]]
    (folder / "lowest.txt").write_text("\n".join(pins))
    return ["-r", folder / "lowest.txt"]


@contextmanager
def serve(folder: Path, *command: str | Path, **settings: str) -> Iterator[SimpleNamespace]:
    """Start a dashboard by a command, in a folder of its own; give its address and settings when it answers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    environment = {"FAIRPRIV_STORE": str(folder / "runs.db"), **settings, "STREAMLIT_SERVER_PORT": port}
    with (folder / "log.txt").open("w") as log:
        app = subprocess.Popen(command, cwd=folder, env={**ELSEWHERE, **environment}, stdout=log, stderr=log)
        try:
            wait_until(lambda: _answers(port) or app.poll() is not None, "the dashboard's answer")
            assert app.poll() is None, (folder / "log.txt").read_text()
            yield SimpleNamespace(address=f"http://localhost:{port}", settings=environment)
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
    start(tab)
    wait_for_state(tab, "finished")
    expect(tab.get_by_test_id("stProgress").filter(has_text="ε spent")).to_be_visible()
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
    with serve(tmp_path, tools / "fairpriv", "app") as site:
        train_a_run(fresh_tab, site)


@pytest.mark.long
def test_a_fresh_clone_comes_up_where_pytorchs_own_index_does_not_answer(tmp_path: Path) -> None:
    """From what pip is configured to, or from the default index, which may take 6.2 GB."""
    clone = tmp_path / "clone"
    call("git", "clone", "-q", ROOT, clone, cwd=tmp_path)
    launcher = clone / "fairpriv"
    text, found = re.subn("(?m)^cpu_index=.*", "cpu_index=http://127.0.0.1:9/cpu", launcher.read_text())
    assert found == 1
    launcher.write_text(text)
    call(launcher, "setup", cwd=tmp_path)
    with serve(tmp_path, launcher, "app"):
        pass
    assert "passed" in call(launcher, "test", "-n", "0", "tests/test_text.py", cwd=tmp_path)


@pytest.mark.long
def test_the_images_steps_install_and_serve_from_the_files_that_each_has(tmp_path: Path) -> None:
    """All but the base, its packages and its user: a folder takes the place of the image."""
    image, data = tmp_path / "image", tmp_path / "data"
    for folder in (image, data):
        folder.mkdir()
    kept = call("git", "ls-files", cwd=ROOT).splitlines()
    settings: dict[str, str] = {}
    commands: dict[str, str] = {}
    for kind, text in read_steps("server"):
        if kind == "ENV":
            settings |= dict(each.split("=", 1) for each in text.replace("/data", str(data)).split())
        elif kind == "COPY":
            *sources, _ = text.removeprefix("--chown=fairpriv ").split()
            for name in kept if sources == ["."] else sources:
                (image / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, image / name)
        elif kind == "RUN" and not text.startswith("apt-get "):
            run = subprocess.run(["sh", "-c", text], cwd=image, env={**ELSEWHERE, **settings}, capture_output=True)
            assert run.returncode == 0, run.stderr.decode()
        commands[kind] = text
    with serve(image, *json.loads(commands["CMD"]), **settings) as site:
        assert "set up in" not in (image / "log.txt").read_text(), "the image's start installs nothing"
        healthy = commands["HEALTHCHECK"].partition(" CMD ")[2]
        call("env", *(f"{name}={value}" for name, value in site.settings.items()), "sh", "-c", healthy, cwd=image)


def read_steps(stage: str) -> list[tuple[str, str]]:
    """Return the instructions of one stage of the image, each with what follows it."""
    text = (ROOT / "Dockerfile").read_text().partition(f" AS {stage}\n")[2].partition("\nFROM ")[0]
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#")).replace("\\\n", " ")
    return [(kind, rest) for kind, _, rest in (line.partition(" ") for line in lines.splitlines() if line)]
