"""What a run that has ended leaves: its groups, its caveats, its record, config and model to take away."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from fairpriv_core.data.catalog import problems
from fairpriv_core.errors import FairprivError
from fairpriv_core.facts import wording
from fairpriv_core.facts.classes import are_groups, format_decided, has_classes, list_shares, read_groups
from fairpriv_core.facts.measured import format_levels
from fairpriv_core.facts.measures import Fact, Measures
from fairpriv_core.facts.run_facts import RunFacts
from fairpriv_core.figures.figures import GroupRates, group_bars
from fairpriv_core.figures.origin import Origin
from fairpriv_core.ledger.choice import foresee_choice
from fairpriv_core.notions.catalog import list_gaps
from fairpriv_core.records.model import DESCRIPTION, PARAMETERS
from fairpriv_core.records.record import RunRecord
from fairpriv_core.records.release import Kind
from fairpriv_core.store.rows import RunRow
from fairpriv_core.store.runs import RunStore
from pages.widgets.run.decide import offer_decisions
from pages.widgets.run.evaluation import offer_evaluation
from pages.widgets.run.threshold import offer_threshold
from pages.widgets.run.what_if import offer_what_if, read_model
from pages.widgets.shared.charts import show_figure
from pages.widgets.shared.choice import offer_choices
from pages.widgets.shared.sentences import plain
from pages.widgets.shared.state import choose

_RATES = {
    "positive_rate": "predicted positive",
    "true_positive_rate": "predicted positive among the truly positive",
    "false_positive_rate": "predicted positive among the truly negative",
    "positive_predictive_value": "truly positive among the predicted positive",
    "accuracy": "predicted rightly",
}


def show_fairness(store: RunStore, row: RunRow, record: RunRecord, run: RunFacts[Kind]) -> None:
    """Draw the groups' rates, and of a private run the numbers that ε covers."""
    if run.exact is None or not run.exact.groups:
        if run.released is not None:
            _show_paid(run.released, run, "positive_rate")
        return
    rates = list_shares(run.exact.found) or _RATES
    rate = st.selectbox("Share of each group", list(rates), key="outcome_rate", format_func=rates.__getitem__)
    bars = GroupRates("this run", run.method.name, read_groups(run.exact.found, rate))
    show_figure(group_bars([bars], rate=rate, origin=Origin(run.exact.kind)), "run_group_bars")
    for said in format_levels(run.exact):
        st.caption(plain(said))
    _show_classes(run.exact, run)
    if run.released is not None:
        _show_paid(run.released, run, rate)
    elif record.metrics_private is None and run.epsilon.threat_model is not None:
        offer_evaluation(store, row, record)


def _show_classes(measures: Measures[Kind], run: RunFacts[Kind]) -> None:
    """Draw how each class fares, where there are more than two labels."""
    if not has_classes(measures):
        return
    found, origin = measures.found, Origin(measures.kind)
    if not are_groups(found):
        bars = GroupRates("this run", run.method.name, found["classes"])
        figure = group_bars([bars], rate="accuracy", of="class", origin=origin)
        show_figure(figure, f"run_class_bars{'_paid' * (measures.kind == 'released')}")
    st.caption(plain(format_decided(found)))


def _show_paid(released: Measures[Kind], run: RunFacts[Kind], rate: str) -> None:
    """Draw the numbers that may be published and the groups' noisy shares."""
    found = released.found
    by = "What randomised answers say" if released.by_answers else "What the private evaluation says"
    st.header(by, anchor=False)
    with st.container(horizontal=True, gap="medium", key="run_paid"):
        for name in ["accuracy", *list_gaps(run.config["notion"])]:
            value, interval = _format_fact(released.read(name), name)
            st.metric(
                wording.metric_title(name), value, delta=interval, delta_color="off", delta_arrow="off", width=220
            )
    st.caption(plain(found["statement"]))
    for name, why in found["reasons"].items():
        if "/" not in name:
            st.caption(f"{plain(wording.metric_title(name))}: undefined, {plain(why)}")
    bars = GroupRates("this run", run.method.name, read_groups(found, rate))
    figure = group_bars([bars], rate=rate, origin=Origin(released.kind), by_answers=released.by_answers)
    show_figure(figure, "run_paid_bars")
    _show_classes(released, run)


def _format_fact(fact: Fact[Kind] | None, name: str) -> tuple[str, str | None]:
    """Return a number and its interval, in per cent or percentage points."""
    if fact is None or fact.interval is None:
        return "–", None
    low, high = (100 * end for end in fact.interval)
    unit = "%" if name == "accuracy" else "pp"
    return f"{100 * fact.value:.2f} {unit}", f"{low:.2f} to {high:.2f} {unit}"


def offer_files(store: RunStore, record: RunRecord, run: RunFacts[Kind]) -> None:
    """Draw the buttons; a model stays here where it was trained on data whose terms ask for that.

    Where taking it away would be a choice by raw numbers, that is asked first.
    """
    st.download_button("Record (JSON)", record.to_text(), f"{run.key}.json", "application/json", key="get_record")
    st.download_button("Config (TOML)", run.toml, f"{run.key}.toml", "application/toml", key="get_config")
    problem = problems().get(run.config["data"]["dataset"] or "")
    if problem is not None and problem.terms:
        return
    for lost in foresee_choice(store, [run.key]):
        with st.popover("Model …", icon=":material/rule:", key="run_model"):
            offer_choices(store, lost, "model", chosen=lambda key: choose("run", key))
        return
    for name in (PARAMETERS, DESCRIPTION):
        content = _find_artifact(store, run.key, name)
        if content is not None:
            st.download_button(f"Model ({plain(name)})", content, f"{run.key}-{name}", key=f"get_{name}")


def _find_artifact(store: RunStore, key: str, name: str) -> bytes | None:
    try:
        return store.artifact(key, name)
    except FairprivError:
        return None


def _list_told(title: str, key: str, told: Sequence[tuple[str, str]]) -> None:
    if told:
        with st.expander(title, expanded=True, key=key):
            for name, sentence in told:
                st.markdown(f"- **{plain(name)}** · {plain(sentence)}")


def show_outcome(store: RunStore, row: RunRow, record: RunRecord, run: RunFacts[Kind]) -> None:
    """Draw the groups' rates, what must be said with the numbers, and the downloads."""
    show_fairness(store, row, record, run)
    _list_told("What the run certifies of its gap", "run_certificates", run.certificates)
    _list_told("Estimated bound of its gap", "run_bounds", run.bounds)
    with st.expander("Caveats", key="run_caveats"):
        for said in run.caveats:
            st.markdown(f"- {plain(said)}")
    model = read_model(str(store.database.url), row.key, store)
    if model is not None:
        raw_counts = run.exact is not None and bool(run.exact.groups)
        if raw_counts and (run.data.published or store.payer == row.owner):  # of a file's rows its owner sees them
            offer_threshold(store, run, model)
        offer_what_if(run, model)
    with st.container(horizontal=True, key="run_files"):
        offer_files(store, record, run)
    offer_decisions(store, row)
