"""The right half of Train: what the settings on screen will cost, and the button that launches exactly those."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.report import wording
from fairpriv_core.report.figures import predicted_epsilon
from fairpriv_core.runs.config import RunConfig, build_config
from fairpriv_core.runs.store import RunStore
from pages.widgets.charts import show_figure
from pages.widgets.clipping import show_clipping
from pages.widgets.epsilon import explain_epsilon
from pages.widgets.frame import go_to
from pages.widgets.guard import attempt, plain
from pages.widgets.plan import Plan, expect_seconds, make_plan
from pages.widgets.session import find_store
from pages.widgets.state import choose


def show_plan(raw: Mapping[str, Any], dataset: Dataset, slots: Mapping[str, Any]) -> None:
    """Draw the plan of the config `raw`; what is wrong with it stands at its field, and nothing can be launched."""
    config = attempt(lambda: build_config(raw), slots=slots)
    plan = None if config is None else attempt(lambda: make_plan(config, dataset), slots=slots)
    if config is None or plan is None:
        st.button("Launch", key="launch", type="primary", disabled=True, icon=":material/rocket_launch:")
        st.caption("Correct what is marked, then launch.")
        return
    if plan.method.info.threat_model is not None and config.delta * plan.n_train >= 1:
        slots.get("delta", st).warning(
            f"δ = {config.delta:g} is not below 1/n = {1 / plan.n_train:.2g}: it would allow publishing one person's row "
            "at random; choose a smaller δ.",
            icon=":material/warning:",
        )
    store = find_store()
    if store is not None:
        _offer_launch(store, config, plan)
    _show_costs(config, plan)
    if store is not None:
        show_clipping(store, config, plan)


def _offer_launch(store: RunStore, config: RunConfig, plan: Plan) -> None:
    known = attempt(lambda: store.find(config.key))
    rows = attempt(lambda: store.rows(limit=50)) or []
    seconds = expect_seconds(plan, config, rows)
    if st.button("Launch", key="launch", type="primary", icon=":material/rocket_launch:"):
        row = attempt(lambda: store.submit(config))
        if row is not None:
            choose("run", row.key)
            go_to("run", run=row.key)
    time = "no run of this kind yet to tell from" if seconds is None else f"about {_words(seconds)}"
    st.caption(f"Expected time: {time} · {plan.n_train:,} training rows · {plan.steps or 0:,} steps")
    if known is not None and known.status in ("queued", "running", "paused", "finished"):
        st.caption(f"These very settings have a run already ({known.status}): Launch opens it, and nothing runs twice.")


def _show_costs(config: RunConfig, plan: Plan) -> None:
    threat = plan.method.info.threat_model
    if threat is None:
        st.info("This method is not private: it adds no noise and has no ε.", icon=":material/info:")
        return
    if config.epsilon is not None and plan.unproved is None:
        explain_epsilon(config.epsilon, config.delta, threat)
    if plan.unproved is not None:
        claim = "" if plan.published is None else f" The paper's accounting claims {plan.published:.2f}."
        st.warning(plain(f"No ε is proved. {plan.unproved}{claim}"), icon=":material/warning:")
    elif plan.published is not None:
        said = wording.epsilon_text(plan.epsilon[-1] if plan.epsilon else None)
        claim = wording.epsilon_text(plan.published)
        st.caption(f"Will be spent: ε = {said}, proved. The paper's accounting of the same noise claims {claim}.")
    with st.container(horizontal=True, gap="medium", key="plan_numbers"):
        for title, level in plan.noise.items():
            st.metric(title, f"{level:.2f}", width=170, help="Standard deviation of the noise over what it hides.")
        for title, level in plan.bounds.items():
            words = "Sensitivity: the most that one person's row can add to a sum, before weights."
            st.metric(title, f"{level:g}", width=170, help=words)
    if plan.epochs:
        figure = predicted_epsilon(
            plan.epochs, plan.epsilon, budget=config.epsilon, delta=config.delta, threat_model=threat
        )
        show_figure(figure, "plan_epsilon")


def _words(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 90 else f"{seconds / 60:.0f} minutes"
