"""The panels that fill while a run trains, accuracy, gap, clipping, multipliers; and a sentence on what goes wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from fairpriv_core.engine.training import Histogram
from fairpriv_core.facts.diagnosis import diagnose
from fairpriv_core.facts.grid import expect
from fairpriv_core.figures import live
from fairpriv_core.figures.figure import FigureData
from fairpriv_core.figures.origin import find_origin
from fairpriv_core.methods.base import parameters
from fairpriv_core.methods.catalog import methods
from fairpriv_core.records.record import RAW
from fairpriv_core.records.source import ConfigJson, find_answers, is_published
from fairpriv_core.runs.plain_run import lacks_plain_run, make_plain
from fairpriv_core.store.rows import RunRow
from fairpriv_core.store.runs import RunStore
from pages.widgets.shared.charts import show_figure
from pages.widgets.shared.margins import find_plain
from pages.widgets.shared.saving import offer_set
from pages.widgets.shared.sentences import attempt, plain
from pages.widgets.shared.state import draw_buttons

#: what bounds a quantity that is clipped, by the name of its parameter
BOUNDS = {"gradient_norm": "clip_primal", "output": "clip_dual"}
_PLAIN = (
    "Plain training protects nobody. Its numbers are raw, for your eyes alone. Your ledger counts it for whole "
    "records, without an ε, and it stays there."
)
_MOVED = "the bound"
_SINGLE = 1e-6  # training rounds a bound to single precision
UseBound = Callable[[float], None]
_OVER = ("accuracy", "gap")  # are drawn over what was chosen: a zoom is of one axis
_HELD = 220  # pixels
_FEWEST = 4  # panels in the frame, of a method that clips nothing too


def choose_along(row: RunRow, history: live.History) -> str:
    """Draw the choice of the curves' axis and return it: steps, epochs or ε spent, as far as the run has them."""
    lacks = {"epochs": _find_reach(row)["epochs"] is None, "epsilon": "epsilon" not in history}
    titles = {name: f"by {title[0].lower()}{title[1:]}" for name, title in live.ALONG.items() if not lacks.get(name)}
    return str(draw_buttons("along", "Curves over", titles, "steps", label_visibility="collapsed"))


def is_single(row: RunRow, history: live.History) -> bool:
    """Return whether a run has ended and its measures are points, as of a method that trains in one go."""
    return row.ended and not live.has_curves(history)


def add_gaps(figures: dict[str, FigureData], row: RunRow, history: live.History) -> None:
    """Add the gaps of all notions."""
    config = row.config
    origin = find_origin([config["data"]], tell=False)
    method = config["method"]["name"]
    figures["gaps"] = live.live_gaps(history, method=method, notion=config["notion"], origin=origin)


def show_panels(store: RunStore, row: RunRow, history: live.History, *, along: str, small: bool) -> None:
    """Draw the panels two by two over what `along` says; `small` ones have neither caption nor downloads."""
    figures = _draw_measures(store, row, history, along)
    figures |= _draw_histograms(row, _read_histograms(store, row))
    if any(name.startswith("multiplier/") for name in history):
        figures["multipliers"] = live.live_multipliers(history, limit=row.config["method"].get("multiplier_max"))
    if find_answers(row.config["data"]) is not None:  # no curve looks at groups
        del figures["gap"]
    elif is_single(row, history) and not small:  # bars below have its groups, with intervals
        add_gaps(figures, row, history)
    elif not small or len(figures) < _FEWEST:
        figures["groups"] = live.live_groups(history, origin=find_origin([row.config["data"]], tell=False))
    show_pairs({f"{name}_{along}" if name in _OVER else name: figure for name, figure in figures.items()}, small=small)


def show_expected(store: RunStore, config: ConfigJson, steps: int) -> bool:
    """Draw where runs that ship with this software put the run of a config's JSON; return whether they reach there."""
    expected = expect(config)
    if expected is None:
        return False
    plain = find_plain(store, config)
    figures = live.expected_measures(
        expected,
        notion=config["notion"],
        plain={} if plain is None else plain.metrics or {},
        aim=config["method"].get("gap_target"),
        x=replace(live.STEP, range=(0.0, float(steps))),
    )
    show_pairs({f"expected_{name}": figure for name, figure in figures.items()}, small=True)
    st.caption(figures["accuracy"].caption)
    return True


def offer_plain(store: RunStore, row: RunRow) -> None:
    """Draw the offer to run plain training on a person's own rows too, and its cost in their ledger."""
    mine = store.database.writable and store.payer == row.owner and not is_published(row.config["data"])
    if not mine or not row.ended or not attempt(lambda: lacks_plain_run(store, row.config)):
        return
    with st.popover("Compare with plain training …", icon=":material/compare_arrows:", key="plain_ways"):
        st.caption(plain(_PLAIN))
        ask = partial(_train_plain, store, row.config)
        st.button("Train it", key="train_plain", on_click=ask)


def _train_plain(store: RunStore, config: ConfigJson) -> None:
    attempt(lambda: store.submit(make_plain(config)))


def hold_panels() -> None:
    """Draw what stands in the place of the panels until the first numbers are there."""
    for column in (*st.columns(2, gap="medium"), *st.columns(2, gap="medium")):
        column.skeleton(_HELD)


def show_pairs(figures: Mapping[str, FigureData], *, small: bool = False) -> None:
    """Draw a run's figures two by two, each under its name."""
    names = list(figures)
    for start in range(0, len(names), 2):
        for column, name in zip(st.columns(2, gap="medium"), names[start : start + 2], strict=False):
            with column:
                show_figure(figures[name], f"run_{name}", small=small)
    if len(names) > 1 and not small:
        offer_set([*figures.values()], f"run_{names[0]}_set")


def _draw_measures(store: RunStore, row: RunRow, history: live.History, along: str) -> dict[str, FigureData]:
    config: ConfigJson = row.config
    method, gap = config["method"], f"{config['notion']}_gap"
    plain = find_plain(store, config)
    plain_metrics: Mapping[str, Any] = {} if plain is None or plain.key == row.key else plain.metrics or {}
    reach = _find_reach(row)
    curves, x = live.rescale(history, along, reach if row.status != "finished" else {**reach, along: None})
    options: dict[str, Any] = {"method": method["name"], "x": x, "origin": find_origin([config["data"]], tell=False)}
    return {
        "accuracy": live.live_accuracy(curves, plain=plain_metrics.get("accuracy"), **options),
        "gap": live.live_gap(
            curves, notion=config["notion"], plain=plain_metrics.get(gap), aim=method.get("gap_target"), **options
        ),
    }


def _find_reach(row: RunRow) -> dict[str, float | None]:
    """Return how far a run is planned to go, in steps, epochs and ε; None where that is not known."""
    return {"steps": row.steps, "epochs": row.config["method"].get("epochs"), "epsilon": row.config["epsilon"]}


def _draw_histograms(row: RunRow, histograms: Mapping[str, Histogram]) -> dict[str, FigureData]:
    origin = find_origin([row.config["data"]], tell=False)
    parameters_by_name = parameters(methods()[row.config["method"]["name"]])
    figures = {}
    for quantity, histogram in histograms.items():
        bound = parameters_by_name.get(BOUNDS.get(quantity, ""))
        stated_bound = row.config["method"].get(BOUNDS.get(quantity, ""))
        own = histogram.bound  # of a method that moves it
        is_moved = None not in (stated_bound, own) and not math.isclose(
            stated_bound or 0.0, own or 0.0, rel_tol=_SINGLE
        )
        symbol = _MOVED if is_moved else None if bound is None else bound[0].symbol
        figures[quantity] = live.clipping_histogram(histogram, quantity=quantity, symbol=symbol, origin=origin)
    return figures


def show_diagnosis(store: RunStore, row: RunRow, history: live.History, *, use_bound: UseBound | None) -> None:
    """Draw the worst that the curves tell; `use_bound` takes a clipping bound that helps, where everybody has the rows.

    It is for whoever watches the run, and in no report.
    """
    published = is_published(row.config["data"])
    for diagnosis in diagnose(history, _read_histograms(store, row), published=published)[:1]:
        mark = ":orange[:material/warning:]" if diagnosis.wrong else ":material/info:"
        raw = f" {RAW}" * (diagnosis.kind == "raw")
        st.caption(f"{mark} {plain(diagnosis.sentence)}", help=plain(f"{diagnosis.source}.{raw}"))
        if use_bound is not None and diagnosis.bound is not None:
            use_bound(diagnosis.bound)


def _read_histograms(store: RunStore, row: RunRow) -> Mapping[str, Histogram]:
    return attempt(lambda: store.histograms(row.key)) or {}
