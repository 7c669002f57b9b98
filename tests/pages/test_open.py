"""Every page opens on its own, without the frame, on an empty store, and says what to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from fairpriv_core.store.runs import open_store
from pages.widgets.app.strip import tell_shown

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py") if path.stem != "__init__")


@pytest.mark.parametrize("name", PAGES)
def test_page_opens_on_an_empty_store_with_adult(
    name: str, open_page: Callable[..., AppTest], data_at_first: str
) -> None:
    page = open_page(name)
    assert not page.exception
    assert not page.error
    assert page.title
    if name == "train":
        assert page.selectbox("data").value == data_at_first == "adult:sex" and not page.button("launch").disabled
    if name == "data":
        assert (page.selectbox("dataset").value, page.multiselect("attributes").value) == ("adult", ["sex"])
        assert page.query_params["data"] == "adult:sex"


@pytest.mark.parametrize("name", ["run", "compare"])
def test_page_without_runs_says_where_they_come_from(name: str, open_page: Callable[..., AppTest]) -> None:
    assert "Train page" in open_page(name).info[0].value


@pytest.mark.parametrize("name", PAGES)
def test_a_store_that_cannot_be_read_gives_a_sentence(
    name: str, open_page: Callable[..., AppTest], own_store: Path
) -> None:
    own_store.parent.mkdir(parents=True)
    own_store.write_bytes(b"this is no database, whatever its name says")
    page = open_page(name)
    assert not page.exception
    if name not in ("start", "learn"):  # they show what comes with the software
        assert page.error and "store" in page.error[0].value
    assert own_store.read_bytes().startswith(b"this is no database")


def test_the_frame_has_every_page_and_the_strip() -> None:
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    assert not page.exception
    strip = " ".join(item.value for item in page.markdown)
    assert "shown here: data **Adult" in strip
    for part in ("data", "notion", "method", "protects", "the sensitive attribute of each person", "δ"):
        assert part in strip


def test_the_strip_tells_of_the_runs_that_a_page_shows(with_runs: Path) -> None:
    def draw() -> None:
        from pages.widgets.app.strip import hold_strip, show_strip
        from pages.widgets.shared.state import enter

        enter("report")
        show_strip("Report", *hold_strip())

    keys = [row.key for row in open_store().rows()]
    page = AppTest.from_function(draw)
    page.query_params["runs"], page.query_params["data"] = keys, "adult:sex"  # Adult is for the next run
    [told] = [item.value.replace("\\", "") for item in page.run().markdown if "data" in item.value]
    assert "shown here: data **Synthetic" in told and "Adult" not in told
    assert "notion **Demographic parity** " in told and "ε **none, 1.00" in told and "PF-LD" in told
    assert "protects **the sensitive attribute of each person**" in told


def test_the_strip_states_no_epsilon_that_is_not_proved_any_more(
    with_runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a run that was chosen by raw numbers."""

    def draw() -> None:
        from pages.widgets.app.strip import hold_strip, show_strip
        from pages.widgets.shared.state import enter

        enter("run")
        show_strip("Run", *hold_strip())

    row = next(row for row in open_store().rows() if row.config["method"]["name"] == "pf_ld")
    said = {}
    for epsilon in (row.epsilon, None):
        monkeypatch.setattr("pages.widgets.app.strip.find_row", lambda key, held=epsilon: replace(row, epsilon=held))
        page = AppTest.from_function(draw)
        page.query_params["run"] = row.key
        [said[epsilon]] = [item.value.replace("\\", "") for item in page.run().markdown if "data" in item.value]
    assert "ε **1.00 (δ = 1 in 100,000, proved)**" in said[row.epsilon]
    assert "ε **none is proved**" in said[None]


def test_the_strip_tells_of_what_trade_offs_shows_and_else_of_the_next_run(with_runs: Path) -> None:
    """Runs on synthetic data are shown; the next run is on Adult, and Explore shows none of them."""
    told = {}
    for view in ("frontier", "explore"):
        page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
        page.switch_page("pages/tradeoffs.py")
        page.query_params["data"], page.query_params["view"] = "synthetic:region", view
        drawn = page.run()
        assert not drawn.exception
        told[view] = next(item.value.replace("\\", "") for item in drawn.markdown if "notion **" in item.value)
    assert "shown here: data **Synthetic · group**" in told["frontier"] and "ε **none, 1.00 (δ =" in told["frontier"]
    assert "next run: data **Synthetic · region**" in told["explore"]


def test_several_budgets_are_listed_and_many_have_ends() -> None:
    def ask(method: str, epsilon: float | None, delta: float = 1e-5, **given: Any) -> Any:
        data = {"dataset": "synthetic", "sensitive": "group"}
        return {
            "data": data,
            "notion": "demographic_parity",
            "method": {"name": method, **given},
            "epsilon": epsilon,
            "delta": delta,
        }, epsilon

    assert tell_shown([ask("pf_ld", 1.0)])["ε"] == "1.00 (δ = 1 in 100,000, proved)"
    assert tell_shown([ask("pf_ld", 3.0), ask("pf_ld", 1.0)])["ε"] == "1.00, 3.00 (δ = 1 in 100,000, proved)"
    as_published = ask("pf_ld", 3.0, variant="published")
    assert tell_shown([as_published])["ε"] == "3.00 (δ = 1 in 100,000, as published, not proved)"
    both = tell_shown([as_published, ask("pf_ld", 1.0)])["ε"]
    assert both == "1.00, 3.00 (δ = 1 in 100,000, proved or as published, not proved)"
    many = [ask(name, budget) for name in ("pf_ld", "dp_sgd") for budget in (0.5, 1.0, 3.0, 9.0)]
    told = tell_shown([*many, ask("none", None), ask("pf_ld", 1.0, 1e-6)])
    assert told["ε"] == "none, 0.500 to 9.00 (δ = 1 in 1,000,000 or 1 in 100,000, proved)"
    assert told["method"] == "PF-LD; DP-SGD; No privacy, no fairness" and told["protects"].count("each person") == 2
