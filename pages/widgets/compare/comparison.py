"""Runs side by side: where they stand, curves, groups, tests, and the settings that differ. Each has a letter."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase

import streamlit as st

from fairpriv_core.errors import BadInput, Damaged
from fairpriv_core.facts.compare import Compared
from fairpriv_core.facts.run_facts import read_facts
from fairpriv_core.facts.tables import TableRow, format_claim, run_table, varied_settings
from fairpriv_core.facts.wording import metric_title
from fairpriv_core.figures.mixing import find_plain
from fairpriv_core.figures.origin import find_origin_of_rows
from fairpriv_core.ledger.selection import WAYS, Criterion, select_run
from fairpriv_core.records.config import DEFAULT_DELTA
from fairpriv_core.records.parameters import format_group_needed
from fairpriv_core.records.stored import format_stored
from fairpriv_core.runs.plain_run import find_stored_plain_run
from fairpriv_core.store.ledger import Choice
from fairpriv_core.store.runs import RunStore
from fairpriv_core.text import delta_text, epsilon_text
from pages.widgets.compare.differences import show_differences, show_indices, show_tests
from pages.widgets.compare.overlays import show_classes, show_curves, show_groups, show_points
from pages.widgets.shared.headline import show_rows_headline
from pages.widgets.shared.ledger import show_spent
from pages.widgets.shared.margins import list_margins
from pages.widgets.shared.run_table import name_row, name_short
from pages.widgets.shared.sentences import attempt, plain, sentence

_TITLES = {
    "released": "By released numbers: costs nothing more",
    "noisy": "By gaps with new noise: costs ε",
    "raw": "By raw gaps: no ε is proved for the chosen run",
}
_TAKEN = "From then on neither the chosen run nor this data set's ledger has a proved ε. This cannot be undone."
_AMONG_ALL = "Released and noisy gaps choose among all {runs} runs on this data, label and groups."
_GONE = "was deleted while this page was open."


def offer_choice(store: RunStore, rows: Sequence[TableRow]) -> None:
    """Draw the ways to choose the run with the smallest gap among `rows` (all their seeds), and the choice made.

    On own data released and noisy numbers choose among all runs on the question.
    """
    keys = [key for row in rows for key in row.keys]
    among = store.candidates(keys)
    candidates = among[0].keys if len(among) == 1 else keys
    with st.expander("Choose one of these to publish", key="choice"):
        st.caption(
            "Protected data decide which run has the smallest gap. Publishing a run chosen by raw gaps reveals that. "
            "ε covers a choice by gaps with noise."
        )
        by = st.radio("Smallest gap", WAYS, key="choice_by", format_func=_TITLES.__getitem__)
        if len(candidates) > len(keys):
            st.caption(_AMONG_ALL.format(runs=f"{len(candidates):,}"))
        price, ready = None, True
        if by == "noisy":
            price = st.number_input("Price ε of the choice", value=0.5, step=None, format="%.4g", key="choice_epsilon")
        if by == "raw":
            ready = st.checkbox(_TAKEN, key="choice_sure")
        if st.button(
            "Choose", key="choose", disabled=not ready or not store.database.writable, icon=":material/how_to_reg:"
        ):
            pool, criterion = (keys if by == "raw" else candidates), Criterion(by, epsilon=price)
            selection = attempt(lambda: select_run(store, pool, criterion, without_epsilon=ready))
            if selection is not None:
                _show_choice(selection)


def _show_choice(selection: Choice) -> None:
    metric = metric_title(selection["request"]["metric"] or "").lower()
    verdict = (
        f"**{plain(selection['selected'])}** has the smallest {plain(metric)} of {len(selection['candidates'])} runs."
    )
    if selection["epsilon"] is None:
        st.warning(
            f"{verdict} No ε is proved for it: {plain(selection['epsilon_reason'] or '')}", icon=":material/warning:"
        )
        return
    cost = f"ε = {epsilon_text(selection['epsilon'])} (δ = {delta_text(selection['delta'])})"
    st.info(f"{verdict} {cost}, proved: it covers all candidates and the choice.", icon=":material/how_to_reg:")


def show_comparison(
    store: RunStore, rows: Sequence[TableRow], all_rows: Sequence[TableRow], top: st.delta_generator.DeltaGenerator
) -> None:
    """Draw the chosen rows over each other, and in `top` what they come to; `all_rows` are all rows that there are."""
    settings = _read(store, rows)
    if len(settings) < 2:
        return
    _warn(rows)
    about = {(row.data, row.notion) for row in rows}
    plain_row = find_plain(row for row in all_rows if {(row.data, row.notion)} == about)
    plain_record = find_stored_plain_run(settings[0].runs[0].config) if plain_row is None and len(about) == 1 else None
    if plain_record is not None:
        config = {**plain_record.config, "notion": rows[0].notion}  # plain training pursues none
        plain_row = find_plain(run_table([{**plain_record.to_json(), "config": config}]))
    if len(about) == 1:
        entries = [(setting.letter, setting.row, setting.runs) for setting in settings]
        with top:
            show_rows_headline(entries, plain_row, settings[0].runs[0])
    show_points(settings, plain_row)
    if plain_record is not None:
        st.caption(plain(format_stored("Plain training is", [plain_record])))
    _show_letters(settings)
    for letter, setting in zip(ascii_uppercase, settings, strict=False):
        for remark in list_margins(store, setting.runs[0]):
            st.caption(plain(f"{letter}: {remark}{find_origin_of_rows([setting.row]).brief}"))
        group_remark = format_group_needed(setting.runs[0].config)
        if group_remark is not None:
            st.caption(plain(f"{letter}: {group_remark}"))
    show_curves(store, settings)
    show_groups(settings)
    show_classes(settings)
    show_tests(settings)
    show_differences(settings)
    show_indices(settings)
    offer_choice(store, [setting.row for setting in settings])
    if st.toggle("Ledger: what these data sets have spent", key="spent"):
        configs = [run.config for setting in settings for run in setting.runs]
        show_spent(store, configs, delta=DEFAULT_DELTA)


def _show_letters(settings: Sequence[Compared]) -> None:
    """List the setting behind each letter, with the claim of its ε."""
    differences = varied_settings(setting.row for setting in settings)
    for letter, setting in zip(ascii_uppercase, settings, strict=False):
        name = name_row(setting.row, differences[setting.row.keys[0]])
        st.markdown(f"**{plain(letter)}** &nbsp; {plain(name)}  \n:small[{plain(format_claim(setting.row))}]")


def _read(store: RunStore, rows: Sequence[TableRow]) -> list[Compared]:
    """Return the rows with their runs and a letter each; say which runs have gone meanwhile."""
    records = attempt(lambda: store.records([key for row in rows for key in row.keys])) or {}
    differences = varied_settings(rows)
    settings: list[Compared] = []
    for row in rows:
        own = [read_facts(records[key]) for key in row.keys if key in records]
        if len(own) < len(row.keys):
            _show_missing(store, row, next(key for key in row.keys if key not in records))
        else:
            letter = ascii_uppercase[len(settings)]
            settings.append(Compared(f"{letter}: {name_short(row, differences[row.keys[0]])}", row, own))
    return settings


def _show_missing(store: RunStore, row: TableRow, key: str) -> None:
    """Say why a row cannot be compared: its run `key` is damaged, or gone."""
    try:
        store.record(key)
    except Damaged as error:
        st.error(plain(sentence(str(error))), icon=":material/error:")
    except BadInput:
        st.warning(f"{plain(name_row(row))} {_GONE} Reload the page.", icon=":material/link_off:")


def _warn(rows: Sequence[TableRow]) -> None:
    if len({row.threat_model for row in rows if row.threat_model}) > 1:
        st.warning(
            "These runs protect different things (the attribute, or the whole record): their ε cannot be compared.",
            icon=":material/warning:",
        )
    if len({row.data for row in rows}) > 1:
        st.warning(
            "These runs are on different data or groups: their accuracy and gaps do not say which method is better.",
            icon=":material/warning:",
        )
