"""Reads Python files as syntax trees: what a file imports, and how large its parts are."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef
BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.TryStar, ast.Match)


@dataclass(frozen=True)
class Import:
    """One imported module; `names` are what `from` takes out of it, `function` the one that it stands in or ''."""

    module: str
    names: tuple[str, ...]
    line: int
    function: str


@dataclass(frozen=True)
class Source:
    """One file: its path below the root with forward slashes, and its text."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def module(self) -> str:
        """The dotted name: `fairpriv_core/data/__init__.py` is `fairpriv_core.data`."""
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @cached_property
    def imports(self) -> list[Import]:
        return list(_imports(self.tree, ""))

    @cached_property
    def functions(self) -> list[Function]:
        return [node for node in ast.walk(self.tree) if isinstance(node, Function)]


@cache
def _read_source(root: Path, path: Path) -> Source:
    return Source(path.relative_to(root).as_posix(), path.read_text("utf-8"))


def read_sources(root: Path, *folders: str) -> list[Source]:
    """Return every Python file in `folders` of `root` (a folder may also be one file), in order; each is read once."""
    paths = [
        path
        for folder in folders
        for path in ([root / folder] if folder.endswith(".py") else (root / folder).rglob("*.py"))
    ]
    return [_read_source(root, path) for path in sorted(paths) if path.exists()]


def count_lines(function: Function) -> int:
    """Return the lines from `def` on, docstring not counted."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    if ast.get_docstring(function) is not None:
        docstring = function.body[0]
        lines -= (docstring.end_lineno or docstring.lineno) - docstring.lineno + 1
    return lines


def count_positional(function: Function) -> int:
    """Return how many arguments can be given by position, `self` and `cls` not counted."""
    arguments = [argument.arg for argument in function.args.posonlyargs + function.args.args]
    return len([name for name in arguments if name not in ("self", "cls")])


def measure_depth(node: ast.AST) -> int:
    """Return how many blocks are nested in `node`; `elif` nests no deeper than its `if`, a function starts anew."""
    return max((_depth_of(child) for child in ast.iter_child_nodes(node)), default=0)


def _depth_of(node: ast.AST) -> int:
    if isinstance(node, Function | ast.ClassDef | ast.Lambda):
        return 0
    if isinstance(node, ast.If) and len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
        inside = max((_depth_of(child) for child in node.body), default=0)
        return max(1 + inside, _depth_of(node.orelse[0]))
    return isinstance(node, BLOCKS) + measure_depth(node)


def _imports(node: ast.AST, function: str) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (Import(alias.name, (), child.lineno, function) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            module = "." * child.level + (child.module or "")
            yield Import(module, tuple(alias.name for alias in child.names), child.lineno, function)
        else:
            yield from _imports(child, child.name if isinstance(child, Function) else function)
