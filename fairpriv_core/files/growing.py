"""A column while its file is read, block by block: into memory, or into a digest."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from pyarrow import compute

from fairpriv_core.files.cells import Amounts, Merged, Unread
from fairpriv_core.files.column import SEEMING, Column
from fairpriv_core.files.dates import is_date
from fairpriv_core.files.spelling import (
    MISSING,
    Spellings,
    canonical,
    fold,
    group_spellings,
    parse_amount,
    parse_number,
    spell,
)
from fairpriv_core.files.table import Cells, Codes, Numbers

#: a column of which nothing is said is kept with at most so many different texts
MOST_VALUES = 20_000
_MOST_DAYS = 150_000  # four centuries, beside texts that are none
_UNLISTED = "\0"  # stands for the texts of a declared column that find no place
_SAMPLE = 100
_MOST_JUNK = 3  # different words among numbers that leave the column one of numbers
_JUNK_SHARE = 0.1  # of its rows that these words may take
_LEAST_NUMBERS = 13  # different numbers, beside such words: fewer may be codes
_LACKING = frozenset(MISSING)
_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})[T ]\d{2}:")
_WHAT = {"number": "number", "text": "known value", "date": "date", "key": "key", "any": "number"}
_UNSAID = Column("", type=SEEMING)


class Taking(Protocol):
    """A column while it is read, block by block."""

    def add(self, array: pa.Array) -> None:
        """Take a block."""


@dataclass
class Growing:
    """A column while it is read into memory; `read_as` is what is said of it, None for nothing.

    `alone`: no cell is read otherwise because of others.
    """

    numeric: bool
    read_as: Column | None = None
    alone: bool = False
    decimal: str = "."
    is_stated: bool = False
    held: np.ndarray = field(default_factory=lambda: np.empty(0))
    rows: int = 0
    values: dict[str, int] = field(default_factory=dict)
    sample: tuple[str, ...] = ()
    junk: dict[str, int] = field(default_factory=dict)
    merged: tuple[Merged, ...] = ()
    amounts: Amounts | None = None
    lacked: set[str] = field(default_factory=set)
    spelled: dict[str, dict[str, None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        column = self.read_as or _UNSAID
        values = column.values or tuple(value for value, _ in column.spellings)
        self._lacking, self._lacking_folded = column.lacking, column.lacking_folded
        self._spellings = Spellings(values, column.recode)
        self._listed = tuple(map(canonical, values))
        self.decimal, self.is_stated = column.decimal or self.decimal, bool(column.decimal) or self.is_stated
        self._seems = column.kind == "any"
        if not self._seems:
            self.numeric = column.kind == "number"
            self.values |= {value: place for place, value in enumerate(dict.fromkeys(map(canonical, column.values)))}

    @property
    def full(self) -> bool:
        """Whether it has more texts than are kept."""
        return bool(self.sample)

    @property
    def unread(self) -> Unread | None:
        """What cells say nothing of what the column holds."""
        if not self.junk:
            return None
        what = "number" if self.numeric or self._seems else _WHAT[(self.read_as or _UNSAID).kind]
        words = tuple(word for word in self.junk if word != _UNLISTED)
        return Unread(what, sum(self.junk.values()), words)

    def add(self, array: pa.Array) -> None:
        if self.full:
            return
        if not self.numeric:
            self._add_texts(array)
        elif pa.types.is_dictionary(array.type) or pa.types.is_string(array.type):
            coded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
            texts = [spell(text) for text in coded.dictionary.to_pylist()]
            numbers = np.array([*(parse_amount(text, self.decimal) for text in texts), math.nan])
            indices = coded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
            self._note_junk(texts, np.isnan(numbers[:-1]), indices)
            self._note_amounts(texts, numbers, self.decimal)
            self._append(numbers[indices])
        else:
            self._append(_widen(array))

    def _add_texts(self, array: pa.Array) -> None:
        coded = array if pa.types.is_dictionary(array.type) else array.cast(pa.string()).dictionary_encode()
        texts = [spell(text) if text is not None else "" for text in coded.dictionary.to_pylist()]
        lookup = [*map(self._find, texts)]
        if self._seems and len(self.values) > MOST_VALUES:
            self.sample, self.held, self.values = tuple(self.values)[:_SAMPLE], np.empty(0), {}
            return
        indices = coded.indices.fill_null(len(lookup)).to_numpy(zero_copy_only=False)
        if not self._seems:
            is_unknown = [not self._knows(text) for text in texts]
            self._note_junk(texts, np.array(is_unknown, dtype=bool), indices)
        self._append(np.array([*lookup, -1], dtype=np.int16 if self._seems else np.int32)[indices])

    def _note_junk(self, texts: Sequence[str], is_unknown: np.ndarray, indices: np.ndarray) -> None:
        """Count the rows of texts that are no value, and no word for none either."""
        if not is_unknown.any():
            return
        rows = np.bincount(indices, minlength=len(texts) + 1)
        for place in np.flatnonzero(is_unknown).tolist():
            text = texts[place]
            if rows[place] and not self._lacks(text):
                has_room = text in self.junk or len(self.junk) < _SAMPLE
                key = text if has_room else _UNLISTED
                self.junk[key] = self.junk.get(key, 0) + int(rows[place])

    def _note_amounts(self, texts: Sequence[str], numbers: np.ndarray, sign: str) -> None:
        """Keep the first text that is read as a number and is no plain one."""
        values = numbers[: len(texts)].tolist()
        dotted = [text.replace(",", ".") if sign == "," == self.decimal else text for text in texts]
        odd = (
            place
            for place, text in enumerate(dotted)
            if parse_number(text) != values[place] and not math.isnan(values[place])
        )
        first = next(odd, None)
        if self.amounts is None and first is not None:
            self.amounts = Amounts(sign, texts[first], values[first])

    def _append(self, part: np.ndarray) -> None:
        """Add `part` to one array that doubles when it is full: what is not written to yet takes no memory."""
        rows, kind = (
            self.rows + len(part),
            part.dtype if self.rows == 0 else np.promote_types(self.held.dtype, part.dtype),
        )
        if rows > len(self.held) or kind != self.held.dtype:
            grown = np.empty(max(rows, 2 * self.rows), dtype=kind)
            grown[: self.rows] = self.held[: self.rows]
            self.held = grown
        self.held[self.rows : rows] = part
        self.rows = rows

    def _knows(self, text: str) -> bool:
        """Return whether a text is a value of the column that is said to hold some."""
        column = self.read_as or _UNSAID
        return self._spellings.find(text) >= 0 if column.values else column.kind != "date" or is_date(text)

    def _lacks(self, text: str) -> bool:
        """Return whether a spelled text stands for no value: a usual word as it is written, another one in any case."""
        return text in self._lacking or (bool(self._lacking_folded) and fold(text) in self._lacking_folded)

    def _find(self, text: str) -> int:
        """Return the code of a spelled text: what it becomes depends on no other cell, but for codes that run out."""
        if self._lacks(text):
            self.lacked.add(text)
            return -1
        column = self.read_as or _UNSAID
        if column.kind == "key":
            return self.values.setdefault(text, len(self.values))
        if column.kind == "date":
            key = re.split("[T ](?=[0-9]{1,2}:)", text, maxsplit=1)[0]
        else:
            place = self._spellings.find(text) if self._listed else -1
            own_key = text if self._seems else fold(text) if self.alone else canonical(text)
            key = self._listed[place] if place >= 0 else own_key
            if place >= 0 and text != key:
                self.spelled.setdefault(key, {})[text] = None
        limit = _MOST_DAYS if column.kind == "date" else MOST_VALUES + len(column.values)
        has_room = self._seems or key in self.values or len(self.values) < limit or column.allows(key)
        return self.values.setdefault(key if has_room else _UNLISTED, len(self.values))

    def finish(self) -> Cells:
        """Return the column as long as it is; what was held is given up, so that one column at most is held twice."""
        cells, self.held = self.held[: self.rows].copy(), np.empty(0)
        if self.numeric:
            return Numbers(cells)
        coded = Codes(cells, tuple(self.values))
        column = self.read_as or _UNSAID
        if self._seems:
            return self._settle(coded)
        if self.alone or column.values or column.kind != "text":
            self._note_merged(coded, {value: (value,) for value in coded.values})
            return coded
        return self._merge(coded)

    def _settle(self, column: Codes) -> Cells:
        """Return a column of texts of which nothing is said: as numbers where it holds these, else each value once."""
        counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.values))
        for sign in (self.decimal,) if self.is_stated else (self.decimal, *{",", "."}.difference(self.decimal)):
            numbers = np.array([*(parse_amount(text, sign) for text in column.values), math.nan])
            is_word = np.isnan(numbers[:-1])
            if not _are_numbers(is_word, counts):
                continue
            self.junk = {column.values[place]: int(counts[place]) for place in np.flatnonzero(is_word)}
            self._note_amounts(column.values, numbers, sign)
            return Numbers(numbers[column.codes])
        return self._merge(column)

    def _merge(self, column: Codes) -> Codes:
        """Return a column in which spellings of one value, which case or blanks tell apart, are one."""
        counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.values))
        grouped = group_spellings(dict(zip(column.values, counts.tolist(), strict=True)))
        places = {text: place for place, texts in enumerate(grouped.values()) for text in texts}
        codes = np.array([*(places[text] for text in column.values), -1], dtype=column.codes.dtype)[column.codes]
        merged = Codes(codes, tuple(grouped))
        self._note_merged(merged, grouped)
        return merged

    def _note_merged(self, column: Codes, grouped: Mapping[str, tuple[str, ...]]) -> None:
        """Keep the values that have several spellings; `grouped` has those of each that make it a value."""
        rows = np.bincount(column.codes[column.codes >= 0], minlength=len(column.values)).tolist()
        for texts, count in zip(grouped.values(), rows, strict=True):
            spellings = dict.fromkeys(spelling for text in texts for spelling in (text, *self.spelled.get(text, ())))
            if len(spellings) > 1:
                self.merged += (Merged(tuple(spellings), count),)


def _are_numbers(is_word: np.ndarray, counts: np.ndarray) -> bool:
    """Return whether texts are a column of numbers: all are, or all but a few words in a few rows are, and many."""
    if not len(is_word) or is_word.all():
        return False
    few_words = is_word.sum() <= _MOST_JUNK and counts[is_word].sum() <= _JUNK_SHARE * counts.sum()
    return not is_word.any() or bool(few_words and (~is_word).sum() >= _LEAST_NUMBERS)


def _widen(array: pa.Array) -> np.ndarray:
    """Return numbers as float64 (n,); a float32 as it is written, so that its CSV is the same."""
    plain = array.cast(pa.string()) if pa.types.is_float32(array.type) else array
    numbers: np.ndarray = plain.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return numbers


def _drop_time(text: str) -> str:
    """Return a day without its time, as one file has it and another has not; any other text as it is."""
    match = _DAY.match(text)
    return match[1] if match else text


class Sealing:
    """A column's content while it is read: a digest of its cells, wherever blocks end.

    A column of texts that are all numbers is one of numbers, as `Growing` has it. Texts are digested as their
    lengths and their bytes, two streams in which no block's end shows.
    """

    def __init__(self, *, numeric: bool) -> None:
        self._numeric, self._empty = numeric, True
        self._numbers: Any = hashlib.sha256()  # None from the first text on that is no number
        self._lengths, self._bytes = hashlib.sha256(), hashlib.sha256()

    def add(self, array: pa.Array) -> None:
        if self._numeric:
            self._add_numbers(_widen(array))
            return
        coded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
        spelled = [spell("" if text is None else text) for text in coded.dictionary.to_pylist()]
        values = [None if text in _LACKING else _drop_time(text) for text in spelled]
        indices = coded.indices.fill_null(len(values))
        self._empty &= all(text is None for text in values)
        self._try_numbers(values, indices)
        self._add_texts(pa.array([*values, None], pa.large_string()).take(indices))

    def finish(self) -> str:
        """Return the digest of the whole column."""
        if self._empty:
            return "empty"  # of which no file tells whether it would hold numbers
        if self._numeric or self._numbers is not None:
            return f"numbers {self._numbers.hexdigest()}"
        return f"texts {self._lengths.hexdigest()} {self._bytes.hexdigest()}"

    def _try_numbers(self, values: Sequence[str | None], indices: pa.Array) -> None:
        if self._numbers is None:
            return
        present = [parse_number(text) for text in values if text is not None]
        if not np.isfinite(present).all():
            self._numbers = None
            return
        numbers = np.array([*(math.nan if text is None else parse_number(text) for text in values), math.nan])
        self._add_numbers(numbers[indices.to_numpy(zero_copy_only=False)])

    def _add_numbers(self, numbers: np.ndarray) -> None:
        self._empty &= bool(np.isnan(numbers).all())
        plain = numbers + 0.0  # -0.0 is 0.0
        plain[np.isnan(plain)] = np.nan  # one pattern of bits
        self._numbers.update(plain.astype("<f8", copy=False).tobytes())

    def _add_texts(self, texts: pa.Array) -> None:
        cells = texts.cast(pa.large_binary())
        self._lengths.update(compute.binary_length(cells).fill_null(-1).to_numpy(zero_copy_only=False).tobytes())
        _, offsets, data = cells.buffers()
        ends = np.frombuffer(offsets, dtype=np.int64)[[cells.offset, cells.offset + len(cells)]]
        self._bytes.update(memoryview(data)[ends[0] : ends[1]] if data is not None else b"")
