"""Names, tags, notes, pins and the archive on the pages: shown where runs are listed, and nobody else's to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairpriv_core.store.labels import RunLabel
from fairpriv_core.store.runs import RunStore, open_store
from tests.pages.shown import Open, click, find_key, said

EVIL = "[x](http://b.example) <b>z</b>"


@pytest.fixture
def store(with_runs: Path) -> RunStore:
    return open_store(str(with_runs))


def test_the_run_page_names_tags_notes_pins_and_archives(store: RunStore, open_page: Open) -> None:
    key = find_key(store, "pf_ld")
    page = open_page("run", run=key)
    page.text_input(f"label.name.{key}").set_value(EVIL)
    page.text_area(f"label.note.{key}").set_value("one\ntwo")
    click(page, "Save")
    assert not page.exception and not page.error
    assert store.labels() == {key: RunLabel(EVIL, (), "one\ntwo")}
    assert [option for option in page.selectbox("run").options if option.startswith(f"{EVIL} · ")]
    for button, flag in (("label.pin", "pinned"), ("label.archive", "archived")):
        page.button(button).click().run()
        assert getattr(store.labels()[key], flag) and not page.exception
    assert page.selectbox("run").value == key, "what is archived stays on screen"
    assert page.selectbox("run").options[-1].endswith("archived")
    assert key not in open_page("run").selectbox("run").options
    page.button("label.archive").click().run()
    assert open_page("run").selectbox("run").value == key, "pinned runs come first"


def test_a_run_is_deleted_once_it_is_meant_and_the_next_one_is_shown(store: RunStore, open_page: Open) -> None:
    key = find_key(store, "pf_ld")
    page = open_page("run", run=key)
    assert not [each for each in page.button if each.key == "label.delete"]
    page.toggle(f"label.sure.{key}").set_value(True).run()
    assert "stays in the ledger" in said(page, "caption")
    page.button("label.delete").click().run()
    assert not page.exception and not page.error
    assert key not in [row.key for row in store.rows()] and page.selectbox("run").value != key
    assert key in [tombstone["key"] for tombstone in store.tombstones()]


def test_lists_filter_by_tag_and_leave_archived_runs_out(store: RunStore, open_page: Open) -> None:
    plain, first, second = find_key(store, "none"), find_key(store, "pf_ld"), find_key(store, "pf_ld", 1)
    assert not [each for each in open_page("compare").multiselect if each.key == "only.tag"]
    store.label(plain, name="Reference", tags=["paper"])
    store.label(first, archived=True)
    page = open_page("compare")
    assert len(page.dataframe[0].value) == 2, "a row with a run that is not archived is listed"
    assert list(page.dataframe[0].value["name"]) == ["Reference", ""]
    page.multiselect("only.tag").set_value(["paper"]).run()
    assert list(page.dataframe[0].value["tags"]) == ["paper"] and not page.exception
    store.label(second, archived=True)
    page = open_page("compare")
    assert len(page.dataframe[0].value) == 1 and page.multiselect("runs").value == [plain]
    assert page.multiselect("runs").options[0].startswith("Reference · ")
    page.toggle("archived").set_value(True).run()
    assert len(page.dataframe[0].value) == 2 and "True" in page.query_params["archived"]
    for name in ("run", "audit"):
        page = open_page(name, only__tag="paper")
        assert len(page.selectbox("run").options) == 1 and "Reference" in page.selectbox("run").options[0]
    store.label(plain, archived=True)
    assert "All finished runs are archived" in said(open_page("compare"), "info")
    for name in ("compare", "report", "present"):
        assert open_page(name, archived="True").multiselect("runs").options


def test_another_persons_run_can_be_cloned_and_not_labelled(store: RunStore, open_page: Open) -> None:
    key = find_key(store, "pf_ld")
    store.label(key, name="ours")
    with store.database.write() as connection:
        connection.exec_driver_sql(f"update run set owner = 'somebody' where key = '{key}'")
    page = open_page("run", run=key)
    assert not page.exception and page.button("run_clone") and not page.text_input
    assert not any("ours" in option for option in page.selectbox("run").options)
