"""The launcher's own work, with a stand-in for Python that makes no environment and writes down what it is asked."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.patience import PATIENCE, wait_until

ROOT = Path(__file__).parent.parent
# Answers what the launcher asks of an interpreter. `fail` holds the exit code of the next pip install, which
# waits while there is a file `hold`.
STAND_IN = f"""#!/bin/sh
here={{here}}
case "$1 ${{{{2:-}}}}" in
    '-c '*) exec {sys.executable} "$@" ;;
    '--version '*) echo Python 3.11; exit ;;
    '-m venv') mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; echo made >>"$here/log"; exit ;;
    '-m pip') [ "$3" = --version ] && exit; shift 4; echo "pip $*" >>"$here/log"
        while [ -e "$here/hold" ]; do sleep 0.02; done; exit "$(cat "$here/fail" 2>/dev/null || echo 0)" ;;
esac
echo "ran $* in $PWD"
exit 7
"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the checkout's set-up files; PYTHON is the stand-in, whose log is `log` beside it."""
    root = tmp_path / "a checkout"
    root.mkdir()
    for name in ("fairpriv", "requirements.txt", "constraints.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, root / name)
    python = tmp_path / "python"
    python.write_text(STAND_IN.format(here=tmp_path))
    python.chmod(0o755)
    monkeypatch.setenv("PYTHON", str(python))
    monkeypatch.delenv("TORCH", raising=False)
    return root


@pytest.fixture
def log(tmp_path: Path) -> Callable[[], list[str]]:
    """Return what reads the stand-in's log."""
    path = tmp_path / "log"
    return lambda: path.read_text().splitlines() if path.exists() else []


def launch(checkout: Path, *arguments: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [checkout / "fairpriv", *arguments], capture_output=True, text=True, timeout=PATIENCE, **options
    )


def test_the_first_start_sets_up_and_the_second_only_starts(checkout, log) -> None:
    first = launch(checkout, "train", "--json")
    assert [line.split(checkout.name)[0].split(" -r ")[0] for line in log()] == [
        "made",
        "pip --no-deps --retries 1 --index-url https://download.pytorch.org/whl/cpu torch==2.13.0",
        "pip",
        f"pip --no-deps -e {checkout.parent}/",
    ]
    assert (first.stdout, first.returncode) == (f"ran -P -m fairpriv_core train --json in {Path.cwd()}\n", 7)
    assert "installing PyTorch" in first.stderr
    done = log()
    second = launch(checkout, "train", "--json")
    assert (second.stdout, second.stderr, second.returncode) == (first.stdout, "", 7)
    app = launch(checkout, "app", "--server.port", "9")
    assert app.stdout == f"ran -P -m fairpriv_core app --server.port 9 in {Path.cwd()}\n"
    assert log() == done


def test_a_link_to_the_launcher_starts_the_same_checkout_in_the_callers_folder(checkout, log, tmp_path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "fairpriv").symlink_to(f"../{checkout.name}/fairpriv")
    run = launch(tmp_path / "bin", "runs", cwd=tmp_path)
    assert run.stdout == f"ran -P -m fairpriv_core runs in {tmp_path}\n"
    assert (checkout / ".venv").is_dir()


def test_without_the_cpu_build_set_up_stops_and_the_next_start_tries_again(checkout, log, tmp_path) -> None:
    (tmp_path / "fail").write_text("1")
    run = launch(checkout, "runs")
    assert (run.stdout, run.returncode, len(log())) == ("", 1, 2)
    assert run.stderr.splitlines()[-1].startswith(
        "fairpriv: PyTorch's CPU build could not be installed; check the network"
    )
    (tmp_path / "fail").unlink()
    assert launch(checkout, "runs").returncode == 7
    assert log().count("made") == 1


def test_a_killed_install_is_made_anew(checkout, log, tmp_path) -> None:
    (tmp_path / "fail").write_text("137")
    launch(checkout, "runs")
    (tmp_path / "fail").unlink()
    assert launch(checkout, "runs").returncode == 7
    assert log().count("made") == 2


def test_changed_pins_install_again_in_the_same_place(checkout, log) -> None:
    launch(checkout, "runs")
    (checkout / "constraints.txt").write_text("torch==2.13.0\n")
    launch(checkout, "runs")
    assert (log().count("made"), len(log())) == (1, 7)


def test_torch_default_takes_the_default_index_and_is_remembered(checkout, log, monkeypatch) -> None:
    monkeypatch.setenv("TORCH", "default")
    launch(checkout, "runs")
    assert not [line for line in log() if "index-url" in line]
    done = log()
    monkeypatch.delenv("TORCH")
    launch(checkout, "runs")
    assert log() == done
    monkeypatch.setenv("TORCH", "cuda")
    assert launch(checkout, "runs").stderr == "fairpriv: TORCH must be cpu or default, got 'cuda'.\n"


def test_test_installs_what_tests_need_once(checkout, log) -> None:
    launch(checkout, "runs")
    run = launch(checkout, "test", "-n", "0")
    assert run.stdout.startswith("ran -m pytest -n logical ") and run.stdout.endswith(f" -n 0 in {checkout}\n")
    assert log()[-1].endswith(f"-e {checkout}[test]")
    done = log()
    launch(checkout, "test")
    launch(checkout, "runs")
    assert log() == done


def test_ci_runs_the_tests_as_a_person_does() -> None:
    assert (ROOT / ".ci" / "run").read_text().endswith('exec ./fairpriv test "$@"\n')


def test_two_first_starts_at_once_set_up_once(checkout, log, tmp_path) -> None:
    hold, said = tmp_path / "hold", tmp_path / "said"
    hold.touch()
    with said.open("w") as messages:
        runs = [subprocess.Popen([checkout / "fairpriv", "runs"], stdout=messages, stderr=messages) for _ in range(3)]
        wait_until(lambda: said.read_text().count("waiting for another start") == 2, "two starts that wait")
        hold.unlink()
        assert [run.wait(PATIENCE) for run in runs] == [7, 7, 7]
    assert (log().count("made"), len(log())) == (1, 4)


def test_no_fitting_python_is_one_sentence(checkout, monkeypatch) -> None:
    monkeypatch.setenv("PYTHON", "/no/such/python")
    run = launch(checkout, "app")
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (1, "", 1)
    assert "needs Python 3.11 to 3.14" in run.stderr
