"""Learn: one card an idea, a notion and a method: a plain sentence, a picture, when it misleads, the source."""

from __future__ import annotations

import streamlit as st

from fairpriv_core.facts.tables import run_table
from fairpriv_core.methods.catalog import mark_ours, methods
from fairpriv_core.notions.catalog import notions
from fairpriv_core.store.runs import RunStore
from pages.widgets.learn.cards import KINDS, Card, list_cards
from pages.widgets.shared.access import find_store
from pages.widgets.shared.charts import show_figure
from pages.widgets.shared.frame import go_to, link_to
from pages.widgets.shared.sentences import attempt, plain
from pages.widgets.shared.state import choose, draw_buttons, enter, keep, mount_default, publish, value

_MOST_RUNS = 1000
_MOST_COMPARED = 6


def show() -> None:
    """Draw the page."""
    enter("learn")
    st.title("Learn", anchor=False)
    st.markdown("What the words, the notions and the methods of this dashboard mean, and when they mislead.")
    cards = list_cards()
    cards_here = _find(cards)
    if not cards_here:
        st.info("No card has these words. Try another one, such as 'clipping', 'odds' or an author's name.")
        return
    options = [card.name for card in cards_here]
    name = st.pills(
        "Cards",
        options,
        **mount_default("card", options, options[0]),
        required=True,
        format_func=lambda name: f"{cards[name].title}{mark_ours(name) if cards[name].kind == 'Methods' else ''}",
    )
    card = cards[keep("card", name)]
    publish(("card",))
    _show(card)


def _find(cards: dict[str, Card]) -> list[Card]:
    """Return the cards with the words that are looked for, or without such words those of the chosen kind."""
    left, right = st.columns([2, 1], vertical_alignment="bottom")
    words = right.text_input("Search", key="learn_search", placeholder="a word or an author")
    linked = cards.get(value("card"))
    with left:
        kind = draw_buttons("learn_kind", "Topic", {kind: kind for kind in KINDS}, linked.kind if linked else KINDS[0])
    if words.strip():
        return [card for card in cards.values() if card.tells(words)]
    return [card for card in cards.values() if card.kind == kind]


def _show(card: Card) -> None:
    with st.container(border=True, key="learn_card"):
        st.header(card.title, anchor=False)
        st.markdown(plain(card.sentence))
        if card.formula:
            st.latex(card.formula)
        left, right = st.columns([3, 2], gap="large")
        with left:
            show_figure(card.draw(), f"learn_{card.name}")
        with right:
            st.markdown("**When it misleads**")
            for caveat in card.misleads:
                st.markdown(f"- {plain(caveat)}")
            st.markdown("**Source**")
            st.markdown(plain(f"{card.source[:1].upper()}{card.source[1:]}."))
            _offer_ways(card)


def _offer_ways(card: Card) -> None:
    if card.kind == "Ideas":
        link_to(card.page, "See it at work")
        return
    if card.kind == "Notions" and notions()[card.name].is_level:
        st.caption("Every run measures it. No run aims at it.")
        return
    if st.button("Try it on the Train page", key="learn_try", type="primary", icon=":material/tune:"):
        _choose(card)
        go_to("train")
    if st.button("Results in Compare", key="learn_compare", icon=":material/compare:"):
        store = find_store()
        keys = [] if store is None else attempt(lambda: _find_runs(store, card.name)) or []
        if keys:
            choose("runs", tuple(keys))
            go_to("compare", runs=keys)
        else:
            st.info("No finished run uses it yet.", icon=":material/info:")


def _find_runs(store: RunStore, name: str) -> list[str]:
    """Return what Compare calls its newest runs of the method or with the notion called `name`, as many as it takes."""
    keys = [row.key for row in store.browse(limit=_MOST_RUNS) if row.status == "finished"]
    table = run_table(record.to_json() for record in store.records(keys).values())
    return [row.keys[0] for row in table if name in (row.method, row.notion)][:_MOST_COMPARED]


def _choose(card: Card) -> None:
    """Choose the card's method or notion for the next run, and with a notion a method that takes it."""
    if card.kind == "Methods":
        choose("method", card.name)
        return
    choose("notion", card.name)
    infos = {name: kind.info for name, kind in methods().items()}
    current = infos.get(value("method"))
    if current is None or card.name not in current.notions:
        takes = [name for name, info in infos.items() if info.threat_model and card.name in info.notions]
        choose("method", takes[0])


show()
