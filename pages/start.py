"""Start: the answer before the question. Earlier results, a budget to move, and three ways on."""

from __future__ import annotations

import streamlit as st

from fairpriv_core.report.start import StartResults
from pages.widgets.shared.epsilon import choose_epsilon, explain_epsilon
from pages.widgets.shared.frame import go_to
from pages.widgets.shared.reference import write_config
from pages.widgets.shared.results import describe_results, show_results, shown_results
from pages.widgets.shared.state import choose, enter, publish
from pages.widgets.start.tour import show_tour


def show() -> None:
    """Draw the page."""
    enter("start")
    st.title("What privacy and fairness cost in accuracy", anchor=False)
    results = shown_results()
    st.markdown(describe_results(results))
    show_tour()
    left, right = st.columns([3, 5], gap="large")
    with left:
        epsilon = choose_epsilon(help="How much an attacker may learn about one person from everything published.")
        explain_epsilon(epsilon, results.delta, "attribute")
    with right:
        show_results(results, epsilon)
    _offer_ways(results)
    publish(("epsilon", "start_encoding"))


def _offer_ways(results: StartResults) -> None:
    st.header("What next?", anchor=False)
    example = write_config(results.data)
    explore, train, own = st.columns(3)
    with explore.container(border=True, key="way_explore"):
        st.markdown("**Explore**  \nMove ε and the gap on this example, and see what each move changes.")
        if st.button("Drag and see", key="go_explore", icon=":material/tune:"):
            choose("data", example)
            choose("notion", results.notion)
            choose("view", "explore")
            go_to("tradeoffs", view="explore")
    with train.container(border=True, key="way_train"):
        st.markdown("**Train on this example**  \nSee the cost before you launch, then watch it learn.")
        if st.button("Train on this example", key="go_train", type="primary", icon=":material/tune:"):
            choose("data", example)
            choose("notion", results.notion)
            go_to("train")
    with own.container(border=True, key="way_own"):
        st.markdown("**Bring your own data**  \nA CSV, Excel or Parquet file; it stays on this machine.")
        if st.button("Bring your own data", key="go_own", icon=":material/upload_file:"):
            choose("source", "file")
            go_to("data")


show()
