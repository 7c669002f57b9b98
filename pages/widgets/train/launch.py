"""The right of Train: Launch; the run that was launched, and until then what the settings on screen will cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.facts.aim import format_least_gap, format_too_fine
from fairpriv_core.ledger.paid_schema import settle_schema
from fairpriv_core.methods.shared.responses import find_flips
from fairpriv_core.notions.catalog import notions
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.records.evidence import Size, forecast_fit
from fairpriv_core.records.record import RAW
from fairpriv_core.records.source import is_published
from fairpriv_core.runs.plain_run import train_plain_beside
from fairpriv_core.store.mode import check_trial
from fairpriv_core.store.rows import RunRow
from fairpriv_core.store.runs import GOING_ON, RunStore
from pages.widgets.run.panels import show_expected
from pages.widgets.shared.access import find_store
from pages.widgets.shared.frame import go_to
from pages.widgets.shared.margins import find_no_gap
from pages.widgets.shared.sentences import attempt, plain
from pages.widgets.shared.session import identify_file
from pages.widgets.shared.state import choose
from pages.widgets.train.clipping import show_clipping, show_sparkline
from pages.widgets.train.clone import show_cloned
from pages.widgets.train.costs import (
    accept_risk,
    show_costs,
    show_duration,
    show_effect,
    show_remarks,
    warn_of_delta,
    warn_of_noise,
)
from pages.widgets.train.plan import LaunchPlan, make_plan
from pages.widgets.train.studio import find_watched, show_watched, watch


def show_plan(raw: Mapping[str, Any], dataset: Dataset, slots: Mapping[str, Any], *, expert: bool) -> None:
    """Draw the run of the config `raw`, or, until one is launched, its plan; what is wrong with it stands at its field.

    Simple mode leaves noise levels and clipping out, and does not launch what public numbers show to be hopeless.
    """
    store = find_store()
    config = attempt(lambda: _build(raw, store), slots=slots)
    plan = None if config is None else attempt(lambda: _plan(config, dataset, store), slots=slots)
    if config is None or plan is None:
        with st.bottom, _bar():
            _draw_button(disabled=True)
            st.caption("Correct what is marked, then launch.")
        _keep_watching(store, raw)
        return
    show_cloned(config)
    with slots.get("delta", st.container()):
        warn_of_delta(config, plan)
    with slots.get("gap_target", st.container()):
        _show_no_gap(store, config)
    show_remarks(plan.method)
    accepted, hopeless = accept_risk(config, plan), warn_of_noise(config, plan, dataset.groups) and not expert
    if hopeless:
        st.caption("Launch is off for these settings. Expert mode launches them all the same.")
    row = None if store is None else attempt(lambda: store.find(config.key))
    exists = row is not None and row.status in GOING_ON
    watched = None if store is None else find_watched(config.to_json(), row)
    if store is not None:
        offer_launch(store, config, plan, watched=watched, exists=exists, hopeless=hopeless, accepted=accepted)
    if store is not None and watched is not None:
        show_watched(store, config, watched)
    elif store is not None:
        is_drawn = show_expected(store, config.to_json(), plan.steps)
        _show_expected(config, plan, dataset, with_others=not is_drawn)
    with st.container() if watched is None else st.expander("What these settings spend", key="plan"):
        show_costs(config, plan, levels=expert)
    if store is not None:
        show_effect(store, config, plan, dataset, runs_already=exists)
    if store is not None and expert:
        show_clipping(store, config, plan)
    if store is not None and not expert and "clip_primal" in slots:
        with slots["clip_primal"]:
            show_sparkline(store, config, plan)


def _keep_watching(store: RunStore | None, raw: Mapping[str, Any]) -> None:
    """Draw the run that is watched beside settings that are refused; what a plan would show is blank."""
    row = None if store is None else find_watched(raw, None)
    if store is not None and row is not None:
        show_watched(store, None, row)
    else:
        st.caption("No plan: a choice is refused, as its field says.")


def offer_launch(
    store: RunStore,
    config: RunConfig,
    plan: LaunchPlan,
    *,
    watched: RunRow | None,
    exists: bool,
    hopeless: bool,
    accepted: bool,
) -> None:
    """Draw the Launch button, always in sight and off where the settings have run, and a button to the run shown.

    `hopeless` settings and those whose risk is not `accepted` cannot be launched either.
    """
    off = exists or hopeless or not accepted
    with st.bottom, _bar():
        if _draw_button(disabled=off or not store.database.writable):
            row = attempt(lambda: store.submit(settle_schema(store, config)))
            if row is not None:
                train_plain_beside(store, config)
                choose("run", row.key)
                watch(row.key)
                st.rerun()
        if watched is not None and st.button("Open the run", key="open_run", help="Its groups, its log and its files."):
            go_to("run", run=watched.key)
        if exists:
            st.caption("These settings have a run. Move a slider, then launch again.")
        elif not accepted:
            st.caption("Accept the risk, then launch.")
        else:
            show_duration(config, plan, attempt(lambda: store.rows(limit=50)) or [])


def _bar() -> DeltaGenerator:
    return st.container(horizontal=True, vertical_alignment="center", gap="medium", key="launch_bar")


def _draw_button(*, disabled: bool) -> bool:
    return st.button("Launch", key="launch", type="primary", disabled=disabled, icon=":material/rocket_launch:")


def _show_no_gap(store: RunStore | None, config: RunConfig) -> None:
    """Say under the gap that is accepted that plain training has no larger one, where a run has shown it."""
    pursues = config.method.info.pursues_notion
    no_gap = find_no_gap(store, config.to_json()) if store is not None and pursues else None
    if no_gap is not None:
        st.info(plain(no_gap), icon=":material/equal:")
        if not is_published(config.data.to_json()):
            st.caption(RAW)


def _show_expected(config: RunConfig, plan: LaunchPlan, dataset: Dataset, *, with_others: bool) -> None:
    """Say what test rows and releases can show and, `with_others`, what this method came to on other data."""
    target, tested = getattr(config.method, "gap_target", None), dataset.n - plan.n_train
    notion, noise = notions()[config.notion], find_flips(dataset) or 0.0
    forecast = forecast_fit(config, Size.of(dataset)) if with_others else None
    expected = (
        None if forecast is None else forecast.format(),
        format_too_fine(notion, target, tested=tested, groups=dataset.groups, noise=noise),
        format_least_gap(plan.method, notion, dataset, plan.n_train),
    )
    texts = [text for text in expected if text is not None]
    if texts:
        with st.expander("What to expect", key="expected"):
            st.markdown(plain(" ".join(texts)))


def _build(raw: Mapping[str, Any], store: RunStore | None) -> RunConfig:
    config = build_config(raw)
    check_trial(config)
    return config if store is None else replace(config, file_id=identify_file(config.data.file, store))


def _plan(config: RunConfig, dataset: Dataset, store: RunStore | None) -> LaunchPlan:
    source = None if config.reuse is None or store is None else store.source(config.reuse)
    return make_plan(config, dataset, source)
