"""Clone settings: a run's settings, as a link, are launched by Train exactly as they were, and what is not is said."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet
from streamlit.testing.v1 import AppTest

from fairpriv_core.errors import BadInput
from fairpriv_core.methods.base import Method, parameters
from fairpriv_core.methods.catalog import methods
from fairpriv_core.methods.fields import AIMED_MULTIPLIER
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.records.parameters import method_to_json, noise_is_set
from fairpriv_core.store.runs import open_store
from pages.widgets.train.clone import write_settings
from tests.methods.examples.catalog import EXAMPLES

Open = Callable[..., AppTest]
DATA = {"dataset": "synthetic", "sensitive": "group"}


def ask(method: Method, **given: Any) -> RunConfig:
    """Return a run of `method` whose other settings are none that a slider stops at."""
    raw: dict[str, Any] = {"data": DATA, "notion": method.info.notions[-1], "method": method_to_json(method), "seed": 7}
    if method.info.threat_model is not None:
        raw |= {"delta": 1.23456e-6, "private_evaluation": getattr(method, "variant", "proved") == "proved"}
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


def cases() -> Iterator[ParameterSet]:
    """Yield every example of every method with its numbers off the stops of their sliders."""
    for name, each in EXAMPLES.items():
        yield from (pytest.param(ask(shift(method)), id=f"{name}-{at}") for at, method in enumerate(each))


def open_clone(open_page: Open, config: RunConfig, **given: str) -> AppTest:
    address = write_settings(config.to_json()) | given
    return open_page("train", **{name.replace(".", "__"): text for name, text in address.items()})


def launch(page: AppTest) -> dict[str, Any]:
    """Return what the page launches."""
    assert not page.exception and not page.error, [each.value for each in (*page.exception, *page.error)]
    page.button("launch").click().run()
    assert not page.exception
    [row] = open_store().rows()
    return dict(row.config)


def test_every_method_is_tried() -> None:
    assert set(EXAMPLES) == set(methods())


@pytest.mark.parametrize("config", list(cases()))
def test_a_link_of_a_runs_settings_launches_them_as_they_are(config: RunConfig, open_page: Open) -> None:
    """All but what a gap that is aimed at replaces, which Train sets itself; `say_cloned` tells of it."""
    wanted = config.to_json()
    known = parameters(config.method)
    if wanted["method"].get("gap_target") is not None:
        for name in set(known["gap_target"][0].replaces) & set(known):
            usual = AIMED_MULTIPLIER if name == "multiplier_max" else known[name][1].default
            wanted["method"][name] = usual
    assert launch(open_clone(open_page, config)) == wanted


def test_what_train_has_no_setting_for_is_said(own_store: Path, open_page: Open) -> None:
    config = build_config({"data": DATA, "notion": "demographic_parity", "method": "pf_ld", "epsilon": 2})
    other = dataclasses.replace(config, split="stratified", replay_noise=3)
    key = open_store().submit(other).key
    said = [item.value.replace("\\", "") for item in open_clone(open_page, other, cloned=key).caption]
    assert "Changed from the run you cloned: split rows, was stratified; replay noise –, was 3." in said
    key = open_store().submit(config).key
    page = open_clone(open_page, config, cloned=key)
    assert "All settings are those of the run you cloned." in [item.value for item in page.caption]
    page.select_slider("epsilon").set_value(3.0).run()
    assert any("epsilon 3, was 2." in item.value for item in page.caption)
    page.selectbox("method").set_value("dp_sgd").run()
    assert not any("you cloned" in item.value for item in page.caption)


def test_the_run_page_clones_and_forgets_what_was_chosen_before(with_runs: Path, open_page: Open) -> None:
    row = next(row for row in open_store().rows() if row.config["method"]["name"] == "pf_ld")
    page = open_page("run", run=row.key)
    chosen = page.session_state["memory"]["choices"]
    chosen |= {"p.width": 99, "typed": True, "set_lambda": True, "epsilon": 9.0}
    page.button("run_clone").click().run()
    assert not page.exception
    kept = page.session_state["memory"]["choices"]
    assert (kept["cloned"], kept["method"], kept["p.epochs"]) == (row.key, "pf_ld", "3")
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
