"""What docs/cluster.md tells people to type works, on one machine in place of several."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from benchmarks.postgres import find_port
from fairpriv_core.store.runs import open_store
from tests.sweeps.clusters import ROOT

PAGE = (ROOT / "docs" / "cluster.md").read_text("utf-8")
INSTALL, START, SWEEP, DASHBOARD, SECURE = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.long
@pytest.mark.parametrize("secure", [False, True], ids=["tcp", "tls"])
def test_the_commands_of_the_page_run(
    secure: bool, postgres_place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRPRIV_STORE", postgres_place)
    (tmp_path / "fairpriv").write_text(f'#!/bin/sh\nexec {sys.executable} -m fairpriv_core "$@"\n')
    (tmp_path / "fairpriv").chmod(0o755)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    port, variables = str(find_port()), {**os.environ, "PYTHONPATH": str(ROOT)}

    certificate, *exports, scheduler = SECURE.strip().splitlines()
    subprocess.run(["bash", "-euc", certificate], cwd=tmp_path, capture_output=True, check=True)

    def here(block: str) -> str:
        local = block.replace("8786", port).replace("--nworkers 8", "--nworkers 2")
        before = "\n".join([*exports, ""]) if secure else ""
        return before + local.replace("tcp://host", f"{'tls' if secure else 'tcp'}://127.0.0.1")

    plain, worker = START.splitlines()
    with ExitStack() as started:
        for line in map(here, (scheduler if secure else plain, worker)):
            process = subprocess.Popen(["bash", "-c", line], cwd=tmp_path, env=variables, start_new_session=True)
            started.callback(process.wait)
            started.callback(os.killpg, process.pid, signal.SIGKILL)
        command = ["bash", "-euc", here(SWEEP)]
        run = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=240)
    assert run.returncode == 0, run.stderr
    with open_store() as store:
        assert len(store.rows()) == 8 and {row.status for row in store.rows()} == {"finished"}


def test_the_page_names_what_there_is() -> None:
    assert '".[cluster]"' in INSTALL and "FAIRPRIV_STORE=postgresql://" in INSTALL
    assert DASHBOARD == "FAIRPRIV_SCHEDULER=tcp://host:8786 ./fairpriv app\n"
    [slurm] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    compile(slurm, "cluster.md", "exec")
    for recipe in (slurm, *re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)):
        assert '"--memory-limit", "0"' in recipe or '--memory-limit, "0"' in recipe
