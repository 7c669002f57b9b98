"""Explore: sliders beside one chart.

Where runs ship with this software the point follows a slider at once, and is confirmed by training where one asks.
Elsewhere a move trains a run in the background, and the point moves when it is there. Moves rest for a moment before
they count, the newest one cancels those before it, and lists leave the runs out until one is kept. The ledger counts
all of them. Where a move costs something, its cost stands here before it is made.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import streamlit as st

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.errors import FairprivError
from fairpriv_core.facts.grid import expect
from fairpriv_core.facts.tables import TableRow, run_table
from fairpriv_core.facts.wording import data_title
from fairpriv_core.figures.explored import (
    Explored,
    draw_explored,
    draw_groups,
    format_explored,
    name_point,
    place_expected,
    read_explored,
)
from fairpriv_core.figures.figure import Region
from fairpriv_core.figures.frontier import Wanted
from fairpriv_core.ledger.choice import foresee_keeping, keep_run
from fairpriv_core.methods.catalog import methods
from fairpriv_core.notions.catalog import notions
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.records.shown import read_shown
from fairpriv_core.records.source import ConfigJson, is_published, without_folders
from fairpriv_core.store.rows import RunRow
from fairpriv_core.store.runs import RunStore
from fairpriv_core.text import epsilon_text
from pages.widgets.explore.glide import list_glides
from pages.widgets.shared.charts import show_figure
from pages.widgets.shared.choice import offer_choices
from pages.widgets.shared.demo import list_offered
from pages.widgets.shared.epsilon import choose_epsilon
from pages.widgets.shared.frame import go_to
from pages.widgets.shared.ledger import name_column
from pages.widgets.shared.margins import find_plain
from pages.widgets.shared.polling import poll
from pages.widgets.shared.reference import call_files, list_reference
from pages.widgets.shared.sentences import attempt, plain
from pages.widgets.shared.session import find_dataset, find_spec, identify_file
from pages.widgets.shared.state import choose, draw_list, draw_switch, value
from pages.widgets.shared.suitable import list_methods, title_method
from pages.widgets.train.costs import find_effects
from pages.widgets.train.form import fit_batch
from pages.widgets.train.plan import LaunchPlan, make_plan
from pages.widgets.train.recipe import choose_release
from pages.widgets.train.sliders import MOST_POINTS, choose_sliders

_REST_SECONDS = 0.2
_POLL_SECONDS = 0.25
_TRAIL = 8
_CHART_HEIGHT = 420  # pixels, about
_KEPT_TOLD = "Kept: it is now in your list of runs."
_KEPT_ALL = "Kept: all points are now in your list of runs."
_ASKED, _SHOWN, _PASSED, _KEPT = "explore_asked", "explore_shown", "explore_passed", "explore_kept"
_AUTO = "explore.automatic"
_FREE = "Moves are free: they use an earlier release."
_NOT_PRIVATE = "This method is not private: no ε limits what it reveals about these people."
_NOT_RELEASED = "The groups' rates were not released, so they are not shown."
_PUBLIC = "Public data: the point follows your moves."
_SHIPPED = "The point follows your moves at once: it is read from runs that ship with fairpriv."
_CONFIRM = "Confirm by training"
_CONFIRM_HELP = "Trains one run with these settings, and puts its point in the place of the expected one."
_AUTOMATIC = "Train at every move"
_AUTOMATIC_HELP = "Each move that rests starts a run. What it released stays spent, also if a later move cancels it."


@dataclass(frozen=True)
class Move:
    """What the sliders say now. `free`: it costs the people of the data nothing, or they are public.

    `expected` is where runs that ship with this software put it; None where they do not reach. Where they do there is
    no `plan`: such settings are known to run, and on public data.
    """

    config: RunConfig
    plan: LaunchPlan | None
    dataset: Dataset
    free: bool
    expected: Explored | None


def show_explore(store: RunStore) -> None:
    """Draw the sliders and the chart."""
    left, right = st.columns([2, 5], gap="large")
    with left:
        move = _choose_move(store)
        if move is None:
            return
        automatic = _show_price(store, move)
    row = attempt(lambda: store.find(move.config.key))
    has_ended = row is not None and row.status in ("finished", "failed")
    _rest(move.config, automatic=automatic and store.database.writable)
    with right:
        poll(_follow, store, move, every=None if has_ended or not _is_asked(move.config) else _POLL_SECONDS)
    with left:
        _offer_ways(store, move, row)


def _choose_move(store: RunStore) -> Move | None:
    """Draw the choices and sliders and return the move that they make; None after showing what is wrong with it."""
    with st.popover(list_reference(value("data")), icon=":material/table:", width="stretch", key="explore_what"):
        spec, dataset, name, notion = _choose_what()
    if spec is None or dataset is None:
        return None
    kind, data = methods()[name], spec.to_json()
    st.caption(f"{plain(kind.info.title)} · {plain(notions()[notion].title)}")
    raw = {"data": data, "notion": notion, "delta": value("delta"), "seed": value("seed")}
    # it comes with the first point: above the sliders it would push them from under the pointer
    sliders, below = st.container(), st.container()
    with below:
        reuse = choose_release(kind.info, data, value("seed"))
    with sliders:
        budget: dict[str, object] = {"reuse": reuse}
        if reuse is None and kind.info.threat_model is not None:
            budget = {"epsilon": choose_epsilon()}
        parameters, _ = choose_sliders(kind, notion, lines=False)
        settings = raw | budget | {"method": {"name": name, **parameters, **fit_batch(kind, dataset)}}
    config = attempt(lambda: _build(settings, store))
    if config is None:
        return None
    expected_point = expect(config.to_json())
    if expected_point is not None:
        return Move(config, None, dataset, True, place_expected(config.to_json(), expected_point, dataset.label_names))
    source = None if reuse is None else attempt(lambda: store.source(reuse))
    plan = attempt(lambda: make_plan(config, dataset, source))
    if plan is None:
        return None
    numbers = None if source is None else read_shown(source)
    free = is_published(data) or (numbers is not None and not numbers.raw)
    return Move(config, plan, dataset, free, None)


def _choose_what() -> tuple[DataSpec | None, Dataset | None, str, str]:
    """Draw the choices of data, method and notion; the data are None after showing why they cannot be had."""
    spec = find_spec(draw_list("data", "Data", list_offered(value("data")), list_reference))
    dataset = None if spec is None else find_dataset(spec)
    able = [name for name in list_methods(dataset) if methods()[name].info.pursues_notion]
    method = str(draw_list("method", "Method", able, title_method))
    labels = 2 if dataset is None else dataset.labels
    notions_by_name = notions()
    fit = [name for name in methods()[method].info.notions if notions_by_name[name].conditions_among(labels)]
    return spec, dataset, method, str(draw_list("notion", "Notion", fit, lambda name: notions_by_name[name].title))


def _build(raw: Mapping[str, object], store: RunStore) -> RunConfig:
    config = build_config(raw)
    return replace(config, file_id=identify_file(config.data.file, store))


def _show_price(store: RunStore, move: Move) -> bool:
    """Say what a move costs, before it is made; return whether moves are trained by themselves."""
    row = attempt(lambda: store.find(move.config.key))
    is_made = row is not None and row.status == "finished"
    if move.expected is not None:
        st.caption(_SHIPPED)
        idle = is_made or not store.database.writable
        confirm = partial(_ask, store, move.config)
        st.button(_CONFIRM, key="explore_train", help=_CONFIRM_HELP, disabled=idle, on_click=confirm)
        return False
    if move.free:
        st.caption(_FREE if move.config.reuse else _PUBLIC)
        return True
    assert move.plan is not None
    effects = find_effects(store, move.config, move.plan, move.dataset, runs_already=is_made) or []
    for effect in effects:
        if math.isfinite(effect.after) and (effect.runs or effect.after != effect.planned):
            so_far = f"{name_column(effect)}: ε = {epsilon_text(effect.planned)} so far"
            after = "" if is_made else f", **{epsilon_text(effect.after)}** after this move"
            st.markdown(f":small[{so_far}{after}]")
    fits = all(effect.fits for effect in effects)
    if not fits:
        st.warning("This move would exceed the cap of this data.", icon=":material/block:")
    if move.plan.method.info.threat_model is None:
        st.caption(_NOT_PRIVATE)
    # no link carries this choice: who opens one would spend without having seen the cost
    automatic = draw_switch(_AUTO, _AUTOMATIC, default=False, help=_AUTOMATIC_HELP)
    if not automatic and not is_made:
        price = "" if move.config.epsilon is None else f": spends ε = {epsilon_text(move.config.epsilon)}"
        if st.button(
            f"Train this point{price}",
            key="explore_train",
            type="primary",
            disabled=not fits or not store.database.writable,
        ):
            _ask(store, move.config)
    return automatic and fits


def _rest(config: RunConfig, *, automatic: bool) -> None:
    """Remember since when the sliders rest, and whether what they say is to be trained."""
    request = st.session_state.get(_ASKED) or {}
    if request.get("key") != config.key:
        st.session_state[_ASKED] = {"key": config.key, "since": time.monotonic(), "wanted": automatic, "run": None}
    elif automatic:
        request["wanted"] = True


def _is_asked(config: RunConfig) -> bool:
    request = st.session_state.get(_ASKED) or {}
    return bool(request.get("key") == config.key and request.get("wanted"))


def _ask(store: RunStore, config: RunConfig) -> None:
    row = attempt(lambda: store.explore(config))
    st.session_state[_ASKED] = {
        "key": config.key,
        "since": time.monotonic(),
        "wanted": row is not None,
        "run": None if row is None else row.key,
    }


def _follow(store: RunStore, move: Move) -> None:
    """Draw the point; ask for a new one once the sliders have rested, and draw the page anew when it is there."""
    request = st.session_state.get(_ASKED) or {}
    row = attempt(lambda: store.find(move.config.key))
    is_done = row is not None and row.status in ("finished", "failed")
    if request.get("drawn"):  # what stands beside the chart follows, once the point itself has moved
        st.session_state[_ASKED] = {**request, "wanted": False, "run": None, "drawn": False}
        st.rerun()
    waits = _is_asked(move.config) and not is_done
    if waits and request["run"] is None and time.monotonic() - request["since"] >= _REST_SECONDS:
        _ask(store, move.config)
    request["drawn"] = row is not None and row.ended and row.key == request.get("run")
    _draw(store, move, row if is_done else None, waiting=waits)


def _draw(store: RunStore, move: Move, row: RunRow | None, *, waiting: bool) -> None:
    if row is not None and row.status == "failed":
        st.warning(plain(f"This point could not be trained: {row.error}"), icon=":material/error:")
    trail = _find_trail(store, move, row)
    if not trail:
        st.info("The first point is on its way." if waiting else "Move a slider to train a first point.")
        if waiting:
            st.skeleton(_CHART_HEIGHT)
        return
    notion = notions()[move.config.notion].title
    figure = draw_explored(
        trail,
        plain=_find_reference(store, move.config),
        title=call_files(data_title(move.config.data.to_json())),
        notion=notion,
        wanted=Wanted(value("wish_accuracy") / 100, value("gap") / 100),
        waiting=waiting,
    )
    state = " · training the next point …" if waiting else ""
    st.markdown(f"{plain(format_explored(trail[-1]))}{state}")
    chart, groups = st.columns([3, 2])
    with chart:
        glide = None if move.expected is None else list_glides(move.config, name_point(trail[-1]))
        show_figure(figure, "explore_chart", on_drag=_take_wanted, glide=glide)
    with groups:
        if trail[-1].is_released and not trail[-1].published:
            st.caption(_NOT_RELEASED)
        elif move.dataset.labels == 2:
            show_figure(draw_groups(trail[-1]), "explore_groups")


def _take_wanted(region: Region) -> None:
    """Take what is asked of a model from the shaded corner: its gap is the one that the slider says."""
    for name, edge, limit in (("wish_accuracy", region.y[0], 100.0), ("gap", region.x[1], MOST_POINTS)):
        if edge is not None:
            choose(name, round(2 * min(max(edge, 0.0), limit)) / 2)


def _find_trail(store: RunStore, move: Move, row: RunRow | None) -> list[Explored]:
    """Return the points on the same data and notion, oldest first.

    The last one is what the sliders say: its run, or else where it is expected. Until either is there it is what was
    shown before.
    """
    config, is_finished = move.config, row is not None and row.status == "finished"
    expected = None if is_finished else move.expected
    last_key = row.key if row is not None and is_finished else "" if expected else st.session_state.get(_SHOWN, "")
    st.session_state[_SHOWN] = last_key
    config_json = config.to_json()
    without = without_folders(config_json)
    same = [
        item
        for item in attempt(lambda: store.explored(4 * _TRAIL)) or []
        if item.status == "finished" and _is_alike(item.config, config_json)
    ]
    keys = [item.key for item in reversed(same[:_TRAIL]) if item.key != last_key]
    keys += [last_key] if last_key else []
    n_charged = store.stamp()[2]  # a choice by raw numbers takes an epsilon back
    points = [attempt(partial(_read, str(store.database.url), key, n_charged, store)) for key in keys]
    trail = [
        *_pass(expected, config_json),
        *(item for item in points if item is not None and _is_alike(item.config, without)),
    ]
    trail += [expected] if expected is not None else []
    return [item for item in trail if trail[-1].is_raw or not item.is_raw]  # no raw gap beside released ones


def _pass(expected: Explored | None, config: ConfigJson) -> list[Explored]:
    """Return where points were expected before this one, and remember it."""
    passed: list[Explored] = [point for point in st.session_state.get(_PASSED, ()) if _is_alike(point.config, config)]
    passed = passed[-_TRAIL:]
    if expected is not None and expected not in passed[-1:]:
        st.session_state[_PASSED] = [*passed, expected]
    return [point for point in passed if point != expected]


@st.cache_resource(max_entries=256, show_spinner=False)
def _read(place: str, key: str, n_charged: int, _store: RunStore) -> Explored | None:
    record = _store.record(key)
    return None if record is None else read_explored(record)


def _is_alike(candidate: ConfigJson, config: ConfigJson) -> bool:
    return bool(candidate["data"] == config["data"] and candidate["notion"] == config["notion"])


def _find_reference(store: RunStore, config: RunConfig) -> TableRow | None:
    """Return plain training on the same test rows, asked the same notion; None where there is none."""
    record = find_plain(store, config.to_json())
    if record is None:
        return None
    [row] = run_table([replace(record, config={**record.config, "notion": config.notion}).to_json()])
    return row


def _offer_ways(store: RunStore, move: Move, row: RunRow | None) -> None:
    """Draw what can be done with the point that is shown."""
    explored = {item.key for item in attempt(lambda: store.explored(4 * _TRAIL)) or []}
    is_finished = row is not None and row.status == "finished" and row.key in explored and store.database.writable
    with st.container(horizontal=True):
        _offer_keeping(store, row if is_finished else None)
        if st.button("Open in Train", key="explore_to_train", icon=":material/tune:"):
            go_to("train")
    sentence = st.session_state.pop(_KEPT, "")
    if sentence:
        st.info(plain(sentence), icon=":material/bookmark_added:")


def _offer_keeping(store: RunStore, row: RunRow | None) -> None:
    """Draw the way to put the point among the runs; where raw numbers chose it, what that costs stands there first."""
    loss = None if row is None else attempt(partial(foresee_keeping, store, row.key))
    if row is None or loss is None:
        keep_it = None if row is None else partial(_keep_points, store, (row.key,))
        st.button("Keep", key="explore_keep", icon=":material/bookmark:", disabled=row is None, on_click=keep_it)
        return
    with st.popover("Keep …", icon=":material/bookmark:", key="explore_keep_ways"):
        offer_choices(
            store,
            loss,
            "keep",
            chosen=lambda key: _keep_points(store, (key,)),
            all_leave=partial(_keep_points, store, tuple(sorted(loss.among.unlisted))),
            alone=partial(_keep_points, store, (row.key,)),
        )


def _keep_points(store: RunStore, keys: Sequence[str]) -> None:
    """Put points among the runs, and say so."""
    try:
        for key in keys:
            keep_run(store, key)
        st.session_state[_KEPT] = _KEPT_TOLD if len(keys) == 1 else _KEPT_ALL
    except FairprivError as error:
        st.session_state[_KEPT] = str(error)
