"""The launcher's own work, with a stand-in for Python that makes no environment and writes down what it is asked."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.patience import PATIENCE, wait_until

ROOT = Path(__file__).parent.parent
# Answers what the launcher asks of an interpreter. `fail` holds the exit code of each pip install whose options fit the
# pattern in `where`, of every one without that file; it waits while `hold` is there. `config` is what pip is set to.
STAND_IN = f"""#!/bin/sh
here={{here}}
case "$1 ${{{{2:-}}}}" in
    '-c '*) exec {sys.executable} "$@" ;;
    '--version '*) echo Python 3.11; exit ;;
    '-m venv') mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; echo made >>"$here/log"; exit ;;
    '-m pip') case $3 in --version) exit ;; config) cat "$here/config" 2>/dev/null; exit ;; esac
        shift 4; echo "pip $*" >>"$here/log"
        while [ -e "$here/hold" ]; do sleep 0.02; done
        echo "$*" | grep -qE -e "$(cat "$here/where" 2>/dev/null || echo .)" || exit 0
        exit "$(cat "$here/fail" 2>/dev/null || echo 0)" ;;
esac
echo "ran $* in $PWD"
exit 7
"""

# How PyTorch is asked for, nearest first; the second where an index is configured.
LOOKED = [
    "--no-deps --no-index torch==2.13.0",
    "--no-deps torch==2.13.0+cpu",
    "--no-deps --retries 0 --index-url https://download.pytorch.org/whl/cpu torch==2.13.0",
]


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
        *(f"pip {each}" for each in LOOKED[:1]),
        "pip",
        f"pip --no-deps -e {checkout.parent}/",
    ]
    assert (first.stdout, first.returncode) == (f"ran -P -m fairpriv_core train --json in {Path.cwd()}\n", 7)
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


def looked(log: list[str]) -> list[str]:
    return [line.removeprefix("pip ") for line in log if "torch==" in line]


def test_pytorch_comes_from_the_nearest_source_that_has_it(checkout, log, tmp_path) -> None:
    """What is there, an index that the person configured, PyTorch's own twice; and nothing else is fetched for it."""
    (tmp_path / "fail").write_text("1")
    for configured, nearest in (("", 0), (":env:.index-url='x'", 1), ("global.extra-index-url='x'", 1), ("", 2)):
        (tmp_path / "config").write_text(configured + "\n")
        farther = LOOKED[:1] + LOOKED[1:2] * bool(configured) + LOOKED[2:]
        missing = farther[: farther.index(LOOKED[nearest])]
        (tmp_path / "where").write_text("|".join(f"^{each.replace('+', '[+]')}$" for each in missing) or "nothing")
        (tmp_path / "log").unlink(missing_ok=True)
        shutil.rmtree(checkout / ".venv", ignore_errors=True)
        assert launch(checkout, "runs").returncode == 7
        assert looked(log()) == [*missing, LOOKED[nearest]]


def test_without_the_cpu_build_the_default_one_is_taken_where_it_has_room(checkout, log, tmp_path, monkeypatch) -> None:
    for name, text in (("fail", "1"), ("where", "torch==")):
        (tmp_path / name).write_text(text)
    df = tmp_path / "df"
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for free, code in ((9_000_000, 1), (11_000_000, 7)):
        df.write_text(f"#!/bin/sh\necho Filesystem\necho / 1 1 {free} 1% /\n")
        df.chmod(0o755)
        run = launch(checkout, "runs", stdin=subprocess.DEVNULL)
        assert run.returncode == code and "6.2 GB" in run.stderr
        assert ("TORCH=default, with 10 GB free" in run.stderr) == (code == 1)
    assert looked(log()) == [LOOKED[0], LOOKED[2], LOOKED[2]] * 2 and log().count("made") == 1


@pytest.mark.parametrize(("answer", "code"), [("y\n", 7), ("\n", 1)])
def test_on_a_terminal_the_default_build_is_asked_about(checkout, tmp_path, answer: str, code: int) -> None:
    for name, text in (("fail", "1"), ("where", "torch==")):
        (tmp_path / name).write_text(text)
    ours, theirs = pty.openpty()
    os.write(ours, answer.encode())
    with subprocess.Popen([checkout / "fairpriv", "runs"], stdin=theirs, stdout=theirs, stderr=theirs) as run:
        assert run.wait(PATIENCE) == code
    assert "take it? [y/N]" in os.read(ours, 10_000).decode()
    os.close(ours)
    os.close(theirs)


def test_without_any_package_set_up_stops_and_the_next_start_tries_again(checkout, log, tmp_path) -> None:
    (tmp_path / "fail").write_text("1")
    run = launch(checkout, "runs", stdin=subprocess.DEVNULL)
    assert (run.stdout, run.returncode) == ("", 1)
    assert run.stderr.splitlines()[-1].endswith("could not be installed; the next start tries again.")
    (tmp_path / "fail").unlink()
    assert launch(checkout, "runs").returncode == 7
    assert log().count("made") == 1


def test_a_checkout_that_cannot_be_written_is_one_sentence(checkout, log) -> None:
    (checkout / ".venv.lock").mkdir()
    run = launch(checkout, "runs")
    assert (run.returncode, run.stdout, run.stderr.count("\n"), log()) == (1, "", 1, [])
    assert "cannot be written" in run.stderr


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
