"""The Data page: benchmarks and own files, guesses to confirm, groups, and a sentence for every wrong file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import streamlit as st
from streamlit.elements.widgets import file_uploader
from streamlit.runtime.uploaded_file_manager import DeletedFile
from streamlit.testing.v1 import AppTest

from pages.widgets.shared.reference import describe_reference
from tests.unprepared import write_stays

Open = Callable[..., AppTest]
HEADER = "age,sex,city,income\n"


def make_csv(rows: int = 400, header: str = HEADER) -> bytes:
    """Return a table whose base rate differs between the sexes."""
    generator = np.random.default_rng(7)
    lines = []
    for _ in range(rows):
        sex = generator.choice(["f", "m"])
        high = generator.random() < (0.5 if sex == "m" else 0.2)
        lines.append(f"{generator.integers(18, 80)},{sex},{generator.choice(['X', 'Y'])},{'high' if high else 'low'}")
    return (header + "\n".join(lines) + "\n").encode()


def upload(page: AppTest, content: bytes, name: str = "people.csv") -> AppTest:
    page.file_uploader[0].upload(name, content, "text/csv")
    return page.run()


def test_a_refused_file_leaves_nothing_but_its_sentence_and_the_way_out(open_page: Open) -> None:
    page = upload(open_page("data", source="file"), make_csv())
    assert page.selectbox("file") and page.dataframe
    upload(page, b"age\n1\n", "one.csv")
    assert [item.value for item in page.error] == [
        "one.csv has one column, 'age'; it needs a label, a sensitive attribute and a feature."
    ]
    assert not page.dataframe and not page.selectbox and not page.metric
    assert [button.label for button in page.button] == ["Go on without it"]
    page.button("drop_refused").click().run()
    assert not page.error and page.selectbox("file") and page.dataframe


def test_several_files_of_one_shape_are_one_table_or_one_sentence(open_page: Open, own_store: Path) -> None:
    page = open_page("data", source="file")
    page.file_uploader[0].upload("b.csv", make_csv(100), "text/csv").upload("a.csv", make_csv(300), "text/csv")
    page.run()
    assert not page.exception and not page.error and page.selectbox("label").value == "income"
    assert page.selectbox("file").options == ["a.csv and 1 more.zip (5 kB)"]
    assert any("**400** rows" in item.value for item in page.markdown)
    assert not page.file_uploader[0].value, "the place for files is empty again"
    page.file_uploader[0].upload("c.csv", make_csv(), "text/csv").upload("d.csv", b"age,city\n1,X\n", "text/csv")
    page.run()
    said = [item.value for item in page.error]
    assert len(said) == 1 and said[0].startswith("d.csv has no column 'sex', which c.csv has; several files need")
    assert not page.dataframe and len(list((own_store.parent / "uploads").iterdir())) == 1


def test_files_of_which_some_are_lost_are_not_taken_for_a_table(
    open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that came late, or was dropped for room, is gone when the page looks: the others alone are no table."""
    page = open_page("data", source="file")
    found = file_uploader._get_upload_files
    lose = DeletedFile("file-0")
    monkeypatch.setattr(file_uploader, "_get_upload_files", lambda state: [*found(state)[:-1], *[lose] * bool(state)])
    page.file_uploader[0].upload("a.csv", make_csv(), "text/csv").upload("b.csv", make_csv(), "text/csv")
    page.run()
    assert [item.value for item in page.error] == [
        "Some files did not arrive. Drop up to 50 files at once, of 50 MB together."
    ]
    assert not page.dataframe and [button.label for button in page.button] == ["Go on without it"]


def test_a_european_file_is_read_and_says_so(open_page: Open) -> None:
    content = make_csv().decode().replace(",", ";").replace("f;", "née;").encode("cp1252")
    page = upload(open_page("data", source="file"), content)
    assert not page.error and page.dataframe
    said = " ".join(item.value for group in (page.markdown, page.caption, page.info, page.warning) for item in group)
    assert "Windows-1252" in said and "semicolons between values" in said


def test_the_value_that_reads_as_yes_is_taken_for_the_positive_one(open_page: Open) -> None:
    content = make_csv().replace(b"high", b"Ja").replace(b"low", b"Nein")
    assert upload(open_page("data", source="file"), content).selectbox("positive").value == "Ja"


def test_groups_have_sizes_base_rates_and_intervals(open_page: Open) -> None:
    page = open_page("data")
    table = page.dataframe[0].value
    assert list(table["group"]) == ["A", "B"]
    assert {"rows", "base rate", "95 % interval"} <= set(table.columns)
    assert "remark" not in table.columns  # no group is small
    assert "do not publish" not in " ".join(item.value for item in page.markdown), "everybody has these rows"
    own = upload(open_page("data", source="file"), make_csv())
    assert "do not publish" in " ".join(item.value for item in own.markdown)


def test_a_person_with_several_rows_is_counted_once(open_page: Open, real_data: Path) -> None:
    page = open_page("data", data="parkinsons:sex")
    assert not page.exception and not page.error
    said = " ".join(item.value for item in page.markdown)
    assert "**42** people, **5,875** rows" in said and "not a subject, who has up to 168" in said


def test_two_attributes_are_crossed_and_small_groups_flagged(open_page: Open) -> None:
    page = open_page("data")
    page.multiselect("attributes").set_value(["group", "region"]).run()
    table = page.dataframe[0].value
    assert len(table) > 2
    assert page.query_params["data"] == "synthetic:group+region"


def test_the_address_brings_the_choice_back(open_page: Open) -> None:
    page = open_page("data", data="synthetic:group+region")
    assert page.multiselect("attributes").value == ["group", "region"]


def test_a_file_of_ones_own_is_guessed_confirmed_and_used(open_page: Open, own_store: Path) -> None:
    page = upload(open_page("data", source="file"), make_csv())
    assert not page.exception and not page.error
    assert page.selectbox("label").value == "income"
    assert page.multiselect("attributes").value == ["sex"]
    stored = list((own_store.parent / "uploads").iterdir())
    assert len(stored) == 1 and stored[0].stat().st_mode & 0o777 == 0o600
    page.selectbox("positive").set_value("high").run()
    said = " ".join(item.value for item in page.markdown)
    assert "**400** rows" in said and "**high**" in said


def test_a_numeric_attribute_is_cut_at_stated_edges(open_page: Open) -> None:
    page = upload(open_page("data", source="file"), make_csv())
    page.multiselect("attributes").set_value(["age"]).run()
    assert not page.error and "say where to cut" in page.info[0].value
    page.text_input("edges.age").set_value("30, 60").run()
    assert not page.exception and not page.error
    assert len(next(item.value for item in page.dataframe if "base rate" in item.value.columns)) == 3
    page.text_input("edges.age").set_value("30, sixty").run()
    assert not page.exception
    assert "sixty" in page.error[0].value


def make_scores() -> bytes:
    """Return a table whose label is a number of many values."""
    rows = [f"{18 + row % 60},{'fm'[row % 2]},{25 + (37 * row) % 322}" for row in range(400)]
    return ("age,sex,target\n" + "\n".join(rows) + "\n").encode()


def test_a_numeric_label_is_cut_at_a_stated_value(open_page: Open) -> None:
    page = upload(open_page("data", source="file"), make_scores())
    assert not page.exception and not page.error
    assert page.selectbox("label").options == ["sex", "age", "target"] and page.selectbox("label").value == "target"
    assert "'target' is a number" in page.info[0].value and "cut it in two" in page.info[0].value
    assert page.multiselect("attributes").value == ["sex"] and not page.dataframe[1:]
    page.text_input("label_edge.target").set_value("150").run()
    assert not page.exception and not page.error
    assert page.selectbox("positive").value == "target ≥ 150"
    page.selectbox("positive").set_value("target < 150").run()
    assert page.query_params["data"].endswith(":sex?label=target%3A150&positive=target+%3C+150")
    for typed, words in (("100, 150", "one value, got '100, 150'"), ("500", "all of its values are on one side")):
        page.text_input("label_edge.target").set_value(typed).run()
        assert not page.exception and words in page.error[0].value


def test_a_link_brings_a_cut_label_back(open_page: Open) -> None:
    page = upload(open_page("data", source="file"), make_scores())
    page.text_input("label_edge.target").set_value("150").run()
    page.selectbox("positive").set_value("target < 150").run()
    again = open_page("data", data=page.query_params["data"], source="file")
    assert not again.exception and not again.error
    assert again.selectbox("label").value == "target" and again.text_input("label_edge.target").value == "150"
    assert again.selectbox("positive").value == "target < 150"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"sex,x,y\n" + b"f,1,1\n" * 50, "no column with two different values, so nothing can be predicted"),
        (b"sex,x,y\n" + b",,\n" * 50, "no column with two different values, so nothing can be predicted"),
        (HEADER.encode(), "no rows"),
        (b"one\n1\n2\n", "one column"),
        (b"a,a,b\n1,2,3\n4,5,6\n", "more than one column named"),
        ("name,sex\nJosé,f\nJos".encode() + b"\xe9,m\n", "UTF-8 with a fault: byte 0xE9 in line 3"),
        (b"PK\x03\x04rubbish", "zip"),
    ],
)
def test_a_wrong_file_gives_a_sentence_and_is_not_kept(
    content: bytes, words: str, open_page: Open, own_store: Path
) -> None:
    page = upload(open_page("data", source="file"), content)
    assert not page.exception
    assert words in page.error[0].value.replace("\\", "")
    assert "people.csv" in page.error[0].value.replace("\\", "")
    assert not list((own_store.parent / "uploads").glob("*"))


def test_another_file_starts_from_its_own_guesses(open_page: Open, own_store: Path) -> None:
    page = upload(open_page("data", source="file"), make_csv())
    page.selectbox("label").set_value("city").run()
    upload(page, make_csv(rows=300), "others.csv")
    assert page.selectbox("label").value == "income"
    page.selectbox("label").set_value("city").run()
    assert page.selectbox("label").value == "city"


def test_a_file_is_called_by_its_name(open_page: Open, own_store: Path) -> None:
    page = upload(open_page("data", source="file"), make_csv())
    reference = page.query_params["data"]
    assert reference.startswith("file-")
    assert describe_reference(reference) == "people.csv · sex"
    assert describe_reference("file-0123456789ab:sex") == "file-0123456789ab · sex", "nobody's file"
    upload(page, make_csv(rows=300), "people.csv")
    st.cache_data.clear()
    assert describe_reference(reference) == f"people.csv ({reference.removeprefix('file-')[:6]}) · sex"


def test_a_file_above_the_limit_gives_a_sentence(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.widgets.data.files.LIMIT_BYTES", 1000)
    page = upload(open_page("data", source="file"), make_csv())
    assert "limit" in page.error[0].value


def test_a_column_with_one_value_is_named_and_what_to_do_is_said(open_page: Open) -> None:
    rows = "".join(f"f,{row % 7},{row % 2}\n" for row in range(200))
    page = upload(open_page("data", source="file"), b"sex,x,y\n" + rows.encode())
    assert not page.exception
    said = [item.value.replace("\\", "") for item in (*page.warning, *page.info, *page.error)]
    assert any("'sex' has one value throughout" in each for each in said)
    assert any("Choose at least one sensitive attribute" in each for each in said)


def test_many_crossed_groups_are_counted_and_the_furthest_named(open_page: Open) -> None:
    generator = np.random.default_rng(3)
    lines = [
        f"{'fm'[i % 2]},c{i % 9},{generator.integers(0, 50)},{int(i % 18 == 17 or generator.random() < 0.2)}"
        for i in range(3600)
        if i % 36 != 17  # half of the group that is always paid, so that it is small, and hidden
    ]
    page = upload(open_page("data", source="file"), ("sex,city,hours,paid\n" + "\n".join(lines) + "\n").encode())
    page.selectbox("label").set_value("paid").run()
    page.multiselect("attributes").set_value(["sex", "city"]).run()
    assert not page.exception and not page.error
    assert len(next(item.value for item in page.dataframe if "base rate" in item.value.columns)) == 18
    said = next(item.value for item in page.caption if "not drawn" in item.value)
    assert said.startswith("6 smaller groups")
    assert "c8" in said and "100.00 % of 100" in said


def test_a_label_that_is_the_sensitive_attribute_cannot_be_chosen(open_page: Open) -> None:
    page = upload(open_page("data", source="file"), make_csv())
    page.selectbox("label").set_value("sex").run()
    assert not page.exception
    assert "sex" not in page.multiselect("attributes").options


def test_markup_in_names_stays_text(open_page: Open) -> None:
    content = make_csv(header="age,<b>sex</b>,city,income\n")
    page = upload(open_page("data", source="file"), content)
    page.multiselect("attributes").set_value(["<b>sex</b>"]).run()
    assert not page.exception
    assert any("\\<b\\>sex" in item.value for item in page.header)
    assert "<b>sex" not in "".join(item.value for item in page.markdown)


def test_an_upload_can_be_deleted(open_page: Open, own_store: Path) -> None:
    page = upload(open_page("data", source="file"), make_csv())
    page.button("delete_upload").click().run()
    assert not page.exception
    assert not list((own_store.parent / "uploads").glob("*"))


def test_rows_of_one_person_and_what_is_left_out(open_page: Open, own_store: Path, tmp_path: Path) -> None:
    """Whose a row is is guessed and can be taken back; the reference says it, and what is left out stands there."""
    path = write_stays(tmp_path / "stays.csv", rows=800)
    page = upload(open_page("data", source="file"), path.read_bytes(), "stays.csv")
    assert not page.exception and page.selectbox("person").value == "patient_nbr"
    assert "person=patient_nbr" in page.query_params["data"]
    said = " ".join(each.value for each in page.markdown)
    assert "rows: another row of the same patient\\_nbr is used" in said and "encounter\\_id" in said
    assert "** people" not in said
    page.selectbox("person").set_value("").run()
    assert "person" not in page.query_params["data"]
    assert "another row of the same" not in " ".join(each.value for each in page.markdown)
