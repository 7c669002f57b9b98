"""Clone settings: a run's settings, as a link, are launched by Train exactly as they were, and what is not is said."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from fairpriv_core.errors import BadInput
from fairpriv_core.methods.base import Method, parameters
from fairpriv_core.methods.catalog import methods
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.records.parameters import method_to_json, noise_is_set
from fairpriv_core.store.runs import open_store
from pages.widgets.train.clone import write_settings
from tests.methods.examples.catalog import EXAMPLES
from tests.pages.shown import Open, find_key, said, whole

DATA = {"dataset": "synthetic", "sensitive": "group"}
PAY_EVALUATION = ("pf_ld", "dp_sgd")  # few: each has a price of its own to be found


def ask(method: Method, **given: Any) -> RunConfig:
    """Return a run of `method` whose other settings are none that a slider stops at."""
    raw: dict[str, Any] = {"data": DATA, "notion": method.info.notions[-1], "method": method_to_json(method), "seed": 7}
    if method.info.threat_model is not None:
        pays = method.info.name in PAY_EVALUATION and getattr(method, "variant", "proved") == "proved"
        raw |= {"delta": 1.23456e-6, "private_evaluation": pays}
        raw |= {} if noise_is_set(method) else {"epsilon": 2.3456789}
    return build_config(raw | given)


def shift(method: Any) -> Any:
    """Return `method` with every number moved off the stops of its slider, as far as it takes such a number."""
    for name, (_, field) in parameters(method).items():
        held = getattr(method, name)
        if isinstance(held, int | float) and not isinstance(held, bool) and not name.startswith(("gap_", "noise_")):
            moved = held + 1 if isinstance(field.default, int) or isinstance(held, int) else held * 0.987654321
            try:
                method = dataclasses.replace(method, **{name: moved})
            except BadInput:
                continue
    return method


def tell(method: Method) -> set[tuple[str, Any]]:
    """Return each setting of `method` with its value; a number is like any other one."""
    held = {name: getattr(method, name) for name in parameters(method)}
    numbers = {name for name, value in held.items() if isinstance(value, int | float) and not isinstance(value, bool)}
    return {(name, "a number" if name in numbers else repr(value)) for name, value in held.items()}


def cover(each: Sequence[Method]) -> list[Method]:
    """Return few of a method's examples, in which every setting has every kind of value that it has in all."""
    left, chosen = set().union(*map(tell, each)), []
    while left:
        chosen.append(max(each, key=lambda method: len(tell(method) & left)))
        left -= tell(chosen[-1])
    return chosen


def open_clone(open_page: Open, config: RunConfig, **given: str) -> AppTest:
    address = write_settings(config.to_json()) | given
    return open_page("train", **{name.replace(".", "__"): text for name, text in address.items()})


def test_every_method_is_tried() -> None:
    assert set(EXAMPLES) == set(methods())


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_link_of_a_runs_settings_offers_to_launch_them_as_they_are(
    name: str, offered: list[RunConfig], open_page: Open
) -> None:
    for method in cover(EXAMPLES[name]):
        config = ask(shift(method))
        page = whole(open_clone(open_page, config))
        assert offered[-1].to_json() == config.to_json() and not page.button("launch").disabled


def test_what_train_has_no_setting_for_is_said(own_store: Path, open_page: Open) -> None:
    config = build_config({"data": DATA, "notion": "demographic_parity", "method": "pf_ld", "epsilon": 2.3456789})
    other = dataclasses.replace(config, split="stratified", replay_noise=3)
    key = open_store().submit(other).key
    page = open_clone(open_page, other, cloned=key)
    assert "split rows, was stratified; replay noise –, was 3." in said(page, "caption")
    key = open_store().submit(config).key
    page = open_clone(open_page, config, cloned=key)
    assert "All settings are those of the run you cloned." in said(page, "caption")
    assert page.button("launch").disabled and "These settings have a run." in said(page, "caption")
    page = open_clone(open_page, config, cloned=key)
    page.select_slider("epsilon").set_value(3.0).run()
    assert "epsilon 3, was 2.3" in said(page, "caption")
    page.selectbox("method").set_value("dp_sgd").run()
    assert "you cloned" not in said(page, "caption")


def test_the_run_page_clones_and_forgets_what_was_chosen_before(with_runs: Path, open_page: Open) -> None:
    key = find_key(open_store(), "pf_ld")
    page = open_page("run", run=key)
    chosen = page.session_state["memory"].choices
    chosen |= {"p.width": 99, "typed": True, "set_lambda": True, "epsilon": 9.0}
    page.button("run_clone").click().run()
    assert not page.exception
    kept = page.session_state["memory"].choices
    assert (kept["cloned"], kept["method"], kept["p.epochs"]) == (key, "pf_ld", "3")
    assert "p.width" not in kept and kept["typed"] == "False" and kept["epsilon"] == "1"


def test_a_method_that_other_data_put_aside_comes_back(real_data: Path, open_page: Open) -> None:
    page = open_page("train", method="pf_ld", notion="demographic_parity")
    page.selectbox("data").set_value("mnist_unbalanced:label").run()
    assert page.selectbox("method").value != "pf_ld" and not page.exception
    page.selectbox("data").set_value("synthetic:group").run()
    assert page.selectbox("method").value == "pf_ld" and page.selectbox("notion").value == "demographic_parity"
    page.selectbox("data").set_value("mnist_unbalanced:label").run()
    page.selectbox("method").set_value("dpsgd_f").run()
    page.selectbox("data").set_value("synthetic:group").run()
    assert page.selectbox("method").value == "dpsgd_f", "who chooses another one has changed their mind"
