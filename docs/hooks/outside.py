"""What documents link to outside of docs is on the site too: documents as they are, code as a page that shows it.

So every link works in a checkout, on GitHub and on the site, and the site needs no address of the repository. The
README is its first page.
"""

from __future__ import annotations

import re
from pathlib import Path
from posixpath import dirname, join, normpath, relpath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"(?<=\]\()[^)#\s]+")
SHOWN = "---\nsearch:\n  exclude: true\n---\n\n# `{path}`\n\n````{language}\n{text}````\n"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what the documents link to, and what that links to."""
    waiting = ["README.md", *(f"docs/{page.src_uri}" for page in files.documentation_pages())]
    known = set(waiting)
    while waiting:
        path = waiting.pop()
        if not path.startswith("docs/"):
            files.append(build_file(path, config))
        found = {target for target in list_targets(path) if (ROOT / target).is_file()} - known
        waiting += found
        known |= found
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Let each link of a document lead to where the site has what it names."""
    here = page.file.src_uri
    path = here if page.file.generated_by else f"docs/{here}"

    def lead(link: re.Match[str]) -> str:
        target = normpath(join(dirname(path), link[0]))
        return relpath(name_page(target), dirname(here)) if (ROOT / target).is_file() else link[0]

    return LINK.sub(lead, markdown) if (ROOT / path).is_file() else markdown


def list_targets(path: str) -> list[str]:
    """Return the paths in the repository that the document at `path` links to; none of what is no document."""
    links = LINK.findall((ROOT / path).read_text("utf-8")) if path.endswith(".md") else []
    return [normpath(join(dirname(path), link)) for link in links]


def name_page(path: str) -> str:
    """Return where among the site's sources that is which lies at `path` in the repository."""
    as_it_is = path.startswith("docs/") or path.endswith((".md", ".json"))
    return path.removeprefix("docs/") if as_it_is else f"{path}.md"


def build_file(path: str, config: MkDocsConfig) -> File:
    """Return the file of the site that has, or shows, what lies at `path` outside of docs."""
    name = name_page(path)
    if name == path:
        return File.generated(config, name, abs_src_path=str(ROOT / path), inclusion=InclusionLevel.NOT_IN_NAV)
    language = "python" if path.endswith(".py") else "text"
    text = SHOWN.format(path=path, language=language, text=(ROOT / path).read_text("utf-8"))
    return File.generated(config, name, content=text, inclusion=InclusionLevel.NOT_IN_NAV)
