"""What a planned run will cost, in words, numbers and a curve: before anything trains."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.networks import count_known
from fairpriv_core.facts.epsilon import name_claimant
from fairpriv_core.facts.wording import format_given, protected
from fairpriv_core.figures.figures import predicted_epsilon
from fairpriv_core.ledger.launch import Effect, foresee_launch
from fairpriv_core.methods.base import Method
from fairpriv_core.methods.fields import GROUP_NEEDED
from fairpriv_core.privacy import explain
from fairpriv_core.privacy.ledger import LedgerEntry
from fairpriv_core.records.config import RunConfig
from fairpriv_core.records.ledger_entry import identify_data, record_posting
from fairpriv_core.records.record import RAW, RunRecord, forecast, list_columns, list_sensitive_columns, name_author
from fairpriv_core.records.source import is_published, name_unit
from fairpriv_core.runs.expect import expect_seconds
from fairpriv_core.store.rows import RunRow
from fairpriv_core.store.runs import RunStore
from fairpriv_core.text import delta_text, epsilon_text
from pages.widgets.shared.charts import show_figure
from pages.widgets.shared.epsilon import explain_epsilon
from pages.widgets.shared.ledger import HELP, call_people, find_page, list_effects
from pages.widgets.shared.sentences import attempt, plain
from pages.widgets.train.plan import LaunchPlan


def show_costs(config: RunConfig, plan: LaunchPlan, *, levels: bool) -> None:
    """Draw what the run will spend; with `levels`, how much noise that takes too."""
    threat = plan.method.info.threat_model
    if threat is None:
        st.info("This method is not private: it adds no noise and has no ε.", icon=":material/info:")
        return
    data = config.data.to_json()
    unit = name_unit(data)
    budget = plan.epsilon[-1] if config.reuse and plan.epsilon else config.epsilon
    if budget is not None and plan.unproved is None:
        explain_epsilon(budget, config.delta, threat, unit)
    if config.reuse is not None:
        st.caption(f"An earlier run spent ε = {epsilon_text(budget)}. This one releases nothing more.")
        return
    _show_spending(plan, format_given(data, threat, config.method.info.name))
    if levels:
        _show_levels(plan)
    if plan.at_once:
        st.caption("It is spent in one release, however long the training.")
    elif plan.epochs:
        figure = predicted_epsilon(
            plan.epochs, plan.epsilon, budget=config.epsilon, delta=config.delta, protects=protected(threat, unit)
        )
        show_figure(figure, "plan_epsilon", small=True)


def show_duration(config: RunConfig, plan: LaunchPlan, rows: Sequence[RunRow]) -> None:
    """Say how long the run may take; `rows` are the store's, newest first."""
    sizes = f"{plan.n_train:,} training rows, {plan.steps:,} steps"
    parameters = count_known(plan.shape)
    expected = expect_seconds(config, n_train=plan.n_train, steps=plan.steps, shape=plan.shape, rows=rows)
    if parameters is not None:
        sizes += f", {parameters:,} parameters"
    if expected is None:
        st.caption("Expected time: not known before the first run of this network", help=sizes)
        return
    seconds, is_known = expected
    words = f"{max(1, round(seconds))} s" if seconds < 90 else f"{seconds / 60:.0f} minutes"
    time = f"about {words}" if is_known else f"roughly {words}"
    first = "" if is_known else "No run of this kind is known yet. "
    st.caption(f"Time alone: {time}", help=f"{first}With nothing else running on this machine. {sizes}")


def show_remarks(method: Method) -> None:
    """Say where a model will decide by group, and warn where a method that pursues a notion has nothing to pursue."""
    if method.decides_by_group():
        st.info(GROUP_NEEDED, icon=":material/groups:")
    if (reason := method.idle_reason()) is not None:
        st.warning(plain(reason), icon=":material/warning:")


def warn_of_noise(config: RunConfig, plan: LaunchPlan, groups: int) -> bool:
    """Warn where public numbers say that next to nothing can be learned; return whether they do."""
    size = count_known(plan.shape)
    little = forecast(config, plan.method, n_train=plan.n_train, groups=groups, parameters=size)
    if little is not None:
        st.warning(plain(little), icon=":material/grain:")
    return little is not None


def accept_risk(config: RunConfig, plan: LaunchPlan) -> bool:
    """Warn where noise may take a group's count below what training needs; return whether that is accepted.

    It ends the run after its ε was spent. Which sizes the rows have is raw.
    """
    epsilon = plan.epsilon[-1] if plan.epsilon else config.epsilon
    risk = None if plan.counts is None else plan.counts.format_risk(epsilon)
    if risk is None:
        return True
    raw = "" if is_published(config.data.to_json()) else f" {RAW}"
    st.warning(plain(risk + raw), icon=":material/groups:")
    accepted = f"Spend ε = {epsilon_text(epsilon)} even if the run fails"
    return bool(st.checkbox(plain(accepted), key=f"accept_{config.key}"))


def warn_of_delta(config: RunConfig, plan: LaunchPlan) -> None:
    """Warn where δ is so large that it would allow publishing somebody."""
    large = None if plan.method.info.threat_model is None else explain.warn_of_delta(config.delta, plan.n_train)
    if large is not None:
        st.warning(large, icon=":material/warning:")


def _show_spending(plan: LaunchPlan, assumptions: str) -> None:
    claim = "" if plan.published is None else f"claims {epsilon_text(plan.published)}"
    if plan.unproved is not None:
        beside = f" {name_claimant(name_author(plan.method))} {claim}." if claim else ""
        st.warning(plain(f"No ε is proved. {plan.unproved}{beside}"), icon=":material/warning:")
    elif plan.epsilon:
        claim_text = f"The paper's accounting of the same noise {plain(claim)}." if claim else None
        st.caption(plain(f"Launch uses ε = {epsilon_text(plan.epsilon[-1])}, proved.{assumptions}"), help=claim_text)


def _show_levels(plan: LaunchPlan) -> None:
    with st.container(horizontal=True, gap="medium", key="plan_numbers"):
        for title, level in plan.noise.items():
            st.metric(plain(title), f"{level:.2f}", width=170, help="Scale of the noise over what it hides.")
        for title, level in plan.sensitivities.items():
            words = "How far one person can move this release. Group sizes are protected: taken as equal."
            st.metric(f"Sensitivity, {plain(title)}", f"{level:.3g}", width=170, help=words)


def show_effect(store: RunStore, config: RunConfig, plan: LaunchPlan, dataset: Dataset, *, runs_already: bool) -> None:
    """Draw the ledger of the data, with what this launch would add unless these settings have run."""
    effects = find_effects(store, config, plan, dataset, runs_already=runs_already)
    if effects is None:
        return
    is_refused = not all(effect.fits for effect in effects)
    with st.expander("Ledger after launch", expanded=is_refused, key="ledger"):
        st.markdown(f"**{call_people(config.data.to_json())}**, at δ = {delta_text(config.delta)}", help=HELP)
        list_effects(effects, launched=not runs_already)


def find_effects(
    store: RunStore, config: RunConfig, plan: LaunchPlan, dataset: Dataset, *, runs_already: bool
) -> list[Effect] | None:
    """Return what a launch adds to the ledger, unless it has run; None after showing why that cannot be had."""
    launch = None if runs_already else _read_plan(config, plan, dataset)
    page = attempt(lambda: find_page(store, identify_data(config.data.dataset, config.file_id)))
    return None if page is None else foresee_launch(page, launch, delta=config.delta)


def _read_plan(config: RunConfig, plan: LaunchPlan, dataset: Dataset) -> LedgerEntry:
    """Return the entry of the ledger that a planned run would make."""
    record = RunRecord(
        key="of this launch",
        status="queued",
        config=config.to_json(),
        threat_model=plan.method.info.threat_model,
        variant=None,
        epsilon=plan.epsilon[-1] if plan.epsilon else None,
        epsilon_published=None,
        epsilon_reason=plan.unproved,
        epsilon_if_secret=None,
        delta=config.delta,
        event=plan.releases,
        released=[],
        assumptions=(),
        calibrated={},
        data={"columns": list_columns(dataset), "sensitive_columns": list_sensitive_columns(dataset)},
        versions={},
        notes=plan.notes,
    )
    return record_posting(record).entry
