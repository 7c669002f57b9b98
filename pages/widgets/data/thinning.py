"""Rows that are left out: some of all at random, and training rows of larger groups; and which ones that leaves."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from fairpriv_core.data.dataset import Dataset, split_dataset
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.data.profile import profile_groups
from fairpriv_core.records.source import read_ratio, read_rows
from pages.widgets.shared.guard import attempt, plain
from pages.widgets.shared.state import keep, mount, value

_NAME, _ROWS = "group_ratio", "rows"
_FEW = (
    "A whole number; empty: all. So many rows are drawn at random with a constant seed, for training and testing; the "
    "others are left alone. Which ones these are depends on nothing that rows hold, so that ε stays what it is."
)
_HELP = (
    "In (0, 1]; empty: all rows are used. Rows of larger groups are left out of the training part at random, until the "
    "smallest group has this share of their size. Every ε then takes as given which rows were left out."
)


def choose_fewer(spec: DataSpec) -> DataSpec | None:
    """Return `spec` with the number of rows and the group ratio that are chosen; None after saying why it cannot be."""
    with st.expander("Leave out rows", expanded=bool(value(_NAME, "") or value(_ROWS, ""))):
        few = st.text_input("Rows: how many are used", **mount(_ROWS, default=""), help=_FEW)
        typed = st.text_input(
            "Group ratio: the smallest group's size over each larger one's", **mount(_NAME, default=""), help=_HELP
        )
    rows, ratio = (str(keep(name, text) or "").strip() or None for name, text in ((_ROWS, few), (_NAME, typed)))
    return attempt(lambda: replace(spec, group_ratio=read_ratio(ratio), rows=read_rows(rows)))


def show_thinned(dataset: Dataset, *, seed: int, split: str) -> None:
    """Say which training rows are left where larger groups are thinned; a sentence where none can be left out."""
    train = None if dataset.group_ratio is None else attempt(lambda: split_dataset(dataset, seed=seed, split=split)[0])
    if train is not None:
        listed = ", ".join(f"{each.size:,} of {each.name}" for each in profile_groups(train) if each.size)
        st.markdown(plain(f"A run with seed {seed} trains on {train.n:,} rows: {listed}. Test rows stay as drawn."))
