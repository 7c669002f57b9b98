"""Every table of a report is in one of the sample documents: rectangular, with units, marked where raw, written out."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import pytest

from fairpriv_core.documents.document import AUDIENCES, Audience, Document, Section, TablePart, show_cell
from fairpriv_core.documents.forms import open_report
from fairpriv_core.documents.html import write_report_table
from fairpriv_core.documents.markdown import escape, write_markdown
from fairpriv_core.documents.report_data import ReportData
from fairpriv_core.notions.metrics import measure
from fairpriv_core.records.record import RAW, RAW_BUT_ACCURACY
from tests.documents.made_up import Told, make_data, make_record, tell, tell_run
from tests.figures.makers import list_makers, note_makers
from tests.many import AGES, draw_scores, make_ages, measure_privately

SHARES = re.compile(r"\b(accuracy|rate|gap|decided)\b")


def tell_ages(key: str, *, skill: float, **given: Any) -> Told:
    """Return a run of somebody's own rows with three labels."""
    record, data = make_record(key, **given), make_ages()
    score = draw_scores(data, skill=skill, seed=0)
    record["data"] |= {"group_names": list(data.group_names), "label_names": list(AGES)}
    record["metrics"] = measure(data.y, score, data.group, data.group_names, label_names=data.label_names)
    record["metrics_private"] = record["metrics_private"] and measure_privately(data, score)
    return tell(record)


def list_data() -> dict[str, ReportData]:
    plain = {"method": "none", "threat_model": None, "epsilon": None, "paid": False}
    private = {"method": "dp_sgd", "threat_model": "record"}
    return {
        "two labels": make_data(tell_run(), tell_run("b" * 16, **private), tell_run("c" * 16, **plain)),
        "three labels": make_data(
            tell_ages("d" * 16, skill=0.8, **plain), tell_ages("e" * 16, skill=0.5, **private), tell_run("f" * 16)
        ),
    }


def list_documents() -> Iterator[tuple[str, Audience, Document]]:
    for name, data in list_data().items():
        for audience in AUDIENCES:
            yield name, audience, open_report(data, audience).document


def list_tables(document: Document) -> list[tuple[Section, TablePart]]:
    return [(section, part) for section in document.sections for part in section.parts if isinstance(part, TablePart)]


def test_every_maker_of_a_table_is_in_a_document(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new one fails here until a document of `list_data` comes to it."""
    made = note_makers(TablePart, monkeypatch)
    assert sum(len(list_tables(document)) for _, _, document in list_documents()) > 40
    assert made - {"dataclasses.replace"} == list_makers(TablePart)


@pytest.mark.parametrize("document", [pytest.param(each[2], id=" ".join(each[:2])) for each in list_documents()])
def test_a_table_is_told_and_written(document: Document, request: pytest.FixtureRequest) -> None:
    analyst = "analyst" in request.node.name
    card = write_markdown(document)
    tables = list_tables(document)
    for section, table in tables:
        assert table.head and {len(row) for row in table.rows} <= {len(table.head)}, section.title
        cells = [cell for row in table.rows for cell in row]
        assert all(math.isfinite(cell) for cell in cells if isinstance(cell, float))
        page = write_report_table(table)
        assert page.count("<tr>") == 1 + len(table.rows) and page.count("<td>") == len(cells)
        for row in table.rows:
            assert f"| {' | '.join(escape(show_cell(cell)) for cell in row)} |" in card
        shares = [head for head in table.head if SHARES.search(head) and "±" not in head]
        assert all(re.search(r"%|pp", head) for head in shares), f"{section.title}: a share has no unit"
        marked = any(mark in table.text for mark in (RAW, RAW_BUT_ACCURACY))
        assert not marked or analyst, section.title
        assert marked == ("noisy counts" not in table.note) or not (shares and analyst), (section.title, table.head)
