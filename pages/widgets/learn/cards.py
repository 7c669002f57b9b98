"""The Learn page's cards, made from the catalogues: an idea, a notion or a method that is added there has its card."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from fairpriv_core.figures.figure import FigureData
from fairpriv_core.figures.learn import Flow, calibrated_groups, compared_cells, data_flow, group_losses
from fairpriv_core.figures.learn_ideas import IDEAS, Idea
from fairpriv_core.methods.base import Method, MethodInfo, parameters
from fairpriv_core.methods.catalog import CLAIMED, find_plugin, methods
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.notion import Notion
from fairpriv_core.records.parameters import read_method

KINDS = ("Ideas", "Notions", "Methods")
_ROWS = 10_000
_STEPS = ("primal", "dual")
_PLAIN = {
    "attribute": "Its ε covers the sensitive attribute alone. Features and labels are taken as public, and may give "
    "the attribute away by themselves.",
    "record": "Its ε covers whole records: it cannot be compared with the ε of a method that protects the attribute.",
    None: "It is not private: it shows what fairness costs without noise, and must not be mistaken for a safe choice.",
}


@dataclass(frozen=True)
class Card:
    """What one card says; `name` stands in the address, `page` is where to try it."""

    name: str
    kind: str
    title: str
    sentence: str
    misleads: tuple[str, ...]
    source: str
    draw: Callable[[], FigureData]
    page: str = "train"
    formula: str = ""

    def tells(self, words: str) -> bool:
        """Return whether each of `words` stands somewhere on the card."""
        text = " ".join((self.name, self.kind, self.title, self.sentence, *self.misleads, self.source)).lower()
        return all(word in text for word in words.lower().split())


@st.cache_resource
def list_cards() -> dict[str, Card]:
    """Return every card by name: ideas, notions and methods in the catalogues' order."""
    cards = [_of_idea(idea) for idea in IDEAS]
    cards += [_of_notion(notion) for notion in notions().values()]
    cards += [_of_method(kind) for kind in methods().values()]
    return {card.name: card for card in cards}


def _of_idea(idea: Idea) -> Card:
    caveats, places = (idea.misleads,), {"page": idea.page, "formula": idea.formula}
    return Card(idea.name, "Ideas", idea.title, idea.sentence, caveats, idea.source, draw=idea.draw, **places)


def _of_notion(notion: Notion) -> Card:
    def draw() -> FigureData:
        if notion.is_rate:
            return compared_cells(notion.title, conditions=notion.conditions, compares=notion.compares)
        return (group_losses if notion.is_level else calibrated_groups)(notion.title)

    return Card(notion.name, "Notions", notion.title, notion.sentence, (notion.misleads,), notion.citation, draw=draw)


def _of_method(kind: type[Method]) -> Card:
    info = kind.info

    def draw() -> FigureData:
        return data_flow(
            Flow(info.title, info.threat_model, info.uses_groups, info.needs_group_at_prediction, _list_releases(kind))
        )

    caveats = tuple(_list_caveats(info))
    return Card(info.name, "Methods", info.title, info.summary, caveats, info.citation, draw=draw)


def _list_releases(kind: type[Method]) -> tuple[str, ...]:
    """Return the names of a method's noisy releases: those with a sensitivity, then those with their own noise."""
    bounded = dict.fromkeys(kind().sensitivities(_ROWS, 2))
    own = [name.removeprefix("noise_") for name in parameters(kind) if name.startswith("noise_")]
    return tuple(bounded | dict.fromkeys(name for name in own if name not in _STEPS))


def _list_caveats(info: MethodInfo) -> list[str]:
    """Return what the method's own declarations say against reading too much into it."""
    caveats = [_PLAIN[info.threat_model]]
    if info.threat_model is not None and (plugin := find_plugin(info.name)) is not None:
        caveats.append(f"Its ε is not proved. {CLAIMED.format(plugin.package)}")
    if not info.pursues_notion:
        caveats.append("It does not aim at the chosen fairness notion: a small gap here was not asked for.")
    if info.needs_group_at_prediction:
        caveats.append("Each decision needs the person's group, which may be unknown or not allowed.")
    if info.certifies:
        caveats.append("What it certifies is the exported model's gap on people like those tested, not on any others.")
    if "published" in info.variants:
        reason = read_method({"name": info.name, "variant": "published"}).unproved_reason()
        caveats.append(f"As published it has no proved ε. {reason}")
    return caveats
