"""A tour of two minutes: a few sentences at a time, skippable, and always there to be started again."""

from __future__ import annotations

import streamlit as st

_STEPS = (
    ("Three wishes", "A classifier should be right (**accuracy**), treat groups alike (**fairness gap** near 0), and "
     "give away little about any one person (**privacy budget ε**, small). They pull against each other."),
    ("Reading the chart", "Each line is a method, with colour, dash and marker. To the left ε is small: more noise. "
     "The upper panel is accuracy, the lower one the gap. A band is the 95 % interval over seeds."),
    ("Reading ε", "Move the slider. The sentence says how sure an attacker could end at most, starting from even "
     "odds; the dots show the same. No value of ε is a promise of safety."),
    ("What is protected", "Some methods protect one attribute of each person, some the whole record. The legend "
     "says which, and for your own run the strip above. Their ε cannot be compared."),
    ("Doing it yourself", "**Data** shows groups and base rates. **Train** shows noise, ε and error before you launch. "
     "**Run** is live. **Compare** sets finished runs side by side."),
    ("Further", "**Trade-offs** sweeps over ε and finds the smallest that is enough. **Papers** runs papers' figures "
     "again. **Audit** attacks a model. **Present** shows a result in five steps. **Report** makes one file. "
     "**Learn** has a card for each idea, "
     "notion and method."),
)  # fmt: skip


def show_tour() -> None:
    """Draw the tour's current step, or the button that starts it."""
    step = st.session_state.get("tour_step")
    if step is None:
        if st.button("Two-minute tour", key="tour_start", icon=":material/explore:", type="tertiary"):
            _go(0)
        return
    title, text = _STEPS[step]
    with st.container(border=True, key="tour"):
        st.markdown(f"**{step + 1} of {len(_STEPS)}: {title}**  \n{text}")
        back, on, skip = st.columns(3, width="stretch")
        if step > 0 and back.button("Back", key="tour_back"):
            _go(step - 1)
        last = step == len(_STEPS) - 1
        if not last and on.button("Next", key="tour_next", type="primary"):
            _go(step + 1)
        if skip.button("Close" if last else "Skip the tour", key="tour_skip", type="tertiary"):
            _go(None)


def _go(step: int | None) -> None:
    st.session_state["tour_step"] = step
    st.rerun()
