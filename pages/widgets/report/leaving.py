"""Which of the chosen runs may leave in a report for policy or a presentation, and what is asked before."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from fairpriv_core.facts.finished import list_together
from fairpriv_core.facts.tables import TableRow
from fairpriv_core.ledger.choice import Lost, foresee_choice
from fairpriv_core.store.runs import RunStore
from pages.widgets.shared.choice import offer_choices
from pages.widgets.shared.finished import find_rows
from pages.widgets.shared.run_table import MOST_CHOSEN
from pages.widgets.shared.sentences import attempt, plain
from pages.widgets.shared.state import choose


def settle_leaving(
    store: RunStore, rows: Sequence[TableRow], all_rows: Sequence[TableRow], *, decided: TableRow | None = None
) -> tuple[str, ...] | None:
    """Return the runs of `rows` that may leave, each with its ε as it then is; None after asking what is to be done.

    `all_rows` are the rows that can be chosen here, `decided` is the one that is said to be chosen. A run that noise or
    released numbers chose leaves alone.
    """
    keys = tuple(key for row in rows for key in row.keys)
    losses = foresee_choice(store, keys, decided=() if decided is None else decided.keys)
    alone = {loss.alone for loss in losses}
    if None not in alone:
        remaining = tuple(key for key in keys if not any(key in loss.among.all for loss in losses) or key in alone)
        for loss in losses:
            sentence = f"Run {loss.alone} was chosen among {len(loss.among.all):,}, so it leaves alone."
            st.caption(plain(sentence))
        return remaining
    first = next(loss for loss in losses if loss.alone is None)
    together = list_together(store, first.among, max_rows=MOST_CHOSEN) if decided is None else ()

    def chosen(key: str) -> None:
        _show(store, first, all_rows, (key,))

    def all_leave() -> None:
        _show(store, first, all_rows, [key for row in together for key in row.keys])

    offer_choices(store, first, "leave", chosen=chosen, all_leave=all_leave if together else None)
    return None


def _show(store: RunStore, loss: Lost, all_rows: Sequence[TableRow], keys: Sequence[str]) -> None:
    """Let the page show the settings of `keys`: explored runs are kept, and archived ones are listed again."""
    for key in loss.among.unlisted & set(keys):
        attempt(partial(store.keep, key))
    if not set(keys) <= {key for row in all_rows for key in row.keys}:
        choose("archived", True)
    firsts = {key: row.keys[0] for row in find_rows(store) or () for key in row.keys}
    row_keys = tuple(dict.fromkeys(firsts.get(key, key) for key in keys))
    choose("runs", row_keys)
    choose("decided", row_keys[0])
