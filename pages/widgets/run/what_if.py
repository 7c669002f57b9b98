"""What if: one made-up person whose values are changed, and what the run's model says of them at once."""

from __future__ import annotations

import streamlit as st

from fairpriv_core.errors import FairprivError
from fairpriv_core.facts.run_facts import RunFacts
from fairpriv_core.files.column import Column
from fairpriv_core.records.model import Model
from fairpriv_core.records.release import Kind
from fairpriv_core.records.what_if import Value, answer, list_columns, usual_value
from fairpriv_core.store.runs import RunStore
from pages.widgets.shared.sentences import attempt, plain

_COLUMNS = 3
_WHOLE = 2.0  # a range as wide has steps of 1
_MOST_SLID = 1000.0  # wide is a range that is slid over; in a wider one, or in none, a number is typed
_COVERED = "A made-up person: no row is read, and the run's ε covers whatever the model says."
_UNCOVERED = "A made-up person: no row is read. No ε limits what the model tells about the rows it learned from."
_PUBLIC = "A made-up person: no row is read."


def offer_what_if(run: RunFacts[Kind], model: Model) -> None:
    """Draw the person and the answer; nothing of a model that only a worker can run."""
    columns = list_columns(model)
    if not columns:
        return
    box = st.expander("What if?", key="what_if", icon=":material/person_search:", on_change="rerun")
    if not box.open:
        return
    with box:
        place = st.container()
        cells = st.columns(_COLUMNS)
        person: dict[str, Value] = {}
        for index, column in enumerate(columns):
            with cells[index % _COLUMNS]:
                person[column.name] = _ask(column, f"what_if.{run.key}.{column.name}")
        with place:
            _show(model, person)
            covered = _COVERED if run.epsilon.proved is not None else _UNCOVERED
            st.caption(_PUBLIC if run.data.published else covered)


def _show(model: Model, person: dict[str, Value]) -> None:
    reply = attempt(lambda: answer(model, person))
    if reply is None:
        return
    share = f"{100 * reply.score:.1f} %"
    words = f"Decides **{plain(reply.label)}** with a chance of {share}" if reply.is_chance else None
    st.markdown(words or f"Decides **{plain(reply.label)}** · score {share}")


def _ask(column: Column, key: str) -> Value:
    """Draw the field of a column and return its value."""
    usual, label = usual_value(column), plain(column.name)
    choices = column.values or column.groups
    if choices:
        return st.selectbox(label, choices, key=key, accept_new_options=not column.values)
    if column.kind != "number":
        return st.text_input(label, key=key, placeholder="no value") or None
    low, high = float(column.low), float(column.high)
    if high - low <= _MOST_SLID:
        step = 1.0 if high - low >= _WHOLE else (high - low) / 100
        return st.slider(label, low, high, float(usual or 0.0), step=step, format="%g", key=key)
    return st.number_input(label, value=None if usual is None else float(usual), format="%g", key=key)


@st.cache_resource(max_entries=16, show_spinner=False)
def read_model(place: str, key: str, _store: RunStore) -> Model | None:
    """Return a run's model; None where it left none."""
    try:
        return Model.read(lambda name: _store.artifact(key, name))
    except FairprivError:
        return None
