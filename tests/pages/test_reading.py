"""What stakeholders read is easy: the grade of its sentences (Kincaid, Fishburne, Rogers and Chissom 1975)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path

from fairpriv_core.documents.forms import open_report
from fairpriv_core.documents.report_data import gather_report
from fairpriv_core.store.runs import open_store
from tests.pages.shown import ROOT, Open
from tests.syntax import Source, read_sources

PAGES = read_sources(ROOT, "pages", "app.py")
#: words of ours for what the field or everyday English has words for
OURS = re.compile(
    r"\b(picks?|picked|pays?|paid|hand(s|ed)? on|constant answer|stands?|tells? apart|told|as given)\b", re.IGNORECASE
)
#: of these what the core says is free too
CORE = read_sources(ROOT, "fairpriv_core")
OF_CORE = re.compile(
    r"\b(pa(id|ys?) for|constant answer|told apart|hand(s|ed)? on|as far as the \w+ tells?|tak(es?|en) as given)\b",
    re.IGNORECASE,
)
LABEL = 3  # words of a text at most that names something and is no sentence
HIGHEST = 9.0
SHORTEST = 5  # words of a sentence; fewer are a label
_DRAWN = ("markdown", "caption", "info", "warning", "success")
_MARKS = re.compile(r"[*_`#\\]|\[|\]\([^)]*\)")
_JOINED = re.compile(r"[\"']\s*\n\s*f?[\"']")  # between the lines of one string
_WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*|\d[\d.,]*")


def split(texts: Sequence[str]) -> list[list[str]]:
    """Return the words of each sentence of Markdown texts; settings and rows of tables are none."""
    lines = [
        line for text in texts for line in _MARKS.sub("", text).splitlines() if "|" not in line and " = " not in line
    ]
    words = [_WORD.findall(sentence) for line in lines for sentence in re.split(r"(?<=[.?!:])\s+", line)]
    return [each for each in words if len(each) >= SHORTEST]


def count_syllables(word: str) -> int:
    """Return about how many there are: groups of vowels, but for an ending that is not spoken."""
    spoken = re.sub(r"(?:[^laeiouy]es|ed|[^laeiouy]e)$", "", word.lower())
    return max(1, len(re.findall(r"[aeiouy]+", spoken)))


def grade(sentences: Sequence[Sequence[str]]) -> float:
    """Return the years of school that reading takes."""
    words = [word for sentence in sentences for word in sentence]
    return 0.39 * len(words) / len(sentences) + 11.8 * sum(map(count_syllables, words)) / len(words) - 15.59


def list_texts(told: object) -> list[str]:
    """Return every text in a value, in what it holds and so on."""
    if isinstance(told, str):
        return [told]
    held = [getattr(told, each.name) for each in fields(told)] if is_dataclass(told) else told
    return [text for each in held for text in list_texts(each)] if isinstance(held, list | tuple) else []


def list_strings(source: Source) -> Iterator[tuple[int, str]]:
    """Yield the lines and texts of a file's strings, docstrings left out; {} is what is put into one."""
    told = {id(node.value) for node in ast.walk(source.tree) if isinstance(node, ast.Expr)}
    parts = {id(part) for node in ast.walk(source.tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.JoinedStr):
            yield (
                node.lineno,
                "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values),
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and not {id(node)} & (told | parts):
            yield node.lineno, node.value


def test_a_pages_sentences_have_no_words_of_ours() -> None:
    assert _find(PAGES, OURS) == []


def test_the_cores_sentences_do_not_say_what_only_we_understand() -> None:
    assert _find([source for source in CORE if OF_CORE.search(_JOINED.sub("", source.text))], OF_CORE) == []


def _find(sources: Sequence[Source], words: re.Pattern[str]) -> list[tuple[str, int, str]]:
    return [
        (source.path, line, text)
        for source in sources
        for line, text in list_strings(source)
        if len(text.split()) > LABEL and words.search(text)
    ]


def test_the_grade_is_that_of_easy_and_of_hard_sentences() -> None:
    easy, hard = (
        "The cat sat on the mat.",
        "Organizational accountability necessitates institutional transparency today.",
    )
    assert grade(split([easy])) < 2.0 < HIGHEST < 15.0 < grade(split([hard]))


def test_what_is_for_stakeholders_is_easy_to_read(with_runs: Path, open_page: Open) -> None:
    with open_store(str(with_runs)) as store:
        keys = [row.key for row in store.rows()]
        story = open_report(gather_report(store, keys), "policy").story
    found = {"story": split(list_texts(story))}
    for name in ("start", "learn", "report", "present"):
        shown = open_page(name, audience="policy", runs=keys)
        assert not shown.exception
        found[name] = split([str(each.value) for kind in _DRAWN for each in shown.get(kind)])
    assert len(found["story"]) >= SHORTEST
    assert all(sentences and grade(sentences) <= HIGHEST for sentences in found.values())
