"""What a run is held against: plain training's gap, one answer for everybody, and drawing lots between the two."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from fairpriv_core.records.mixing import say_height, say_one_answer
from fairpriv_core.records.reached import say_closed
from fairpriv_core.records.record import RunRecord
from fairpriv_core.runs.plain_run import find_plain_run, name_rows
from fairpriv_core.store.runs import RunStore
from pages.widgets.shared.sentences import attempt

_FRESH_SECONDS = 10.0


def list_heights(store: RunStore, record: Mapping[str, Any]) -> list[str]:
    """Return what the comparisons say of a run, a sentence each; `record` is its record's JSON."""
    reference = attempt(lambda: find_plain_run(store, record["config"]))
    if reference is None or reference.key == record["key"]:
        found = [say_one_answer(record)]
    else:
        height = _say_height(str(store.database.url), record["key"], reference.key, record, reference)
        found = [say_one_answer(record), say_closed(reference.to_json(), record["config"]), height]
    return [said for said in found if said is not None]


def find_closed(store: RunStore, config: Mapping[str, Any]) -> str | None:
    """Return that there is no gap for a run of `config` (JSON) to close; None where nothing shows it."""
    reference = find_plain(store, config)
    return None if reference is None else say_closed(reference.to_json(), config)


def find_plain(store: RunStore, config: Mapping[str, Any]) -> RunRecord | None:
    """Return `find_plain_run`, as it was some seconds ago; None too where the store cannot be read."""
    return attempt(lambda: _find_plain(str(store.database.url), store.payer, name_rows(config), store, config))


@st.cache_data(ttl=_FRESH_SECONDS, max_entries=32, show_spinner=False)
def _find_plain(place: str, person: str, rows: str, _store: RunStore, _config: Mapping[str, Any]) -> RunRecord | None:
    return find_plain_run(_store, _config)


@st.cache_data(max_entries=64, show_spinner=False)
def _say_height(place: str, key: str, other: str, _record: Mapping[str, Any], _reference: RunRecord) -> str | None:
    return say_height(_record, _reference.to_json())
