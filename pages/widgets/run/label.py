"""What a person does with a run as a whole: clone its settings; name, tag, pin, archive or delete it."""

from __future__ import annotations

from functools import partial

import streamlit as st

from fairpriv_core.ledger.choice import closes_choice
from fairpriv_core.store.labels import MOST_OF_NAME, MOST_OF_NOTE, MOST_TAGS, RunLabel
from fairpriv_core.store.rows import RunRow
from fairpriv_core.store.runs import RunStore
from pages.widgets.shared.labels import Labels, list_tags
from pages.widgets.shared.sentences import attempt
from pages.widgets.shared.state import choose
from pages.widgets.train.clone import offer_clone

_OWN = "Only for you: no record, file or report includes it."
_KEPT = "This deletes its curves, model and audit. Its ε stays in the ledger."
_CLOSED = "Other runs are on the same data, label and groups. Once this one is gone, none can be chosen with its ε."


def offer_ways(store: RunStore, row: RunRow, labels: Labels) -> None:
    """Draw the ways in one short row; only its owner changes a run."""
    with st.container(horizontal=True, gap="small", key="run_ways"):
        offer_clone(row.key, "run_clone")
        if store.database.writable and store.payer == row.owner:
            with st.popover("Name, tags, notes", icon=":material/label:", key="run_label"):
                _draw_label(store, row, labels)


def _draw_label(store: RunStore, row: RunRow, labels: Labels) -> None:
    label = labels.get(row.key, RunLabel())
    all_tags = list_tags([*(item.tags for item in labels.values()), label.tags])
    keys = {name: f"label.{name}.{row.key}" for name in ("name", "tags", "note")}
    with st.form(f"label.{row.key}", border=False):
        st.text_input("Name", label.name, max_chars=MOST_OF_NAME, key=keys["name"], help=_OWN)
        st.multiselect(
            "Tags",
            all_tags,
            list(label.tags),
            key=keys["tags"],
            accept_new_options=True,
            max_selections=MOST_TAGS,
            placeholder="none",
        )
        st.text_area("Note", label.note, max_chars=MOST_OF_NOTE, key=keys["note"], height=90)
        st.form_submit_button("Save", icon=":material/check:", on_click=partial(_save, store, row.key, keys))
    with st.container(horizontal=True):
        pin, archive = ("Unpin" if label.pinned else "Pin"), ("Unarchive" if label.archived else "Archive")
        turn_pin = partial(_change, store, row.key, pinned=not label.pinned)
        turn_archive = partial(_change, store, row.key, archived=not label.archived)
        st.button(pin, key="label.pin", icon=":material/keep:", on_click=turn_pin)
        st.button(archive, key="label.archive", icon=":material/archive:", on_click=turn_archive)
    _offer_deletion(store, row)


def _change(store: RunStore, key: str, **flag: bool) -> None:
    attempt(lambda: store.label(key, pinned=flag.get("pinned"), archived=flag.get("archived")))
    _reset_list(key)


def _save(store: RunStore, key: str, keys: dict[str, str]) -> None:
    name, tags, note = (st.session_state[keys[part]] for part in ("name", "tags", "note"))
    attempt(lambda: store.label(key, name=name, tags=tags, note=note))
    _reset_list(key)


def _reset_list(key: str) -> None:
    """Set the list of runs anew: in a browser it keeps the text that was chosen, which is another one now."""
    st.session_state["run"] = key


def _offer_deletion(store: RunStore, row: RunRow) -> None:
    sure = st.toggle("Delete this run", key=f"label.sure.{row.key}")
    if sure:
        st.caption(_KEPT)
        if attempt(lambda: closes_choice(store, row.key)):
            st.warning(_CLOSED, icon=":material/rule:")
        st.button("Delete it", key="label.delete", icon=":material/delete:", on_click=partial(_delete, store, row.key))


def _delete(store: RunStore, key: str) -> None:
    def delete() -> None:
        store.delete(key)
        choose("run", "")

    attempt(delete)
