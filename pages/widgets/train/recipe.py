"""The three choices that a run starts from: data and sensitive attribute, notion, method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from fairpriv_core.data.catalog import default_split
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.data.problem import DataJson, DataSpec
from fairpriv_core.methods.base import MethodInfo
from fairpriv_core.records.advice import AUTO, Advice, Question, advise
from fairpriv_core.records.evidence import Size
from fairpriv_core.store.rows import RunRow
from fairpriv_core.store.runs import RunStore
from fairpriv_core.text import short_epsilon_text
from pages.widgets.shared.access import find_store
from pages.widgets.shared.demo import list_offered
from pages.widgets.shared.frame import link_to
from pages.widgets.shared.names import name_notion
from pages.widgets.shared.reference import list_reference
from pages.widgets.shared.sentences import attempt, plain
from pages.widgets.shared.session import find_dataset, find_spec
from pages.widgets.shared.state import (
    draw_list,
    draw_switch,
    keep,
    label_apart,
    mount_default,
    refuse,
    value,
)
from pages.widgets.shared.suitable import choose_method, choose_notion, explain_notion

_NEW = "new"
_HELP = (
    "All that this method reads of the sensitive attribute is released once. Other notions, models and targets on the "
    "same rows can use that release again: it costs nothing more, and the ledger counts it once."
)
_MOST_RUNS = 200
_SECRETS = {"attribute": "Who is in which group", "record": "All that a row says"}
_SECRETS_HELP = "Who is in which group: features and labels count as public. All that a row says: nothing does."
_BY_GROUP_HELP = "Some laws forbid that decisions use the group. Where they may, more accuracy is left."


@dataclass(frozen=True)
class Recipe:
    """The choices; `spec` and `dataset` are None where the data cannot be had, and the page says why.

    `method` has its name, beside settings that were recommended with it (`is_advised`); None until one can be.
    """

    reference: str
    spec: DataSpec | None
    dataset: Dataset | None
    notion: str
    method: Mapping[str, Any] | None
    is_advised: bool


def choose_recipe() -> Recipe:
    """Draw the title and lists of data, methods and notions that fit the data; explain the notion."""
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.title("Train", anchor=False, width="content")
        draw_switch("expert", "Expert mode", width="content")
        with st.container(key="look_at_data", width="content"):
            link_to("data", "Your own data")
    with st.container(key="recipe", gap="small"):
        reference = draw_list("data", "Data", list_offered(value("data")), list_reference)
        spec = find_spec(reference)
        dataset = None if spec is None else find_dataset(spec)
        above = st.container()
        name = choose_method(dataset)
        with above:
            notion = choose_notion(name, reference, dataset)
        method: Mapping[str, Any] | None = {"name": name}
        if dataset is not None and name == AUTO:
            advice = choose_advised(dataset, notion)
            method = None if advice is None else advice.settings
    if dataset is not None:
        explain_notion(notion, dataset)
    return Recipe(reference, spec, dataset, notion, method, name == AUTO)


def choose_advised(dataset: Dataset, notion: str) -> Advice | None:
    """Draw the two questions and what is advised; None until the first is answered."""
    names = tuple(_SECRETS)
    protect = st.segmented_control(
        "What must stay secret?",
        names,
        **mount_default("protect", (None, *names)),
        required=True,
        format_func=_SECRETS.__getitem__,
        help=_SECRETS_HELP,
    )
    keep("protect", protect or "")
    by_group = draw_switch("by_group", "Decisions may use the group", help=_BY_GROUP_HELP)
    if protect is None:
        st.caption("Answer this, and a method is recommended. No row is read for it.")
        return None
    question = Question(protect, by_group, notion, value("epsilon"), value("delta"))
    advice = attempt(lambda: advise(question, Size.of(dataset)))
    for reason in () if advice is None else advice.reasons:
        st.caption(plain(reason))
    return advice


def choose_release(info: MethodInfo, data: DataJson, seed: int) -> str | None:
    """Draw the choice between a release of one's own and those there are; return a run's key, None for one's own.

    Nothing is drawn where `info`'s method has no release to use again, or the store none on `data` and `seed`.
    """
    store = find_store() if info.reuses else None
    rows = (attempt(partial(_list_runs, store)) or []) if store is not None else []
    able = {row.key: row for row in rows if _is_able(row, info.name, data, seed)}
    if not able:
        if value("reuse") != _NEW:
            refuse("reuse")
        return None
    labels = label_apart({_NEW: "a new one, within ε"} | {key: _format_row(row) for key, row in able.items()})
    release = draw_list("reuse", "Release", labels, labels.__getitem__, _NEW, help=_HELP)
    return None if release == _NEW else str(release)


def _list_runs(store: RunStore) -> list[RunRow]:
    return [*store.rows(limit=_MOST_RUNS), *store.explored(_MOST_RUNS)]


def _is_able(row: RunRow, name: str, data: DataJson, seed: int) -> bool:
    config = row.config
    fields = (config["method"]["name"], config["data"], config["seed"], config["split"])
    has_release = row.status == "finished" and row.epsilon is not None
    return has_release and fields == (name, data, seed, default_split(data["dataset"])) and config.get("reuse") is None


def _format_row(row: RunRow) -> str:
    budget = "" if row.epsilon is None else f" with ε = {short_epsilon_text(row.epsilon)}"
    return f"released{budget} for {name_notion(row.config['notion'])}: costs nothing more"
