"""What a run is held against: plain training's gap, one answer for everybody, and drawing lots between the two."""

from __future__ import annotations

import streamlit as st

from fairpriv_core.facts.aim import format_no_gap
from fairpriv_core.facts.mixing import format_margin, format_one_answer
from fairpriv_core.facts.run_facts import RunFacts, read_facts
from fairpriv_core.notions.catalog import notions
from fairpriv_core.records.record import RunRecord
from fairpriv_core.records.release import Kind
from fairpriv_core.records.source import ConfigJson
from fairpriv_core.runs.plain_run import find_plain_run, name_rows
from fairpriv_core.store.runs import RunStore
from pages.widgets.shared.sentences import attempt

_FRESH_SECONDS = 10.0


def list_margins(store: RunStore, run: RunFacts[Kind]) -> list[str]:
    """Return what the comparisons say of a run, a sentence each."""
    reference = attempt(lambda: find_plain_run(store, run.config))
    sentences = [format_one_answer(run)]
    if reference is not None and reference.key != run.key:
        plain = read_facts(reference)
        margin = _format_margin(str(store.database.url), run.key, plain.key, run, plain)
        sentences += [format_no_gap(plain, run.gap_target, run.notion), margin]
    return [sentence for sentence in sentences if sentence is not None]


def find_no_gap(store: RunStore, config: ConfigJson) -> str | None:
    """Return that there is no gap for a run of `config` (JSON) to close; None where nothing shows it."""
    reference, target = find_plain(store, config), config["method"].get("gap_target")
    return None if reference is None else format_no_gap(read_facts(reference), target, notions()[config["notion"]])


def find_plain(store: RunStore, config: ConfigJson) -> RunRecord | None:
    """Return `find_plain_run`, as it was some seconds ago; None too where the store cannot be read."""
    return attempt(lambda: _find_plain(str(store.database.url), store.payer, name_rows(config), store, config))


@st.cache_data(ttl=_FRESH_SECONDS, max_entries=32, show_spinner=False)
def _find_plain(place: str, person: str, rows: str, _store: RunStore, _config: ConfigJson) -> RunRecord | None:
    return find_plain_run(_store, _config)


@st.cache_data(max_entries=64, show_spinner=False)
def _format_margin(place: str, key: str, plain_key: str, _run: RunFacts[Kind], _plain: RunFacts[Kind]) -> str | None:
    return format_margin(_run, _plain)
