"""Pages on runs with more than two labels: accuracies of classes in place of rates of the positive label."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from fairpriv_core.store.runs import RunStore, open_store
from tests.many import ask, finish, make_ages, make_digits

Open = Callable[..., AppTest]
Charts = Callable[[AppTest], list[dict[str, Any]]]
READERS = ("start", "run", "compare", "tradeoffs", "report", "audit", "papers", "train", "learn")


@pytest.fixture
def store(own_store: Any) -> Iterator[RunStore]:
    """Return the test's own store."""
    with open_store() as opened:
        yield opened


def read(page: AppTest) -> str:
    shown = [*page.markdown, *page.caption, *page.header, *page.warning, *page.error]
    return "\n".join(str(item.value) for item in shown).replace("\\", "")


def names(page: AppTest, charts_of: Charts) -> list[str]:
    return [chart["figure"]["layout"]["uirevision"] for chart in charts_of(page)]


def add_ages(store: RunStore) -> list[str]:
    """Store plain training and DP-SGD on ages, two seeds each, one of them paid."""
    data = make_ages()
    configs = [ask("none", seed=seed) for seed in range(2)] + [ask("dp_sgd", seed=seed, paid=True) for seed in range(2)]
    return [finish(store, config, data, skill=0.8 - 0.1 * at) for at, config in enumerate(configs)]


def add_digits(store: RunStore) -> list[str]:
    """Store plain training, which tells all digits, and DP-SGD, which gives up the rare one."""
    data = make_digits()
    plain = finish(store, ask("none", notion="accuracy_parity"), data, skill=0.95)
    return [plain, finish(store, ask("dp_sgd", notion="accuracy_parity", paid=True), data, given_up=8)]


@pytest.mark.parametrize("add", [add_ages, add_digits])
@pytest.mark.parametrize("name", READERS)
def test_no_page_fails_or_speaks_of_a_positive_label(name: str, add: Any, store: RunStore, open_page: Open) -> None:
    keys = add(store)
    address = {"run": keys[-1]} if name == "run" else {"runs": keys} if name in ("compare", "report") else {}
    page = open_page(name, **address)
    assert not page.exception and not page.error
    if name in ("run", "compare", "report"):
        assert "predicted '" not in read(page) and "True positive" not in read(page)


def test_a_run_shows_its_classes_and_what_each_group_is_decided_to_be(
    store: RunStore, open_page: Open, charts_of: Charts
) -> None:
    key = add_ages(store)[-1]
    page = open_page("run", run=key)
    assert page.selectbox("outcome_rate").options == [
        "predicted rightly",
        "decided 'young'",
        "decided 'middle'",
        "decided 'old'",
    ]
    drawn = names(page, charts_of)
    assert {"groups_accuracy", "classes_accuracy", "groups_paid_accuracy", "classes_paid_accuracy"} <= set(drawn)
    assert {"live_groups_accuracy", "live_classes_accuracy"} <= set(drawn)
    assert "Decided most: '" in read(page) and "of the test rows" in read(page)
    page.selectbox("outcome_rate").set_value("decided/old").run()
    assert not page.exception and "groups_decided_old" in names(page, charts_of)
    [chart] = [each for each in charts_of(page) if each["figure"]["layout"]["uirevision"] == "groups_decided_old"]
    metrics = store.records([key])[key].metrics or {}
    assert f"{100 * metrics['groups'][0]['decided']['old']:.2f} % at A" in chart["alt"]


def test_a_class_that_is_given_up_is_seen(store: RunStore, open_page: Open, charts_of: Charts) -> None:
    plain, private = add_digits(store)
    page = open_page("run", run=private)
    [groups] = [each for each in charts_of(page) if each["figure"]["layout"]["uirevision"] == "live_groups_accuracy"]
    assert "8 0.00 %" in groups["alt"]
    assert not [name for name in names(page, charts_of) if "classes" in name], "the groups are the classes"
    compared = open_page("compare", runs=[plain, private])
    assert not compared.exception
    assert "groups_accuracy" in names(compared, charts_of) and "classes_accuracy" not in names(compared, charts_of)
    [table] = [each.value for each in compared.dataframe if "class" in each.value]
    told = table.set_index("class")
    before = (store.records([plain])[plain].metrics or {})["classes"][8]["accuracy"]
    assert told.loc["8", "A"] == f"{100 * before:.2f}" and told.loc["8", "B"] == f"0.00 ({-100 * before:+.2f})"
    assert "In brackets: percentage points against A." in read(compared)


def test_compare_offers_the_shares_that_all_of_the_runs_have(
    with_runs: Any, store: RunStore, open_page: Open, charts_of: Charts
) -> None:
    key, *_ = add_ages(store)
    two = next(row.key for row in store.rows() if row.config["method"]["name"] == "pf_ld")
    page = open_page("compare", runs=[key, two])
    assert not page.exception
    [chosen] = [each for each in page.selectbox if each.label == "Share of each group"]
    assert chosen.options == ["Accuracy"]
    ages = open_page("compare", runs=add_ages(store)[1:3])
    assert "classes_accuracy" in names(ages, charts_of)
    [chosen] = [each for each in ages.selectbox if each.label == "Share of each group"]
    assert chosen.options == ["Accuracy", "Decided 'young'", "Decided 'middle'", "Decided 'old'"]
