"""Files that nobody prepared, imitated: what people export from hospitals, surveys, spreadsheets and registers."""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np

_WORDS = ("asked", "about", "the", "invoice", "again", "and", "wants", "to", "be", "called", "back", "next", "week")


def write_stays(path: Path, rows: int = 12_000) -> Path:
    """Hospital stays: ids, several rows a patient, codes with letters among numbers, missing groups marked `?`."""
    draw = np.random.default_rng(1)
    patient = draw.integers(0, rows * 7 // 10, rows)
    sick = draw.normal(size=rows * 7 // 10)[patient] + draw.normal(size=rows) * 0.7
    race = np.array(["Caucasian", "AfricanAmerican", "Asian", "?"])[draw.choice(4, rows, p=(0.72, 0.2, 0.05, 0.03))]
    codes = np.array(["250.83", "276", "V45", "E909", "428", "401.9", "V58.67", "786"])
    header = ["encounter_id", "patient_nbr", "race", "gender", "age", "admission_type_id", "time_in_hospital", "diag_1"]
    header += ["num_medications", "weight", "readmitted"]
    start = np.cumsum(draw.integers(3, 90_000, rows)) + 12_522
    lines = [
        [
            int(start[row]),
            int(patient[row] * 997 + 135),
            race[row],
            ("Female", "Male")[int(draw.random() < 0.46)],
            f"[{int(60 + 10 * sick[row]) // 10 * 10}-{int(60 + 10 * sick[row]) // 10 * 10 + 10})",
            int(draw.integers(1, 9)),
            int(np.clip(4 + 2 * sick[row], 1, 14)),
            codes[int(np.clip(4 + 2 * sick[row] + draw.normal(), 0, 7))],
            int(np.clip(16 + 5 * sick[row], 1, 60)),
            "?" if draw.random() < 0.97 else int(80 + 9 * draw.normal()),
            ("NO", "YES")[int(sick[row] + draw.normal() > 0.3)],
        ]
        for row in range(rows)
    ]
    return _write(path, header, lines)


def write_survey(path: Path, rows: int = 3_000) -> Path:
    """A German survey: semicolons, decimal commas, Windows-1252, dates with points, yes and no as ja and nein."""
    draw = np.random.default_rng(2)
    pay = np.exp(draw.normal(7.9, 0.4, rows))
    woman = draw.random(rows) < 0.5
    born = [date(1960, 1, 1) + timedelta(days=int(day)) for day in draw.integers(0, 15_000, rows)]
    header = ["Lfd. Nr.", "Geschlecht", "Geburtsdatum", "Nettolohn €", "Größe (m)", "Bundesland", "zufrieden"]
    lands = ["Bayern", "Thüringen", "Baden-Württemberg", "Köln/NRW"]
    lines = [
        [
            row + 1,
            "weiblich" if woman[row] else "männlich",
            f"{born[row]:%d.%m.%Y}",
            f"{pay[row] * (0.85 if woman[row] else 1):.2f}".replace(".", ","),
            f"{1.65 + 0.13 * (not woman[row]) + 0.06 * draw.normal():.2f}".replace(".", ","),
            lands[int(draw.integers(4))],
            ("nein", "ja")[int(np.log(pay[row]) + 0.4 * draw.normal() > 7.85)],
        ]
        for row in range(rows)
    ]
    return _write(path, header, lines, separator=";", encoding="cp1252")


def write_payroll(path: Path, rows: int = 1_500) -> Path:
    """A payroll export from a spreadsheet: an .xlsx with real dates, numbers as numbers and a personnel number."""
    draw = np.random.default_rng(3)
    grade = draw.integers(1, 8, rows)
    man = draw.random(rows) < 0.55
    header = ["Personnel No", "Name", "Sex", "Hired on", "Grade", "Weekly hours", "Salary", "Bonus"]
    lines = [
        [
            700_000 + int(row * 13 + draw.integers(0, 13)),
            f"Employee {row}",
            "M" if man[row] else "F",
            f"{date(2001, 3, 1) + timedelta(days=int(draw.integers(0, 8_000)))}",
            int(grade[row]),
            float(np.round(draw.choice([20, 30, 38.5, 40]), 1)),
            int(24_000 + 6_500 * grade[row] + 2_500 * man[row] + 1_500 * draw.normal()),
            "Y" if grade[row] + 1.2 * man[row] + draw.normal() > 4.6 else "N",
        ]
        for row in range(rows)
    ]
    _write_workbook(path, [header, *lines])
    return path


def write_tickets(path: Path, rows: int = 2_500) -> Path:
    """Support tickets: points in time, free text, nearly empty columns, and an outcome that is a word."""
    draw = np.random.default_rng(4)
    wait = draw.gamma(2.0, 20.0, rows)
    older = draw.random(rows) < 0.35
    header = [
        "ticket",
        "opened_at",
        "customer_age_group",
        "channel",
        "wait_minutes",
        "comment",
        "agent_note",
        "outcome",
    ]
    lines = [
        [
            f"T-{row * 7 + 11:08d}",
            f"2023-{1 + row % 12:02d}-{1 + row % 28:02d}T{row % 24:02d}:{row % 60:02d}:{row * 7 % 60:02d}Z",
            "60+" if older[row] else "under 60",
            ("phone", "mail", "chat")[int(draw.integers(3))],
            round(float(wait[row]), 1),
            " ".join(_WORDS[int(place)] for place in draw.integers(0, len(_WORDS), 14)) + f" ({row})",
            "" if row % 50 else "escalated",
            "resolved" if wait[row] + 15 * older[row] + 12 * draw.normal() < 45 else "dropped",
        ]
        for row in range(rows)
    ]
    return _write(path, header, lines)


def write_register(path: Path, rows: int = 1_000_000) -> Path:
    """A register: a million rows of plain columns, tabs between them."""
    draw = np.random.default_rng(5)
    x, group = draw.normal(size=(rows, 3)), draw.random(rows) < 0.3
    paid = (x @ (1.0, 0.5, -0.5) + 0.6 * group + draw.normal(size=rows) > 0).astype(int)
    sexes, regions = np.array(["f", "m"])[group.astype(int)], draw.integers(1, 17, rows)
    with path.open("w", encoding="utf-8") as file:
        file.write("reg_no\tsex\tregion_code\tx1\tx2\tx3\tgranted\n")
        for row in range(rows):
            numbers = "\t".join(f"{value:.3f}" for value in x[row])
            file.write(f"{row * 3 + 5_000_000_000}\t{sexes[row]}\t{regions[row]}\t{numbers}\t{paid[row]}\n")
    return path


#: what each is called, who writes it, and what a person is after: label, sensitive attribute
UNPREPARED: dict[str, tuple[str, Callable[[Path], Path], str, str]] = {
    "stays": ("diabetic_data.csv", write_stays, "readmitted", "race"),
    "survey": ("Umfrage 2023.csv", write_survey, "zufrieden", "Geschlecht"),
    "payroll": ("Payroll Q3.xlsx", write_payroll, "Bonus", "Sex"),
    "tickets": ("tickets.csv", write_tickets, "outcome", "customer_age_group"),
    "register": ("register.tsv", write_register, "granted", "sex"),
}


def _write(
    path: Path,
    header: Sequence[str],
    lines: Sequence[Sequence[object]],
    *,
    separator: str = ",",
    encoding: str = "utf-8",
) -> Path:
    with path.open("w", newline="", encoding=encoding) as file:
        writer = csv.writer(file, delimiter=separator)
        writer.writerows([header, *lines])
    return path


def _write_workbook(path: Path, rows: Sequence[Sequence[object]]) -> None:
    """Write a workbook of one sheet as spreadsheets do: cells in order, days as numbers with the style of a date."""
    sheet = "".join(f"<row>{''.join(map(_cell, row))}</row>" for row in rows)
    space = "http://schemas.openxmlformats.org/"
    main, office = f"{space}spreadsheetml/2006/main", f"{space}officeDocument/2006/relationships"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml."
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{space}package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kind}sheet.main+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{kind}worksheet+xml"/>'
        f'<Override PartName="/xl/styles.xml" ContentType="{kind}styles+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{space}package/2006/relationships"><Relationship Id="rId1" '
        f'Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets><sheet name="Q3" sheetId="1" '
        'r:id="rId1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{space}package/2006/relationships"><Relationship '
        f'Id="rId1" Type="{office}/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" '
        f'Type="{office}/styles" Target="styles.xml"/></Relationships>',
        "xl/styles.xml": f'<styleSheet xmlns="{main}"><cellXfs count="2"><xf numFmtId="0"/>'
        '<xf numFmtId="14" applyNumberFormat="1"/></cellXfs></styleSheet>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{sheet}</sheetData></worksheet>',
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)


def _cell(value: object) -> str:
    if isinstance(value, int | float):
        return f"<c><v>{value}</v></c>"
    text = str(value)
    if len(text) == 10 and text[4] == text[7] == "-":
        return f'<c s="1"><v>{(date.fromisoformat(text) - date(1899, 12, 30)).days}</v></c>'
    return f'<c t="inlineStr"><is><t>{escape(text)}</t></is></c>'
