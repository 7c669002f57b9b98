"""One table of loans as offices, surveys and benchmarks write it down, and that of a later month, written otherwise."""

from __future__ import annotations

import csv
import json
import struct
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np
import xlsxwriter

HEADER = ("sex", "age", "pay", "job", "granted")
NO_SEX, NO_OUTCOME = 12, 8  # of the rows that `draw_rows` makes
#: a cell, None where it is empty
Row = tuple[str | None, int, float | str | None, str, str | None]


def draw_rows(count: int = 480, seed: int = 0) -> list[Row]:
    """Return rows of which some lack sex, pay or outcome."""
    draw = np.random.default_rng(seed)
    pays = np.exp(draw.normal(7.6, 0.5, count)).round(2)
    rows: list[Row] = []
    for at, pay in enumerate(pays.tolist()):
        outcome = "yes" if np.log(pay) + 0.3 * draw.normal() > 7.6 else "no"
        sex = None if at % 40 == 5 else ("F", "M")[int(draw.integers(2))]
        job = ("clerk", "cook", "driver")[int(draw.integers(3))]
        lacks = at % 64 == 9
        rows.append((sex, int(draw.integers(18, 80)), pay if at % 30 else None, job, None if lacks else outcome))
    return rows


def spell_otherwise(rows: Sequence[Row]) -> list[Row]:
    """Return the same rows as another clerk writes them: in other letters, and amounts in dollars."""
    return [
        (
            None if sex is None else sex.lower(),
            age,
            None if pay is None else f"${pay:,.2f}",
            (job.upper(), job.title(), job)[at % 3],
            outcome,
        )
        for at, (sex, age, pay, job, outcome) in enumerate(rows)
    ]


def write_export(path: Path, rows: Sequence[Row]) -> Path:
    """As a program of an office exports it: semicolons, decimal commas, Windows-1252, and a last column of notes."""
    with path.open("w", encoding="cp1252", newline="") as file:
        lines = csv.writer(file, delimiter=";")
        lines.writerow((*HEADER, "Bemerkung"))
        for at, (sex, age, pay, job, outcome) in enumerate(rows):
            said = f"{pay:.2f}".replace(".", ",") if isinstance(pay, float) else pay
            lines.writerow((sex, age, said, job, outcome, f"geprüft; {at}"))
    return path


def write_messy(path: Path, rows: Sequence[Row]) -> Path:
    """As many hands filled it: four spellings of each sex, three of yes, three words for no sex, dates and notes."""
    sexes = {"F": ("F", "f", "Female", "female"), "M": ("M", "m", "male", "Male"), "": ("", "n/a", "unknown")}
    with path.open("w", newline="") as file:
        lines = csv.writer(file, delimiter="\t")
        lines.writerow((*HEADER, "asked on", "note"))
        for at, (sex, age, pay, job, outcome) in enumerate(rows):
            among = sexes[(sex or "").upper()]
            said = ("yes", "Yes", "YES ")[at % 3] if outcome == "yes" else outcome
            day = f"{at % 28 + 1:02}.{at % 12 + 1:02}.{2024 + at % 2}"
            lines.writerow((among[at // 40 % len(among)], age, pay, job, said, day, f'"quick", {at}'))
    return path


def write_arff(path: Path, rows: Sequence[Row]) -> Path:
    amounts = "numeric" if all(not isinstance(row[2], str) for row in rows) else "string"
    kinds = ("string", "numeric", amounts, "string", "{no,yes}")
    lines = ["@relation loans", *(f"@attribute {name} {kind}" for name, kind in zip(HEADER, kinds, strict=True))]
    cells = (
        [f"'{cell}'" if isinstance(cell, str) and "," in cell else _show(cell, "?") for cell in row] for row in rows
    )
    path.write_text("\n".join([*lines, "@data", *map(",".join, cells)]) + "\n")
    return path


def write_blanks(path: Path, rows: Sequence[Row]) -> Path:
    """As the UCI repository has it: no line of names, blanks between values, ? for none."""
    path.write_text("".join(" ".join(_show(cell, "?") for cell in row) + "\n" for row in rows))
    return path


def write_coded(path: Path, rows: Sequence[Row]) -> Path:
    """As the census codes it: whole numbers for words, and blanks for none."""
    codes = {"F": "2", "M": "1", "no": "2", "yes": "1", "clerk": "1", "cook": "4", "driver": "7"}
    with path.open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(("SEX", "AGEP", "WAGP", "COW", "HICOV"))
        for row in rows:
            shown = (_show(cell, "").strip() for cell in row)
            lines.writerow([codes.get(cell.upper(), codes.get(cell.lower(), cell)) for cell in shown])
    return path


def write_workbook(path: Path, rows: Sequence[Row]) -> Path:
    """With a title above the table, and a second sheet."""
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("Loans")
        sheet.write(0, 0, "Loans that were asked for in May")
        for at, row in enumerate([HEADER, *rows], start=2):
            sheet.write_row(at, 0, ["" if cell is None else cell for cell in row])
        notes = book.add_worksheet("Notes")
        for at, row in enumerate([("what", "who"), ("checked", "Ann"), ("sent", "Bo")]):
            notes.write_row(at, 0, row)
    return path


def write_ods(path: Path, rows: Sequence[Row]) -> Path:
    cells = (f"<table:table-row>{''.join(map(_write_cell, row))}</table:table-row>" for row in [HEADER, *rows])
    return pack_ods(path, "".join(cells))


def _write_cell(cell: object) -> str:
    if isinstance(cell, int | float):
        return f'<table:table-cell office:value-type="float" office:value="{cell}"/>'
    text = f'<table:table-cell office:value-type="string"><text:p>{escape(str(cell))}</text:p></table:table-cell>'
    return "<table:table-cell/>" if cell is None else text


def pack_ods(path: Path, rows: str) -> Path:
    """Write a file of OpenDocument by hand, of one sheet with these rows."""
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "table", "text")
    )
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {spaces} office:version="1.2"><office:body>'
        f'<office:spreadsheet><table:table table:name="S">{rows}</table:table></office:spreadsheet></office:body>'
        "</office:document-content>"
    )
    manifest = '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        packed.writestr("content.xml", content)
        packed.writestr("META-INF/manifest.xml", manifest)
    return path


def write_xls(path: Path, rows: Sequence[Sequence[str | float | None]]) -> Path:
    """Write an Excel workbook of 1997: records in a stream, which is a file of a small file system (64 kB at most)."""

    def record(kind: int, data: bytes) -> bytes:
        return struct.pack("<HH", kind, len(data)) + data

    def cell(at: tuple[int, int], value: str | float) -> bytes:
        place = struct.pack("<3H", *at, 0)
        if isinstance(value, str):
            return record(0x204, place + struct.pack("<HB", len(value), 1) + value.encode("utf-16-le"))
        return record(0x203, place + struct.pack("<d", value))

    def begin(kind: int) -> bytes:
        return record(0x809, struct.pack("<4H2I", 0x600, kind, 0xDBB, 0x7CC, 0, 0))

    end, name, before = record(0xA, b""), struct.pack("<4B", 0, 0, 1, 0) + b"S", begin(5)
    sheet = struct.pack("<I", len(before) + 4 + 4 + len(name) + len(end))
    stream = before + record(0x85, sheet + name) + end + begin(0x10)
    cells = (((at, column), value) for at, row in enumerate(rows) for column, value in enumerate(row))
    stream += b"".join(cell(at, value) for at, value in cells if value is not None) + end
    stream += bytes(max(4096 - len(stream), -len(stream) % 512))
    last, free, count = 0xFFFFFFFE, 0xFFFFFFFF, len(stream) // 512
    table = [0xFFFFFFFD, last, *range(3, count + 2), last]
    sign = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
    head = struct.pack("<8s16x5H6x9I", sign, 0x3E, 3, 0xFFFE, 9, 6, 0, 1, 1, 0, 4096, *[last, 0] * 2)
    head += struct.pack("<109I", 0, *[free] * 108)
    entry = "<64sHBB3I36xIQ"
    folder = struct.pack(entry, "Root Entry".encode("utf-16-le"), 22, 5, 1, free, free, 1, last, 0)
    folder += struct.pack(entry, "Workbook".encode("utf-16-le"), 18, 2, 1, free, free, free, 2, len(stream)) + bytes(
        256
    )
    path.write_bytes(head + struct.pack("<128I", *table, *[free] * (128 - len(table))) + folder + stream)
    return path


def write_xlsb(path: Path, rows: Sequence[Sequence[str | float | None]]) -> Path:
    """Write a binary Excel workbook: a zip of records, of which those that hold no cell have a number above 127."""

    def record(kind: int, data: bytes = b"") -> bytes:
        said = bytes([kind]) if kind < 128 else bytes([kind & 0x7F | 0x80, kind >> 7])
        size = bytes([len(data)]) if len(data) < 128 else bytes([len(data) & 0x7F | 0x80, len(data) >> 7])
        return said + size + data

    def text(value: str) -> bytes:
        return struct.pack("<I", len(value)) + value.encode("utf-16-le")

    sheet = record(129) + record(148, struct.pack("<4I", 0, len(rows) - 1, 0, len(rows[0]) - 1)) + record(145)
    for at, row in enumerate(rows):
        sheet += record(0, struct.pack("<I13x", at))
        for column, value in enumerate(row):
            place = struct.pack("<II", column, 0)
            if value is not None:
                is_text = isinstance(value, str)
                sheet += record(6, place + text(value)) if is_text else record(5, place + struct.pack("<d", value))
    book = record(131) + record(143) + record(156, struct.pack("<II", 0, 1) + text("rId1") + text("S"))
    main = "http://schemas.openxmlformats.org/"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("xl/workbook.bin", book + record(144) + record(132))
        packed.writestr("xl/worksheets/sheet1.bin", sheet + record(146) + record(130))
        packed.writestr(
            "xl/_rels/workbook.bin.rels",
            f'<Relationships xmlns="{main}package/2006/relationships"><Relationship Id="rId1" Type="{main}'
            'officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.bin"/></Relationships>',
        )
    return path


def write_objects(path: Path, rows: Sequence[Row]) -> Path:
    """As JSON lines, an object a row, without what is empty."""
    known = ({name: cell for name, cell in zip(HEADER, row, strict=True) if cell is not None} for row in rows)
    path.write_text("".join(f"{json.dumps(each)}\n" for each in known))
    return path


def _show(cell: object, empty: str) -> str:
    return empty if cell is None else str(cell)


@dataclass(frozen=True)
class Office:
    """How a table is written: its file, who writes it, and what its outcome and groups are called there.

    `options` are what a command says of its cells, `buttons` those that say the same on the page Data.
    """

    file: str
    write: Callable[[Path, Sequence[Row]], Path]
    label: str = "granted"
    positive: str = "yes"
    sensitive: str = "sex"
    options: tuple[str, ...] = ()
    buttons: tuple[str, ...] = ()


OFFICES = {
    "export": Office("loans.csv", write_export),
    "many hands": Office(
        "hands.tsv",
        write_messy,
        options=("--map", "sex:F=Female", "--map", "sex:M=male", "--missing", "sex:unknown"),
        buttons=("merge.sex", "lack.sex"),
    ),
    "ARFF": Office("loans.arff", write_arff),
    "blanks": Office("loans.data", write_blanks, "column 5", "yes", "column 1"),
    "codes": Office("pums.csv", write_coded, "HICOV", "1", "SEX"),
    "workbook": Office("loans.xlsx", write_workbook),
    "OpenDocument": Office("loans.ods", write_ods),
    "JSON": Office("loans.jsonl", write_objects),
}
