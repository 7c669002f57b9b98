"""What to cite, as BibTeX: its form, and that it knows every method, paper and public data set."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from fairpriv_core.data.catalog import problems
from fairpriv_core.documents.bibtex import write_bibtex
from fairpriv_core.methods.catalog import methods
from fairpriv_core.papers.catalog import papers

_ROOT = Path(__file__).parents[2]
_CITED = {name: method.info.citation for name, method in methods().items()}
_CITED |= {f"paper {name}": f"{paper.title}, {paper.citation}" for name, paper in papers().items()}
_CITED |= {f"data {name}": problem.citation for name, problem in problems().items() if name != "synthetic"}


def read_entries(text: str) -> dict[str, dict[str, str]]:
    """Return the fields of each entry by its key, read as BibTeX reads them: a value ends where its brace closes."""
    entries = {}
    place = 0
    while found := re.compile(r"\s*@(\w+)\{([\w-]+),").match(text, place):
        place, fields = found.end(), {"kind": found[1]}
        while field := re.compile(r"\s*(\w+) = \{").match(text, place):
            start = place = field.end()
            depth = 1
            while depth:
                depth += {"{": 1, "}": -1}.get(text[place], 0)
                place += 1
            fields[field[1]] = text[start : place - 1]
            place = re.compile(r",?").match(text, place).end()  # type: ignore[union-attr]
        closed = re.compile(r"\s*\}").match(text, place)
        assert closed is not None, text[place:]
        entries[found[2]], place = fields, closed.end()
    assert not text[place:].strip(), text[place:]
    return entries


@pytest.mark.parametrize("name", _CITED)
def test_every_method_paper_and_data_set_has_entries_that_bibtex_can_read(name: str) -> None:
    text = write_bibtex([_CITED[name]])
    entries = read_entries(text)
    assert "fairpriv" in entries and len(entries) >= 2
    assert len(entries) == text.count("@"), "no two have one key"
    for fields in entries.values():
        assert fields["author"] and fields["title"].startswith("{") and re.fullmatch(r"\d{4}", fields["year"])
        assert fields["kind"] in ("inproceedings", "misc") and ("booktitle" in fields) == (fields["kind"][0] == "i")
    years = {fields["year"] for key, fields in entries.items() if key != "fairpriv"}
    assert all(year in _CITED[name] for year in years)


def test_works_are_those_that_are_named_and_each_stands_once() -> None:
    both = [_CITED["pf_ld"], _CITED["pf_ld_record"], _CITED["fairlens"], _CITED["zafar"]]
    named = ["tran2021pfld", "abadi2016dpsgd", "tran2021fairlens", "zafar2017constraints", "zafar2017beyond"]
    assert list(read_entries(write_bibtex(both))) == [*named, "fairpriv"]
    assert list(read_entries(write_bibtex([_CITED["pf_ld"]]))) == ["tran2021pfld", "fairpriv"]
    assert list(read_entries(write_bibtex(["A method of a package of its own"]))) == ["fairpriv"]


def test_this_software_is_cited_as_its_file_says() -> None:
    said = yaml.safe_load((_ROOT / "CITATION.cff").read_text("utf-8"))
    own = read_entries(write_bibtex([]))["fairpriv"]
    assert own["title"].strip("{}") == said["title"] and own["note"] == f"Version {said['version']}"
    assert own["author"].strip("{}") == said["authors"][0]["name"] and own["year"] == str(said["date-released"])[:4]
