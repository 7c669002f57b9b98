"""Pages on runs with more than two labels: accuracies of classes in place of rates of the positive label."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fairpriv_core.store.runs import open_store
from tests.launched import config, measured
from tests.launched import finish as finish_binary
from tests.many import ask, finish, make_ages, make_digits
from tests.pages.shown import Open, charts, said, whole

READERS = ("start", "run", "compare", "tradeoffs", "report", "audit", "papers", "train", "learn")
Made = dict[str, tuple[Path, list[str]]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Return two stores' folders and the keys of their runs: on ages, and on digits of which a rare one is given up."""
    ages, digits = make_ages(), make_digits()
    found: Made = {}
    for name in ("ages", "digits"):
        folder = tmp_path_factory.mktemp(name)
        with open_store(str(folder / "runs.db")) as store:
            if name == "ages":
                asked = [
                    ask(method, seed=seed, paid=method != "none") for method in ("none", "dp_sgd") for seed in (0, 1)
                ]
                keys = [finish(store, each, ages, skill=0.8 - 0.1 * at) for at, each in enumerate(asked)]
            else:
                asked = [ask("none", notion="accuracy_parity"), ask("dp_sgd", notion="accuracy_parity", paid=True)]
                keys = [finish(store, asked[0], digits, skill=0.95), finish(store, asked[1], digits, given_up=8)]
        found[name] = (folder, keys)
    return found


def put(made: Made, name: str, own_store: Path) -> list[str]:
    """Put a copy of the runs where this test's store is; return their keys."""
    folder, keys = made[name]
    shutil.copytree(folder, own_store.parent, dirs_exist_ok=True)
    return keys


@pytest.mark.parametrize("kind", ["ages", "digits"])
def test_no_page_fails_or_speaks_of_a_positive_label(kind: str, made: Made, own_store: Path, open_page: Open) -> None:
    keys = put(made, kind, own_store)
    for name in READERS:
        address = {"run": keys[-1]} if name == "run" else {"runs": keys} if name in ("compare", "report") else {}
        page = whole(open_page(name, **address))
        if address:
            assert "predicted '" not in said(page) and "True positive" not in said(page)


def test_a_run_shows_its_classes_and_what_each_group_is_decided_to_be(
    made: Made, own_store: Path, open_page: Open
) -> None:
    key = put(made, "ages", own_store)[-1]
    page = open_page("run", run=key)
    decided = ["decided 'young'", "decided 'middle'", "decided 'old'"]
    assert page.selectbox("outcome_rate").options == ["predicted rightly", *decided]
    of_classes = {f"{what}_{which}" for what in ("groups", "classes") for which in ("accuracy", "paid_accuracy")}
    assert {*of_classes, "live_groups_accuracy", "live_classes_accuracy"} <= set(charts(page))
    assert "Decided most: '" in said(page)
    page.selectbox("outcome_rate").set_value("decided/old").run()
    with open_store() as store:
        metrics = store.records([key])[key].metrics or {}
    share = metrics["groups"][0]["decided"]["old"]
    assert not page.exception and f"{100 * share:.2f} % at A" in charts(page)["groups_decided_old"]["alt"]


def test_a_class_that_is_given_up_is_seen(made: Made, own_store: Path, open_page: Open) -> None:
    plain, private = put(made, "digits", own_store)
    drawn = charts(open_page("run", run=private))
    assert "8 0.00 %" in drawn["live_groups_accuracy"]["alt"]
    assert not [name for name in drawn if "classes" in name], "the groups are the classes"
    compared = whole(open_page("compare", runs=[plain, private]))
    assert "groups_accuracy" in charts(compared) and "classes_accuracy" not in charts(compared)
    [table] = [each.value.set_index("class") for each in compared.dataframe if "class" in each.value]
    with open_store() as store:
        before = (store.records([plain])[plain].metrics or {})["classes"][8]["accuracy"]
    assert tuple(table.loc["8", ["A", "B"]]) == (f"{100 * before:.2f}", f"0.00 ({-100 * before:+.2f})")


def test_compare_offers_the_shares_that_all_of_the_runs_have(made: Made, own_store: Path, open_page: Open) -> None:
    keys = put(made, "ages", own_store)
    with open_store() as store:
        two = finish_binary(store, config("pf_ld"), (), metrics=measured((0.5, 0.4)))
    offered = {}
    for runs in ((keys[0], two), tuple(keys[1:3])):
        page = open_page("compare", runs=list(runs))
        assert not page.exception and (two in runs or "classes_accuracy" in charts(page))
        [chosen] = [each for each in page.selectbox if each.label == "Share of each group"]
        offered[two in runs] = chosen.options
    assert offered[True] == ["Accuracy"]
    assert offered[False] == ["Accuracy", "Decided 'young'", "Decided 'middle'", "Decided 'old'"]
