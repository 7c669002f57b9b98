"""Packages that are installed for one test: sources and the metadata that pip would write, in a folder on the path."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from examples.plugin.fairpriv_automatic_clipping.method import AutomaticClipping
from fairpriv_core import plugins

PREFIX = "offered_"  # of the packages' names
EXAMPLE = AutomaticClipping  # imported before a test installs a notion, which it would take


class Installer:
    """Installs packages into a folder of the test's own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, package: str, source: str, points: Mapping[str, Mapping[str, str]]) -> None:
        """Install `package` 1.0 with the module `package`.things; `points` are entry points: group, name, object."""
        code = self._folder / package
        code.mkdir()
        (code / "__init__.py").write_text("")
        (code / "things.py").write_text(dedent(source))
        about = self._folder / f"{package}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        listed = [
            f"[{group}]\n" + "".join(f"{name} = {package}.things:{place}\n" for name, place in named.items())
            for group, named in points.items()
        ]
        (about / "entry_points.txt").write_text("\n".join(listed))
        plugins.forget()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installer]:
    """Return what installs packages for this test alone."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    yield Installer(folder)
    for name in [name for name in sys.modules if name.startswith(PREFIX)]:
        del sys.modules[name]
    monkeypatch.undo()
    plugins.forget()
