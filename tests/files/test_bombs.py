"""A few kilobytes that would become gigabytes: each format's bomb ends in a sentence, and takes little memory."""

from __future__ import annotations

import gzip
import re
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from fairpriv_core.data.profile import inspect_file
from fairpriv_core.data.reader_process import READER, Reader
from fairpriv_core.errors import RunFailed
from tests.files.test_forms import to_workbook
from tests.offices import pack_ods, write_xls, write_xlsb

LIMIT = 50_000_000
SHEET, BOOK = "xl/worksheets/sheet1.xml", "xl/workbook.xml"
FIRST = '<row r="1"><c r="A1"><v>1</v></c></row>'
FAR = '<row r="4000"><c r="XFD4000"><v>1</v></c></row>'
CELL = '<table:table-cell office:value-type="string"{}><text:p>{}</text:p></table:table-cell>'
ROW = "<table:table-row>{}</table:table-row>"


def make_book(path: Path, rows: str, *, before: str = "", **parts: tuple[str, str]) -> Path:
    """Write a workbook whose sheet has these rows of XML; `parts` say what becomes of what other parts hold."""
    with zipfile.ZipFile(to_workbook(path)) as packed:
        found = {name: packed.read(name).decode() for name in packed.namelist()}
    start = '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    found[SHEET] = f"{before}{start}{rows}</sheetData></worksheet>"
    for name, (old, new) in parts.items():
        held = found.pop(name)
        found[new if old == name else name] = held if old == name else held.replace(old, new)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in found.items():
            packed.writestr(name, text)
    return path


def make_shared(path: Path) -> Path:
    """Write a workbook whose cells all name one long text."""
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/sharedStrings"
    relation = f'<Relationship Id="z" Type="{kind}" Target="sharedStrings.xml"/></Relationships>'
    rows = "".join(f'<row r="{at}">{"<c t=" + chr(34) + "s" + chr(34) + "><v>0</v></c>"}</row>' for at in range(1, 400))
    make_book(path, rows, **{"xl/_rels/workbook.xml.rels": ("</Relationships>", relation)})
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("xl/sharedStrings.xml", f"<sst><si><t>{'a' * 200_000}</t></si></sst>")
    return path


def make_named(path: Path) -> Path:
    """Write a workbook that names one sheet a hundred times."""
    sheets = "".join(f'<sheet name="{at}" sheetId="{at + 1}" r:id="b"/>' for at in range(100))
    rows = FIRST + FAR.replace("4000", "20")
    return make_book(path, rows, **{BOOK: ('<sheet name="one" sheetId="1" r:id="b"/>', sheets)})


def make_moved(path: Path) -> Path:
    """Write a workbook whose sheet is called a picture."""
    moved = "xl/media/a.png"
    relation = ("worksheets/sheet1.xml", "media/a.png")
    return make_book(path, FIRST + FAR, **{SHEET: (SHEET, moved), "xl/_rels/workbook.xml.rels": relation})


def make_texts(path: Path) -> Path:
    """Write a Parquet file in which a long text stands a million times."""
    codes = pa.array(np.zeros(1_000_000, dtype=np.int32))
    texts = pa.DictionaryArray.from_arrays(codes, pa.array(["a" * 2_000_000]))
    parquet.write_table(pa.table({"a": texts, "b": np.arange(1_000_000) % 2}), path, compression="zstd")
    return path


def make_group(path: Path) -> Path:
    """Write a Parquet file of one large row group."""
    zeros = pa.array(np.zeros(4_000_000, dtype=np.int8))
    parquet.write_table(pa.table({"a": zeros, "b": zeros}), path, row_group_size=len(zeros))
    return path


def reach(rows: int, columns: int) -> list[list[float | None]]:
    """Return two cells at the start and one far off."""
    return [[1.0, 2.0], *([[]] * rows), [*([None] * columns), 1.0]]


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


DOCTYPE = f'<!DOCTYPE x [<!ENTITY b "{FAR.replace(chr(34), chr(39))}">]>'
EBCDIC = '<?xml version="1.0" encoding="cp037"?>'
MANY = ' table:number-columns-repeated="16000"'
BOMBS: dict[str, tuple[Callable[[Path], Path], str]] = {
    "xlsx, a far cell": (
        lambda path: make_book(path, FIRST + FAR),
        "reaches to cell XFD4000, with 2 filled among 65,5",
    ),
    "xlsx, a far row": (lambda path: make_book(path, FIRST + FAR.replace("4000", "9999999")), "where no sheet has one"),
    "xlsx, a far column": (lambda path: make_book(path, FIRST + FAR.replace("XFD", "XFDXFD")), "where no sheet has"),
    "xlsx, no place": (
        lambda path: make_book(path, f'{FIRST}<row r="90000"><c><v>1</v></c>{"<c/>" * 900}<c><v>1</v></c></row>'),
        "reaches to cell AHR90000",
    ),
    "xlsx, entities": (lambda path: make_book(path, f"{FIRST}&b;", before=DOCTYPE), "a sheet in it is damaged"),
    "xlsx, another encoding": (lambda path: make_book(path, FIRST + FAR, before=f"{EBCDIC}L"), "is damaged"),
    "xlsx, half a comment": (lambda path: make_book(path, f"{FIRST}<!-->{FAR}<!-- -->"), "a sheet in it is damaged"),
    "xlsx, a picture": (make_moved, "reaches to cell XFD4000"),
    "xlsx, one text": (make_shared, "MB unpacked and the limit is 50 MB"),
    "xlsx, one sheet": (make_named, "MB unpacked and the limit is 50 MB"),
    "ods, a far cell": (
        lambda path: pack_ods(
            path,
            ROW.format(CELL.format("", "a"))
            + ROW.format("") * 900
            + ROW.format(f"<table:table-cell{MANY}/>" + CELL.format("", "a")),
        ),
        "reaches to cell WQK902, with 2 filled among 14,43",
    ),
    "ods, repeats": (
        lambda path: pack_ods(
            path,
            ROW.format(CELL.format(MANY.replace('"1', '"+1'), "a")).replace(
                "row>", 'row table:number-rows-repeated="+9999">', 1
            ),
        ),
        "reaches to cell WQJ9999",
    ),
    "ods, blanks": (
        lambda path: pack_ods(path, ROW.format(CELL.format("", '<text:s text:c="3000000000"/>'))),
        "needs more memory than",
    ),
    "ods, a long text": (lambda path: pack_ods(path, ROW.format(CELL.format(MANY, "a" * 5_000))), "unpacked and the"),
    "xls": (lambda path: write(path, b"\xd0\xcf\x11\xe0" + bytes(600)), "is damaged, no workbook"),
    "xls, a far cell": (lambda path: write_xls(path, reach(65_000, 65_000)), "needs more memory than any table"),
    "xlsb, a far cell": (lambda path: write_xlsb(path, reach(9_000, 16_383)), "needs more memory than any table"),
    "gzip": (lambda path: write(path, gzip.compress(bytes(60_000_000), 1)), "MB unpacked and the limit is 50 MB"),
    "parquet, a row group": (make_group, "MB unpacked and the limit is 50 MB"),
    "parquet, a text": (make_texts, "cannot be read"),
    "json, a line": (lambda path: write(path, b'{"a": "' + b"x" * 20_000_000 + b'"}'), "row 1 is no JSON"),
    "json, deep": (lambda path: write(path, b'{"a": ' + b"[" * 9_000_000), "row 1 is no JSON"),
    "csv, a line": (lambda path: write(path, b'a,b\n"' + b"x" * 20_000_000), "a row is longer than a block"),
}


def read_most(reader: Reader) -> int:
    """Return how many MB of memory the reading process has taken at most."""
    assert reader._process is not None
    text = Path(f"/proc/{reader._process.pid}/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+)", text)[0]) // 1024


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_told_in_a_sentence_and_takes_little(tmp_path: Path, name: str) -> None:
    make, says = BOMBS[name]
    path = make(tmp_path / "people")
    assert path.stat().st_size < 21_000_000
    (told,) = READER.inspect(path, limit_bytes=LIMIT).errors
    assert says in told
    assert not Path("/proc").exists() or read_most(READER) < 700


def test_a_workbook_of_ones_own_is_refused_for_what_is_empty_and_not_for_what_is_large(tmp_path: Path) -> None:
    (told,) = inspect_file(make_book(tmp_path / "far.xlsx", FIRST + FAR)).errors
    assert "delete what stands outside the table" in told
    styled = '<row r="4001"><c r="XFD4001" s="1"/></row>'  # has a colour, and says nothing
    report = inspect_file(make_book(tmp_path / "styled.xlsx", FIRST.replace("1", "2") + styled), limit_bytes=LIMIT)
    assert "reaches" not in report.errors[0]


def test_a_column_of_bytes_ends_the_reading_process_that_digests_it_and_not_the_page(tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    held = pa.array([b"\xff" * 3_000_000] * 100, pa.large_binary())
    table = pa.table({"a": held, "b": np.arange(100) % 2, "c": np.arange(100) % 7})
    parquet.write_table(table, path, compression="zstd", use_dictionary=False)
    assert path.stat().st_size < 50_000
    with pytest.raises(RunFailed, match="needs more memory than reading may take"):
        READER.digest(path)


def test_the_reading_process_ends_at_its_limit_and_is_not_asked_again(tmp_path: Path) -> None:
    """What asks for more than it may have dies in its own process, once."""
    started, reader = tmp_path / "started", Reader()
    greedy = "from fairpriv_core.data import reader_process as r; r.answer = lambda _: bytes(1 << 31); r.main()"
    reader._command = [sys.executable, "-c", f"open({str(started)!r}, 'a').write('x'); {greedy}"]
    with pytest.raises(RunFailed, match="the process that reads them ended without an answer"):
        reader.inspect(tmp_path / "any.csv")
    assert started.read_text() == "x"


def test_a_reading_process_that_has_left_is_replaced(tmp_path: Path) -> None:
    """One that ends while it is asked has not died of what it was asked."""
    reader = Reader()
    reader._command = [sys.executable, "-c", "import sys; sys.stdin.readline()"]
    with pytest.raises(RunFailed):
        reader.inspect(tmp_path / "any.csv")
    assert reader._is_idle
