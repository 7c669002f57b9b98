"""The ledger on the pages: what is spent, what a launch adds, and what a cap does not let through."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from fairpriv_core.privacy.event import Gaussian
from fairpriv_core.privacy.rdp import Cap
from fairpriv_core.store.runs import RunStore, open_store
from tests.launched import config, finish, measured
from tests.pages.shown import Open, open_frame, said


def lines_of(page: AppTest) -> dict[str, str]:
    """Return each protected thing's line by its name."""
    shown = [line for item in page.markdown for line in item.value.splitlines() if line.startswith("- :small[")]
    return {line.split("**")[1]: line for line in shown}


def cap_it(store: RunStore, epsilon: float) -> None:
    [data] = store.ledger.data_sets()
    store.ledger.set_cap(data, "group", Cap(epsilon, 1e-5), where="synthetic")


def test_a_first_launch_is_all_there_is(open_page: Open) -> None:
    lines = lines_of(open_page("train"))
    assert list(lines) == ["whole records", "group", "region"]
    assert "nothing spent · **ε = 1.00** with this launch" in lines["group"]
    assert "nothing spent · **no bound** with this launch" in lines["whole records"]
    record = lines_of(open_page("train", method="dp_sgd"))
    assert "**ε = 1.00** with this launch" in record["whole records"]
    assert "nothing spent · the same with this launch" in lines_of(open_page("train", method="none"))["group"]


def test_a_launch_adds_to_what_is_spent_and_settings_that_have_run_add_nothing(
    with_runs: Path, open_page: Open
) -> None:
    page = open_page("train", seed="9", epsilon="2")
    line = lines_of(page)["group"]
    assert "ε = 1.4" in line and ", 2 runs" in line and "**ε = 2." in line and "with this launch" in line
    assert "uses all features and labels in clear" in said(page, "markdown")
    page = open_page("train", expert="True", p__epochs="3", epsilon="1", private_evaluation="False")
    assert "These settings have a run." in said(page, "caption") and "with this launch" not in lines_of(page)["group"]
    page = open_page("compare")
    page.toggle("spent").set_value(True).run()
    lines = lines_of(page)
    assert not page.exception and "ε = 1.4" in lines["group"] and "with this launch" not in lines["group"]
    assert lines["whole records"].startswith("- :small[**whole records**: no bound, 3 runs")


def test_a_cap_says_what_remains_and_refuses_what_does_not_fit(with_runs: Path, open_page: Open) -> None:
    with open_store(str(with_runs)) as store:
        cap_it(store, 2.0)
        page = open_page("train", seed="9", epsilon="3")
        assert "cap 2 at δ = 1 in 100,000, one more run may cost 0.88" in lines_of(page)["group"]
        assert "This launch would exceed the cap" in said(page, "warning")
        page.button("launch").click().run()
        assert "remains, and this would spend 3.00; nothing was launched" in page.error[0].value
        assert len(store.rows()) == 3
        small = open_page("train", seed="9", epsilon="0.2")
        assert "The cap does not" not in said(small, "warning")
        small.button("launch").click().run()
        assert len(store.rows()) == 4


@pytest.mark.usefixtures("own_rows")
def test_a_choice_is_paid_for_or_takes_epsilon_away(own_store: Path, open_page: Open) -> None:
    with open_store(str(own_store)) as store:
        for epsilon, rates in ((1, (0.2, 0.8)), (2, (0.5, 0.52))):
            fair = finish(store, config(epsilon=epsilon), (Gaussian(9.0),), metrics=measured(rates))
        page = open_page("compare")
        assert not page.exception and len(page.multiselect("runs").value) == 2
        page.button("choose").click().run()
        assert "has not been released by all of these runs" in page.error[0].value
        page.radio("choice_by").set_value("noisy").run()
        page.button("choose").click().run()
        assert f"**{fair}** has the smallest demographic parity gap of 2 runs" in page.info[0].value
        assert "proved" in page.info[0].value and store.record(fair).epsilon == 1.0  # type: ignore[union-attr]
        page.radio("choice_by").set_value("raw").run()
        assert page.button("choose").disabled
        page.checkbox("choice_sure").check().run()
        page.button("choose").click().run()
        assert "No ε is proved for it" in said(page, "warning")
        assert store.record(fair).epsilon is None  # type: ignore[union-attr]
        run = open_page("run", run=fair)
        assert run.metric[2].value == "–"
        assert "It was chosen among 2 runs by raw" in said(run, "caption")


def test_the_gauge_of_the_strip_tells_what_is_spent_and_draws_a_cap(with_runs: Path) -> None:
    """Practice data have it from a cap on."""
    spent = open_frame("data")
    assert not spent.exception and not spent.get("progress") and "group" not in lines_of(spent)
    with open_store(str(with_runs)) as store:
        cap_it(store, 2.0)
    capped = open_frame("data")
    assert "ε = 1.4" in lines_of(capped)["group"] and "2 runs" in lines_of(capped)["group"]
    [bar] = capped.get("progress")
    assert bar.proto.text.startswith("group: 1.4") and bar.proto.text.endswith(" of 2")
    assert "group" not in lines_of(open_frame()), "the example on Start is of other people"
