"""Catalogue × pages: every method, and one method and one notion that nobody prepared a page for, is drawn everywhere.

One session a page: it goes through all runs, as a person would.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from fairpriv_core.documents.document import AUDIENCES
from fairpriv_core.documents.forms import OF_STORY, forms_of, open_report
from fairpriv_core.documents.report_data import gather_report
from fairpriv_core.facts.wording import protected
from fairpriv_core.methods import catalog
from fairpriv_core.methods.base import MethodInfo, Style, parameters
from fairpriv_core.methods.catalog import methods
from fairpriv_core.methods.dp_sgd import DpSgd
from fairpriv_core.notions import catalog as notion_catalog
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.notion import Notion
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.rows import RunRow
from fairpriv_core.store.runs import RunStore, open_store
from fairpriv_core.store.work import WorkStore
from pages.widgets.learn.cards import list_cards
from tests.pages.shown import Open, keys_of, whole

TOY_NOTION = Notion(
    name="toy_notion",
    title="Toy notion",
    citation="Nobody (2000), Nothing",
    sentence="Among people whose true label is negative, every group is predicted positive equally often.",
    conditions=(0,),
    compares="decisions",
    ask="Among people who are not '{positive}', the share predicted '{positive}' should be the same for {groups}.",
    misleads="It does not look at misses.",
)
DATA = {"dataset": "synthetic", "sensitive": "group", "rows": 600}
QUICK = {"epochs": 2, "iterations": 2, "batch_size": 50}
MOST = 6


@dataclass(frozen=True)
class ToyMethod(DpSgd):
    """DP-SGD by another name, for one old notion and the toy one."""

    info: ClassVar[MethodInfo] = replace(
        DpSgd.info,
        name="toy_method",
        title="Toy method",
        style=Style("ink", "longdashdot", "star"),
        only=("demographic_parity", TOY_NOTION.name),
    )


@pytest.fixture(scope="module")
def whole_catalogue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Add the toys to the catalogues; return a store's folder with a finished run of every method there is then."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalog, "_METHODS", (*methods().values(), ToyMethod))
        patch.setattr(notion_catalog, "_NOTIONS", (*notions().values(), TOY_NOTION))
        st.cache_resource.clear()
        folder = tmp_path_factory.mktemp("whole")
        with open_store(str(folder / "runs.db")) as store:
            work = WorkStore(store.database)
            paid = replace(configure("toy_method", TOY_NOTION.name), private_evaluation=True)
            by_threat = sorted(methods(), key=lambda name: str(methods()[name].info.threat_model))
            for config in (*map(configure, by_threat), paid):
                work_on(work, work.claim(store.submit(config).key))
            assert {row.status for row in store.rows()} == {"finished"}
        yield folder
    st.cache_resource.clear()


def configure(name: str, notion: str | None = None) -> RunConfig:
    """Return a quick run of the method called `name`."""
    kind = methods()[name]
    settings = {key: value for key, value in QUICK.items() if key in parameters(kind)}
    asked = {"data": DATA, "notion": notion or kind.info.notions[0], "method": {"name": name, **settings}}
    return build_config({**asked, "epsilon": 5.0 if kind.info.threat_model else None, "delta": 1e-5, "seed": 0})


@pytest.fixture
def store(whole_catalogue: Path, own_store: Path) -> Iterator[RunStore]:
    """Return a copy of the store with a run of every method, where this test's store is."""
    shutil.copytree(whole_catalogue, own_store.parent, dirs_exist_ok=True)
    with open_store() as opened:
        yield opened


def split(rows: Sequence[RunRow]) -> list[Sequence[RunRow]]:
    """Return `rows` in parts of as many as Compare and Report take at once."""
    return [rows[start : start + MOST] for start in range(0, len(rows), MOST)]


def read(page: AppTest) -> str:
    """Return what stands on a page; it must have come without an exception and without an error."""
    whole(page)
    texts = [str(each.value) for each in (*page.markdown, *page.caption, *page.header)]
    charts = [json.dumps(json.loads(each.proto.json)["figure"]) for each in page.get("bidi_component")]
    return "\n".join([*texts, *charts, *(each.value.to_csv() for each in page.dataframe)])


def test_the_run_page_and_the_audit_page_draw_every_run(store: RunStore, open_page: Open) -> None:
    rows = store.rows()
    for name in ("run", "audit"):
        page = open_page(name)
        for row in rows:
            page.selectbox("run").set_value(row.key).run()
            assert row.key in page.query_params["run"] and read(page), row.config["method"]


def test_the_train_page_offers_a_new_method_and_a_new_notion(store: RunStore, open_page: Open) -> None:
    """`test_train.py` goes through the settings of all methods."""
    page = open_page("train", method="toy_method", notion=TOY_NOTION.name, expert="True")
    assert page.selectbox("method").value == "toy_method" and page.selectbox("notion").value == TOY_NOTION.name
    listed = page.selectbox("method").options
    ours = [title.endswith(" · ours") for title in listed]
    assert (
        listed[0] == "Recommended for this data"
        and listed[1].startswith("PF-LD · ")
        and any(ours)
        and ours == sorted(ours)
    )
    assert ToyMethod.info.summary in page.selectbox("method").help.replace("\\", "")
    assert {"p.width", "p.batch_size"} <= keys_of(page)
    assert "Among people who are not 'yes', the share predicted 'yes' should be" in read(page)


def test_compare_and_report_draw_all_runs_side_by_side(store: RunStore, open_page: Open) -> None:
    """Of each run there is every form of a report too; its story, the same for every audience, tells of the first."""
    told = set[str | None]()
    for at, rows in enumerate(split(store.rows())):
        rows.sort(key=lambda row: methods()[row.config["method"]["name"]].info.threat_model in told)
        keys, names = [row.key for row in rows], [row.config["method"]["name"] for row in rows]
        shown = [open_page("compare", runs=keys), open_page("report", runs=keys, audience="analyst")]
        if at == 0:  # the newest run has paid for an evaluation: what policy sees of others is less
            shown.append(open_page("report", runs=keys, audience="policy"))
        for page in shown:
            text = read(page)
            assert [name for name in names if methods()[name].info.legend not in text] == []
        data, protects = gather_report(store, keys), methods()[names[0]].info.threat_model
        for audience in AUDIENCES:
            report = open_report(data, audience)
            forms = {name: form for name, form in forms_of(report).items() if not form.browser}
            tells = audience == "policy" and protects not in told
            own = forms if tells else {name: forms[name] for name in forms if name not in OF_STORY}
            assert all(form.make(report, lambda _: None) for form in own.values()) and len(forms) >= 5
        told.add(protects)
    assert told == {None, "attribute", "record"}


def test_trade_offs_draw_all_runs(store: RunStore, open_page: Open) -> None:
    page = open_page("tradeoffs")
    for view in ("frontier", "map"):
        page.segmented_control("view").set_value(view).run()
        assert read(page)
    page = open_page("tradeoffs", of_notion=TOY_NOTION.name, dominated="True")
    assert "Toy method" in read(page) and "Toy notion" in read(page)


def test_learn_has_a_card_of_everything(store: RunStore, open_page: Open) -> None:
    page = open_page("learn")
    for card in list_cards().values():
        page.segmented_control("learn_kind").set_value(card.kind).run()
        page.pills("card").set_value(card.name).run()
        assert card.title in read(page).replace("\\", "")
    assert {"toy_method", "toy_notion"} <= set(list_cards())


def test_the_strip_says_of_every_choice_what_is_protected(store: RunStore) -> None:
    def draw() -> None:
        from pages.widgets.app.strip import hold_strip, show_strip
        from pages.widgets.shared.state import enter

        enter("explore")
        show_strip("Explore", *hold_strip("Explore"))

    for name, kind in methods().items():
        page = AppTest.from_function(draw)
        page.query_params["method"] = name
        assert protected(kind.info.threat_model) in read(page.run()).replace("\\", "")
