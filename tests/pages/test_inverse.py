"""On Train: from the accuracy that is needed to the smallest ε of stored runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from fairpriv_core.privacy.event import Gaussian
from fairpriv_core.store.runs import open_store
from tests.launched import config, finish, measured

Open = Callable[..., AppTest]
PF_LD = (Gaussian(9.0),)


@pytest.fixture
def stored(own_store: Path) -> Path:
    """Put runs at two budgets where this test's store is."""
    with open_store(str(own_store)) as store:
        for epsilon, accuracy in ((0.73, 0.7), (2, 0.8)):
            metrics = {**measured((0.2, 0.4)), "accuracy": accuracy}
            finish(store, config(epsilon=epsilon), PF_LD, variant="proved", metrics=metrics)
    return own_store


def said(page: AppTest) -> str:
    return "\n".join(item.value for item in (*page.markdown, *page.caption))


def test_no_stored_run_is_said(own_store: Path, open_page: Open) -> None:
    page = open_page("train")
    assert "No stored run yet" not in said(page), "nothing is read until it is asked for"
    page.toggle("inverse").set_value(True).run()
    assert not page.exception and "No stored run yet on this data" in said(page)


def test_the_smallest_epsilon_is_said_and_set(stored: Path, open_page: Open) -> None:
    page = open_page("train")
    page.toggle("inverse").set_value(True).run()
    page.slider("least_accuracy").set_value(75.0).run()
    assert "the smallest ε of 2 stored settings is ε = 2.00" in said(page)
    assert "costs nothing more" in said(page) and "The gap is raw" in said(page)
    page.button("inverse_use").click().run()
    assert page.select_slider("epsilon").value == 2.0 and not page.exception


def test_accuracy_is_called_raw_where_it_needs_what_is_protected(own_store: Path, open_page: Open) -> None:
    with open_store(str(own_store)) as store:
        for method in ("dp_sgd", "jagielski_post"):
            asked = config(method, notion="equalized_odds")
            finish(store, asked, PF_LD, variant="proved", metrics=measured((0.2, 0.4)))
    for method in ("dp_sgd", "jagielski_post"):
        page = open_page("train", method=method, notion="equalized_odds", inverse="True")
        assert "stored setting is ε = 1.00" in said(page) or "none of 1 stored setting" in said(page), method
        assert "Accuracy and gap are raw" in said(page) and "costs nothing more" not in said(page)


def test_an_epsilon_between_the_sliders_stops_is_a_stop_more(stored: Path, open_page: Open) -> None:
    page = open_page("train")
    page.toggle("inverse").set_value(True).run()
    page.slider("least_accuracy").set_value(70.0).run()
    page.button("inverse_use").click().run()
    assert page.select_slider("epsilon").value == 0.73 and not page.exception


def test_what_none_reaches_names_the_nearest(stored: Path, open_page: Open) -> None:
    page = open_page("train")
    page.toggle("inverse").set_value(True).run()
    page.slider("least_accuracy").set_value(81.0).run()
    assert "none of 2 stored settings reaches it" in said(page) and "1.00 percentage points of accuracy" in said(page)
    assert "nearest" in page.button("inverse_use").label


def test_other_claims_do_not_answer(stored: Path, open_page: Open) -> None:
    page = open_page("train", variant="published")
    page.toggle("inverse").set_value(True).run()
    assert "No stored run yet on this data" in said(page)
    other = open_page("train", method="dp_sgd")
    other.toggle("inverse").set_value(True).run()
    assert "No stored run yet on this data" in said(other)


def test_accuracy_is_called_raw_where_no_epsilon_is_proved(own_store: Path, open_page: Open) -> None:
    """The published variant protects the attribute too, and nothing stands for it."""
    with open_store(str(own_store)) as store:
        finish(
            store,
            config({"name": "pf_ld", "variant": "published"}),
            PF_LD,
            variant="published",
            metrics=measured((0.2, 0.4)),
        )
    page = open_page("train", variant="published", inverse="True")
    assert "Accuracy and gap are raw" in said(page) and "costs nothing more" not in said(page)
