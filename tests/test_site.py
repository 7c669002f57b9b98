"""The documents as a site: nothing is left out, every link leads somewhere, and nothing is fetched elsewhere."""

from __future__ import annotations

import inspect
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import yaml

import fairpriv_core
from fairpriv_core.estimator import FairPrivateClassifier
from fairpriv_core.methods.catalog import methods

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
DOCUMENTS = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
OUTSIDE = ["CHANGELOG.md", "CONTRIBUTING.md", "README.md", "SECURITY.md"]
API = sorted((DOCS / "api").glob("*.md"))
NAMES = [(path, name) for path in API for name in re.findall(r"^::: (\S+)$", path.read_text("utf-8"), re.MULTILINE)]
EXAMPLES = [path for path in API if "```python" in path.read_text("utf-8")]


def list_pages(entry: Any) -> Iterator[str]:
    """Yield the documents of the navigation, or of a part of it."""
    if isinstance(entry, str):
        yield entry
        return
    for part in entry.values() if isinstance(entry, dict) else entry:
        yield from list_pages(part)


LISTED = list(list_pages(yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"]))


@dataclass
class Page(HTMLParser):
    """What a page of the site leads to, what a browser fetches for it, and the places in it."""

    text: str
    links: list[str] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    places: set[str] = field(default_factory=set)
    classes: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        self.places.add(named.get("id", ""))
        self.classes.update(named.get("class", "").split())
        led = [named[name] for name in ("href", "src") if name in named]
        self.links += led
        self.fetched += [] if tag == "a" else led


def find_page(site: Path, document: str) -> Path:
    """Return the file that a document becomes."""
    path = Path(document)
    return site / (path.parent if path.stem == "README" else path.with_suffix("")) / "index.html"


def find_gone(site: Path, path: Path, pages: dict[Path, Page]) -> Iterator[str]:
    """Yield each link of a page to a file or a place that is not there."""
    for link in pages[path].links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        named = unquote(parts.path)
        start = site if named.startswith("/") else path.parent
        target = (start / named.lstrip("/")).resolve() if named else path
        target = target / "index.html" if target.is_dir() else target
        place = unquote(parts.fragment)
        if not target.is_file() or (place and place not in pages[target].places):
            yield f"{path.relative_to(site)}: {link}"


def test_every_document_is_in_the_navigation_once() -> None:
    assert len(DOCUMENTS) > 50
    assert sorted(LISTED) == sorted([*DOCUMENTS, *OUTSIDE])


def test_every_page_about_methods_and_every_method_is_in_their_list() -> None:
    text = (DOCS / "methods" / "README.md").read_text("utf-8")
    there = {path.name for path in (DOCS / "methods").glob("*.md") if path.stem != "README"}
    assert set(re.findall(r"\]\((\w+\.md)\)", text)) == there
    assert not set(methods()) - set(re.findall(r"`(\w+)`", text))


@pytest.mark.parametrize("name", [name for _, name in NAMES])
def test_what_the_pages_on_python_name_is_there(name: str) -> None:
    assert inspect.getdoc(pkgutil.resolve_name(name))


def test_the_front_door_has_names_that_the_pages_on_python_tell_of() -> None:
    """Type checkers are told the same names, and the package imports none of them before it is asked for."""
    told = {name for _, name in NAMES}
    for name in fairpriv_core.__all__:
        found = getattr(fairpriv_core, name)
        assert f"{found.__module__}.{name}" in told or found.__module__ in told, name
    assert re.findall(r" as (\w+)", (ROOT / "fairpriv_core/__init__.pyi").read_text("utf-8")) == fairpriv_core.__all__
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        vars(fairpriv_core)["__getattr__"]("nonsense")
    bare = "import sys, fairpriv_core; print([name for name in sys.modules if name.startswith('fairpriv_core.')])"
    told_by = subprocess.run([sys.executable, "-c", bare], capture_output=True, text=True, check=True, cwd=ROOT)
    assert told_by.stdout.strip() == "[]"


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_the_examples_of_the_pages_on_python_run(path: Path) -> None:
    for block in re.findall(r"```python\n(.*?)```", path.read_text("utf-8"), re.DOTALL):
        exec(compile(block, path.name, "exec"), {})


@pytest.mark.long
def test_the_site_is_whole_and_asks_no_other_host_for_anything(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    pages = {path: Page(path.read_text("utf-8")) for path in sorted(tmp_path.rglob("*.html"))}
    assert not [name for name in LISTED if find_page(tmp_path, name) not in pages]
    for path, name in NAMES:
        places = pages[find_page(tmp_path, path.relative_to(DOCS).as_posix())].places
        assert any(f"{place}.".startswith(f"{name}.") for place in places), name
    text = pages[find_page(tmp_path, "api/estimator.md")].text
    assert "Parameters:" in text and "Raises BadInput" in text
    assert not [name for name in inspect.signature(FairPrivateClassifier).parameters if f">{name}</code>" not in text]
    assert [gone for path in pages for gone in find_gone(tmp_path, path, pages)] == []
    assert [link for page in pages.values() for link in page.fetched if urlsplit(link).netloc] == []
    styles = [path.read_text("utf-8") for path in tmp_path.rglob("*.css")]
    assert styles and not [style for style in styles if re.search(r"url\(.?(https?:)?//|@import", style)]
    assert not any("mermaid" in page.classes for page in pages.values())  # the theme would fetch a script to draw it
