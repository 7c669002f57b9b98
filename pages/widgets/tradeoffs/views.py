"""The views of trade-offs: curves and the frontier, a map over two settings; and all as a table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from fairpriv_core.facts.tables import TableRow, name_gap
from fairpriv_core.figures.frontier import EpsilonClaim, Wanted, frontier
from fairpriv_core.figures.heatmap import find_varying, heat_map
from fairpriv_core.figures.origin import format_origin
from fairpriv_core.figures.over_epsilon import trade_off
from fairpriv_core.figures.styles import method_style
from fairpriv_core.methods.fields import GROUP_NEEDED
from fairpriv_core.records.parameters import format_group_needed
from pages.widgets.shared.charts import show_figure
from pages.widgets.shared.run_table import MOST_CHOSEN, light_rows, read_clicked
from pages.widgets.shared.saving import offer_set
from pages.widgets.shared.sentences import plain
from pages.widgets.shared.state import choose, draw_buttons, draw_list, value
from pages.widgets.tradeoffs.points import pick, take_wanted
from pages.widgets.tradeoffs.questions import Answers, Claims, find_title

VIEWS = {"frontier": "Curves", "map": "Map of two settings"}
_QUANTITIES = {"accuracy": "Accuracy", "gap": "Fairness gap"}
_MOST_ROWS = 500
_TABLE, _HEIGHT = "tradeoff_rows", 300


def show_view(view: str, titles: Mapping[str, Any], claims: Claims, answers: Answers, wanted: Wanted) -> None:
    """Draw the chosen view of `claims`, the rows that passed the filters; `wanted` is shaded where it can be.

    `titles` are those of the data and the notion.
    """
    if view == "map":
        _show_map(titles["dataset"], claims, answers)
    else:
        _show_curves(titles, claims, answers, wanted)


def _show_curves(titles: Mapping[str, Any], claims: Claims, answers: Answers, wanted: Wanted) -> None:
    """Draw beside each other accuracy and gap over ε, and accuracy against gap."""
    rows = [row for own in claims.values() for row in own]
    data = [row.asked for row in rows]
    over = trade_off(rows, **titles, settings=answers.details, wanted=wanted)
    against = frontier(
        claims, **titles, details=answers.details, numbers=answers.numbers, dominated=value("dominated"), wanted=wanted
    )
    left, right = st.columns(2, gap="medium")
    with left:
        show_figure(over, "tradeoff_over_epsilon", in_set=True, on_pick=pick, on_drag=take_wanted)
    with right:
        show_figure(against, "tradeoff_frontier", in_set=True, on_pick=pick, on_drag=take_wanted)
    offer_set((over.without_regions(), against.without_regions()), "tradeoff_set")
    origin = plain(format_origin(data))
    st.caption(f"Shaded: what you want; drag its edges. Click a point to light its row below. {origin}")


def show_list(claims: Claims, best: Sequence[TableRow], answers: Answers) -> None:
    """Draw all settings as a table, the charts' text alternative; `best` are those that are not dominated.

    Clicked rows are the points that are chosen, and points that are clicked in a chart are lit rows.
    """
    names = {row.keys[0] for row in best}
    listed = [(claim, row) for claim, rows in claims.items() for row in rows][:_MOST_ROWS]
    keys = [row.keys[0] for _, row in listed]
    light_rows(_TABLE, keys, value("points"))
    number = st.column_config.NumberColumn
    st.dataframe(
        [_as_row(claim, row, answers, dominated=row.keys[0] not in names) for claim, row in listed],
        key=_TABLE,
        hide_index=True,
        height=min(_HEIGHT, 37 + 35 * len(listed)),
        on_select=lambda: choose("points", read_clicked(_TABLE, keys, value("points"))[-MOST_CHOSEN:]),
        selection_mode="multi-row",
        alt="Each setting: method, what its ε says, accuracy, gap, number of seeds, and whether it is dominated.",
        placeholder="–",
        column_config={
            "accuracy %": number(format="%.2f", help="Mean over seeds, on the test split"),
            "gap pp": number(
                name_gap("gap pp", [row for _, row in listed]),
                format="%.2f",
                help="Mean gap of the notion over seeds, in percentage points (pp)",
            ),
            "dominated": st.column_config.CheckboxColumn(
                help="Whether another setting is at least as good in ε, accuracy and gap, and better in one"
            ),
        },
    )
    if len(listed) == _MOST_ROWS:
        st.caption(f"The newest {_MOST_ROWS} are listed; Compare lists all.")
    deciding = {row.method for _, row in listed if format_group_needed(json.loads(row.setting)) is not None}
    if deciding:
        titles = ", ".join(sorted(method_style(name).title for name in deciding))
        st.caption(plain(f"{titles}: {GROUP_NEEDED}"))


def _as_row(claim: EpsilonClaim, row: TableRow, answers: Answers, *, dominated: bool) -> dict[str, object]:
    return {
        "method": method_style(row.method).title,
        "settings": answers.details.get(row.keys[0], ""),
        "ε": row.epsilon,
        "accuracy %": 100 * (row.accuracy.mean or 0.0),
        "gap pp": 100 * (row.gap.mean or 0.0),
        "seeds": len(row.seeds),
        "dominated": dominated,
        "guarantee": claim.title,
        "key": row.keys[0],
    }


def _show_map(dataset: str, claims: Claims, answers: Answers) -> None:
    by_method: dict[str, list[TableRow]] = {}
    for claim, rows in claims.items():
        for row in rows:
            by_method.setdefault(f"{method_style(row.method).title} · {claim.title}", []).append(row)
    able = {name: rows for name, rows in by_method.items() if len(_list_axes(rows, answers)) > 1}
    if not able:
        st.info(
            "A map needs runs of one method with two varying numbers, such as ε and C_p. Make them with a sweep.",
            icon=":material/grid_on:",
        )
        return
    first, second = st.columns(2)
    with first:
        name = draw_list("map_of", "Method and claim", able)
        rows = able[name]
        axes = _list_axes(rows, answers)
        across = str(draw_list("map_x", "Across", axes, _title_axis))
    with second:
        quantity = draw_buttons("map_quantity", "Colour", _QUANTITIES, "gap")
        up = str(draw_list("map_y", "Up", [axis for axis in axes if axis != across], _title_axis))
    about = f"{dataset}, {name}"
    figure = heat_map(rows, answers.numbers, (find_title(across), find_title(up)), quantity=quantity, about=about)
    show_figure(figure, "tradeoff_map", on_pick=pick)


def _title_axis(name: str) -> str:
    return find_title(name).title


def _list_axes(rows: Sequence[TableRow], answers: Answers) -> list[str]:
    return find_varying(answers.numbers[row.keys[0]] for row in rows)
