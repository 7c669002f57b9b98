"""The slider of the privacy budget, and what it means: a sentence in odds, 100 dots, and caution at both ends."""

from __future__ import annotations

import re

import streamlit as st

from fairpriv_core.privacy.explain import odds, sentence
from fairpriv_core.text import delta_text
from pages.widgets.shared.sentences import plain
from pages.widgets.shared.state import keep, mount, value, write_texts

#: the budgets that the slider stops at, evenly spaced by eye on a log scale
STOPS = tuple(
    round(digit * scale, 3)
    for scale in (0.01, 0.1, 1.0, 10.0)
    for digit in (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9)
    if 0.05 <= digit * scale <= 20
)
#: outside of this the sentence stands in a box: so little noise that nobody hides, or so much that nothing is learned
PLAIN_RANGE = (0.1, 7.5)
_CERTAIN = re.compile(r"(at most \d+ % certain|almost certain)")
_LEAST, _MOST = 0.001, 1000.0
_GRID = "display:grid;grid-template-columns:repeat(20,1fr);gap:4px;max-width:30rem"
_DOT = "display:block;aspect-ratio:1;border-radius:50%;box-sizing:border-box;"
_PAINT = {
    "before": "background:#8A939B;",
    "added": "background:#2E86C8;",
    "rest": "border:1.5px solid #8A939B;",
}


def choose_epsilon(*, help: str | None = None, delta: float | None = None) -> float:
    """Draw the slider and return the budget that is chosen; one between the stops, of a link, is a stop more.

    Where it is not said elsewhere, the label has `delta`.
    """
    epsilon = value("epsilon")
    stops = list_stops(epsilon)
    nearest = min(stops, key=lambda stop: abs(stop - epsilon))
    beside = "" if delta is None else f", δ = {delta_text(delta)}"
    label = f"Privacy budget ε{beside}"
    budget = st.select_slider(
        label, stops, **mount("epsilon", stops, nearest), help=help, format_func=lambda stop: write_texts(stop)[0]
    )
    return float(keep("epsilon", budget))


def list_stops(epsilon: float) -> tuple[float, ...]:
    """Return the slider's stops, of which `epsilon` is one within its range."""
    return tuple(sorted({*STOPS, epsilon} if _LEAST <= epsilon <= _MOST else STOPS))


def explain_epsilon(epsilon: float, delta: float, threat_model: str, unit: str = "person", *, of: str = "") -> None:
    """Say what `epsilon` promises: the odds, the dots, and what is protected. Never that anything is safe."""
    words = _CERTAIN.sub(r"**\1**", plain(sentence(epsilon, delta, threat_model, unit, of=of)))
    st.html(draw_dots(odds(epsilon)))
    with st.container(key="epsilon_sentence"):
        if PLAIN_RANGE[0] <= epsilon <= PLAIN_RANGE[1]:
            st.markdown(words)
        else:
            st.warning(words, icon=":material/warning:")


def draw_dots(sure: int) -> str:
    """Return 100 dots as HTML: 50 for even odds, those that `sure` (50 to 100) adds, the rest.

    >>> draw_dots(73).count(_PAINT["added"])
    23
    """
    kinds = ["before"] * min(50, sure) + ["added"] * max(0, sure - 50)
    dots = "".join(f'<span style="{_DOT}{_PAINT[kind]}"></span>' for kind in [*kinds, *["rest"] * (100 - len(kinds))])
    label = f"100 dots: 50 for even odds before, {sure - 50} added at most, {100 - sure} left in doubt."
    return f'<div role="img" aria-label="{label}" title="{label}" style="{_GRID}">{dots}</div>'
