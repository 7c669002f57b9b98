"""Before runs leave that raw numbers chose: what they would lose, and the ways to go on, in place of what was asked."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from fairpriv_core.ledger.choice import Lost, list_ways, withdraw
from fairpriv_core.ledger.selection import Criterion, select_run, why_not
from fairpriv_core.store.ledger import Choice
from fairpriv_core.store.runs import RunStore
from fairpriv_core.text import delta_text, epsilon_text
from pages.widgets.shared.sentences import attempt, plain, sentence

_SAID = (
    "**This would choose among {runs} runs** on the same data, label and groups. Their raw numbers were shown, and ε "
    "does not cover a choice by them."
)
_GONE = "One of them was deleted, so nothing can be chosen among all."
_TAKEN = "Without ε, neither the run nor this data set's ledger has a proved one from then on. This cannot be undone."
_NOISY = "The gaps of all these runs get noise, at this price. ε then covers the choice too."
_RELEASED = "The smallest gap of those that were released already, of all these runs."
_ALL = "Where all of them leave, nothing is chosen."
_THEIRS = "This run is someone else's: only they can choose."
_USUAL = 0.5
Taken = Callable[[str], object]


def offer_choices(
    store: RunStore,
    loss: Lost,
    name: str,
    *,
    chosen: Taken,
    all_leave: Callable[[], None] | None = None,
    alone: Callable[[], None] = lambda: None,
) -> None:
    """Draw what an act on a chosen run would cost, and a button for each way to go on, whose callback then goes on.

    `chosen` is told which run noise or released numbers chose, `all_leave` brings the others along (None where they
    cannot leave), and `alone` follows where it goes on without an epsilon. `name` begins the widgets' keys.
    """
    st.warning(_SAID.format(runs=f"{len(loss.among.all):,}"), icon=":material/rule:")
    if loss.among.deleted:
        st.caption(_GONE)
    mine = store.owner in (None, store.glance(loss.lose[0]).owner)
    if not mine:
        st.caption(_THEIRS)
    ready = store.database.writable and mine
    ways = list_ways(store, loss)
    with st.container(horizontal=True, vertical_alignment="bottom", key=f"{name}_ways"):
        if "released" in ways:
            choose = partial(_choose, store, loss.lose[0], Criterion("released"), chosen)
            st.button("Choose by released gaps: free", f"{name}_released", _RELEASED, choose, disabled=not ready)
        if "noisy" in ways:
            _offer_noise(store, loss, name, chosen, ready=ready)
        if all_leave is not None and loss.can_take_all:
            st.button(f"Take all {len(loss.among.keys):,} along", f"{name}_all", _ALL, all_leave)
        go_on = partial(_go_on, store, loss, alone)
        st.button("Go on without ε", f"{name}_without", on_click=go_on, disabled=not ready)
    st.caption(_TAKEN)
    if loss.among.is_open and not ways:
        st.caption(plain(sentence(why_not(store, loss.lose[0], "noisy") or "")))


def _offer_noise(store: RunStore, loss: Lost, name: str, follow_up: Taken, *, ready: bool) -> None:
    price = st.number_input("Price ε", value=_USUAL, step=None, format="%.4g", width=110, key=f"{name}_price")
    choose = partial(_choose, store, loss.lose[0], Criterion("noisy", epsilon=price), follow_up)
    label = f"Choose with noise: ε = {epsilon_text(price)}"
    st.button(label, f"{name}_noisy", _NOISY, choose, disabled=not ready)


def _choose(store: RunStore, key: str, criterion: Criterion, follow_up: Taken) -> None:
    choice = attempt(lambda: select_run(store, [key], criterion))
    if choice is not None:
        st.toast(_format_choice(choice), icon=":material/how_to_reg:")
        follow_up(str(choice["selected"]))


def _format_choice(choice: Choice) -> str:
    count, cost = len(choice["candidates"]), choice["epsilon"]
    covers = (
        "" if cost is None else f": ε = {epsilon_text(cost)} (δ = {delta_text(choice['delta'])}) covers all of them"
    )
    return plain(f"Run {choice['selected']} was chosen among {count}{covers}.")


def _go_on(store: RunStore, loss: Lost, alone: Callable[[], None]) -> None:
    def go_on() -> None:
        withdraw(store, [loss])
        alone()

    attempt(go_on)
