"""From an error to a sentence at the field; and from a name that somebody wrote to text that stays text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import streamlit as st

from fairpriv_core.errors import BadInput, FairprivError

Result = TypeVar("Result")


def attempt(action: Callable[[], Result], *, slots: Mapping[str, Any] | None = None) -> Result | None:
    """Return what `action` returns; None where it refuses, and its sentence stands at the field it is about.

    `slots` maps a field's name to the container under it; without one the sentence stands where the page is.
    """
    try:
        return action()
    except FairprivError as error:
        field = error.field if isinstance(error, BadInput) else None
        place = (slots or {}).get(field or "", st)
        place.error(plain(sentence(str(error))), icon=":material/error:")
        return None


def sentence(message: str) -> str:
    """Return the message as a person reads it: with a capital letter, unless a name comes first, and a stop.

    >>> sentence("clip must be > 0, got 0")
    'Clip must be > 0, got 0.'
    >>> sentence("people.csv is empty")
    'people.csv is empty.'
    """
    text = message.strip()
    if text and text[0].islower() and not {"_", "."} & {*text.split(" ", 1)[0]}:
        text = text[0].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."


def plain(text: str) -> str:
    """Escape what Markdown would read as markup, so that a name somebody wrote is shown as it is.

    An address becomes a link even where each of its signs is escaped; a word joiner, which nobody sees, keeps it text.

    >>> plain("<b>*a*</b>")
    '\\\\<b\\\\>\\\\*a\\\\*\\\\</b\\\\>'
    >>> plain("www.a.org")
    'www\\u2060.a.org'
    """
    words = re.sub(r"(?<=www)(?=\.)|(?=://)|(?=@)", "\u2060", text, flags=re.IGNORECASE)
    return re.sub(r"([\\`*_\[\]<>#|$~:!])", r"\\\1", words)
