"""Train: notion, method, budget; the cost before anything trains; and Launch, with exactly what is on screen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.data.problem import DataJson
from fairpriv_core.data.randomized import format_spent
from fairpriv_core.files.column import Column
from fairpriv_core.methods.base import MethodInfo
from fairpriv_core.methods.catalog import methods
from fairpriv_core.records.advice import ADVISER
from fairpriv_core.records.source import find_answers
from pages.widgets.shared.epsilon import choose_epsilon
from pages.widgets.shared.sentences import plain
from pages.widgets.shared.state import draw_buttons, draw_switch, enter, keep, mount, publish, value
from pages.widgets.shared.suitable import offer_default
from pages.widgets.train.form import choose_network, choose_parameters, fit_batch, list_choices, write_form
from pages.widgets.train.inverse import offer_inverse
from pages.widgets.train.launch import show_plan
from pages.widgets.train.recipe import Recipe, choose_recipe, choose_release
from pages.widgets.train.sliders import choose_sliders, list_moves

_PUBLISHED = (
    "data",
    "notion",
    "method",
    "protect",
    "by_group",
    "variant",
    "epsilon",
    "delta",
    "seed",
    "private_evaluation",
    "reuse_evaluation",
    "expert",
    "typed",
    "along",
    "gap",
    "set_lambda",
    "reuse",
    "inverse",
    "least_accuracy",
    "cloned",
)
_DELTA = "The chance that ε fails; well below 1/n."
_ALWAYS = "The proved variant of this method always makes one: its certificate needs it."
_EVALUATION = (
    "Also release how fair the model is on the test rows, with noise and within the same ε: these numbers, with their "
    "intervals, may be published. Training keeps its budget: it never sees the test rows, so the run's ε is the larger "
    "of the two. Without it a report for policy has no fairness number."
)


def show() -> None:
    """Draw the page: choices on the left, on the right what they will cost and, once launched, the run."""
    enter("train")
    with st.container(key="studio"):
        left, right = st.columns([5, 8], gap="medium")
    with left:
        recipe = choose_recipe()
        if recipe.spec is None or recipe.dataset is None:
            offer_default(recipe.reference)
            return
        if recipe.method is None:
            publish(_PUBLISHED)
            return
        data = recipe.spec.to_json()
        raw, slots = _choose_settings(recipe, recipe.method, data, recipe.dataset)
    with right:
        show_plan(raw | {"data": data, "notion": recipe.notion}, recipe.dataset, slots, expert=bool(value("expert")))
    publish((*_PUBLISHED, *list_choices(methods()[recipe.method["name"]])))


def _choose_settings(
    recipe: Recipe, method: Mapping[str, Any], data: DataJson, dataset: Dataset
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the raw config without its data and notion, and the container under each field."""
    kind = methods()[method["name"]]
    expert = value("expert")
    typed = expert and draw_switch("typed", "Type numbers instead of sliding")
    slots: dict[str, Any] = {}
    raw: dict[str, Any] = {}
    private = kind.info.threat_model is not None
    if private:
        raw["reuse"] = choose_release(kind.info, data, value("seed"))
        slots["reuse"] = st.container()
        if raw["reuse"] is None:
            raw |= _choose_budget(find_answers(data), typed=typed, expert=expert, slots=slots)
    sliders = st.container()  # beside the budget; what they offer depends on the accounting, which is drawn below
    values = _choose_rare(kind.info, data, raw, slots, expert=bool(expert)) if private else {}
    network, separate = choose_network(kind, dataset)
    values |= {} if network is None else {"network": network}
    slots["network"] = st.container()
    with sliders:
        slider_values, places = choose_sliders(kind, recipe.notion, columns=2, expert=expert, typed=typed)
        values |= slider_values
        slots |= places
    if expert:
        without = (*separate, *method)
        further, places = choose_parameters(kind, typed=typed, without=without, on_change=list_moves(kind))
        slots |= places
        seed = st.number_input("Seed", step=1, format="%d", **mount("seed"), help="Split, start and public batches.")
        raw["seed"] = keep("seed", seed)
        slots["seed"] = st.container()
        values |= further
    else:
        values |= fit_batch(kind, dataset)
    by_hand = values.get(kind.info.calibrates or "") is not None
    raw["epsilon"] = None if by_hand else raw.get("epsilon")
    adviser = ADVISER if recipe.is_advised else None
    return {**raw, "method": {**values, **method}, "adviser": adviser}, slots


def _choose_rare(
    info: MethodInfo, data: DataJson, raw: dict[str, Any], slots: dict[str, Any], *, expert: bool
) -> dict[str, Any]:
    """Draw the rare choices, open where one is not at its default; complete `raw` and return more parameters."""
    changed = value("inverse") or value("variant") in info.variants[1:]
    with st.expander("More choices", expanded=bool(expert or changed), key="more_choices"):
        if raw["reuse"] is None:
            offer_inverse(data, info)
        switch = "private_evaluation" if raw["reuse"] is None else "reuse_evaluation"
        raw["private_evaluation"] = _choose_evaluation(switch, slots, always=info.certifies)
        return {"variant": _choose_variant(info.variants)} if len(info.variants) > 1 else {}


def _choose_budget(answers: Column | None, *, typed: bool, expert: bool, slots: dict[str, Any]) -> dict[str, Any]:
    """Draw the sliders of ε and δ and return both; randomised `answers` have spent their ε before."""
    if answers is not None:
        words = f"Privacy budget ε = {format_spent(answers)}: the answers have spent it. The run spends nothing more."
        st.markdown(plain(words))
        raw = {"epsilon": sum(answers.randomized)}
    elif typed:
        widget = mount("epsilon")
        number = st.number_input("Privacy budget ε", step=None, format=write_form(widget["value"]), **widget)
        raw = {"epsilon": keep("epsilon", number)}
    else:
        raw = {"epsilon": choose_epsilon(help="How much an attacker may learn about one person from the whole run.")}
    slots["epsilon"] = st.container()
    if expert:
        widget = mount("delta")
        number = st.number_input("δ", step=None, format=write_form(widget["value"]), **widget, help=_DELTA)
        slots["delta"] = st.container()
        return {**raw, "delta": keep("delta", number)}
    return raw | {"delta": value("delta")}


def _choose_evaluation(name: str, slots: dict[str, Any], *, always: bool) -> bool:
    """Return the choice called `name`; a run that pays for itself makes an evaluation unless it is switched off."""
    is_on = draw_switch(name, "Private evaluation", help=_EVALUATION)
    if always:
        st.caption(_ALWAYS)
    slots["private_evaluation"] = st.container()
    return is_on


def _choose_variant(variants: tuple[str, ...]) -> str:
    words = {"proved": "Proved ε", "published": "As published"}
    titles = {name: words.get(name, name) for name in variants}
    about = "Proved: ε holds for all that the code releases. As published: the paper's algorithm and its claim."
    return str(draw_buttons("variant", "Accounting", titles, variants[0], help=about))


show()
