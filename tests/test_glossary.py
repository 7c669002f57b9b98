"""docs/glossary.md: every word has a sentence and a source, and the identifiers that it names exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "glossary.md").read_text("utf-8")
LINES = [line for line in PAGE.splitlines() if line.startswith("| ") and "---" not in line]
ROWS = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in LINES if not line.startswith("| word |")]


def test_every_word_is_told_of_once_in_a_sentence() -> None:
    assert len(ROWS) > 80
    assert {len(row) for row in ROWS} == {4}
    assert len({row[0] for row in ROWS}) == len(ROWS)
    assert not [row[0] for row in ROWS if not row[1].endswith(".")]
    assert not [row[0] for row in ROWS if not re.search(r"this project|\(\d{4}\)", row[2])]


def test_what_a_word_is_called_in_the_code_is_there() -> None:
    """Names in the code, and of its files and folders."""
    paths = [path for folder in ("fairpriv_core", "pages") for path in (ROOT / folder).rglob("*.py")]
    known = {word for path in paths for word in re.findall(r"\w+", path.read_text("utf-8"))}
    known |= {part for path in paths for part in path.relative_to(ROOT).with_suffix("").parts}
    named = {row[0]: set(re.findall(r"`(\w+)`", row[-1])) for row in ROWS}
    assert {word: names - known for word, names in named.items() if not names or names - known} == {}
