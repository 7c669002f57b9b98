"""One table of loans as offices, surveys and benchmarks write it down, and that of a later month, written otherwise."""

from __future__ import annotations

import csv
import json
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


def write_objects(path: Path, rows: Sequence[Row]) -> Path:
    """As JSON lines, an object a row, without what is empty."""
    known = ({name: cell for name, cell in zip(HEADER, row, strict=True) if cell is not None} for row in rows)
    path.write_text("".join(f"{json.dumps(each)}\n" for each in known))
    return path


def _show(cell: object, empty: str) -> str:
    return empty if cell is None else str(cell)


@dataclass(frozen=True)
class Office:
    """How a table is written: its file, who writes it, and what its outcome and groups are called there."""

    file: str
    write: Callable[[Path, Sequence[Row]], Path]
    label: str = "granted"
    positive: str = "yes"
    sensitive: str = "sex"


OFFICES = {
    "export": Office("loans.csv", write_export),
    "ARFF": Office("loans.arff", write_arff),
    "blanks": Office("loans.data", write_blanks, "column 5", "yes", "column 1"),
    "codes": Office("pums.csv", write_coded, "HICOV", "1", "SEX"),
    "workbook": Office("loans.xlsx", write_workbook),
    "OpenDocument": Office("loans.ods", write_ods),
    "JSON": Office("loans.jsonl", write_objects),
}
