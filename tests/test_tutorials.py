"""Every block of every tutorial runs, in its order, as a person would run it in a folder of their own."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "tutorials"
TUTORIALS = sorted(path.stem for path in FOLDER.glob("*.md") if path.stem != "README")
LAUNCHER = f'#!/bin/sh\nexec {sys.executable} -m fairpriv_core "$@"\n'


def find_free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working folder, which has a launcher and a `.venv` as a checkout has."""
    (tmp_path / "fairpriv").write_text(LAUNCHER)
    (tmp_path / "fairpriv").chmod(0o755)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.long
@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_runs_from_top_to_bottom(name: str, folder: Path, request: pytest.FixtureRequest) -> None:
    text = (FOLDER / f"{name}.md").read_text("utf-8")
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    if "postgresql://" in text:
        variables["FAIRPRIV_STORE"] = request.getfixturevalue("postgres_place")
        text = text.replace("8786", find_free_port())
    names: dict[str, object] = {}
    blocks = re.findall(r"```(sh|python)\n(.*?)```", text, re.DOTALL)
    assert len(blocks) > 2
    for language, block in blocks:
        if language == "python":
            exec(compile(block, f"{name}.md", "exec"), names)
            continue
        run = subprocess.run(["bash", "-euc", block], env=variables, capture_output=True, text=True, timeout=240)
        assert run.returncode == 0, f"{block}\n{run.stdout}\n{run.stderr}"


def test_the_list_names_every_tutorial() -> None:
    listed = re.findall(r"\]\((\w+)\.md\)", (FOLDER / "README.md").read_text("utf-8"))
    assert sorted(listed) == TUTORIALS and len(listed) == 5
