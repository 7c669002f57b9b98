"""The encoding of a file's text, found by its bytes or tried as it is stated; and the text as UTF-8."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import chain
from typing import BinaryIO

from fairpriv_core.files.faults import check_size, fault, find_bad_byte, refuse_stated

_BLOCK = 1 << 20
_MARKS = {  # the longest first: a mark of UTF-16 begins one of UTF-32
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    codecs.BOM_UTF8: "utf-8-sig",
}
_WESTERN, _LATIN = "cp1252", "iso8859-1"
_NOT_WESTERN = bytes([0x81, 0x8D, 0x8F, 0x90, 0x9D])  # stand for nothing in Windows-1252
_PACKED = (b"PAR1", b"PK\x03\x04", b"\x1f\x8b")
#: what encodings are called that are offered; by the names that Python's list of encodings has
ENCODINGS: Mapping[str, str] = {
    "utf-8": "UTF-8",
    _WESTERN: "Windows-1252 (Western European)",
    "iso8859-1": "Latin-1",
    "cp1250": "Windows-1250 (Central European)",
    "cp1251": "Windows-1251 (Cyrillic)",
    "cp1253": "Windows-1253 (Greek)",
    "cp1254": "Windows-1254 (Turkish)",
    "cp1255": "Windows-1255 (Hebrew)",
    "cp1256": "Windows-1256 (Arabic)",
    "gb18030": "GB 18030 (Chinese)",
    "big5": "Big5 (Chinese)",
    "shift_jis": "Shift JIS (Japanese)",
    "euc_kr": "EUC-KR (Korean)",
    "mac-roman": "Mac Roman",
    "utf-16": "UTF-16",
    "utf-32": "UTF-32",
}
#: text in one of these is read as it is
PLAIN = ("utf-8", "utf-8-sig", "ascii")
Open = Callable[[], AbstractContextManager[BinaryIO]]


def name_encoding(encoding: str) -> str:
    """Return what an encoding is called in a sentence; "" for UTF-8, which is usual."""
    return "" if encoding in PLAIN else ENCODINGS.get(encoding, encoding)


def is_encoding(name: str) -> bool:
    """Return whether Python knows an encoding of text by this name."""
    try:
        return bool(codecs.lookup(name)._is_text_encoding)
    except (LookupError, ValueError):
        return False


def find_encoding(name: str, open_text: Open, *, packed: bool, limit_bytes: int | None) -> str:
    """Return the encoding of the text of the file called `name`, which is read to its end.

    Raises BadInput for what is no text, is UTF-8 with a fault, or larger than the limit.
    """
    with open_text() as stream:
        first = stream.read(_BLOCK)
        if first.startswith(_PACKED):
            raise fault(f"{name} holds a packed file; unpack it first.")
        found = next((encoding for mark, encoding in _MARKS.items() if first.startswith(mark)), "utf-8")
        text = _Text()
        for block in chain([first], iter(lambda: stream.read(_BLOCK), b"")):
            text.size += len(block)
            check_size(name, text.size, limit_bytes=limit_bytes, unpacked=packed)
            if found.startswith("utf-8"):
                text.look_at(block)
    if text.is_binary:
        raise fault(f"{name} is no text: it holds zero bytes; save it as CSV in UTF-8.")
    if text.is_cut or (text.is_broken and text.is_beyond):
        with open_text() as stream:
            raise fault(find_bad_byte(name, stream))
    return (_LATIN if text.is_latin else _WESTERN) if text.is_broken else found


def check_encoding(name: str, open_text: Open, encoding: str, *, packed: bool, limit_bytes: int | None) -> None:
    """Raise BadInput unless the text of the file called `name` is in `encoding`, or where it is above the limit."""
    decoder, size = codecs.getincrementaldecoder(encoding)(), 0
    with open_text() as stream:
        for block in chain(iter(lambda: stream.read(_BLOCK), b""), [b""]):
            try:
                text = decoder.decode(block, final=not block)
            except UnicodeError as error:
                right = (
                    f"another or left out: some of bytes {size + 1:,} to {size + len(block):,} of {name} are not in it"
                )
                raise refuse_stated("encoding", encoding, right) from error
            size += len(block)
            check_size(name, size, limit_bytes=limit_bytes, unpacked=packed)
            if "\0" in text:
                raise refuse_stated("encoding", encoding, f"another or left out: {name} has zero bytes in it")


@dataclass
class _Text:
    """What is known of a text after its first blocks: whether it is UTF-8 that goes beyond ASCII, or Western."""

    size: int = 0
    is_binary: bool = False
    is_broken: bool = False
    is_beyond: bool = False
    is_latin: bool = False
    _decoder: codecs.IncrementalDecoder = field(default_factory=codecs.getincrementaldecoder("utf-8"))

    @property
    def is_cut(self) -> bool:
        """Whether the text would be UTF-8 if its last character were whole."""
        return not self.is_broken and bool(self._decoder.getstate()[0])

    def look_at(self, block: bytes) -> None:
        self.is_binary = self.is_binary or b"\0" in block
        if block.isascii() and not self._decoder.getstate()[0]:
            return
        self.is_latin = self.is_latin or len(block.translate(None, _NOT_WESTERN)) < len(block)
        if self.is_broken:
            return
        try:
            self.is_beyond = not self._decoder.decode(block).isascii() or self.is_beyond
        except UnicodeDecodeError as error:
            self.is_broken = True
            self.is_beyond = self.is_beyond or not error.object[: error.start].isascii()


def recode(stream: BinaryIO, encoding: str) -> Iterator[bytes]:
    """Give a stream of text in another encoding as UTF-8."""
    decoder = codecs.getincrementaldecoder(encoding)()
    for block in iter(lambda: stream.read(_BLOCK), b""):
        yield decoder.decode(block).encode()
    yield decoder.decode(b"", final=True).encode()
