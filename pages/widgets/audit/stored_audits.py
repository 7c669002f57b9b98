"""The audits that come with the software: a published claim refuted, and every private method attacked."""

from __future__ import annotations

from typing import Any

import streamlit as st

from fairpriv_core.report.audits import at_own_delta, catalogue_bars, demonstration_bars, read_audit_results
from fairpriv_core.text import at_least_text, epsilon_text
from pages.widgets.shared.charts import show_figure
from pages.widgets.shared.guard import plain


def show_stored() -> None:
    """Draw the stored demonstration and the catalogue's audits, and what makes them again."""
    results = _read()
    st.subheader("Can an audit catch a wrong claim?", anchor=False)
    _show_demonstration(results["demonstration"])
    st.subheader("Every private method, attacked", anchor=False)
    show_figure(catalogue_bars(results["methods"]), "audit_catalogue")
    with st.expander("How these audits were made", key="audit_made"):
        st.markdown(f"Made on {plain(results['made'])} by this software. This makes them again, with the same numbers:")
        st.code(results["command"], language="sh")
        st.json(results["settings"], expanded=False)


def _show_demonstration(found: dict[str, Any]) -> None:
    published, proved = (at_own_delta(found[variant]) for variant in ("published", "proved"))
    claimed, found_there = epsilon_text(published["epsilon_published"]), at_least_text(published["lower_bound"])
    st.markdown(
        "Yes. The paper behind PF-LD gives a formula for its ε. We built two tables that differ in **one person's "
        f"group** and calibrated the method, as printed, to a claimed ε of {claimed}. The attacks show at least "
        f"**{found_there}**, with {100 * found['published']['confidence']:g} % confidence: the claim does not hold. "
        f"Our proved variant, on the same two tables at the same ε, shows them {at_least_text(proved['lower_bound'])}."
    )
    show_figure(demonstration_bars(found), "audit_demonstration")
    with st.expander("The two tables and the settings", key="audit_pair"):
        st.markdown(plain(found["pair"]))
        st.json({variant: found[variant]["method"] for variant in ("published", "proved")}, expanded=False)


@st.cache_data
def _read() -> dict[str, Any]:
    return read_audit_results()
