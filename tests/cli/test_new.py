"""`fairpriv new method`: what it writes is clean, keeps the contract as it stands, and takes no other's place."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fairpriv_core.cli.new import CATALOGUE, EXAMPLES, write_method
from fairpriv_core.errors import BadInput
from tests.cli.commands import Call

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the code with a new method in it, written by the command."""
    folder = tmp_path_factory.mktemp("checkout")
    shutil.copy(ROOT / "pyproject.toml", folder)
    for part in ("fairpriv_core", "tests", "benchmarks"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    done = run(folder, "-m", "fairpriv_core", "new", "method", "my_method_2")
    assert done.returncode == 0, done.stderr
    assert "./fairpriv test tests/methods/test_contract.py -k my_method_2" in done.stdout
    return folder


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run this Python in `folder`, on the code there."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )


def test_the_skeleton_is_clean_and_touches_three_files(checkout: Path) -> None:
    for arguments in (("check",), ("format", "--check")):
        done = run(checkout, "-m", "ruff", *arguments, "fairpriv_core/methods", "tests/methods/examples")
        assert done.returncode == 0, done.stdout
    changed = [
        str(path.relative_to(checkout))
        for path in sorted(checkout.rglob("*.py"))
        if not (ROOT / path.relative_to(checkout)).exists()
        or (ROOT / path.relative_to(checkout)).read_bytes() != path.read_bytes()
    ]
    assert changed == [CATALOGUE, "fairpriv_core/methods/my_method_2.py", EXAMPLES]


def test_the_skeleton_keeps_the_contract(checkout: Path) -> None:
    asked = ("-p", "no:cacheprovider", "-q", "-k", "my_method_2 or every_method_has_an_example")
    done = run(checkout, "-m", "pytest", *asked, "tests/methods/test_contract.py")
    assert done.returncode == 0, done.stdout
    passed = int(done.stdout.splitlines()[-1].split(" passed")[0].split()[-1])
    assert passed > 20


@pytest.mark.long
def test_the_skeleton_is_typed(checkout: Path) -> None:
    done = run(checkout, "-m", "mypy", "fairpriv_core/methods/my_method_2.py")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("pf_ld", "the name 'pf_ld' is taken: there is a method of that name."),
        ("equalized_odds", "the name 'equalized_odds' is taken: there is a notion of that name."),
        ("epsilon", "the name 'epsilon' is taken: there is a card on the Learn page of that name."),
        ("base", "its file would be fairpriv_core/methods/base.py"),
        ("style", "its class Style"),
        ("My-Method", "single underscores and is no word of Python, such as my_method; got 'My-Method'."),
        ("../evil", "got '../evil'"),
        ("class", "got 'class'"),
    ],
)
def test_a_name_that_is_none_or_taken_is_refused_in_one_sentence(call: Call, name: str, says: str) -> None:
    said = call("new", "method", name)
    assert said.code == 2 and says in said.err and len(said.err.strip().splitlines()) == 1


def test_outside_a_checkout_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"works in a checkout of the project alone: .* has no tests/methods/examples"):
        write_method("my_method", tmp_path)
    assert not list(tmp_path.iterdir())
