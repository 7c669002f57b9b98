"""What a sweep costs, in words: runs, time, and ε for each thing that is protected, before anything starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from fairpriv_core.sweeps.prose import say_seconds
from fairpriv_core.sweeps.spec import show_value
from fairpriv_core.text import delta_text, epsilon_text
from pages.widgets.shared.guard import plain, sentence

_SHOWN = 5
_HELP = (
    "What stays with you costs nobody anything. Once some of it is released every run counts, since each may have led "
    "to the choice: so the ledger counts all that were launched."
)

Json = Mapping[str, Any]


def show_costs_of_sweep(cost: Json) -> None:
    """Draw what `tell_cost` told: number of runs, expected time, ε of all runs together and beside the ledger."""
    with st.container(horizontal=True, gap="medium"):
        st.metric("Runs", f"{cost['runs']:,}", width=110)
        st.metric("New", f"{cost['new']:,}", width=110, help="The others are stored and are not run again.")
        st.metric("Time", _say_time(cost), width=190, help=_help_with_time(cost))
    lines = [_describe(item) for item in cost["protected"] if item["protected"]]
    if lines:
        st.markdown("**If all results are released**", help=_HELP)
        st.markdown("\n".join(f"- {line}" for line in lines))
    else:
        st.markdown("No run of this sweep is private: there is no ε, and to release its results has no bound.")
    _say_shared(cost)
    _list_skipped(cost["skipped"])


def _say_time(cost: Json) -> str:
    if not cost["new"] and not cost["unfinished"]:
        return "none left"
    return "unknown" if not cost["seconds"] else f"about {say_seconds(cost['seconds'])}"


def _help_with_time(cost: Json) -> str:
    cores = "1 process" if cost["workers"] == 1 else f"{cost['workers']:,} processes"
    untold = f" {cost['untold']:,} runs are not in it: their time cannot be told beforehand." if cost["untold"] else ""
    return f"From a few timed steps, with {cores} and nothing else at work.{untold}"


def _describe(item: Json) -> str:
    what = "whole records" if item["column"] is None else plain(item["column"])
    head = f"**{what}** in {plain(item['data'])}"
    if item["epsilon"] is None:
        return f"{head}: no bound. {plain(item['reason'] or '')}"
    parts = [f"**ε = {epsilon_text(item['epsilon'])}** together, at δ = {delta_text(item['delta'])}, by the ledger"]
    if item["most_alone"] is not None:
        parts.append(f"one run alone at most {epsilon_text(item['most_alone'])}")
    if item["epsilon_after"] != item["epsilon"]:
        after = "no bound" if item["epsilon_after"] is None else f"ε = {epsilon_text(item['epsilon_after'])}"
        parts.append(f"with all that was launched on this data before: {after}")
    return f"{head}: {'; '.join(parts)}"


def _say_shared(cost: Json) -> None:
    if cost["share_samples"]:
        st.caption("Runs of one seed share their secret samples: for you alone, since releasing several costs more.")
    if cost["share_release"]:
        st.caption("Runs that could make the same release make it once; the others train on it at no cost.")
    same = cost["combinations"] - cost["runs"] - len(cost["skipped"])
    if same:
        st.caption(f"{same} of {cost['combinations']:,} combinations ask for the same run as others.")


def _list_skipped(skipped: Sequence[Json]) -> None:
    if not skipped:
        return
    count = "1 combination is" if len(skipped) == 1 else f"{len(skipped)} combinations are"
    st.markdown(f"{count} left out, since no run can have it:")
    for item in skipped[:_SHOWN]:
        cell = ", ".join(f"{axis} = {show_value(value)}" for axis, value in item["cell"].items())
        st.markdown(f"- {plain(cell)}: {plain(sentence(str(item['reason'])))}")
    if len(skipped) > _SHOWN:
        st.caption(f"and {len(skipped) - _SHOWN} more")
