"""docs/map.md shows the house as it is, and its walks pass where a run passes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib

import pytest

from examples.make_map import PAGE, ROOT, TOLD, find_function, name_room, render

WALKS = tomllib.loads(TOLD.read_text("utf-8"))["walk"]


@pytest.fixture(scope="module")
def called(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], int]:
    """Return the place of each function's first call in a run from a CSV to the page Trade-offs."""
    command = [sys.executable, "-m", "tests.walked", str(tmp_path_factory.mktemp("walked"))]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert run.returncode == 0, run.stderr
    return {(path, name): place for place, (path, name) in enumerate(json.loads(run.stdout.splitlines()[-1]))}


def test_the_page_is_what_the_imports_make_of_it() -> None:
    assert PAGE.read_text("utf-8") == render(), "run: python examples/make_map.py"


def test_every_room_is_drawn_and_told_of() -> None:
    page = PAGE.read_text("utf-8")
    told = set(re.findall(r"^\| `(\w+)` \| ", page, re.MULTILINE))
    assert {path.parent.name for path in (ROOT / "fairpriv_core").glob("*/__init__.py")} <= told
    assert name_room("fairpriv_core.data.encode") == "data"
    assert name_room("fairpriv_core.stats") == "base"
    assert name_room("pages.widgets.run.live") == name_room("app") == "pages"


@pytest.mark.parametrize("walk", WALKS, ids=[walk["title"] for walk in WALKS])
def test_a_walk_passes_where_a_run_passes_in_that_order(walk: dict, called: dict[tuple[str, str], int]) -> None:
    steps = [find_function(step["name"]) for step in walk["step"]]
    passed = [(path.relative_to(ROOT).as_posix(), name) for path, name in steps]
    assert len(passed) > 10
    assert not [step for step in passed if step not in called]
    assert passed == sorted(passed, key=called.__getitem__)


def test_a_name_that_has_moved_is_refused_and_looked_for() -> None:
    with pytest.raises(ValueError, match=r"is not there; mean_interval is defined in \['fairpriv_core.stats'\]"):
        find_function("fairpriv_core.text.mean_interval")
    for name in ("fairpriv_core.stats.gone", "fairpriv_core.nowhere.gone", "fairpriv_core.stats.Mean.gone", "gone"):
        with pytest.raises(ValueError, match="gone is defined in no file"):
            find_function(name)
