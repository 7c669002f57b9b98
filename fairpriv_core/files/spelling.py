"""What a cell says: as one text, as a number however it is written, and which of some values it spells."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence

#: what stands for no value in a file, unless its owner says otherwise
MISSING = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "-nan", "null", "NULL", "#N/A", "NaT", "<NA>")
#: from here on a float stands for several whole numbers
EXACT = 2**53
_MONEY = "[$€£¥₹]|EUR|USD|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|CZK|HUF|BRL|CAD|AUD|kr|zł|Fr\\."
_AMOUNT = re.compile(rf"([-+−]?) ?(?:{_MONEY})? ?([-+−]?)((?:\d[\d.,' ]*|[.,]\d+)) ?(?:{_MONEY}|%)?")
_LOSS = re.compile(r"\((.*)\)")  # a negative amount, in books
_BLANKS = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "’": "'"})
_TRUTH = ("true", "false")
#: what a good outcome is called, and its opposite
_GOOD = """yes y true t 1 ja oui si sí sim tak positive pos good granted grant approved approve accepted accept
admitted admit hired hire selected passed pass paid recovered resolved solved success"""
_BAD = """no n false f 0 nein non nao não nie negative neg bad denied deny refused refuse rejected reject
declined decline dropped failed fail failure unpaid"""
_YES, _NO = frozenset(_GOOD.split()), frozenset(_BAD.split())
#: letters of what stands for no value in some files, and for one in others
_LETTERS = """unknown notknown notstated notgiven notspecified notavailable unspecified undisclosed prefernottosay
missing none ka keineangabe unbekannt inconnu desconocido"""
_UNKNOWN = frozenset(_LETTERS.split())


def spell(text: object) -> str:
    """Return a cell's text without blanks around it; truth values as one word, whichever file they come from.

    >>> spell(" True "), spell("TRUE"), spell("Yes")
    ('true', 'true', 'Yes')
    """
    stripped = str(text).strip()
    return stripped.lower() if stripped.lower() in _TRUTH else stripped


def parse_number(text: str) -> float:
    """Return the finite number that a text spells, else NaN."""
    try:
        number = float(text)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) and "_" not in text else math.nan


def parse_amount(text: str, decimal: str = ".") -> float:
    """Return the number that a cell of numbers says: with a currency or %, thousands in groups, or in brackets.

    `decimal` is the sign before decimals; the other one of point and comma may part thousands, as blanks and
    apostrophes may. NaN for anything else: what one cell says depends on no other.

    >>> parse_amount("€ 1.234,50", ","), parse_amount("$12,500"), parse_amount("(980)"), parse_amount("12,5")
    (1234.5, 12500.0, -980.0, nan)
    """
    plain = text.strip().translate(_BLANKS)
    if decimal == "." or not set(plain) & {".", ","}:
        number = parse_number(plain)
        if not math.isnan(number):
            return number
    loss = _LOSS.fullmatch(plain)
    match = _AMOUNT.fullmatch(loss[1].strip() if loss else plain)
    if match is None:
        return math.nan
    integer, _, fraction = match[3].strip().partition(decimal)
    if not _is_grouped(integer) or (fraction and not fraction.isdecimal()):
        return math.nan
    size = float(f"{re.sub('[^0-9]', '', integer) or '0'}.{fraction or '0'}")
    return -size if loss or "-" in match[1] + match[2] or "−" in match[1] + match[2] else size


def _is_grouped(digits: str) -> bool:
    """Return whether digits have nothing between them, or groups of three one sign."""
    marks = set(digits) - set("0123456789")
    if not marks:
        return digits.isdecimal() or not digits
    mark = re.escape(marks.pop())
    return not marks and re.fullmatch(rf"\d{{1,3}}({mark}\d{{3}})+", digits) is not None


def show_number(number: float) -> str:
    """Return a number in its shortest form, without a trailing `.0`; a float32 as float32 shows it."""
    return str(int(number)) if number == int(number) and abs(number) < EXACT else str(number)


def canonical(value: str) -> str:
    """Return a value as it is written: numbers as numbers ("1" is "1.0"), texts without surrounding blanks.

    Whole numbers of more digits than a float keeps are texts.

    >>> canonical("1.0"), canonical(" 12345678901234567"), canonical("12345678901234568")
    ('1', '12345678901234567', '12345678901234568')
    """
    number = parse_number(value)
    return show_number(number) if abs(number) < EXACT else spell(value)


def fold(value: str) -> str:
    """Return what spellings of one value have in common: all but case, blanks and Unicode form.

    >>> fold("  Self  Employed"), fold("１.0"), fold("CAFE\\u0301") == fold("café")
    ('self employed', '1', True)
    """
    plain = unicodedata.normalize("NFKC", value).casefold()
    return canonical(unicodedata.normalize("NFKC", " ".join(plain.split())))


class Spellings:
    """Finds which of some values a text spells: the value itself, one of its `others`, or one that `fold` makes alike.

    `others` maps further spellings to values. Where two of the values fold alike, neither is found by folding: who
    lists `a` and `A` means two.
    """

    def __init__(self, values: Sequence[str], others: Mapping[str, str] | Iterable[tuple[str, str]] = ()) -> None:
        self._exact = {canonical(value): place for place, value in enumerate(values)}
        listed = {canonical(text): self._exact.get(canonical(value), -1) for text, value in dict(others).items()}
        self._exact |= listed
        folded: dict[str, set[int]] = {}
        for text, place in self._exact.items():
            folded.setdefault(fold(text), set()).add(place)
        self._folded = {text: places.pop() for text, places in folded.items() if len(places) == 1}

    def find(self, text: str) -> int:
        """Return the place of the value among `values`; -1 for none."""
        place = self._exact.get(canonical(text))
        return self._folded.get(fold(text), -1) if place is None else place


def group_spellings(counts: Mapping[str, int]) -> dict[str, tuple[str, ...]]:
    """Return the values that texts are, each with its spellings: the most frequent one, which names it, first.

    `counts` has how many rows have each text.
    """
    alike: dict[str, list[str]] = {}
    for text in counts:
        alike.setdefault(fold(text), []).append(text)
    ranked = (sorted(texts, key=lambda text: (-counts[text], text)) for texts in alike.values())
    return {texts[0]: tuple(texts) for texts in ranked}


def suggest_merges(values: Collection[str]) -> dict[str, str]:
    """Return pairs that are likely one value, short or spelled otherwise -> in full; for a person to decide.

    >>> suggest_merges(["F", "Female", "m", "male", "Self employed", "self-employed", "other"])
    {'F': 'Female', 'm': 'male', 'Self employed': 'self-employed'}
    """
    merges: dict[str, str] = {}
    names = {value: fold(value) for value in values if math.isnan(parse_number(value))}
    alike: dict[str, list[str]] = {}
    for value in names:
        alike.setdefault(_letters(value), []).append(value)
    for value, folded in names.items():
        same = alike[_letters(value)]
        if value != same[-1] and _letters(value):
            merges[value] = same[-1]
        elif len(folded) == 1:
            full = [longer for longer in names if names[longer].startswith(folded) and longer not in (value, *merges)]
            if len(full) == 1 and names[full[0]][1:2].isalpha():
                merges[value] = full[0]
    return merges


def suggest_missing(values: Collection[str]) -> tuple[str, ...]:
    """Return the values that are likely none; for a person to decide.

    >>> suggest_missing(["F", "Unknown", "M", "k.A."])
    ('Unknown', 'k.A.')
    """
    return tuple(value for value in values if _letters(value) in _UNKNOWN)


def _letters(value: str) -> str:
    """Return what tells values apart: letters, digits, and the signs of "<=50K" and ">50K", "A" and "A*", "C++"."""
    letters = (
        letter for letter in fold(value) if letter.isalnum() or letter == "*" or unicodedata.category(letter) == "Sm"
    )
    return "".join(letters)


def guess_positive(values: Sequence[str]) -> str:
    """Return the value of a label that reads as yes, or of two the one beside what reads as no; "" where none does.

    >>> guess_positive(["ja", "nein"]), guess_positive(["0", "1"]), guess_positive(["1", "2"])
    ('ja', '1', '')
    """
    affirmed, denied = ([value for value in values if fold(value) in words] for words in (_YES, _NO))
    if len(affirmed) == 1 and (len(denied) == 1 or not canonical(affirmed[0]).isdecimal()):
        return affirmed[0]
    other_values = [value for value in values if value not in denied]
    return other_values[0] if len(denied) == len(other_values) == 1 and not canonical(denied[0]).isdecimal() else ""
