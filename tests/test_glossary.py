"""docs/glossary.md: every word has a sentence and a source, and the identifiers that it names exist."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "glossary.md").read_text("utf-8")
LINES = [line for line in PAGE.splitlines() if line.startswith("| ") and "---" not in line]
ROWS = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in LINES if not line.startswith("| word |")]


@cache
def list_identifiers() -> frozenset[str]:
    """Return every name in the code, its files' names and folders' too."""
    paths = [path for folder in ("fairpriv_core", "pages") for path in (ROOT / folder).rglob("*.py")]
    words = {word for path in paths for word in re.findall(r"\w+", path.read_text("utf-8"))}
    return frozenset(words | {part for path in paths for part in path.relative_to(ROOT).with_suffix("").parts})


def test_every_word_is_told_of_once_in_a_sentence() -> None:
    assert len(ROWS) > 80
    assert {len(row) for row in ROWS} == {4}
    assert len({row[0] for row in ROWS}) == len(ROWS)
    assert not [row[0] for row in ROWS if not row[1].endswith(".")]
    assert not [row[0] for row in ROWS if not re.search(r"this project|\(\d{4}\)", row[2])]


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_what_a_word_is_called_in_the_code_is_there(row: list[str]) -> None:
    named = re.findall(r"`(\w+)`", row[-1])
    assert named
    assert not [name for name in named if name not in list_identifiers()]
