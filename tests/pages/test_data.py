"""The Data page: benchmarks and own files, guesses to confirm, groups, and a sentence for every wrong file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import streamlit as st
import xlsxwriter
from streamlit.elements.widgets import file_uploader
from streamlit.runtime.uploaded_file_manager import DeletedFile
from streamlit.testing.v1 import AppTest

from fairpriv_core.data.table_schema import TableSchema, from_text
from fairpriv_core.files.forms import Stated
from fairpriv_core.store.runs import open_store
from pages.widgets.shared.reference import list_reference, unpack_schema
from tests.pages.shown import HEADER, Open, address_of, buttons, make_csv, said, upload, whole
from tests.unprepared import write_stays


@pytest.fixture
def own(open_page: Open) -> AppTest:
    """Return the page with a file of one's own."""
    return upload(open_page("data", source="file"), make_csv())


def list_uploads(store: Path) -> list[Path]:
    return sorted((store.parent / "uploads").glob("*"))


def count_groups(page: AppTest) -> int:
    return len(next(item.value for item in page.dataframe if "base rate" in item.value.columns))


def test_a_file_of_ones_own_is_guessed_confirmed_used_and_deleted(
    own_store: Path, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None of its rows is read in the process of the pages: not for what it is called, either."""
    for name in ("_seal", "read_csv"):
        monkeypatch.setattr(f"fairpriv_core.files.read.{name}", None)
    page = whole(upload(open_page("data", source="file"), make_csv()))
    assert page.selectbox("label").value == "income" and page.multiselect("attributes").value == ["sex"]
    [stored] = list_uploads(own_store)
    assert stored.stat().st_mode & 0o777 == 0o600
    with open_store() as store:
        assert store.files.find(stored) == [stored.stem], "its rows have been digested, elsewhere"
    page.selectbox("positive").set_value("granted").run()
    assert "**400** rows" in said(page) and "**granted**" in said(page) and "do not publish" in said(page)
    page.multiselect("attributes").set_value(["age"]).run()
    assert not page.error and "say where to cut" in said(page, "info")
    page.text_input("edges.age").set_value("30, 60").run()
    assert count_groups(whole(page)) == 3
    page.text_input("edges.age").set_value("30, sixty").run()
    assert not page.exception and "sixty" in said(page, "error")
    page.selectbox("label").set_value("sex").run()
    assert not page.exception and "sex" not in page.multiselect("attributes").options
    page.selectbox("label").set_value("city").run()
    reference = address_of(page, "data")
    assert reference.startswith("file-") and list_reference(reference).startswith("people.csv: ")
    upload(page, make_csv(rows=300), "others.csv")
    assert page.selectbox("label").value == "income", "another file starts from its own guesses"
    page.selectbox("label").set_value("city").run()
    assert page.selectbox("label").value == "city"
    upload(page, make_csv(rows=300, header="age,sex,town,income\n"))
    st.cache_data.clear()
    assert list_reference(reference).startswith(f"people.csv ({reference.removeprefix('file-')[:6]}): ")
    assert list_reference("file-0123456789ab:sex").startswith("file-0123456789ab: "), "nobody's file"
    page.button("delete_upload").click().run()
    assert not page.exception and len(list_uploads(own_store)) == 2


def test_a_refused_file_leaves_nothing_but_its_sentence_and_the_way_out(own: AppTest, own_store: Path) -> None:
    page = upload(own, b"PK\x03\x04rest", "one.xlsx")
    [error] = page.error
    assert "one.xlsx cannot be read" in error.value and len(list_uploads(own_store)) == 1
    assert not page.dataframe and not page.selectbox and not page.metric
    assert buttons(page) == {"drop_refused": "Go on without it"}
    page.button("drop_refused").click().run()
    assert not page.error and page.selectbox("file") and page.dataframe


def test_a_file_that_is_read_only_as_stated_stays_until_its_owner_states_it(open_page: Open, own_store: Path) -> None:
    """Of several encodings at once; whoever wrote it knows which one is meant."""
    content = make_csv().decode().replace("X", "Köln").encode() + "30,f,Köln,granted\n".encode("cp1252")
    page = upload(open_page("data", source="file"), content)
    [error] = page.error
    assert (
        "people.csv is UTF-8 with a fault" in error.value and not page.dataframe and "drop_refused" not in buttons(page)
    )
    assert page.selectbox("file").options == ["people.csv (7 kB)"] and "State what is different" in said(page)
    page.selectbox("written.encoding").set_value("cp1252").run()
    assert not page.error and "**401** rows" in said(page) and page.dataframe
    page.selectbox("written.encoding").set_value("").run()
    assert len(page.error) == 1
    page.button("delete_upload").click().run()
    assert not page.error and not list_uploads(own_store)


def test_several_files_of_one_shape_are_one_table_or_one_sentence(open_page: Open, own_store: Path) -> None:
    page = open_page("data", source="file")
    page.file_uploader[0].upload("b.csv", make_csv(100), "text/csv").upload("a.csv", make_csv(300), "text/csv")
    assert whole(page.run()).selectbox("label").value == "income"
    assert page.selectbox("file").options == ["a.csv and 1 more.zip (7 kB)"] and "**400** rows" in said(page)
    assert not page.file_uploader[0].value, "the place for files is empty again"
    page.file_uploader[0].upload("c.csv", make_csv(), "text/csv").upload("d.csv", b"age,city\n1,X\n", "text/csv")
    [error] = page.run().error
    assert "d.csv has no column 'sex', which c.csv has" in error.value
    assert not page.dataframe and len(list_uploads(own_store)) == 1


def test_files_of_which_some_are_lost_are_not_taken_for_a_table(
    open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that came late, or was dropped for room, is gone when the page looks: the others alone are no table."""
    page = open_page("data", source="file")
    found = file_uploader._get_upload_files
    lose = DeletedFile("file-0")
    monkeypatch.setattr(file_uploader, "_get_upload_files", lambda state: [*found(state)[:-1], *[lose] * bool(state)])
    page.file_uploader[0].upload("a.csv", make_csv(), "text/csv").upload("b.csv", make_csv(), "text/csv")
    [error] = page.run().error
    assert "Some files did not arrive" in error.value
    assert not page.dataframe and list(buttons(page)) == ["drop_refused"]


def test_a_european_file_is_read_and_says_so(open_page: Open) -> None:
    content = (
        make_csv().decode().replace(",", ";").replace("f;", "née;").replace("granted", "Ja").replace("refused", "Nein")
    )
    page = upload(open_page("data", source="file"), content.encode("cp1252"))
    assert not page.error and page.dataframe and page.selectbox("positive").value == "Ja"
    assert "Windows-1252" in said(page) and "semicolons between values" in said(page)
    page.selectbox("written.encoding").set_value("cp1250").run()
    assert not page.error and "as Windows-1250 (Central European), with semicolons" in said(page) and page.dataframe
    schema = from_text(unpack_schema(address_of(page, "data").rpartition("schema=")[2]))
    assert schema == TableSchema((), others="guessed", file=Stated(encoding="cp1250"))
    again = whole(open_page("data", data=address_of(page, "data"), source="file"))
    assert again.selectbox("written.encoding").value == "cp1250" and "as Windows-1250" in said(again)
    again.text_input("written.header").set_value("0").run()
    assert not again.error and again.selectbox("label").value == "column 4" and "no line that names" in said(again)
    again.text_input("written.header").set_value("9000").run()
    assert "Header '9000' of the file must be at most" in said(again, "error") and not again.dataframe
    again.text_input("written.header").set_value("").run()
    again.selectbox("written.separator").set_value(",").run()
    assert "Separator ',' of the file must be semicolons or left out" in said(again, "error")
    again.selectbox("written.separator").set_value("").run()
    assert not again.error and again.selectbox("positive").value == "Ja"


def test_a_workbook_of_two_tables_says_which_one_is_read(open_page: Open, tmp_path: Path) -> None:
    with xlsxwriter.Workbook(path := tmp_path / "book.xlsx") as book:
        for name, rows in (("Notes", 0), ("May", 60), ("June", 80)):
            sheet = book.add_worksheet(name)
            for number, line in enumerate(make_csv(rows).decode().splitlines() if rows else ["Read me"]):
                sheet.write_row(number, 0, line.split(","))
    page = upload(open_page("data", source="file"), path.read_bytes(), "book.xlsx")
    assert "from its sheet 'May'" in said(page) and "**60** rows" in said(page)
    page.selectbox("written.sheet").set_value("June").run()
    assert not page.error and "from its sheet 'June'" in said(page) and "**80** rows" in said(page)


def test_groups_of_a_benchmark_have_sizes_base_rates_and_intervals(open_page: Open) -> None:
    page = open_page("data")
    table = page.dataframe[0].value
    assert list(table["group"]) == ["A", "B"]
    assert {"rows", "base rate", "95 % interval"} <= set(table.columns)
    assert "remark" not in table.columns  # no group is small
    assert "do not publish" not in said(page), "everybody has these rows"
    page.multiselect("attributes").set_value(["group", "region"]).run()
    assert len(page.dataframe[0].value) > 2 and page.query_params["data"] == "synthetic:group+region"
    again = open_page("data", data="synthetic:group+region")
    assert again.multiselect("attributes").value == ["group", "region"]


def test_a_person_with_several_rows_is_counted_once(open_page: Open, real_data: Path) -> None:
    page = whole(open_page("data", data="parkinsons:sex"))
    assert "**42** people, **5,875** rows" in said(page) and "not a subject, who has up to 168" in said(page)


def test_a_numeric_label_is_cut_at_a_stated_value_and_a_link_brings_it_back(open_page: Open) -> None:
    rows = [f"{18 + row % 60},{'fm'[row % 2]},{25 + (37 * row) % 322}" for row in range(400)]
    page = whole(upload(open_page("data", source="file"), ("age,sex,target\n" + "\n".join(rows) + "\n").encode()))
    assert page.selectbox("label").options == ["sex", "age", "target"] and page.selectbox("label").value == "target"
    assert "'target' is a number" in said(page, "info") and "cut it in two" in said(page, "info")
    assert page.multiselect("attributes").value == ["sex"] and not page.dataframe[1:]
    page.text_input("label_edge.target").set_value("150").run()
    assert whole(page).selectbox("positive").value == "target ≥ 150"
    page.selectbox("positive").set_value("target < 150").run()
    reference = address_of(page, "data")
    assert reference.endswith(":sex?label=target%3A150&positive=target+%3C+150")
    again = whole(open_page("data", data=reference, source="file"))
    assert again.selectbox("label").value == "target" and again.text_input("label_edge.target").value == "150"
    assert again.selectbox("positive").value == "target < 150"
    for typed, words in (("100, 150", "one value, got '100, 150'"), ("500", "all of its values are on one side")):
        page.text_input("label_edge.target").set_value(typed).run()
        assert not page.exception and words in said(page, "error")


def test_a_wrong_file_gives_a_sentence_and_stays_only_as_text_that_may_be_read_otherwise(
    open_page: Open, own_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = [
        (b"", "empty"),
        (b"sex,x,y\n" + b"f,1,1\n" * 50, "no column with two different values"),
        (b"sex,x,y\n" + b",,\n" * 50, "no column with two different values"),
        (HEADER.encode(), "no rows"),
        (b"one\n1\n2\n", "one column"),
        (b"a,a,b\n1,2,3\n4,5,6\n", "more than one column named"),
        ("name,sex\nJosé,f\nJos".encode() + b"\xe9,m\n", "UTF-8 with a fault: byte 0xE9 in line 3"),
        (b"PK\x03\x04rubbish", "zip"),
        (make_csv(), "limit"),
    ]
    not_as_text = ("empty", "zip", "limit")
    for content, words in wrong:
        if words == "limit":
            monkeypatch.setattr("pages.widgets.data.files.LIMIT_BYTES", 1000)
        page = upload(open_page("data", source="file"), content)
        assert not page.exception and words in said(page, "error") and "people.csv" in said(page, "error")
        assert len(list_uploads(own_store)) == (words not in not_as_text)
        if words not in not_as_text:
            page.button("delete_upload").click().run()


def test_a_column_with_one_value_is_named_and_what_to_do_is_said(open_page: Open) -> None:
    rows = "".join(f"f,{row % 7},{row % 2}\n" for row in range(200))
    page = upload(open_page("data", source="file"), b"sex,x,y\n" + rows.encode())
    assert not page.exception
    assert "'sex' has one value throughout" in said(page)
    assert "Choose at least one sensitive attribute" in said(page)


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
    assert count_groups(whole(page)) == 18
    told = next(item.value for item in page.caption if "only in the table" in item.value)
    assert told.startswith("6 smaller groups") and "c8" in told and "100.00 % of 100" in told


def test_markup_in_names_stays_text(open_page: Open) -> None:
    page = upload(open_page("data", source="file"), make_csv(header="age,<b>sex</b>,city,income\n"))
    page.multiselect("attributes").set_value(["<b>sex</b>"]).run()
    assert not page.exception and any("\\<b\\>sex" in item.value for item in page.header)
    assert "<b>sex" not in "".join(item.value for item in page.markdown)


def test_rows_of_one_person_and_what_is_left_out(open_page: Open, tmp_path: Path) -> None:
    """Whose a row is is guessed and can be taken back; the reference says it, and what is left out stands there."""
    path = write_stays(tmp_path / "stays.csv", rows=800)
    page = upload(open_page("data", source="file"), path.read_bytes(), "stays.csv")
    assert not page.exception and page.selectbox("person").value == "patient_nbr"
    assert "person=patient_nbr" in address_of(page, "data")
    assert "another row of the same patient_nbr is used" in said(page) and "encounter_id" in said(page)
    assert "** people" not in said(page)
    page.selectbox("person").set_value("").run()
    assert "person" not in address_of(page, "data") and "another row of the same" not in said(page)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Offer a folder with one file; another file lies beside it."""
    offered = tmp_path / "offered"
    (offered / "old & new").mkdir(parents=True)
    (offered / "old & new" / "people: all.csv").write_bytes(make_csv())
    (tmp_path / "secret.csv").write_bytes(make_csv())
    monkeypatch.setenv("FAIRPRIV_DATA_FOLDER", str(offered))
    return offered


def test_a_file_of_the_operators_folder_is_chosen_and_trained_on_by_its_name(
    folder: Path, open_page: Open, own_store: Path
) -> None:
    path = folder / "old & new" / "people: all.csv"
    page = whole(open_page("data", source="file"))
    assert page.selectbox("file").options[0].startswith("old & new/people: all.csv") and "**400** rows" in said(page)
    reference = address_of(page, "data")
    assert str(folder) not in reference and reference.startswith("folder-old")
    again = open_page("data", data=reference)
    assert not again.error and again.selectbox("label").value == "income"
    whole(open_page("train", data=reference, method="none")).button("launch").click().run()
    [row] = open_store(str(own_store)).rows()
    assert row.config["data"]["file"] == str(path)
    path.write_bytes(make_csv(rows=300))
    assert "**300** rows" in said(open_page("data", source="file")), "a changed file is read again"


def test_nothing_outside_the_folder_is_read_and_without_one_nothing_is_offered(
    folder: Path, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("../secret.csv", "%2e%2e/secret.csv", "/etc/passwd", "gone.csv"):
        for page in (
            open_page("train", data=f"folder-{name}:sex?label=income"),
            open_page("data", data=f"folder-{name}:x"),
        ):
            assert "inside the data folder" in said(page, "error") and not page.exception
    monkeypatch.delenv("FAIRPRIV_DATA_FOLDER")
    page = open_page("data", source="file")
    assert not page.selectbox and "Nothing uploaded yet" in page.caption[0].value


def test_values_that_are_one_are_merged_with_a_click_and_go_with_the_run(open_page: Open) -> None:
    sexes, outcomes = ("F", "f", "F", "Female", "M", "male", "NA"), ("yes", "yes", "Yes", "no")
    works = ("Self employed", "employed", "self-employed")
    lines = [f"{at % 50},{sexes[at % 7]},{works[at % 3]},{outcomes[at % 4]}" for at in range(600)]
    content = "\n".join(["age,sex,work,hired", *lines]).encode()
    page = upload(open_page("data", source="file"), content, "hired.csv")
    assert page.button("merge.work").label.endswith("Self employed → self-employed")
    assert page.selectbox("positive").value == "yes" and "'yes', 'Yes' are one value" in page.warning[0].value
    assert page.multiselect("groups.sex").options == ["F", "Female", "M", "male"]
    page.button("merge.sex").click().run()
    assert page.selectbox("label").value == "hired" and not [each for each in page.button if each.key == "merge.sex"]
    assert "'Female', 'F', 'f' are one value, 'Female', in 344 rows" in page.warning[0].value
    page.button("value.sex").click().run()
    assert page.multiselect("groups.sex").options == ["Female", "NA", "male"]
    page.multiselect("merge_values.sex").set_value(["NA"]).run()
    page.segmented_control("merge_what").set_value("are missing values").run()
    page.button("do_merge").click().run()
    assert not page.exception and "sex: F → Female; M → male; missing: " in said(page)
    page.session_state["first_rows"] = True
    rows = page.run().dataframe[0].value
    assert list(rows.columns) == ["age", "sex", "work", "hired"] and set(rows["hired"]) == {"yes", "no"}
    again = open_page("data", data=address_of(page, "data"))
    assert "Female" in said(again) and "sex: F → Female; M → male" in said(again)
    again.button("unmerge.sex").click().run()
    assert again.multiselect("groups.sex").options == ["F", "Female", "M", "male"]
    page = upload(page, content.replace(b",M,", b",Unknown,"), "other.csv")
    assert page.multiselect("groups.sex").options == ["F", "Female", "Unknown", "male"]
    page.button("lack.sex").click().run()
    assert page.multiselect("groups.sex").options == ["F", "Female", "male"]
    assert "rows: no value of sex" in said(page) and not [each for each in page.button if each.key == "lack.sex"]
