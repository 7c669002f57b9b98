"""Draw the house for docs/map.md: its rooms and what they import, and the walks of docs/map.toml through it.

    python examples/make_map.py

Files are counted, lines rounded to hundreds and imports down to tens, so that the page changes where the house does.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE, TOLD = ROOT / "docs" / "map.md", ROOT / "docs" / "map.toml"
CORE, PAGES, BASE = (
    "fairpriv_core",
    "pages",
    ("errors", "checks", "grouping", "paths", "plain", "plugins", "seeds", "stats", "text", "warnings"),
)
MANY = 20  # imports that make a line in the picture
_HEAD = """# The house

Written by `python examples/make_map.py` from the imports, and from [map.toml](map.toml) for what is said of them. What
each word means stands in the [glossary](glossary.md), and how to add to the house in
[CONTRIBUTING.md](../CONTRIBUTING.md). [fairpriv_in_one_file.py](../examples/fairpriv_in_one_file.py) has one method and
why its ε holds in 300 lines: read that first.

An arrow points to what a room imports; its number is that of the imports, rounded down to tens. Fewer than twenty, and
those of `base`, which every room may import, are left out of the picture and stand in the table."""


class House:
    """The Python files of the core and the pages, by room: all but the front door and what starts a command."""

    @cached_property
    def modules(self) -> dict[str, Path]:
        """Each file by its module's name."""
        paths = [*(ROOT / CORE).rglob("*.py"), *(ROOT / PAGES).rglob("*.py"), ROOT / "app.py"]
        kept = [path for path in sorted(paths) if path.stem not in ("__init__", "__main__")]
        return {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in kept}

    @cached_property
    def imports(self) -> Counter[tuple[str, str]]:
        """How many modules a room's files import from another room: (room, other) -> count."""
        pairs = [
            (name_room(module), name_room(target))
            for module, path in self.modules.items()
            for target in set(list_imports(path)) & set(self.modules)
        ]
        return Counter((one, other) for one, other in pairs if one != other)

    @cached_property
    def rooms(self) -> dict[str, list[Path]]:
        """Each room's files, rooms in the order in which they build on each other; fails where two build on both."""
        found: dict[str, list[Path]] = {}
        for module, path in self.modules.items():
            found.setdefault(name_room(module), []).append(path)
        built = {room: sorted(other for one, other in self.imports if one == room) for room in sorted(found)}
        return {room: found[room] for room in TopologicalSorter(built).static_order()}


def name_room(module: str) -> str:
    """Return the room of a module: `fairpriv_core.data.encode` is in `data`."""
    package, *parts = module.split(".")
    if package != CORE:
        return PAGES
    return "base" if parts[:1] and parts[0] in BASE else (parts or [CORE])[0]


def list_imports(path: Path) -> Iterator[str]:
    """Yield the modules that a file may import, those inside functions too; of `from a import b` both a and a.b."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def find_function(name: str) -> tuple[Path, str]:
    """Return the file of a full name such as `fairpriv_core.privacy.counter.Counter.add`, and its name in that file.

    Raises ValueError for a name that no file defines: what has moved is to be mended in map.toml.
    """
    parts = name.split(".")
    ends = [end for end in range(1, len(parts)) if ROOT.joinpath(*parts[:end]).with_suffix(".py").is_file()]
    if ends:
        path, inside = ROOT.joinpath(*parts[: ends[-1]]).with_suffix(".py"), parts[ends[-1] :]
        body: ast.AST | None = ast.parse(path.read_text("utf-8"))
        for part in inside:
            body = next((node for node in getattr(body, "body", []) if getattr(node, "name", None) == part), None)
        if body is not None:
            return path, ".".join(inside)
    known = re.compile(rf"(?:def|class) {parts[-1]}\b")
    found = [module for module, path in House().modules.items() if known.search(path.read_text("utf-8"))]
    raise ValueError(f"docs/map.toml names {name}, which is not there; {parts[-1]} is defined in {found or 'no file'}.")


def render() -> str:
    """Return the page."""
    told, house = tomllib.loads(TOLD.read_text("utf-8")), House()
    parts = [_HEAD, _draw(house), _table(house, told["rooms"])]
    parts.append(
        "Three walks follow a thing through the house by the steps that do something to it: file, function, what it\n"
        "does, and what it gives on. What only helps or hands on is left out."
    )
    parts += [part for walk in told["walk"] for part in _tell(walk)]
    return "\n\n".join(parts) + "\n"


def _draw(house: House) -> str:
    lines = [f"    {room}" for room in house.rooms if room != "base"]
    lines += [
        f"    {room} -- {count // 10 * 10} --> {other}"
        for (room, other), count in sorted(house.imports.items())
        if count >= MANY and other != "base"
    ]
    return "\n".join(["```mermaid", "graph TD", *lines, "```"])


def _table(house: House, sentences: Mapping[str, str]) -> str:
    rows = [("room", "what is in it", "files", "lines", "imports from"), ("---",) * 5]
    for room, paths in house.rooms.items():
        lines = sum(path.read_text("utf-8").count("\n") for path in paths)
        used = [other for other in house.rooms if (room, other) in house.imports]
        hundreds = f"{round(lines, -2):,}"
        rows.append(
            (f"`{room}`", sentences[room], str(len(paths)), hundreds, ", ".join(f"`{other}`" for other in used))
        )
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _tell(walk: Mapping[str, Any]) -> list[str]:
    steps: Sequence[Mapping[str, str]] = walk["step"]
    files = {find_function(step["name"])[0] for step in steps}
    lines = [f"{number}. {_format_step(step)}" for number, step in enumerate(steps, start=1)]
    return [
        f"## {walk['title']}",
        f"{walk['text'].strip()}\n{len(steps)} steps in {len(files)} files.",
        "\n".join(lines),
    ]


def _format_step(step: Mapping[str, str]) -> str:
    path, name = find_function(step["name"])
    below = path.relative_to(ROOT).as_posix()
    given = f" → {step['gives']}" if "gives" in step else ""
    return f"[{below.removeprefix(CORE + '/')}](../{below}) `{name}` {step['says']}{given}"


def main() -> None:
    """Write the page."""
    PAGE.write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main()
