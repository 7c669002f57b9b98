"""The run table, and runs side by side: curves, groups, and the settings that differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any

import streamlit as st

from fairpriv_core.report import live, wording
from fairpriv_core.report.figures import GroupRates, group_bars
from fairpriv_core.report.folding import fold_curves
from fairpriv_core.report.looks import method_look
from fairpriv_core.report.tables import REPLAYED, TableRow, parameter_diff
from fairpriv_core.runs.store import RunStore
from pages.widgets.charts import show_figure
from pages.widgets.guard import attempt, plain

Records = Mapping[str, Mapping[str, Any]]
_RATES = ("positive_rate", "true_positive_rate", "false_positive_rate", "accuracy")


def name_row(row: TableRow) -> str:
    """Return a row as a list names it."""
    budget = "" if row.epsilon is None else f" · ε = {row.epsilon:g}{_claim(row)}"
    budget = " · replayed noise" if row.variant == REPLAYED else budget
    seeds = f"{len(row.seeds)} seeds" if len(row.seeds) > 1 else "1 seed"
    data = row.dataset.rpartition("/")[2][:24]
    name = f"{method_look(row.method).title}{budget} · {data}:{row.sensitive} · {row.notion.replace('_', ' ')}"
    return f"{name} · {seeds} · {row.keys[0][:6]}"


def show_table(rows: Sequence[TableRow]) -> None:
    """Draw the run table; every column sorts."""
    number = st.column_config.NumberColumn
    st.dataframe(
        [_as_row(row) for row in rows],
        key="run_table",
        hide_index=True,
        placeholder="–",
        alt="Finished runs, seeds folded: method, notion, data, budget, accuracy and gap with the half of their "
        "95 % interval.",
        column_config={
            "ε": number(help="The budget asked for"),
            "accounting": st.column_config.TextColumn(
                help="published: the paper's claim, which is not proved to hold; replayed: the noise can be repeated"
            ),
            "accuracy %": number(format="%.2f", help="Mean over seeds, on the test split"),
            "± acc.": number(format="%.2f", help="Half the 95 % interval of the mean; empty for one seed"),
            "gap pp": number(format="%.2f", help="Mean gap of the run's own notion, in percentage points"),
            "± gap": number(format="%.2f", help="Half the 95 % interval of the mean; empty for one seed"),
        },
    )
    st.caption(f"Mean ± 95 % over seeds, of the last state of each run and not of its best. {wording.RAW}")


def show_comparison(store: RunStore, rows: Sequence[TableRow], records: Records) -> None:
    """Draw the chosen runs over each other; each has a letter."""
    letters = dict(zip(ascii_uppercase, rows, strict=False))
    for letter, row in letters.items():
        st.markdown(f"**{letter}** &nbsp; {plain(name_row(row))}")
    if len({row.threat_model for row in rows if row.threat_model}) > 1:
        st.warning(
            "These runs protect different things (the attribute, or the whole record): their ε cannot be compared.",
            icon=":material/warning:",
        )
    if len({(row.dataset, row.sensitive) for row in rows}) > 1:
        st.warning(
            "These runs are on different data or groups: their accuracy and gaps do not say which method is better.",
            icon=":material/warning:",
        )
    _draw_curves(store, letters)
    _draw_groups(letters, records)
    _list_differences(letters, records)


def _draw_curves(store: RunStore, letters: Mapping[str, TableRow]) -> None:
    histories = {letter: [_read_history(store, key) for key in row.keys] for letter, row in letters.items()}
    if not any(history for each in histories.values() for history in each):
        st.caption("No curves: these runs keep no numbers of single epochs, as runs of a sweep that train together.")
        return
    notions = dict.fromkeys(row.notion for row in letters.values())
    metrics = ["accuracy", *(f"{notion}_gap" for notion in notions)]
    columns = st.columns(2, gap="medium")
    for number, metric in enumerate(metrics):
        curves = [
            fold_curves(f"{letter}: {_short(row)}", row.method, histories[letter], metric)
            for letter, row in letters.items()
        ]
        with columns[number % 2]:
            show_figure(live.overlay(curves, metric=metric), f"overlay_{metric}")


def _read_history(store: RunStore, key: str) -> live.History:
    return live.collect(attempt(lambda: store.metrics(key)) or ())


def _draw_groups(letters: Mapping[str, TableRow], records: Records) -> None:
    rate = st.selectbox("Share of each group", _RATES, key="compare_rate", format_func=wording.metric_title)
    bars = [
        GroupRates(f"{letter}: {_short(row)}", row.method, records[row.keys[0]]["metrics"]["groups"])
        for letter, row in letters.items()
    ]
    show_figure(group_bars(bars, rate=rate), "compare_groups")
    if any(len(row.seeds) > 1 for row in letters.values()):
        st.caption("Bars and their intervals are those of each run's first seed.")


def _list_differences(letters: Mapping[str, TableRow], records: Records) -> None:
    st.subheader("What differs", anchor=False)
    differing = parameter_diff([records[row.keys[0]] for row in letters.values()])
    table = [
        {"setting": name, **{letter: _show(item) for letter, item in zip(letters, values, strict=True)}}
        for name, values in differing.items()
    ]
    if not table:
        st.caption("Nothing: these runs have the same settings.")
        return
    st.dataframe(table, key="difference_table", hide_index=True, alt="Only the settings in which the runs differ.")


def _short(row: TableRow) -> str:
    budget = "" if row.epsilon is None else f", ε = {row.epsilon:g}{_claim(row)}"
    return f"{method_look(row.method).title}{budget}"


def _claim(row: TableRow) -> str:
    return " as published" if row.variant == "published" else ""


def _show(item: Any) -> str:
    if isinstance(item, float):
        return f"{item:g}"
    return "–" if item is None else str(item)


def _as_row(row: TableRow) -> dict[str, Any]:
    return {
        "method": method_look(row.method).title,
        "notion": row.notion.replace("_", " "),
        "data": f"{row.dataset.rpartition('/')[2][:24]}:{row.sensitive}",
        "ε": row.epsilon,
        "accounting": row.variant,
        "protects": {"attribute": "attribute", "record": "record"}.get(row.threat_model or "", "nothing"),
        "accuracy %": _percent(row.accuracy.mean),
        "± acc.": _percent(row.accuracy.half),
        "gap pp": _percent(row.gap.mean),
        "± gap": _percent(row.gap.half),
        "seeds": len(row.seeds),
        "key": row.keys[0],
    }


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
