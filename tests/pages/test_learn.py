"""The Learn page: a card for everything in the catalogues, found by words, opened by a link."""

from __future__ import annotations

from pathlib import Path

from fairpriv_core.figures.draw import draw
from fairpriv_core.methods.catalog import methods
from fairpriv_core.notions.catalog import notions
from pages.widgets.learn.cards import list_cards
from tests.pages.shown import Open, charts, said

OF_PRIVACY = ("epsilon", "attribute", "record", "proved", "clipping", "ledger")
OF_RESULTS = ("base_rate", "multiplier", "seed", "interval", "private_evaluation", "privacy_cost")
WORDS = ("seed", "interval", "baseline", "multiplier", "base rate", "private evaluation", "hardt odds")
IDEAS = (*OF_PRIVACY, *OF_RESULTS)


def test_every_method_notion_and_idea_has_a_card() -> None:
    assert set(list_cards()) == {*methods(), *notions(), *IDEAS}


def test_a_card_says_what_it_is_when_it_misleads_and_where_it_is_from() -> None:
    for name, card in list_cards().items():
        figure = card.draw()
        assert card.sentence.endswith(".") and all(each.endswith(".") for each in card.misleads), name
        assert card.misleads and card.source and figure.alt and figure.caption, name
        assert draw(figure)["data"], name


def test_a_published_variant_says_why_its_claim_is_not_proved() -> None:
    misleads = {name: " ".join(list_cards()[name].misleads) for name in methods()}
    assert {name for name in misleads if "no proved ε" in misleads[name]} == {
        name for name, kind in methods().items() if "published" in kind.info.variants
    }
    assert "sign" in misleads["pf_ld"]


def test_a_link_opens_its_card(open_page: Open) -> None:
    page = open_page("learn", card="pf_ld")
    [chart] = charts(page).values()
    assert [item.value for item in page.header] == ["PF-LD"] and "fairness terms, counts" in chart["alt"]


def test_words_find_a_card_of_any_kind_and_unknown_ones_say_so(open_page: Open) -> None:
    page = open_page("learn")
    for words in WORDS:
        page.text_input("learn_search").set_value(words).run()
        assert not page.info and page.header, words
    assert [item.value for item in page.header] == ["Equalized odds"]
    assert page.query_params["card"] == "equalized_odds"
    page.text_input("learn_search").set_value("no such word").run()
    assert "No card" in said(page, "info")


def test_try_it_chooses_the_notion_and_a_method_that_takes_it(open_page: Open) -> None:
    page = open_page("learn", card="accuracy_parity", method="dp_fermi")
    page.button("learn_try").click().run()
    choices = page.session_state["memory"].choices
    assert choices["notion"] == "accuracy_parity"
    assert "accuracy_parity" in methods()[choices["method"]].info.notions


def test_results_are_those_of_the_card(with_runs: Path, open_page: Open) -> None:
    page = open_page("learn", card="none")
    page.button("learn_compare").click().run()
    assert len(page.session_state["memory"].choices["runs"]) == 1
    page = open_page("learn", card="f_ld")
    page.button("learn_compare").click().run()
    assert "No finished run" in said(page, "info")
