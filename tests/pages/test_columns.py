"""The grid of a file's columns: what a corrected row says, and what comes of a schema that the data came with."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from fairpriv_core.data.table_schema import Payment, from_text
from fairpriv_core.errors import BadInput
from fairpriv_core.files.column import Column
from pages.widgets.data.columns import read_row
from tests.pages.shown import Open, make_csv, said, upload, whole

AGE = Column("age", type="whole number", range=(18.0, 79.0), edges=(30.0, 50.0), log=True, reason="why")


def row(**said: Any) -> dict[str, Any]:
    """Return the grid's row of AGE with what is corrected."""
    shown = {"use": True, "type": "whole number", "from": 18.0, "to": 79.0, "values": [], "empty": False}
    return {**shown, "part": None, "at": None, **said}


def test_an_untouched_row_says_what_it_said() -> None:
    assert read_row(row(), AGE) is AGE


def test_a_corrected_row_says_what_is_in_it() -> None:
    assert read_row(row(use=False), AGE).role == "left out"
    wider = read_row(row(**{"from": 0.0, "to": 100.0}), AGE)
    assert (wider.range, wider.edges, wider.log) == ((0.0, 100.0), (), None)  # bins of another range are read anew
    code = read_row(row(type="code", values=["1", " 2"]), AGE)
    assert (code.type, code.categories, code.range) == ("code", ("1", "2"), None)
    empty = read_row(row(empty=True), AGE)
    assert empty.missing and empty.edges == (30.0, 50.0)
    dated = read_row(row(type="date", part="month", **{"from": None, "to": None}), AGE)
    assert (dated.part, dated.range) == ("month", None)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"to": None}, "has a lowest value and no highest one; give both, or none"),
        ({"from": None}, "has a highest value and no lowest one; give both, or none"),
        ({"from": 90.0}, "two rising numbers|rising numbers"),
        ({"type": "text"}, "free text is no feature"),
        ({"type": "date", "part": "age"}, "the day on which the age is taken"),
        ({"type": "category", "values": ["a", "a"]}, "different values"),
    ],
)
def test_a_row_that_makes_no_sense_gets_a_sentence_with_its_column(said: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words) as found:
        read_row(row(**said), AGE)
    assert "'age'" in str(found.value)


def test_values_known_without_the_rows_are_a_declared_schema_or_measured_with_noise(open_page: Open) -> None:
    page = upload(open_page("data", source="file"), make_csv())
    assert [list(editor.value["column"]) for editor in page.data_editor] == [["age", "city"]]
    assert _schema(page) is None and _schema(page.run()) is None, "an untouched grid states nothing"
    page.button_group("values_from").set_value("declared").run()
    told = from_text(_schema(whole(page)) or "")
    assert told.values_from == "declared" and {each.name for each in told.columns} == {"age", "city", "sex", "income"}
    assert "declared in the schema" in said(page, "markdown")
    assert not any(each.edges for each in told.columns)  # tenths of the rows are nobody's knowledge
    assert "Still taken from the rows: age, city." in said(page, "warning")
    page.selectbox("label").set_value("city").run()  # the label before is a feature now, with its values
    told = from_text(_schema(whole(page)) or "")
    assert {each.name: each.categories for each in told.columns}["income"] == ("granted", "refused")
    page.button("drop_schema").click().run()
    assert _schema(page) is None and page.button_group("values_from").value == "rows"
    page.button_group("values_from").set_value("paid").run()
    told = from_text(_schema(whole(page)) or "")
    assert told.paid is not None and told.paid.share == 0.1 and not any(each.range for each in told.columns)
    assert "were measured with noise" in said(page, "markdown")
    page.slider("schema_share").set_value(0.3).run()
    assert from_text(_schema(page) or "").paid == Payment(share=0.3)
    page.button_group("values_from").set_value("rows").run()
    whole(page)


def test_two_files_of_one_name_and_size_are_told_apart(open_page: Open) -> None:
    """A list sends back the text that was chosen: of two equal ones the first file would be used."""
    page = upload(open_page("data", source="file"), make_csv())
    page = upload(page, make_csv().replace(b"granted", b"rich"))
    listed = page.selectbox("file")
    assert len(listed.options) == 2 == len(set(listed.options))
    chosen = listed.value
    page.run()
    assert page.selectbox("file").value == chosen and "rich" in page.selectbox("positive").options


def _schema(page: AppTest) -> str | None:
    found = page.session_state["memory"].choices.get("schema")
    return None if found is None else str(found)
