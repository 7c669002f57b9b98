"""What the project says of itself holds: pins, versions, tables, commands, and no stray words."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import click
import pytest
import yaml
from packaging.requirements import Requirement

from fairpriv_core.cli.main import cli
from tests import tables
from tests.cli.commands import Call

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# Commands that answer at once and need nothing but themselves: these are run, the others are parsed.
SKIPS = """
import pytest
def test_a():
    pytest.skip("no test.")
def test_b(nothing):
    pass
def test_c():
    pass
@pytest.fixture
def nothing():
    pytest.skip("no data.")
"""
QUICK = ("datasets", "methods", "notions", "account", "runs")


def read_lines(name: str) -> list[str]:
    lines = (line.strip() for line in (ROOT / name).read_text("utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def read_commands(name: str) -> list[list[str]]:
    """Return the arguments of each `./fairpriv` line in the file's shell blocks."""
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / name).read_text("utf-8"), re.DOTALL)
    lines = [shlex.split(line, comments=True) for block in blocks for line in block.splitlines()]
    return [line[1:] for line in lines if line and line[0] == "./fairpriv"]


COMMANDS = [
    command
    for page in ("README.md", "docs/guide.md")
    for command in read_commands(page)
    if command[0] not in ("app", "test", "setup", "demo")
]


def test_pins_are_exact_and_within_what_the_package_takes() -> None:
    constraints = read_lines("constraints.txt")
    assert not [
        pin for pin in constraints if not re.fullmatch(r'[a-z0-9.-]+==[\w.]+(; python_version (<|>=) "3\.12")?', pin)
    ]
    assert not [pin for pin in read_lines("requirements.txt") if pin not in constraints]
    pinned = {pin.split(";")[0] for pin in constraints}
    extras = [each for listed in PROJECT["optional-dependencies"].values() for each in listed]
    taken = [Requirement(each) for each in (*PROJECT["dependencies"], *extras) if not each.startswith("fairpriv[")]
    versions = {(name, version) for name, version in (pin.split("==") for pin in pinned)}
    for each in taken:
        found = [version for name, version in versions if name == each.name]
        assert found and all(each.specifier.contains(version) for version in found), each
    direct = {pin.split("==")[0] for pin in read_lines("requirements.txt")}
    assert direct == {Requirement(each).name for each in PROJECT["dependencies"]}


def test_what_is_installed_is_what_is_pinned() -> None:
    here = [pin.split(";")[0] for pin in read_lines("constraints.txt") if _applies(pin)]
    installed = {
        name: version(name).split("+")[0] for name, _ in (pin.split("==") for pin in here) if _is_installed(name)
    }
    assert {f"{name}=={found}" for name, found in installed.items()} <= set(here)


def test_workflows_take_actions_by_digest_and_only_the_rights_that_they_need() -> None:
    files = sorted((ROOT / ".github/workflows").glob("*.yml"))
    assert [path.stem for path in files] == ["advisories", "ci", "docs", "image", "release"]
    digests: dict[str, set[str]] = {}
    for path in files:
        flow = yaml.safe_load(path.read_text("utf-8"))
        assert flow["permissions"] in ({}, {"contents": "read"}), path
        for job in flow["jobs"].values():
            assert job["timeout-minutes"] and job.get("permissions", {}).get("contents") in (None, "read")
        for name, digest in re.findall(r"uses: ([\w./-]+)@(.*)", path.read_text("utf-8")):
            assert re.fullmatch(r"[0-9a-f]{40} # v[\d.]+", digest), f"{path.name}: {name}"
            digests.setdefault(name, set()).add(digest)
    assert digests and all(len(each) == 1 for each in digests.values())


def test_versions_agree() -> None:
    newest = re.search(r"^## (\S+) - \d{4}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    cited = re.search(r"^version: (\S+)\ndate-released: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert newest.group(1) == PROJECT["version"] == version("fairpriv")
    assert cited is not None and f"## {cited.group(1)} - {cited.group(2)}" == newest.group(0)


def test_the_tables_follow_from_the_catalogues() -> None:
    text = tables.PAGE.read_text("utf-8")
    assert tables.fill(text) == text, "run: python -m tests.tables"


def test_the_readmes_result_is_one_of_the_results() -> None:
    row = re.compile(r"^\| `(\w+)`.*?\| (\d[\d.]*)[^|]*\| (\d[\d.]*)", re.MULTILINE)
    shown = {
        name: (float(right), float(gap)) for name, right, gap in row.findall((ROOT / "README.md").read_text("utf-8"))
    }
    found: dict[str, tuple[float, float]] = {}
    for name, right, gap in row.findall(
        (ROOT / "docs/results.md").read_text("utf-8")
    ):  # the first section has the means
        found.setdefault(name, (round(100 * float(right), 2), round(100 * float(gap), 2)))
    assert len(shown) == 4 and shown == {name: found[name] for name in shown}


def test_the_guides_commands_are_understood_and_the_quick_ones_run(call: Call) -> None:
    context = click.Context(cli, **cli.context_settings)
    for name, *arguments in COMMANDS:
        known = cli.get_command(context, name)
        assert known is not None, name
        known.make_context(name, list(arguments), parent=context, resilient_parsing=False)
    quick = [each for each in COMMANDS if each[0] in QUICK and "KEY" not in each]
    assert len(COMMANDS) > 20 and len(quick) > 2
    assert [each for each in quick if call(*each).code != 0] == []


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_what_a_document_points_to_is_there(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    named = [path for path in re.findall(r"`([\w./-]+)`", text) if "/" in path and path.split("/")[0] in _top_level()]
    assert not [path for path in links + named if not (ROOT / path).exists()]


def test_what_a_setting_or_a_script_points_to_is_there() -> None:
    kinds = (".toml", ".yml", ".yaml", "Dockerfile", "fairpriv", ".ci/check", ".ci/long", ".ci/run")
    named = {
        (path, name)
        for path in _tracked_files()
        if path.endswith(kinds)
        for name in re.findall(r"(?<![\w./-])[\w./-]+/[\w-]+\.(?:py|md|toml|yml)\b", (ROOT / path).read_text("utf-8"))
        if name.split("/")[0] in _top_level() and "_dashboard/" not in name  # of a wheel
    }
    assert len(named) > 10
    assert not [f"{path}: {name}" for path, name in named if not (ROOT / name).exists()]


def test_links_between_documents_lead_somewhere() -> None:
    pages = [ROOT / path for path in _tracked_files() if path.endswith(".md")]
    links = [(page, link) for page in pages for link in re.findall(r"\]\(([^)#]+)", page.read_text("utf-8"))]
    gone = [f"{page.name}: {link}" for page, link in links if "://" not in link and not (page.parent / link).exists()]
    assert len(links) > 50 and not gone, gone


def test_only_pictures_that_a_document_shows_are_kept() -> None:
    pages = [path for path in _tracked_files() if path.endswith(".md")]
    shown = {
        (ROOT / page).parent / link
        for page in pages
        for link in re.findall(r"!\[[^\]]+\]\(([^)]+\.png)\)", (ROOT / page).read_text("utf-8"))
    }
    kept = set((ROOT / "docs" / "screenshots").iterdir())
    assert kept == shown and len(shown) == 3


def test_every_promise_names_a_test_that_is_there() -> None:
    text = (ROOT / "docs/security.md").read_text("utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text)
    assert len(named) > 20
    assert not [f"{path}::{test}" for path, test in named if f"def {test}" not in (ROOT / path).read_text("utf-8")]
    rows = [row for row in re.findall(r"^\| .* \|$", text, re.MULTILINE) if "---" not in row and "| test |" not in row]
    assert [row for row in rows if "tests/" not in row] == [row for row in rows if row.count("|") == 4]  # who there is


def test_no_stray_words_and_no_machine_paths() -> None:
    folders = "|".join(("work", "root", "opt", "tmp/" + "w"))
    stray = re.compile(
        rf"(?<![\w.$}}/])/(?:{folders})/|/home/\w|{'TO' + 'DO'}|{'FIX' + 'ME'}|mark\.(?:skip|xfail)|{'no' + 'qa'}"
    )
    found = [
        f"{path}:{number}: {line.strip()}"
        for path in _tracked_files()
        for number, line in enumerate((ROOT / path).read_text("utf-8", errors="ignore").splitlines(), 1)
        if stray.search(line) and path != "tests/test_project.py"
    ]
    assert not found, "\n".join(found)


def test_a_skip_fails_where_none_is_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a test, in what it asks for, and of a whole file."""
    asked = ["-p", "tests.conftest", "--import-mode=importlib", "--continue-on-collection-errors"]
    for name in ("cacheprovider", "faulthandler", "terminal", "xdist"):
        asked += ["-p", f"no:{name}"]
    for allowed, code in ((True, 0), (False, 1)):
        monkeypatch.setenv("FAIRPRIV_NO_SKIP", "" if allowed else "1")
        seen, folder, whole = Seen(), tmp_path / str(code), f"test_{code}.py"  # a module is loaded once by its name
        folder.mkdir()
        (folder / "test_a.py").write_text(SKIPS)
        (folder / whole).write_text("import pytest\npytest.skip('no file.', allow_module_level=True)\n")
        assert pytest.main([*asked, f"--rootdir={folder}", str(folder)], plugins=[seen]) == code
        skipped = "skipped" if allowed else "failed"
        assert seen.found == {"test_a": skipped, "test_b": skipped, "test_c": "passed", whole: skipped}


class Seen:
    """Keeps how tests, and files that hold none, ended."""

    def __init__(self) -> None:
        self.found: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            self.found[report.nodeid.rpartition("::")[2]] = report.outcome

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.outcome != "passed":
            self.found[report.nodeid] = report.outcome


def _applies(pin: str) -> bool:
    old = sys.version_info < (3, 12)
    return not pin.endswith('"3.12"') or ("<" in pin) == old


def _is_installed(name: str) -> bool:
    try:
        version(name)
    except ModuleNotFoundError:
        return False
    return True


def _top_level() -> set[str]:
    return {path.split("/")[0] for path in _tracked_files() if "/" in path}


def _tracked_files() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], capture_output=True, text=True, cwd=ROOT)
    if listed.returncode == 0:
        return [path for path in listed.stdout.split("\0") if path and (ROOT / path).is_file()]
    folders = [path for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith(".")]
    return [path.relative_to(ROOT).as_posix() for folder in folders for path in folder.rglob("*.py")]
