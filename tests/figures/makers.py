"""Who makes figures and tables: by the syntax trees of our code, and while it runs."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.syntax import Function, Source, read_sources

ROOT = Path(__file__).parents[2]
#: what a builder of figures returns; `Grid` is a tuple of them
RETURNED = {"FigureData", "Grid"}


def read_own(word: str) -> list[Source]:
    """Return our files in which `word` stands."""
    return [source for source in read_sources(ROOT, "app.py", "pages", "fairpriv_core") if word in source.text]


def names_in(node: ast.AST | None) -> set[str]:
    return set() if node is None else {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def list_builders() -> set[str]:
    """Return "module.function" of every public function that returns figures and is given none."""
    found = set()
    for source in read_own("FigureData"):
        for node in source.tree.body:
            if isinstance(node, Function) and not node.name.startswith("_") and names_in(node.returns) & RETURNED:
                given = [each.annotation for each in (*node.args.args, *node.args.kwonlyargs)]
                if not any(names_in(one) & RETURNED for one in given):
                    found.add(".".join((*source.module.split(".")[2:], node.name)))
    return found


def list_makers(kind: type) -> set[str]:
    """Return "module.function" of every function, or class, that calls the constructor of `kind`."""
    found = set()
    for source in read_own(kind.__name__):
        known = any(each.module == kind.__module__ and kind.__name__ in each.names for each in source.imports)
        for node in source.tree.body if known or source.module == kind.__module__ else ():
            calls = (each.func for each in ast.walk(node) if isinstance(each, ast.Call))
            makes = any(isinstance(called, ast.Name) and called.id == kind.__name__ for called in calls)
            if makes and isinstance(node, Function | ast.ClassDef):
                found.add(f"{source.module}.{node.name}")
    return found


def note_makers(kind: type, patch: pytest.MonkeyPatch) -> set[str]:
    """Return a set that grows by "module.function" of whoever makes a `kind` from now on."""
    found: set[str] = set()
    made: Any = kind.__init__

    def noted(self: object, *args: object, **named: object) -> None:
        caller = sys._getframe(1)
        found.add(f"{caller.f_globals['__name__']}.{caller.f_code.co_qualname.partition('.')[0]}")
        made(self, *args, **named)

    patch.setattr(kind, "__init__", noted)
    return found
