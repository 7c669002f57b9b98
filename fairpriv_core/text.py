"""Texts as people read them: an epsilon's digits, what takes long, and what others wrote, made harmless."""

from __future__ import annotations

import csv
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from pathlib import Path
from typing import TextIO

from fairpriv_core.warnings import PrivacyWarning, warn

#: characters of a sentence that tells of an error
MOST_OF_SENTENCE = 400
_MOST_OF_WORD = 150
_UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")  # controls, marks of direction, lone surrogates, line ends
_DIGITS = 3
_LEAST = 0.001
_FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_FOLDERS = re.compile(r"(?<![\w.:/])/(?:[^\s/'\":;,()]+/)+")


@dataclass(frozen=True)
class Reporter:
    """How what takes long speaks to a person: sentences, a line that each commit replaces, and a risk to be accepted.

    `accept` ends the command where a person who is asked declines; a script is warned.
    """

    say: Callable[[str], None]
    show: Callable[[str], None]
    accept: Callable[[str], None] = lambda risk: warn(PrivacyWarning(risk))


def epsilon_text(value: float | None) -> str:
    """Return an epsilon with three significant digits, rounded up: what is shown holds too.

    >>> [epsilon_text(each) for each in (1.0049, 0.9996, 12.34, 123.4, 9.996, 1.1, 0.004, 0.0)]
    ['1.01', '1.00', '12.4', '124', '10.0', '1.10', '0.00400', '0.00']
    >>> epsilon_text(2e-4), epsilon_text(None), epsilon_text(float("inf"))
    ('under 0.001', 'not proved', 'no bound')
    """
    if value is None:
        return "not proved"
    if 0 < value < _LEAST:
        return f"under {_LEAST:g}"
    return _show(value, ROUND_CEILING) if math.isfinite(value) else "no bound"


def short_epsilon_text(value: float) -> str:
    """Return an epsilon for a headline: as `epsilon_text`, without zeros that say nothing.

    >>> short_epsilon_text(1.0), short_epsilon_text(0.5), short_epsilon_text(0.19601), short_epsilon_text(20)
    ('1', '0.5', '0.197', '20')
    """
    text = epsilon_text(value)
    return text.rstrip("0").rstrip(".") if "." in text else text


def at_least_text(value: float) -> str:
    """Return an epsilon that is a lower bound, or what may still be spent: three significant digits, rounded down.

    >>> at_least_text(1.369), at_least_text(0.0004), at_least_text(0.0)
    ('1.36', '0.00', '0.00')
    """
    return _show(value if value >= _LEAST else 0.0, ROUND_FLOOR)


def delta_text(delta: float) -> str:
    """Return a chance in (0, 1) in words, rounded up, so that it is never shown smaller than it is; else the number.

    >>> delta_text(1e-5), delta_text(2.9e-5), delta_text(0.0)
    ('1 in 100,000', '1 in 34,482', '0')
    """
    if not 0.0 < delta < 1.0:
        return f"{delta:g}"
    return f"1 in {int(1 / Decimal(repr(float(delta)))):,}"


def number_text(value: float | None) -> str:
    """Return a number with two decimals and a thin dash for none.

    >>> number_text(0.831), number_text(None), number_text(1234.5)
    ('0.83', '–', '1,234.50')
    """
    return "–" if value is None else f"{value:,.2f}"


def count_text(number: int, thing: str) -> str:
    """Return a number of things in words.

    >>> count_text(1, "epoch"), count_text(20, "epoch"), count_text(2660, "step"), count_text(2, "crash")
    ('1 epoch', '20 epochs', '2,660 steps', '2 crashes')
    """
    plural = "" if number == 1 else "es" if thing.endswith(("s", "sh", "x")) else "s"
    return f"{number:,} {thing}{plural}"


def duration_text(seconds: float) -> str:
    """Return a duration in words.

    >>> duration_text(0.2), duration_text(40), duration_text(720), duration_text(12600)
    ('1 s', '40 s', '12 min', '3.5 h')
    """
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def in_percent(share: float | None) -> float | None:
    """Return a share in [0, 1] in per cent; None stays None."""
    return None if share is None else 100 * share


def half_text(half: float | None) -> str:
    """Return what stands behind a share in per cent: the half of its interval; "" where it has none."""
    return "" if half is None else f" ± {number_text(100 * half)}"


def percent_text(share: float | None) -> str:
    """Return a share in [0, 1] in per cent, with at most two decimals.

    >>> percent_text(0.8307)
    '83.07 %'
    """
    return "–" if share is None else f"{number_text(100 * share)} %"


def points_text(gap: float | None) -> str:
    """Return a gap in [0, 1] in percentage points.

    >>> points_text(0.045)
    '4.50 percentage points'
    """
    return "–" if gap is None else f"{number_text(100 * gap)} percentage points"


def hold_numbers(text: str) -> str:
    """Return a sentence in which no line ends inside a number: the blanks around ± and before % do not break.

    >>> hold_numbers("84.2 ± 0.7 %") == "84.2\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}0.7\N{NO-BREAK SPACE}%"
    True
    """
    return text.replace(" ± ", "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}").replace(" %", "\N{NO-BREAK SPACE}%")


def _show(value: float, rounding: str) -> str:
    exact = Decimal(repr(float(value)))  # as it is written: 1.1 is 1.1 and not the next float64
    if not exact:
        return "0.00"
    rounded = exact
    for _ in range(2):  # 9.996 gets a digit by being rounded
        rounded = rounded.quantize(Decimal(1).scaleb(rounded.adjusted() - _DIGITS + 1), rounding=rounding)
    return f"{rounded:,f}"


def write_lines(stream: TextIO, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table as CSV: the one way in which a table leaves, so that no text in it is taken for a formula."""
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerows([defuse(cell) for cell in row] for row in (head, *rows))


def defuse(cell: object) -> object:
    """Return a cell with an apostrophe before a text that a spreadsheet would run as a formula (OWASP's list).

    >>> defuse("=1+1"), defuse("-1.5"), defuse(-1.5), defuse("a=b"), defuse("-x")
    ("'=1+1", '-1.5', -1.5, 'a=b', "'-x")
    """
    is_formula = isinstance(cell, str) and _FORMULA.match(cell) and not _NUMBER.fullmatch(cell)
    return f"'{cell}" if is_formula else cell


def show_unseen(text: str) -> str:
    r"""Return `text` with control characters, marks of direction, lone surrogates and line ends spelled out.

    >>> show_unseen("a\x1b[31m\n\ud800é")
    'a\\x1b[31m\\n\\ud800é'
    """
    return "".join(
        sign.encode("unicode_escape").decode() if unicodedata.category(sign) in _UNSEEN else sign for sign in text
    )


def shorten(text: str, most: int) -> str:
    """Return a text of at most `most` characters; of a longer one the middle is left out.

    >>> shorten("123456789", 5), shorten("12345", 5)
    ('12…89', '12345')
    """
    tail = (most - 1) // 2
    return text if len(text) <= most else f"{text[: most - 1 - tail]}…{text[-tail:]}"


def to_sentence(message: str) -> str:
    """Return a message as it can be shown anywhere: on one line, what cannot be seen spelled out, 400 characters long.

    >>> len(to_sentence("9" * 5000)), len(to_sentence("no file " * 1000))
    (150, 400)
    """
    visible = show_unseen(message)
    words = re.sub(rf"\S{{{_MOST_OF_WORD + 1},}}", lambda found: shorten(found[0], _MOST_OF_WORD), visible)
    return shorten(words, MOST_OF_SENTENCE)


def drop_folders(text: str, file: str | None = None) -> str:
    r"""Return `text` with every absolute path in it as its last name alone; `file` is one that may have blanks.

    >>> drop_folders("there is no file /srv/ana/a.csv; 1/n and https://b.org/c/d stay.")
    'there is no file a.csv; 1/n and https://b.org/c/d stay.'
    >>> drop_folders("/my files/a.csv is gone", "/my files/a.csv")
    'a.csv is gone'
    """
    shortened = text if file is None else text.replace(f"{Path(file).parent}/", "")
    return _FOLDERS.sub("", shortened)
