"""Whether an object declares a fairness notion: what metrics, penalties and sentences read of it."""

from __future__ import annotations

from string import Formatter
from typing import Any

from fairpriv_core.errors import BadInput
from fairpriv_core.notions.notion import Notion

_GIVEN_LABELS = ((None,), (0, 1), (1,), (0,))
_CONDITIONS = {
    "decisions": _GIVEN_LABELS,
    "errors": _GIVEN_LABELS,
    "labels": ((1,),),
    "scores": ((None,),),
    "losses": ((None,),),
}
_WORDS = ("title", "citation", "sentence", "ask", "misleads")


def check_notion(name: str, notion: Any) -> None:
    """Raise BadInput unless `notion` is a Notion called `name` whose formula is known and whose sentences hold."""
    if not isinstance(notion, Notion):
        raise BadInput(f"a notion must be a Notion, got '{type(notion).__name__}'.")
    if notion.name != name:
        raise BadInput(f"the notion's name must be the entry point's '{name}', got '{notion.name}'.")
    if notion.compares not in _CONDITIONS:
        raise BadInput(f"compares must be one of {', '.join(_CONDITIONS)}, got '{notion.compares}'.")
    known = _CONDITIONS[notion.compares]
    if notion.conditions not in known:
        raise BadInput(f"conditions must be one of {', '.join(map(str, known))}, got {notion.conditions!r}.")
    for word in _WORDS:
        if not isinstance(getattr(notion, word), str) or not getattr(notion, word).strip():
            raise BadInput(f"{word} must be text, got '{getattr(notion, word)}'.")
    if not notion.sentence.endswith(".") or notion.sentence.count(".") != 1 or not notion.misleads.endswith("."):
        raise BadInput(f"sentence must be one sentence, and misleads must end in '.', got '{notion.sentence}'.")
    _check_places("ask", notion.ask, {"groups", "positive"})
    if not notion.needs_positive:
        _check_places("ask_of_classes", notion.ask_of_classes, {"groups"})


def _check_places(word: str, text: str, known: set[str]) -> None:
    """Refuse a text without {groups}, or with a place that is not `known`."""
    try:
        places = {place for _, place, _, _ in Formatter().parse(text) if place is not None}
    except ValueError as error:
        raise BadInput(f"{word} must be a text with {{groups}}, got '{text}': {error}.") from error
    if "groups" not in places or places - known:
        choices = ", ".join(f"{{{field}}}" for field in sorted(known))
        raise BadInput(f"{word} must have {{groups}} and no places but {choices}, got '{text}'.")
