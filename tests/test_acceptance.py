"""What docs/acceptance.md names as shown is there to be run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "acceptance.md").read_text("utf-8")
POINTS = [line for line in PAGE.splitlines() if re.match(r"\| \d+ \|", line)]


def test_every_point_stands_in_its_order() -> None:
    assert [int(line.split("|")[1]) for line in POINTS] == list(range(1, 36))


@pytest.mark.parametrize("line", POINTS, ids=[line.split("|")[1].strip() for line in POINTS])
def test_a_point_is_shown_by_tests_that_exist(line: str) -> None:
    tests = re.findall(r"`(test_\w+\.py)::(test_\w+)`", line)
    named = re.findall(r"`(tests/[\w/.]+)`", line)
    assert tests or named
    for file, name in tests:
        assert re.search(rf"^def {name}\(", (ROOT / "tests" / "e2e" / file).read_text("utf-8"), re.MULTILINE), name
    for each in named:
        assert (ROOT / each).is_file(), each
