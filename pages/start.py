"""Start: the answer before the question. Earlier results, a budget to move, and three ways on."""

from __future__ import annotations

import streamlit as st

from fairpriv_core.data.catalog import problems
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.notions.catalog import notions
from fairpriv_core.report.figures import trade_off
from fairpriv_core.report.start import StartResults, read_start_results
from pages.widgets.charts import show_figure
from pages.widgets.epsilon import choose_epsilon, explain_epsilon
from pages.widgets.frame import go_to
from pages.widgets.reference import write_reference
from pages.widgets.state import choose, enter, publish
from pages.widgets.tour import show_tour


def show() -> None:
    """Draw the page."""
    enter("start")
    st.header("What privacy and fairness cost in accuracy", anchor=False)
    results = _read()
    title = problems()[results.data["dataset"]].title
    st.markdown(
        f"Classifiers trained on **{title}** so that they treat the groups of **{results.data['sensitive']}** alike "
        "and give away little about any one person. Move the budget and read what it promises."
    )
    show_tour()
    left, right = st.columns([3, 5], gap="large")
    with left:
        epsilon = choose_epsilon(help="How much an attacker may learn about one person from everything published.")
        explain_epsilon(epsilon, results.delta, "attribute")
    with right:
        _draw(results, epsilon)
    _offer_ways(results)
    publish(("epsilon",))


def _draw(results: StartResults, epsilon: float) -> None:
    name = problems()[results.data["dataset"]].title
    notion = notions()[results.notion].title
    show_figure(trade_off(results.outcomes, dataset=name, notion=notion, epsilon=epsilon), "start_trade_off")
    with st.expander("How these results were made", key="start_made"):
        st.markdown(
            f"{len(results.outcomes)} runs of this software on {results.made}, shipped defaults, every seed shown. "
            "This makes the file again:"
        )
        st.code(results.command, language="sh")
        st.json([dict(config) for config in results.configs], expanded=False)


def _offer_ways(results: StartResults) -> None:
    st.subheader("Three ways on", anchor=False)
    example = write_reference(DataSpec(**results.data))
    explore, train, own = st.columns(3)
    with explore.container(border=True, key="way_explore"):
        st.markdown("**Explore**  \nLook at a benchmark: who is in it, and how groups differ.")
        if st.button("Explore the data", key="go_explore", icon=":material/table:"):
            choose("data", example)
            go_to("data")
    with train.container(border=True, key="way_train"):
        st.markdown("**Train on this example**  \nSee the cost before you launch, then watch it learn.")
        if st.button("Train on this example", key="go_train", type="primary", icon=":material/tune:"):
            choose("data", example)
            choose("notion", results.notion)
            go_to("train")
    with own.container(border=True, key="way_own"):
        st.markdown("**Bring your own data**  \nA CSV or Parquet file; it stays on this machine.")
        if st.button("Bring your own data", key="go_own", icon=":material/upload_file:"):
            choose("source", "file")
            go_to("data")


@st.cache_data
def _read() -> StartResults:
    return read_start_results()


show()
