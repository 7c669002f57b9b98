"""The Learn page: a card for everything in the catalogues, found by words, opened by a link."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from fairpriv_core.methods.catalog import methods
from fairpriv_core.notions.catalog import notions
from fairpriv_core.papers.catalog import papers
from fairpriv_core.papers.cited import CITED
from fairpriv_core.report.draw import draw
from pages.widgets.learn.cards import list_cards

Open = Callable[..., AppTest]
Charts = Callable[[AppTest], list[dict[str, Any]]]
OF_PRIVACY = ("epsilon", "attribute", "record", "proved", "clipping", "ledger")
OF_RESULTS = ("base_rate", "multiplier", "seed", "interval", "private_evaluation")
IDEAS = (*OF_PRIVACY, *OF_RESULTS)


def test_every_method_notion_and_idea_has_a_card() -> None:
    assert set(list_cards()) == {*methods(), *notions(), *IDEAS, *[cited.name for cited in CITED]}


def test_a_method_that_is_only_cited_says_why_it_does_not_run_and_offers_no_run(open_page: Open) -> None:
    for cited in CITED:
        assert cited.name not in methods() and set(cited.cited_by) <= set(papers())
        page = open_page("learn", card=cited.name)
        assert [item.value for item in page.header] == [cited.title]
        assert any("It does not run here." in item.value for item in page.markdown)
        assert not page.button


@pytest.mark.parametrize("name", [*IDEAS, *notions(), *methods(), *[cited.name for cited in CITED]])
def test_a_card_says_what_it_is_when_it_misleads_and_where_it_is_from(name: str) -> None:
    card = list_cards()[name]
    figure = card.draw()
    assert card.sentence.endswith(".") and all(said.endswith(".") for said in card.misleads)
    assert card.misleads and card.source and figure.alt and figure.caption
    assert draw(figure)["data"]


def test_a_published_variant_says_why_its_claim_is_not_proved() -> None:
    said = {name: " ".join(list_cards()[name].misleads) for name in methods()}
    assert {name for name in said if "no proved ε" in said[name]} == {
        name for name, kind in methods().items() if "published" in kind.info.variants
    }
    assert "sign" in said["pf_ld"]


def test_a_link_opens_its_card(open_page: Open, charts_of: Charts) -> None:
    page = open_page("learn", card="pf_ld")
    assert [item.value for item in page.header] == ["PF-LD"]
    assert "fairness terms, counts" in charts_of(page)[0]["alt"]


def test_words_find_a_card_of_any_kind_and_unknown_ones_say_so(open_page: Open) -> None:
    page = open_page("learn")
    page.text_input("learn_search").set_value("hardt odds").run()
    assert [item.value for item in page.header] == ["Equalized odds"]
    assert page.query_params["card"] == "equalized_odds"
    page.text_input("learn_search").set_value("no such word").run()
    assert "No card" in page.info[0].value


@pytest.mark.parametrize("word", ["seed", "interval", "baseline", "multiplier", "base rate", "private evaluation"])
def test_words_of_the_pages_are_found(word: str, open_page: Open) -> None:
    page = open_page("learn")
    page.text_input("learn_search").set_value(word).run()
    assert not page.info and page.header


def test_try_it_chooses_the_notion_and_a_method_that_takes_it(open_page: Open) -> None:
    page = open_page("learn", card="accuracy_parity", method="dp_fermi")
    page.button("learn_try").click().run()
    choices = page.session_state["memory"]["choices"]
    assert choices["notion"] == "accuracy_parity"
    assert "accuracy_parity" in methods()[choices["method"]].info.notions


def test_results_are_those_of_the_card(with_runs: Path, open_page: Open) -> None:
    page = open_page("learn", card="none")
    page.button("learn_compare").click().run()
    assert len(page.session_state["memory"]["choices"]["runs"]) == 1
    page = open_page("learn", card="f_ld")
    page.button("learn_compare").click().run()
    assert "No finished run" in page.info[0].value
