"""The headline on a page: one sentence in large type, its reasons below, and where its numbers are from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from fairpriv_core.facts.headline import Headline, read_about, write_headline
from fairpriv_core.facts.measured import measure, measure_row
from fairpriv_core.facts.run_facts import RunFacts, read_facts
from fairpriv_core.facts.tables import TableRow
from fairpriv_core.figures.mixing import find_plain
from fairpriv_core.records.release import Kind
from fairpriv_core.records.stored import format_stored
from fairpriv_core.runs.plain_run import find_plain_run
from fairpriv_core.store.runs import RunStore
from fairpriv_core.text import hold_numbers
from pages.widgets.shared.run_table import name_short
from pages.widgets.shared.sentences import attempt, plain
from pages.widgets.shared.state import value


def hold_headline() -> DeltaGenerator:
    """Return the place of a headline that is known only once what is below it has been chosen."""
    place = st.container(key="headline_place")
    place.empty()  # a container without anything in it takes no place
    return place


def show_headline(headline: Headline) -> None:
    """Draw a headline; its reasons are a click away."""
    with st.container(key="headline", gap="small"):
        _show_sentence(headline)
        if headline.reasons:
            with st.expander("Reasons", icon=":material/help:"):
                show_reasons(headline)


def show_reasons(headline: Headline) -> None:
    """Draw the reasons of a headline."""
    if headline.reasons:
        st.markdown("\n".join(f"- {plain(reason)}" for reason in headline.reasons))


def _show_sentence(headline: Headline) -> None:
    if headline.outcome:
        tell, icon = (st.warning, ":material/error:") if headline.failed else (st.info, ":material/flag:")
        tell(plain(hold_numbers(headline.outcome)), icon=icon)
    st.markdown(f"## {plain(hold_numbers(headline.sentence))}")
    st.caption(plain(headline.note))


def show_run_headline(store: RunStore, run: RunFacts[Kind]) -> Headline:
    """Draw the headline of one finished run, against training without privacy and fairness on the same test rows.

    Return it: its reasons are for another place.
    """
    reference = attempt(lambda: find_plain_run(store, run.config))
    own = reference is None or reference.key == run.key
    notion = run.config["notion"]  # plain training pursues none
    before = None if own or reference is None else measure([read_facts(reference).asking(notion)])
    headline = write_headline([measure([run])], read_about(run), before=before)
    if before is not None and reference is not None and (origin := format_stored("Plain training is", [reference])):
        headline = replace(headline, note=f"{headline.note} {origin}")
    with st.container(key="headline", gap="small"):
        _show_sentence(headline)
    return headline


def show_rows_headline(
    entries: Sequence[tuple[str, TableRow, Sequence[RunFacts[Kind]]]], plain_row: TableRow | None, about: RunFacts[Kind]
) -> None:
    """Draw the headline of settings on one question: (how a sentence calls it, its row, its seeds or none).

    `about` is a run on that question, `plain_row` a setting without privacy and fairness.
    """
    settings = [measure(runs, name) if runs else measure_row(row, name) for name, row, runs in entries]
    before = None if plain_row is None or plain_row in (row for _, row, _ in entries) else measure_row(plain_row)
    show_headline(write_headline(settings, read_about(about), before=before))


def show_points_headline(store: RunStore, rows: Sequence[TableRow]) -> None:
    """Draw the headline of `rows`, which answer one question: of those that are picked, else of all.

    Of picked ones records are read: they say whether each reached what it was asked for.
    """
    picks = [row for row in rows if row.keys[0] in value("points")]
    keys = [rows[0].keys[0], *(key for row in picks for key in row.keys)]
    records = attempt(lambda: store.records(keys))
    if records is None or keys[0] not in records:
        return
    facts = {key: read_facts(record) for key, record in records.items()}
    entries = [(name_short(row, {}), row, [facts[key] for key in row.keys if key in facts]) for row in picks]
    settings = entries or [(name_short(row, {}), row, []) for row in rows]
    show_rows_headline(settings, find_plain(rows), facts[keys[0]])
