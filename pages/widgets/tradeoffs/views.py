"""The views of trade-offs: the frontier in two dimensions, in three, a map over two settings; and all as a table."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from fairpriv_core.report.frontier import frontier, frontier_in_space
from fairpriv_core.report.heatmap import find_varying, heat_map
from fairpriv_core.report.styles import method_style
from fairpriv_core.report.tables import TableRow
from pages.widgets.shared.charts import show_figure
from pages.widgets.shared.state import keep, mount, mount_default, mount_index
from pages.widgets.tradeoffs.points import pick
from pages.widgets.tradeoffs.questions import Answers, Claims, Topic, find_title

_VIEWS = {"frontier": "Accuracy and gap", "space": "In 3-D, with ε", "map": "Map of two settings"}
_QUANTITIES = {"accuracy": "Accuracy", "gap": "Fairness gap"}
_MOST_ROWS = 500


def show_view(topic: Topic, claims: Claims, answers: Answers) -> None:
    """Draw the chosen view of `claims`, the rows that passed the filters."""
    view = st.segmented_control(
        "View", _VIEWS, **mount_default("view", _VIEWS, "frontier"), required=True, format_func=_VIEWS.__getitem__
    )
    view = keep("view", view)
    if view == "map":
        _show_map(topic, claims, answers)
        return
    dominated = bool(keep("dominated", st.toggle("Show dominated settings", **mount("dominated"))))
    if view == "space":
        _show_space(topic, claims, answers, dominated=dominated)
        return
    titles = {"dataset": topic.data_title, "notion": topic.notion_title}
    figure = frontier(claims, **titles, details=answers.details, dominated=dominated)
    show_figure(figure, "tradeoff_frontier", on_pick=pick)


def show_list(claims: Claims, best: Sequence[TableRow], answers: Answers) -> None:
    """Draw all settings as a table, the charts' text alternative; `best` are those that are not dominated."""
    names = {row.keys[0] for row in best}
    listed = [(claim, row) for claim, rows in claims.items() for row in rows]
    number = st.column_config.NumberColumn
    with st.expander(f"All settings as a table ({len(listed):,})", key="tradeoff_table"):
        st.dataframe(
            [
                {
                    "method": method_style(row.method).title,
                    "settings": answers.details.get(row.keys[0], ""),
                    "claim": claim.title,
                    "ε": row.epsilon,
                    "accuracy %": 100 * (row.accuracy.mean or 0.0),
                    "gap pp": 100 * (row.gap.mean or 0.0),
                    "seeds": len(row.seeds),
                    "dominated": row.keys[0] not in names,
                    "key": row.keys[0],
                }
                for claim, row in listed[:_MOST_ROWS]
            ],
            key="tradeoff_rows",
            hide_index=True,
            alt="Each setting: method, what its ε says, accuracy, gap, number of seeds, and whether it is dominated.",
            placeholder="–",
            column_config={
                "accuracy %": number(format="%.2f", help="Mean over seeds, on the test split"),
                "gap pp": number(format="%.2f", help="Mean gap of the notion over seeds, in percentage points (pp)"),
                "dominated": st.column_config.CheckboxColumn(
                    help="Whether another setting is at least as good in ε, accuracy and gap, and better in one"
                ),
            },
        )
        if len(listed) > _MOST_ROWS:
            st.caption(f"The newest {_MOST_ROWS} are listed; Compare lists all.")


def _show_space(topic: Topic, claims: Claims, answers: Answers, *, dominated: bool) -> None:
    private = {claim.title: claim for claim in claims if claim.threat_model is not None}
    if not private:
        st.info("No finished run here has an ε: there is no third axis.")
        return
    title = st.selectbox("What ε says", list(private), **mount_index("space_claim", private))
    claim = private[keep("space_claim", title)]
    figure = frontier_in_space(
        claims[claim],
        claim,
        dataset=topic.data_title,
        notion=topic.notion_title,
        details=answers.details,
        dominated=dominated,
    )
    show_figure(figure, "tradeoff_space", on_pick=pick)
    st.caption("Needs a browser with WebGL; without it the chart stays empty, and the other views show the same runs.")


def _show_map(topic: Topic, claims: Claims, answers: Answers) -> None:
    by_method: dict[str, list[TableRow]] = {}
    for claim, rows in claims.items():
        for row in rows:
            by_method.setdefault(f"{method_style(row.method).title} · {claim.title}", []).append(row)
    able = {name: rows for name, rows in by_method.items() if len(_list_axes(rows, answers)) > 1}
    if not able:
        st.info(
            "A map needs runs of one method in which two numbers vary, such as ε and C_p; a sweep makes them.",
            icon=":material/grid_on:",
        )
        return
    first, second = st.columns(2)
    with first:
        chosen = keep("map_of", st.selectbox("Method and claim", list(able), **mount_index("map_of", able)))
        rows = able[chosen]
    with second:
        wanted = st.segmented_control(
            "Colour",
            _QUANTITIES,
            **mount_default("map_quantity", _QUANTITIES, "gap"),
            required=True,
            format_func=_QUANTITIES.__getitem__,
        )
        quantity = keep("map_quantity", wanted)
    axes = _list_axes(rows, answers)
    across = _choose_axis(first, "Across", "map_x", axes)
    up = _choose_axis(second, "Up", "map_y", [name for name in axes if name != across])
    about = f"{topic.data_title}, {chosen}"
    figure = heat_map(rows, answers.numbers, (find_title(across), find_title(up)), quantity=quantity, about=about)
    show_figure(figure, "tradeoff_map", on_pick=pick)


def _choose_axis(place: st.delta_generator.DeltaGenerator, label: str, name: str, axes: Sequence[str]) -> str:
    mounted = mount_index(name, axes)
    chosen = place.selectbox(label, axes, **mounted, format_func=lambda one: find_title(one).title)
    return str(keep(name, chosen))


def _list_axes(rows: Sequence[TableRow], answers: Answers) -> list[str]:
    return find_varying(answers.numbers[row.keys[0]] for row in rows)
