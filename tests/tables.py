"""The tables of docs/catalogue.md, made from the catalogues. `python -m tests.tables` writes them; a test compares."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

from fairpriv_core.data.catalog import problems
from fairpriv_core.methods.catalog import methods, name_group
from fairpriv_core.notions.catalog import notions

PAGE = Path(__file__).parent.parent / "docs" / "catalogue.md"
PUBLISHED = " (p)"
PROTECTS = {"attribute": "attribute", "record": "record", None: "nothing"}


def build_tables() -> dict[str, str]:
    """Return each table as Markdown, by the name in its marks."""
    return {
        "methods": "\n".join(
            f"### {group}\n\n{_list_methods(names)}" for group, names in groupby(methods(), key=name_group)
        ),
        "notions": _table(
            ("notion", "what it asks"),
            ((f"`{notion.name}`", notion.sentence) for notion in notions().values()),
        ),
        "datasets": _table(
            ("data set", "what it is", "sensitive", "licence", "source"),
            (
                (f"`{p.name}`", p.summary, ", ".join(f"`{name}`" for name in p.sensitive), p.licence, p.citation)
                for p in problems().values()
            ),
        ),
    }


def _list_methods(names: Iterable[str]) -> str:
    infos = [methods()[name].info for name in names]
    return _table(
        ("method", "what it does", "protects", "source"),
        (
            (f"`{m.name}`{PUBLISHED * (len(m.variants) > 1)}", m.summary, PROTECTS[m.threat_model], m.citation)
            for m in infos
        ),
    )


def fill(text: str) -> str:
    """Return `text` with what stands between each table's marks replaced by the table."""
    for name, table in build_tables().items():
        start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        pattern = re.compile(f"{start}\n.*?{end}", re.DOTALL)
        text, found = pattern.subn(lambda _, filled=f"{start}\n{table}{end}": filled, text)
        if found != 1:
            raise ValueError(f"docs/catalogue.md must hold the marks of '{name}' once, found {found}.")
    return text


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(fill(PAGE.read_text("utf-8")), "utf-8")
