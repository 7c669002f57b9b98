"""A private evaluation of a run that finished without one: what it costs, the button, and waiting for it."""

from __future__ import annotations

import math

import streamlit as st

from fairpriv_core.ledger.late_evaluation import plan_late_evaluation, request_evaluation
from fairpriv_core.ledger.launch import foresee_launch
from fairpriv_core.records.record import RunRecord
from fairpriv_core.store.previews import name_request
from fairpriv_core.store.rows import RunRow
from fairpriv_core.store.runs import RunStore
from fairpriv_core.text import epsilon_text
from pages.widgets.shared.ledger import find_page, name_column
from pages.widgets.shared.polling import await_answer, look, poll
from pages.widgets.shared.sentences import attempt, plain, sentence

_POLL_SECONDS = 1.0
_WORK = "A worker counts the model's decisions on the test rows, with noise."
_NONE = "ε covers no fairness number of this run: it was launched without private evaluation."
_HELP = (
    "It releases how fair the model is on the test rows, with noise. Training never saw these rows, so the run's own ε "
    "stays as it is."
)


def offer_evaluation(store: RunStore, row: RunRow, record: RunRecord) -> None:
    """Say that the run has no private evaluation, and offer one at its cost where an ε can cover it."""
    st.caption(_NONE)
    if not record.is_covered or row.owner != store.payer or not store.database.writable:
        return
    request = request_evaluation(row.key, owner=store.payer)
    progress = look(store, name_request(request))
    if progress.waits:
        poll(await_answer, store, name_request(request), _WORK, every=_POLL_SECONDS)
        return
    if progress.error:
        st.error(plain(sentence(progress.error)), icon=":material/error:")
    fits = _show_cost(store, record)
    label = f"Evaluate privately: ε = {epsilon_text(record.epsilon or 0.0)} of the test rows"
    if st.button(label, key="do_evaluate", icon=":material/balance:", help=_HELP, disabled=not fits):
        attempt(lambda: store.previews.ask(request, again=True))
        st.rerun()


def _show_cost(store: RunStore, record: RunRecord) -> bool:
    """Return whether the data's caps allow the evaluation; where there are caps, draw what the ledger will hold.

    Without a cap the ledger is not read: the button has the price.
    """
    plan = attempt(lambda: plan_late_evaluation(record))
    if plan is None or not store.ledger.caps(plan[0].data):
        return plan is not None
    page = attempt(lambda: find_page(store, plan[0].data))
    if page is None:
        return False
    effects = foresee_launch(page, plan[0].entry, delta=record.delta)
    for effect in effects:
        if math.isfinite(effect.after):
            now, after = epsilon_text(effect.planned), epsilon_text(effect.after)
            st.caption(f"Ledger, {name_column(effect)}: ε = {now} so far, {after} with this evaluation.")
    fits = all(effect.fits for effect in effects)
    if not fits:
        st.warning("An evaluation would exceed the cap of this data.", icon=":material/block:")
    return fits
