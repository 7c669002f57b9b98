"""What to cite, as BibTeX: the works that the citation of a method, a paper or a data set names, and this software."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import metadata

from fairpriv_core.documents.html import read_beside

_OWN = """@misc{fairpriv,
  title = {{fairpriv: differentially private and fair classifiers, watched while they train}},
  author = {{The fairpriv contributors}},
  year = {2026},
  note = {Version %s},
}
"""


@dataclass(frozen=True)
class Work:
    """A work of works.bib: its entry, and its fields by name."""

    entry: str
    fields: dict[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        """The forms in which a citation here names its authors; () where they are anonymous."""
        surnames = [author.partition(",")[0] for author in self.fields["author"].split(" and ")]
        if len(surnames) == 1:
            return ()
        return f"{', '.join(surnames[:-1])} and {surnames[-1]}", f"{surnames[0]} et al."

    def is_named_in(self, citation: str) -> bool:
        """Return whether a citation has its title, or its authors and its year."""
        has_authors = any(names in citation.replace(" & ", " and ") for names in self.names)
        title = self.fields["title"].strip("{}").casefold()
        return (has_authors and self.fields["year"] in citation) or title in citation.casefold()


def write_bibtex(citations: Iterable[str]) -> str:
    """Return the entries of the works that citations name, each once, and that of this software."""
    texts = list(citations)
    entries = [work.entry for work in _read_works() if any(work.is_named_in(citation) for citation in texts)]
    return "\n\n".join([*entries, _OWN % metadata.version("fairpriv")])


@cache
def _read_works() -> tuple[Work, ...]:
    """Return the works; a title is braced twice, so that a style keeps its capitals."""
    entries = read_beside("works.bib").strip().split("\n\n")
    return tuple(Work(entry, dict(re.findall(r"^  (\w+) = \{(.*)\},$", entry, re.M))) for entry in entries)
