"""Recommended: what a person has to say for a method to be chosen, which one it is, and why."""

from __future__ import annotations

import streamlit as st

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.records.advice import Advice, Question, advise
from fairpriv_core.records.evidence import Size
from pages.widgets.shared.sentences import attempt, plain
from pages.widgets.shared.state import keep, mount, mount_default, value

_SECRETS = {"attribute": "Who is in which group", "record": "All that a row says"}
_SECRETS_HELP = "Who is in which group: features and labels count as public. All that a row says: nothing does."
_BY_GROUP_HELP = "Some laws forbid that decisions use the group. Where they may, more accuracy is left."


def choose_advised(dataset: Dataset, notion: str) -> Advice | None:
    """Draw the two questions and what is advised; None until the first is answered."""
    names = tuple(_SECRETS)
    protect = st.segmented_control(
        "What must stay secret?",
        names,
        **mount_default("protect", (None, *names)),
        required=True,
        format_func=_SECRETS.__getitem__,
        help=_SECRETS_HELP,
    )
    keep("protect", protect or "")
    by_group = bool(
        keep("by_group", st.toggle("Decisions may use the group", **mount("by_group"), help=_BY_GROUP_HELP))
    )
    if protect is None:
        st.caption("Answer this, and a method is recommended. No row is read for it.")
        return None
    question = Question(protect, by_group, notion, value("epsilon"), value("delta"))
    advice = attempt(lambda: advise(question, Size.of(dataset)))
    for reason in () if advice is None else advice.reasons:
        st.caption(plain(reason))
    return advice
