"""The launcher's own work, with a stand-in for Python that makes no environment and writes down what it is asked."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# Answers what the launcher asks of an interpreter. `fail` holds the exit code of the next pip install.
STAND_IN = f"""#!/bin/sh
here={{here}}
case "$1 ${{{{2:-}}}}" in
    '-c '*) exec {sys.executable} "$@" ;;
    '--version '*) echo Python 3.11; exit ;;
    '-m venv') mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; echo made >>"$here/log"; exit ;;
    '-m pip') [ "$3" = --version ] && exit; shift 4; echo "pip $*" >>"$here/log"
        sleep "$(cat "$here/slow" 2>/dev/null || echo 0)"; exit "$(cat "$here/fail" 2>/dev/null || echo 0)" ;;
    '-m fairpriv_core.runs.supervisor' | '-OO -m') echo "$$ $* in $PWD with $FAIRPRIV_DATA" >>"$here/log"
        exec {sys.executable} -c 'import time; time.sleep(60)' ;;
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
    return subprocess.run([checkout / "fairpriv", *arguments], capture_output=True, text=True, timeout=60, **options)


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
    assert log() == done


@pytest.mark.parametrize("said", [["--log-level", "info"], ["--log-level=info"]])
def test_the_log_level_reaches_both_parts_and_streamlit_gets_the_rest(checkout, log, said) -> None:
    launch(checkout, "setup")
    app = subprocess.Popen([checkout / "fairpriv", "app", *said, "--server.port", "9"], env={**os.environ})
    try:
        for _ in range(200):
            started = [line for line in log() if " in " in line]
            if len(started) == 2:
                break
            time.sleep(0.05)
        assert any("streamlit run app.py --server.port 9 in" in line for line in started)
        pids = [int(line.split()[0]) for line in started]
        for pid in pids:
            assert b"FAIRPRIV_LOG_LEVEL=info" in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    finally:
        app.terminate()
        app.wait(20)


def test_a_log_level_that_is_missing_is_asked_for(checkout) -> None:
    run = launch(checkout, "app", "--log-level")
    assert run.returncode == 1 and run.stderr.endswith("fairpriv: --log-level takes info or warning.\n")


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
    (tmp_path / "slow").write_text("0.3")
    command = [checkout / "fairpriv", "runs"]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    answers = [run.communicate(timeout=60) for run in runs]
    assert [run.returncode for run in runs] == [7, 7, 7]
    assert (log().count("made"), len(log())) == (1, 4)
    assert sum("waiting for another start" in messages for _, messages in answers) == 2


def test_no_fitting_python_is_one_sentence(checkout, monkeypatch) -> None:
    monkeypatch.setenv("PYTHON", "/no/such/python")
    run = launch(checkout, "app")
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (1, "", 1)
    assert "needs Python 3.11, 3.12 or 3.13" in run.stderr


def listen_to_signals() -> None:
    """Undo what a parent may have set: a shell cannot trap a signal that was ignored when it started."""
    for each in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_DFL)


def start_app(checkout: Path, log: Callable[[], list[str]]) -> tuple[subprocess.Popen[str], list[int]]:
    """Start the app; return its process and the ids of the two that it started, the supervisor first."""
    launch(checkout, "setup")
    environment = os.environ | {"FAIRPRIV_DATA": "some/data"}
    command = [checkout / "fairpriv", "app", "--server.port", "8599"]
    app = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        cwd=checkout.parent,
        env=environment,
        preexec_fn=listen_to_signals,
    )
    deadline = time.monotonic() + 20
    while len(started := [line for line in log() if " in " in line]) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    supervisor, pages = sorted(started, key=lambda line: "streamlit" in line)
    suffix = f" in {checkout} with {checkout.parent}/some/data"
    assert supervisor.endswith(f"-m fairpriv_core.runs.supervisor{suffix}")
    assert pages.endswith(f"-OO -m streamlit run app.py --server.port 8599{suffix}")
    return app, [int(line.split()[0]) for line in (supervisor, pages)]


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)])
def test_a_signal_stops_both_parts_of_the_app(checkout, log, sent: signal.Signals, code: int) -> None:
    app, parts = start_app(checkout, log)
    app.send_signal(sent)
    app.communicate(timeout=20)
    assert app.returncode == code
    assert not [part for part in parts if is_alive(part)]


@pytest.mark.parametrize("dead", [0, 1])
def test_the_app_ends_when_one_part_dies(checkout, log, dead: int) -> None:
    app, parts = start_app(checkout, log)
    os.kill(parts[dead], signal.SIGKILL)
    _, messages = app.communicate(timeout=20)
    assert app.returncode == 137
    assert ("the process that trains ended with exit code 137" in messages) == (dead == 0)
    assert not [part for part in parts if is_alive(part)]


def test_a_killed_launcher_takes_both_parts_with_it(checkout, log) -> None:
    app, parts = start_app(checkout, log)
    app.kill()
    app.communicate(timeout=20)  # not before all that it started has closed its end
    assert not [part for part in parts if is_alive(part)]
