"""What a run that has ended leaves: its groups, its caveats, its record, config and model to take away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from fairpriv_core.data.catalog import problems
from fairpriv_core.errors import FairprivError
from fairpriv_core.ledger.choice import foresee_choice
from fairpriv_core.methods.catalog import methods
from fairpriv_core.notions.catalog import list_gaps
from fairpriv_core.plain import write_toml
from fairpriv_core.records.model import DESCRIPTION, PARAMETERS
from fairpriv_core.records.record import RunRecord, accuracy_is_public
from fairpriv_core.records.source import is_published
from fairpriv_core.report import wording
from fairpriv_core.report.classes import are_groups, has_classes, list_shares, read_groups, say_decided
from fairpriv_core.report.figures import GroupRates, group_bars
from fairpriv_core.report.wording import caveats, raw_text
from fairpriv_core.runs.certificate import describe_certificates
from fairpriv_core.store.rows import RunRow
from fairpriv_core.store.runs import RunStore
from pages.widgets.run.decide import offer_decisions
from pages.widgets.run.evaluation import offer_evaluation
from pages.widgets.shared.charts import show_figure, show_figure_of
from pages.widgets.shared.choice import offer_choices
from pages.widgets.shared.sentences import plain
from pages.widgets.shared.state import choose

_RATES = {
    "positive_rate": "predicted positive",
    "true_positive_rate": "predicted positive among the truly positive",
    "false_positive_rate": "predicted positive among the truly negative",
    "accuracy": "predicted rightly",
}


def show_fairness(store: RunStore, row: RunRow, record: RunRecord) -> None:
    """Draw the groups' rates, and of a private run the numbers that ε covers."""
    if record.metrics is None:
        return
    rates = list_shares(record.metrics) or _RATES
    rate = st.selectbox("Share of each group", list(rates), key="outcome_rate", format_func=rates.__getitem__)
    name = record.config["method"]["name"]
    bars = GroupRates("this run", name, read_groups(record.metrics, rate))
    show_figure_of(record.config["data"], group_bars([bars], rate=rate), "run_group_bars")
    if has_classes(record.metrics):
        _show_classes(record.metrics, record, paid=False)
    if record.threat_model is not None:
        _show_paid(store, row, record, rate)


def _show_classes(found: Mapping[str, Any], record: RunRecord, *, paid: bool) -> None:
    """Draw how each class fares, where there are more than two labels."""
    if not are_groups(found):
        bars = GroupRates("this run", record.config["method"]["name"], found["classes"])
        figure = group_bars([bars], rate="accuracy", of="class", paid=paid)
        show_figure_of(record.config["data"], figure, f"run_class_bars{'_paid' * paid}")
    st.caption(plain(say_decided(found)))


def _show_paid(store: RunStore, row: RunRow, record: RunRecord, rate: str) -> None:
    """Draw the numbers that may be published and the groups' noisy shares; or offer to pay for some."""
    if record.metrics_private is None:
        offer_evaluation(store, row, record)
        return
    found = record.metrics_private
    st.header("What the private evaluation says", anchor=False)
    with st.container(horizontal=True, gap="medium", key="run_paid"):
        for name in ["accuracy", *list_gaps(record.config["notion"])]:
            value, interval = _describe(found, name)
            st.metric(
                wording.metric_title(name), value, delta=interval, delta_color="off", delta_arrow="off", width=220
            )
    st.caption(plain(found["statement"]))
    for name, why in found["reasons"].items():
        if "/" not in name:
            st.caption(f"{plain(wording.metric_title(name))}: undefined, {plain(why)}")
    name = record.config["method"]["name"]
    bars = GroupRates("this run", name, read_groups(found, rate))
    show_figure(group_bars([bars], rate=rate, paid=True), "run_paid_bars")
    if has_classes(found):
        _show_classes(found, record, paid=True)


def _describe(found: Mapping[str, Any], name: str) -> tuple[str, str | None]:
    """Return a number and its interval, in per cent or percentage points."""
    if found[name] is None:
        return "–", None
    low, high = (100 * end for end in found[f"{name}_interval"])
    unit = "%" if name == "accuracy" else "pp"
    return f"{100 * found[name]:.2f} {unit}", f"{low:.2f} to {high:.2f} {unit}"


def offer_files(store: RunStore, row: RunRow, record: RunRecord) -> None:
    """Draw the buttons; a model stays here where it was trained on data whose terms ask for that.

    Where taking it away would be a choice by raw numbers, that is asked first.
    """
    config = write_toml(record.to_document()["config"])
    st.download_button("Record (JSON)", record.to_text(), f"{row.key}.json", "application/json", key="get_record")
    st.download_button("Config (TOML)", config, f"{row.key}.toml", "application/toml", key="get_config")
    problem = problems().get(record.config["data"]["dataset"] or "")
    if problem is not None and problem.terms:
        return
    for lost in foresee_choice(store, [row.key]):
        with st.popover("Model …", icon=":material/rule:", key="run_model"):
            offer_choices(store, lost, "model", chosen=lambda key: choose("run", key))
        return
    for name in (PARAMETERS, DESCRIPTION):
        content = _find_artifact(store, row.key, name)
        if content is not None:
            st.download_button(f"Model ({plain(name)})", content, f"{row.key}-{name}", key=f"get_{name}")


def _find_artifact(store: RunStore, key: str, name: str) -> bytes | None:
    try:
        return store.artifact(key, name)
    except FairprivError:
        return None


def show_outcome(store: RunStore, row: RunRow, record: RunRecord) -> None:
    """Draw the groups' rates, what must be said with the numbers, and the downloads."""
    show_fairness(store, row, record)
    certified = describe_certificates(record)
    if certified:
        with st.expander("What the run certifies of its gap", expanded=True, key="run_certificates"):
            for name, sentence in certified:
                st.markdown(f"- **{plain(name)}** · {plain(sentence)}")
    with st.expander("Caveats", key="run_caveats"):
        for said in caveats(record.to_json(), say_raw(record)):
            st.markdown(f"- {plain(said)}")
    with st.container(horizontal=True, key="run_files"):
        offer_files(store, row, record)
    offer_decisions(store, row)


def say_raw(record: RunRecord) -> str:
    """Return what must be said with a run's accuracy and gap; "" where everybody has its rows."""
    if is_published(record.config["data"]):
        return ""
    looks = methods()[record.config["method"]["name"]].info.needs_group_at_prediction
    return raw_text(public_accuracy=accuracy_is_public(record.to_json(), uses_group=looks))
