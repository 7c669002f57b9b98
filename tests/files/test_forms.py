"""The same rows however they are written down: packing, encoding, separator, decimal sign."""

from __future__ import annotations

import codecs
import gzip
import io
import json
import random
import re
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xlsxwriter

from fairpriv_core.data.dataset import load_dataset
from fairpriv_core.data.own_images import read_cells, read_first_row
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.data.profile import inspect_file
from fairpriv_core.errors import BadInput
from fairpriv_core.files import notations
from fairpriv_core.files.forms import Form, Stated, find_form
from fairpriv_core.files.read import digest_content, read_table
from fairpriv_core.files.table import Cells, Codes, Numbers
from tests.offices import pack_ods, write_xls, write_xlsb

ROWS = [("café", "1.5", "30", "no"), ('"a, b"', "-2.25", "41", "yes"), ("naïve", "", "7", "no")] * 40
PLAIN = "sort,weight,age,paid\n" + "".join(",".join(row) + "\n" for row in ROWS)


def write(path: Path, *, separator: str = ",", decimal: str = ".", encoding: str = "utf-8") -> Path:
    """Write the rows with another separator, decimal sign and encoding."""
    lines = [separator.join(["sort", "weight", "age", "paid"])]
    lines += [separator.join([row[0], row[1].replace(".", decimal), *row[2:]]) for row in ROWS]
    path.write_bytes(("\n".join(lines) + "\n").encode(encoding))
    return path


def pack(path: Path, content: bytes, *, name: str = "rows.csv", beside: str | None = None) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr(name, content)
        if beside is not None:
            packed.writestr(beside, b"x")
    return path


def write_sheet(path: Path, cells: list[list[str]]) -> Path:
    """Write a workbook with one sheet by hand: cells are XML, such as '<v>1</v>'."""
    rows = "".join(
        f'<row r="{line}">'
        + "".join(f'<c r="{chr(65 + at)}{line}" {cell}</c>' for at, cell in enumerate(row))
        + "</row>"
        for line, row in enumerate(cells, 1)
    )
    main, kinds = "http://schemas.openxmlformats.org/", "application/vnd.openxmlformats-officedocument.spreadsheetml."
    beside = f"{main}officeDocument/2006/relationships"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{main}package/2006/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kinds}sheet.main+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{kinds}worksheet+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{main}package/2006/relationships"><Relationship Id="a" '
        f'Type="{beside}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}spreadsheetml/2006/main" xmlns:r="{beside}">'
        '<sheets><sheet name="one" sheetId="1" r:id="b"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{main}package/2006/relationships"><Relationship Id="b" '
        f'Type="{beside}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}spreadsheetml/2006/main"><sheetData>{rows}</sheetData>'
        "</worksheet>",
    }
    with zipfile.ZipFile(path, "w") as packed:
        for name, text in parts.items():
            packed.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{text}')
    return path


def say(text: str) -> str:
    return f't="inlineStr"><is><t>{text}</t></is>'


def to_workbook(path: Path) -> Path:
    """Write the rows as a workbook: numbers as numbers."""
    cells = [[say(name) for name in ("sort", "weight", "age", "paid")]]
    for sort, weight, age, paid in ROWS:
        cells.append([say(sort.strip('"')), f"><v>{weight}</v>" if weight else ">", f"><v>{age}</v>", say(paid)])
    return write_sheet(path, cells)


def write_json(path: Path, start: str = "", between: str = "\n", end: str = "\n") -> Path:
    """Write the rows as objects, whose empty cells are not there."""
    kinds = (str, float, int, str)
    names = ("sort", "weight", "age", "paid")
    rows = [zip(names, kinds, (row[0].strip('"'), *row[1:]), strict=True) for row in ROWS]
    objects = [json.dumps({name: kind(cell) for name, kind, cell in row if cell}, ensure_ascii=False) for row in rows]
    path.write_text(start + between.join(objects) + end)
    return path


def write_arff(path: Path) -> Path:
    lines = ["% made up", "@RELATION people", "@attribute sort {café,'a, b',naïve}", "@attribute 'weight' REAL"]
    lines += ["@attribute\tage numeric", "@attribute paid {no,yes}", "", "@DATA"]
    for sort, *others in ROWS:
        lines.append(", ".join([sort.replace('"', "'"), *(cell or "?" for cell in others)]))
        lines.append("% a remark")
    path.write_text("\n".join(lines))
    return path


def write_ods(path: Path) -> Path:
    """Write a sheet of OpenDocument by hand: numbers as numbers, and many empty cells after them."""
    rows = ""
    for row in [("sort", "weight", "age", "paid"), *((row[0].strip('"'), *row[1:]) for row in ROWS)]:
        cells = "".join(
            f'<table:table-cell office:value-type="float" office:value="{cell}"/>'
            if re.fullmatch(r"-?[\d.]+", cell)
            else f'<table:table-cell office:value-type="string"><text:p>{cell}</text:p></table:table-cell>'
            if cell
            else "<table:table-cell/>"
            for cell in row
        )
        rows += f'<table:table-row>{cells}<table:table-cell table:number-columns-repeated="1000"/></table:table-row>'
    return pack_ods(path, rows)


def edit(path: Path, change: Callable[[str], str], **given: str) -> Path:
    """Write the rows and change the file's text."""
    write(path, **given).write_text(change(path.read_text()))
    return path


def list_cells() -> list[list[str | float | None]]:
    """Return names and rows as a workbook has them: numbers as numbers, nothing where a cell is empty."""
    body = [[row[0].strip('"'), *(float(cell) if cell else None for cell in row[1:3]), row[3]] for row in ROWS]
    return [["sort", "weight", "age", "paid"], *body]


def name_rows(text: str) -> str:
    header, *lines = text.splitlines()
    return "\n".join([header, *(f'"{number}",{line}' for number, line in enumerate(lines, 1))])


def part(path: Path) -> Path:
    """Write the rows with runs of blanks between values; a name of two words is in quotes."""
    cells = [["sort", "weight", "age", "paid"], *([*row[:1], row[1] or "?", *row[2:]] for row in ROWS)]
    path.write_text("\n".join("  ".join(each.ljust(7) for each in row) for row in cells))
    return path


def write_parts(path: Path) -> Path:
    """Write the rows as two Parquet files in a zip; in which folder a row is says its kind."""
    table = pd.read_csv(io.StringIO(PLAIN))
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("people/_SUCCESS", b"")
        for number, rows in enumerate((table[:50], table[50:])):
            packed.writestr(f"people/part-{number}.parquet", rows.to_parquet(index=False))
    return path


FORMS: dict[str, tuple[Callable[[Path], Path], Form]] = {
    "plain": (write, Form()),
    "semicolons": (lambda path: write(path, separator=";"), Form(separator=";")),
    "tabs": (lambda path: write(path, separator="\t"), Form(separator="\t")),
    "bars": (lambda path: write(path, separator="|"), Form(separator="|")),
    "european": (lambda path: write(path, separator=";", decimal=","), Form(separator=";", decimal=",")),
    "tabs and decimal commas": (
        lambda path: write(path, separator="\t", decimal=","),
        Form(separator="\t", decimal=","),
    ),
    "utf-8 with a mark": (lambda path: write(path, encoding="utf-8-sig"), Form(encoding="utf-8-sig")),
    "utf-16": (lambda path: write(path, encoding="utf-16", separator="\t"), Form(encoding="utf-16", separator="\t")),
    "utf-32": (lambda path: write(path, encoding="utf-32"), Form(encoding="utf-32")),
    "windows-1252": (lambda path: write(path, encoding="cp1252", separator=";"), Form("", "cp1252", ";")),
    "gzip": (lambda path: _gzip(path, PLAIN.encode()), Form("gzip")),
    "gzip, western": (lambda path: _gzip(path, PLAIN.encode("cp1252")), Form("gzip", "cp1252")),
    "zip": (lambda path: pack(path, PLAIN.encode(), beside="__MACOSX/._rows.csv"), Form("zip")),
    "zip, utf-16": (lambda path: pack(path, PLAIN.encode("utf-16")), Form("zip", "utf-16")),
    "workbook": (to_workbook, Form("workbook")),
    "OpenDocument": (write_ods, Form("workbook")),
    "workbook of 1997": (lambda path: write_xls(path, list_cells()), Form("workbook")),
    "binary workbook": (lambda path: write_xlsb(path, list_cells()), Form("workbook")),
    "JSON lines": (write_json, Form(notation="json")),
    "a list of JSON": (lambda path: write_json(path, "[", ",\n", "]"), Form(notation="json")),
    "gzip, JSON lines": (lambda path: _gzip(path, write_json(path).read_bytes()), Form("gzip", notation="json")),
    "ARFF": (write_arff, Form(notation="arff")),
    "blanks": (part, Form(separator=" ")),
    "a line sep=; of Excel": (
        lambda path: edit(path, "sep=;\n".__add__, separator=";"),
        Form(separator=";", header=2),
    ),
    "title lines": (lambda path: edit(path, "People\n\nof 2025\n".__add__), Form(header=4, titles=2)),
    "row names of R": (lambda path: edit(path, name_rows), Form(rows_named=True)),
    "a separator at the end": (
        lambda path: edit(path, lambda text: text.replace("no\n", "no,\n").replace("yes\n", "yes,\n")),
        Form(),
    ),
    "Parquet files": (write_parts, Form("parquet", files=2)),
}


def _gzip(path: Path, content: bytes) -> Path:
    path.write_bytes(gzip.compress(content))
    return path


def plain(column: Cells) -> list[object]:
    if isinstance(column, Numbers):
        return [None if np.isnan(value) else float(value) for value in column.values]
    assert isinstance(column, Codes)
    return [None if code < 0 else column.values[code] for code in column.codes]


@pytest.mark.parametrize("name", FORMS)
def test_the_same_rows_are_read_from_every_form(tmp_path: Path, name: str) -> None:
    make, form = FORMS[name]
    path, reference = make(tmp_path / "people.csv"), write(tmp_path / "plain.csv")
    assert find_form(path) == form
    reading, wanted = read_table(path), read_table(reference)
    assert {name: plain(column) for name, column in reading.table.items()} == {
        name: plain(column) for name, column in wanted.table.items()
    }
    assert plain(reading.table["weight"])[:3] == [1.5, -2.25, None]
    assert digest_content(path) == digest_content(reference)  # the same people, whatever the file
    described = form.format()
    assert [each for each in reading.odd if "is read" in each] == ([f"The file is read {described}."] * bool(described))
    assert inspect_file(path).rows == len(ROWS)
    assert [str(cell) for cell in read_cells(path, "age")] == [row[2] for row in ROWS]
    assert read_first_row(path)["sort"] == "café"


def test_a_file_of_another_form_trains_the_same_model_and_says_what_it_is(tmp_path: Path) -> None:
    asked = {"label": "paid", "sensitive": "sort", "positive": "yes"}
    european = write(tmp_path / "a.csv", separator=";", decimal=",", encoding="cp1252")
    one, other = (load_dataset(DataSpec(file=str(path), **asked)) for path in (european, write(tmp_path / "b.csv")))
    assert (one.X == other.X).all() and (one.y == other.y).all() and one.group_names == other.group_names
    said = "The file is read as Windows-1252 (Western European), with semicolons between values and decimal commas."
    assert said in one.caveats and said not in other.caveats
    for threat_model in ("attribute", "record"):
        assert any(
            "decimal commas: as its rows look or its owner states, which is taken as public" in each
            for each in one.assumptions[threat_model]
        )
        assert any("read in the usual way: as its rows look" in each for each in other.assumptions[threat_model])


DECIMALS = {
    "thousands between tabs": ("a\tb\n" + "1,234\tx\n12,500\ty\n" * 9, "."),
    "decimals between tabs": ("a\tb\n" + "1,23\tx\n12,5\ty\n" * 9, ","),
    "thousands with points too": ("a;b\n" + "1,5;1.500\n2,25;12.000\n" * 9, ","),
    "decimals of three digits": ("a;b\n" + "1,5;1.500\n2,25;0.125\n" * 9, "."),
    "three digits after either": ("a;b\n" + "1,500;1.500\n" * 9, "."),
    "points too": ("a;b\n" + "1,5;1.5\n2,5;2.5\n" * 9, "."),
    "a text among them": ("a;b\n" + "1,5;x\nabc;y\n" * 9, "."),
    "missing among them": ("a;b\n" + "1,5;x\nNA;y\n;z\n" * 9, ","),
    "quoted between commas": ('a,b\n"1,5",x\n"2,5",y\n', "."),
    "whole numbers": ("a;b\n" + "1;x\n2;y\n" * 9, "."),
    "days": ("a;b\n" + "01.02.2020;x\n" * 9, "."),
}


@pytest.mark.parametrize("name", DECIMALS)
def test_a_comma_is_a_decimal_sign_only_where_nothing_else_fits(tmp_path: Path, name: str) -> None:
    text, decimal = DECIMALS[name]
    path = tmp_path / "people.csv"
    path.write_text(text)
    assert find_form(path).decimal == decimal


SEPARATORS = {
    "semicolons within texts": ("a,b\n" + "x;y;z,1\nu;v,2\n" * 20, ","),
    "commas within texts": ("a;b\n" + "x,y,z;1\nu,v;2\n" * 20, ";"),
    "quoted names": ('"a;b",c\n"x;y",1\n' * 20, ","),
    "one row of another length": ("a;b\n" + "1;2\n" * 40 + "1;2;3\n", ";"),
    "one column": ("a\n1\n2\n", ","),
}


@pytest.mark.parametrize("name", SEPARATORS)
def test_the_separator_is_what_parts_all_rows_alike(tmp_path: Path, name: str) -> None:
    text, separator = SEPARATORS[name]
    path = tmp_path / "people.csv"
    path.write_text(text)
    assert find_form(path).separator == separator


def test_a_workbooks_cells_are_spelled_as_in_a_csv(tmp_path: Path) -> None:
    path = write_sheet(
        tmp_path / "pay.xlsx",
        [
            [">", ">", ">"],
            [say("whole"), say("part"), say("true")],
            ["><v>3</v>", "><v>2.5</v>", 't="b"><v>1</v>'],
            [">", ">", ">"],
            ["><v>4</v>", "><v>1e20</v>", 't="b"><v>0</v>'],
        ],
    )
    assert [read_cells(path, name) for name in ("whole", "part", "true")] == [
        ["3", "4"],
        ["2.5", "1e+20"],
        ["true", "false"],
    ]


def _pack_several(path: Path, contents: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in contents.items():
            packed.writestr(name, content)
    return path


def test_several_files_of_one_shape_in_a_zip_are_one_table(tmp_path: Path) -> None:
    header, *rows = PLAIN.encode().splitlines(keepends=True)
    parts = {"b.csv": b"\n" + header + b"".join(rows[2:]), "a.csv": header + b"".join(rows[:2]).rstrip(b"\n")}
    parts = {"__MACOSX/._a.csv": b"x", **parts, "c.csv": codecs.BOM_UTF8 + header}
    path = _pack_several(tmp_path / "all.zip", parts)
    whole = tmp_path / "whole.csv"
    whole.write_bytes(PLAIN.encode())
    assert find_form(path) == Form("zip", files=3)
    assert digest_content(path) == digest_content(whole)
    assert "The file is read as 3 files in the order of their names." in read_table(path).remarks


@pytest.mark.parametrize(
    ("contents", "said"),
    [
        ({"a.csv": b"x,y\n1,2\n", "b.csv": b"x,z\n1,2\n"}, "b.csv has no column 'y', which a.csv has; several files"),
        ({"a.csv": b"x,y\n1,2\n", "b.csv": b"x,y,z\n1,2,3\n"}, "b.csv has a column 'z', which a.csv has not; several"),
        ({"a.csv": b"x,y\n1,2\n", "b.csv": b"y,x\n1,2\n"}, "column 1 of b.csv is 'y', and that of a.csv is 'x'"),
        ({"a.csv": b"x,y\n1,2\n", "b.csv": b"x;y\n1;2\n"}, "b.csv has semicolons between values, and a.csv has comm"),
        ({"a.csv": b"x,y\n1,2\n", "b.csv": b"x,y,y\n1,2,3\n"}, "b.csv names a column twice, and a.csv does not"),
        ({"a.csv": b"x,\xe9\n1,2\n", "b.csv": b"x,\xc3\xa9\n1,2\n"}, "b.csv and a.csv are in different encodings"),
        ({"a.csv": b"x,y\n1,2\n", "b.csv": b'x,"y\nz"\n1,2\n'}, "the first line of b.csv opens a quotation mark"),
        ({"a.csv": b"x,y\n1,2\n", "b.csv": b""}, "b.csv is empty; leave it out"),
        ({"a.csv": b"x,y\n1,2\n", "b.xlsx": b"PK\x03\x04"}, "b.xlsx is no CSV; several files at once must be CSV"),
        ({"a.csv": "x,y\n1,2\n".encode("utf-16"), "b.csv": "x,y\n1,2\n".encode("utf-16")}, "a.csv is in UTF-16"),
        ({}, "holds no file; put a table into it"),
    ],
)
def test_a_zip_of_files_of_unlike_shape_is_refused(contents: dict[str, bytes], said: str, tmp_path: Path) -> None:
    path = _pack_several(tmp_path / "all.zip", {"folder/": b"", **contents})
    with pytest.raises(BadInput, match=said):
        read_table(path)


def test_a_packed_file_is_refused_for_what_it_unpacks_to(tmp_path: Path) -> None:
    """A thousand times its size, and nothing of it is held."""
    large = b"a,b\n" + b"1,2\n" * 12_500_000
    bomb = _gzip(tmp_path / "bomb.csv.gz", large)
    zipped = pack(tmp_path / "bomb.zip", large)
    del large
    for path in (bomb, zipped):
        assert path.stat().st_size < 100_000
        tracemalloc.start()
        report = inspect_file(path, limit_bytes=10_000_000)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert "MB unpacked and the limit is 10 MB" in report.errors[0] and peak < 8_000_000


def test_a_packed_table_of_another_kind_is_asked_to_be_unpacked(tmp_path: Path) -> None:
    path = pack(tmp_path / "rows.zip", to_workbook(tmp_path / "rows.xlsx").read_bytes(), name="rows.xlsx")
    with pytest.raises(BadInput, match=r"rows\.zip holds a packed file; unpack it first"):
        read_table(path)


@pytest.mark.parametrize("seed", range(40))
def test_damaged_files_of_every_form_end_in_a_sentence(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    make, _ = FORMS[rng.choice(list(FORMS))]
    path = make(tmp_path / "people.csv")
    content = bytearray(path.read_bytes())
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(content))
        content[at : at + rng.randrange(3)] = rng.randbytes(rng.randrange(3))
    path.write_bytes(content[: rng.randrange(len(content) // 2, len(content) + 1)])
    report = inspect_file(path)
    assert all(each.endswith(".") and "\n" not in each for each in report.errors)
    if not report.errors:
        digest_content(path)


def test_a_workbook_whose_directory_lies_about_its_size_is_measured(tmp_path: Path) -> None:
    """A part says that it unpacks to a hundred bytes, with the checksum of these, and unpacks to 40 million."""
    path, part, said = write_sheet(tmp_path / "small.xlsx", [[say("a")]]), "xl/sharedStrings.xml", b" " * 100
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr(part, b" " * 40_000_000)
    content = bytearray(path.read_bytes())
    for mark, at in ((b"PK\x03\x04", 14), (b"PK\x01\x02", 16)):  # the part's own header, and the directory
        place = max(found.start() for found in re.finditer(re.escape(mark), content))
        content[place + at : place + at + 4] = zlib.crc32(said).to_bytes(4, "little")
        content[place + at + 8 : place + at + 12] = len(said).to_bytes(4, "little")
    path.write_bytes(content)
    with zipfile.ZipFile(path) as packed:
        assert packed.read(part) == said  # who goes by the directory sees nothing
    (told,) = inspect_file(path, limit_bytes=1_000_000).errors
    assert "unpacked and the limit is" in told and len(content) < 100_000


def test_a_part_that_workbooks_do_not_pack_so_is_refused(tmp_path: Path) -> None:
    path = write_sheet(tmp_path / "odd.xlsx", [[say("a")]])
    with zipfile.ZipFile(path, "a", zipfile.ZIP_BZIP2) as packed:
        packed.writestr("xl/sharedStrings.xml", b" " * 1000)
    (told,) = inspect_file(path, limit_bytes=1_000_000).errors
    assert "packed in a way that workbooks do not use" in told


PEOPLE = "69,11691,f,yes\n41,16361,f,yes\n72,21006,m,no\n" * 3
HEADERS: dict[str, tuple[str, int]] = {
    "numbers and values of the column": (PEOPLE, 0),
    "after a title": ("Staff of 2025\n" + PEOPLE, 0),
    "names": ("age,pay,sex,hired\n" + PEOPLE, 1),
    "names after empty lines": ("\n\nage,pay,sex,hired\n" + PEOPLE, 3),
    "years": ("town,2019,2020,2021\n" + "A,1,2,3\nB,2,3,4\n", 1),
    "numbers that count up": ("0,1,2,3\n" + PEOPLE, 1),
    "one name that is a value": ("age,y\n30,y\n40,n\n", 1),
    "a title as a sheet has it": ("Staff of 2025,,,\n,,,\nage,pay,sex,hired\n" + PEOPLE, 3),
    "a name of numbers among texts": ("town,who\nA,x\nB,y\n", 1),
    "an index without a name": (",a,b\n0,x,1\n1,y,2\n", 1),
    "missing values": ("?,1,f\n3,NA,m\n4,5,f\n", 0),
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_first_line_of_values_names_no_columns(tmp_path: Path, name: str) -> None:
    text, header = HEADERS[name]
    path = tmp_path / "people.csv"
    path.write_text(text)
    form, reading = find_form(path), read_table(path)
    assert form.header == header and len(next(iter(reading.table.values()))) == text.count("\n") - form.skip
    assert next(iter(reading.table)) == ("column 1" if header == 0 else next(each for each in form.names if each))
    assert ("no line that names its columns" in form.format()) == (header == 0)


def write_book(path: Path, **sheets: list[list[object]]) -> Path:
    with xlsxwriter.Workbook(path) as book:
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row)
    return path


TABLE: list[list[object]] = [["age", "sex", "paid"], [30, "f", "no"], [41, "m", "yes"], [52, "f", "no"]]


def test_the_sheet_that_holds_a_table_is_found(tmp_path: Path) -> None:
    path = write_book(
        tmp_path / "book.xlsx", Notes=[["Read me"]], Data=[["Staff"], [], *TABLE], Old=TABLE[:3], Empty=[]
    )
    form = find_form(path)
    assert (form.sheet, form.others, form.header, form.titles) == ("Data", ("Old",), 3, 1)
    assert "Further sheets hold a table too: Old." in read_table(path).remarks
    assert read_cells(path, "age") == ["30", "41", "52"]
    assert read_cells(path, "age", Stated(sheet="Old")) == ["30", "41"]
    single = write_book(tmp_path / "one.xlsx", Sheet=TABLE)
    assert find_form(single).format() == "" and digest_content(single) == digest_content(path)
    with pytest.raises(BadInput, match=r"none of its sheets \(A, B\) holds a row of names"):
        read_table(write_book(tmp_path / "none.xlsx", A=[["x"]], B=TABLE[:1]))


STATED: dict[str, tuple[Callable[[Path], Path], Stated, str]] = {
    "sheet": (to_workbook, Stated(sheet="Data"), "sheet 'Data' of the file must be one that people has: one"),
    "sheet of a text": (write, Stated(sheet="Data"), "must be left out: people is no workbook"),
    "encoding": (lambda path: write(path, encoding="cp1252"), Stated(encoding="utf-8"), "encoding 'utf-8' of the file"),
    "zero bytes": (lambda path: write(path, encoding="utf-16"), Stated(encoding="latin-1"), "has zero bytes in it"),
    "separator": (write, Stated(separator=";"), "separator ';' of the file must be commas or left out"),
    "separator of a workbook": (to_workbook, Stated(separator=";"), "separator ';' of the file must be left out"),
    "header": (write, Stated(header=500), "header '500' of the file must be at most 121, and a line with text"),
    "header of JSON": (write_json, Stated(header=2), "must be left out: people is JSON, which has none to state"),
    "header of Parquet": (write_parts, Stated(header=2), "must be left out: people is Parquet"),
}


@pytest.mark.parametrize("name", STATED)
def test_what_cannot_be_true_of_a_file_is_refused(tmp_path: Path, name: str) -> None:
    make, stated, says = STATED[name]
    with pytest.raises(BadInput, match=re.escape(says)):
        find_form(make(tmp_path / "people"), stated=stated)


def test_what_is_stated_wins(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes("Zürich;a;1,5\nDom;b;2,5\nBrno;c;3,5\n".encode("cp1250"))
    found = read_table(path, stated=Stated(separator=",", header=0)).table
    assert [*found] == ["column 1", "column 2"] and plain(found["column 1"]) == ["Zürich;a;1", "Dom;b;2", "Brno;c;3"]
    found = read_table(path, stated=Stated(decimal=".", header=1, encoding="cp1250")).table
    assert [*found] == ["Zürich", "a", "1,5"] and plain(found["1,5"]) == ["2,5", "3,5"]
    assert plain(read_table(path, stated=Stated(header=2)).table["2,5"]) == [3.5]
    assert plain(read_table(path).table["column 3"]) == [1.5, 2.5, 3.5]


def test_a_file_that_is_read_only_as_stated_has_the_content_of_its_rows(tmp_path: Path) -> None:
    """Without a mark UTF-16 is not found; the same rows as another file are the same all the same."""
    path, stated = write(tmp_path / "wide.csv", encoding="utf-16-le"), Stated(encoding="utf-16-le")
    with pytest.raises(BadInput, match="zero bytes"):
        digest_content(path)
    assert digest_content(path, stated) == digest_content(write(tmp_path / "plain.csv"))
    other = write(tmp_path / "semicolons.csv", separator=";")
    assert digest_content(other, Stated(separator=",", header=0)) == digest_content(other)


def test_folders_of_parquet_files_say_a_value_of_their_rows(tmp_path: Path) -> None:
    path, table = tmp_path / "people.zip", pd.DataFrame({"age": [1, 2, 3], "paid": ["n", "y", "n"]})
    with zipfile.ZipFile(path, "w") as packed:
        for sex in ("m", "f"):
            packed.writestr(f"people/sex={sex}/a.parquet", table.to_parquet(index=False))
    assert plain(read_table(path).table["sex"]) == ["f"] * 3 + ["m"] * 3
    assert read_first_row(path) == {"age": 1, "paid": "n", "sex": "f"} and read_cells(path, "sex")[-1] == "m"
    with zipfile.ZipFile(path, "a") as packed:
        packed.writestr("people/sex=x/a.parquet", table[["age"]].to_parquet(index=False))
    with pytest.raises(BadInput, match=r"sex=x/a\.parquet has other columns than people/sex=f/a\.parquet"):
        read_table(path)


def test_objects_are_read_at_once_as_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever stands between them, and wherever a block ends."""
    rows = [
        {"a": f"}},{{{at}\n}}\r\n", "b": at if at % 3 else None} | ({"c": at % 2 == 0} if at > 7 else {})
        for at in range(30)
    ]
    each = [json.dumps(row) for row in rows]
    texts = [
        "\n".join(each),
        "\r\n".join(each),
        "\n\n".join(each) + "\n",
        f"[{', '.join(each)}]",
        f"[{','.join(each)}]",
    ]
    texts += [
        "[\n" + ",\n".join(each) + "\n]\n",
        json.dumps(rows, indent=1),
        f'{each[0]}\n{each[1]},{each[2]}\n{{"a"',
        '[{"a": 1}\n]{}',
    ]

    def read(text: str) -> tuple[list[bytes], str]:
        try:
            names = notations.read_keys("people", io.BytesIO(text.encode()))
            return [b"".join(notations.write_json("people", io.BytesIO(text.encode()), names))], str(names)
        except BadInput as error:
            return [], str(error)

    for size in (1 << 20, 700, 64, 7):
        monkeypatch.setattr(notations, "_BLOCK", size)
        quick = [read(text) for text in texts]
        with monkeypatch.context() as patch:
            patch.setattr(notations._Objects, "_parse_many", lambda self, place: ([], place))
            assert quick == [read(text) for text in texts]
        assert len({str(found) for found in quick[:7]}) == 1 and quick[0][0][0].count(b"\n") > 30
