"""Reports, comparisons and texts on runs with more than two labels; policy is shown no raw number of theirs."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fairpriv_core.documents.document import AUDIENCES, Audience
from fairpriv_core.documents.forms import Report, forms_of, open_report, write_classes, write_groups
from fairpriv_core.documents.report_data import gather_report
from fairpriv_core.documents.report_numbers import loss_rows
from fairpriv_core.facts.classes import compare_classes, find_widest, format_decided, list_shares
from fairpriv_core.facts.compare import fold_groups
from fairpriv_core.facts.run_facts import read_facts
from fairpriv_core.facts.terminal import format_record
from fairpriv_core.figures import live
from fairpriv_core.figures.export import to_html
from fairpriv_core.papers.paper_run import PaperRun
from fairpriv_core.papers.values import answers_alike, format_same_answers, list_paths
from fairpriv_core.store.runs import RunStore, open_store
from tests.documents.test_policy import NOISY, read_form
from tests.many import AGES, DIGITS, ask, finish, make_ages, make_digits
from tests.papers import tiny


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RunStore]:
    with open_store(str(tmp_path / "runs.db")) as opened:
        yield opened


def add_ages(store: RunStore) -> list[str]:
    """Store plain training and two seeds of DP-SGD, with private evaluation, on three ages of three groups."""
    data = make_ages()
    private = [ask("dp_sgd", seed=seed, paid=True) for seed in range(2)]
    return [finish(store, ask("none"), data, skill=0.8), *(finish(store, each, data, skill=0.5) for each in private)]


def add_digits(store: RunStore) -> list[str]:
    """Store plain training and DP-SGD, which gives the rare digit up, where the groups are the digits."""
    data, notion = make_digits(), "accuracy_parity"
    plain = finish(store, ask("none", notion=notion), data, skill=0.95)
    return [plain, finish(store, ask("dp_sgd", notion=notion, paid=True), data, skill=0.9, given_up=8)]


def report_on(store: RunStore, keys: list[str], audience: Audience = "analyst") -> Report:
    return open_report(gather_report(store, keys), audience)


def report_own(store: RunStore, keys: list[str], audience: Audience) -> Report:
    """Return the report as if the rows were somebody's own and not a benchmark's."""
    data = gather_report(store, keys)
    own = {"dataset": None, "file": "own.csv", "label": "age", "positive": None, "sensitive": "sex"}
    records = store.records(keys).values()
    runs = (read_facts(replace(record, config={**record.config, "data": own})) for record in records)
    return open_report(replace(data, runs=tuple(runs), references=()), audience)


def metrics_of(store: RunStore, key: str) -> dict[str, Any]:
    return dict(store.records([key])[key].metrics or {})


@pytest.mark.parametrize("add", [add_ages, add_digits])
@pytest.mark.parametrize("audience", ["analyst", "policy"])
def test_every_form_is_made_and_none_speaks_of_a_positive_label(store: RunStore, add: Any, audience: Audience) -> None:
    report = report_on(store, add(store), audience)
    for name in NOISY:
        text = read_form(report, name)
        assert text and "predicted '" not in text and "'None'" not in text and "true positive" not in text
    assert forms_of(report)
    titles = [section.title for section in report.document.sections]
    assert "Classes, from noisy counts" in titles and ("Classes" in titles) == (audience == "analyst")
    for figure in report.document.figures:
        assert to_html(figure)


@pytest.mark.parametrize("add", [add_ages, add_digits])
def test_policy_sees_no_raw_share_of_a_class_or_group(store: RunStore, add: Any) -> None:
    keys = add(store)
    raw = set()
    for key in keys:
        found = metrics_of(store, key)
        for each in (*found["groups"], *found["classes"]):
            raw |= {each["accuracy"], each["accuracy_low"], each["accuracy_high"]}
        raw |= {share for group in found["groups"] for share in group["decided"].values()}
    exact = [f"{share:.9f}"[:-1] for share in raw if 0.0 < share < 1.0]
    text, all_of_it = (
        "\n".join([repr(report), *(read_form(report, name) for name in NOISY if name != "html")])
        for report in (report_own(store, keys, audience) for audience in AUDIENCES[::-1])
    )
    assert sum(share in all_of_it for share in exact) > 20, "the search finds them where they are"
    assert not [share for share in exact if re.search(rf"(?<!\d){re.escape(share)}", text)]
    assert "confusion" not in text


def test_tables_have_classes_and_the_share_in_which_groups_differ_most(store: RunStore) -> None:
    keys = add_ages(store)
    report = report_on(store, keys)
    rows = list(csv.DictReader(io.StringIO(write_classes(report.chosen, "analyst"))))
    assert [row["class"] for row in rows] == [*AGES, *AGES]
    first = metrics_of(store, keys[0])
    assert rows[2]["accuracy %"].startswith(f"{100 * first['classes'][2]['accuracy']:.2f} (")
    assert rows[2]["decided %"].startswith(f"{100 * first['classes'][2]['decided']:.2f} (")
    widest = find_widest(first)
    spread = [group["decided"][widest.removeprefix("decided/")] for group in first["groups"]]
    assert max(spread) - min(spread) == pytest.approx(first["demographic_parity_gap"])
    groups = list(csv.DictReader(io.StringIO(write_groups(report.chosen, "analyst"))))
    assert groups[0][f"{list_shares(first)[widest]} %"].startswith(f"{100 * spread[0]:.2f} (")
    assert "tables/classes.csv" not in read_form(report, "md")


def test_losses_are_against_the_run_for_accuracy_alone(store: RunStore) -> None:
    keys = add_digits(store)
    plain, private = (metrics_of(store, key)["classes"] for key in keys)
    report = report_on(store, keys)
    table = loss_rows(report.chosen)
    assert table is not None
    rows = {row[0]: row for row in table.rows}
    assert list(rows) == list(DIGITS)
    for index, name in enumerate(DIGITS):
        lost = private[index]["accuracy"] - plain[index]["accuracy"]
        assert rows[name][1:] == pytest.approx((100 * plain[index]["accuracy"], 100 * lost))
    assert rows["8"][2] == pytest.approx(-100 * plain[8]["accuracy"]) and rows["8"][2] < -50
    assert loss_rows(report.chosen[1:]) is None, "there is nothing to hold it against"
    assert compare_classes([report.chosen[0].runs, []], reference=0)[0].gains == (None, None)


def test_the_card_names_what_is_told_apart(store: RunStore) -> None:
    text = read_form(report_on(store, add_ages(store)), "md")
    assert "of young; middle; old" in text and "Every class should be decided equally often for A, B and C" in text


def test_the_command_line_says_how_each_group_and_class_fares(store: RunStore) -> None:
    key = add_digits(store)[1]
    record = store.records([key])[key]
    text = " ".join(format_record(record).split())
    found = record.metrics or {}
    assert f"{100 * found['classes'][3]['accuracy']:.2f} %" in text and "positive" not in text.replace(
        "positive label", ""
    )
    assert "of all rows are decided for the most decided one" in text and "decided for 0.00 % of all rows" in text
    assert "undefined: group '1' has no rows with label '0'." in text


def test_curves_of_classes_and_groups(store: RunStore) -> None:
    history = live.collect(store.metrics(add_digits(store)[1]))
    assert live.has_classes(history) and not live.has_own_classes(history), "the groups are the classes"
    assert live.has_own_classes(live.collect(store.metrics(add_ages(store)[0])))
    assert [line.name for line in live.live_classes(history).series] == list(DIGITS)
    assert live.live_classes(history).series[8].y == (0.0, 0.0, 0.0)
    groups = live.live_groups(history)
    assert groups.name == "live_groups_accuracy" and len(groups.series) == 10 and groups.series[0].low
    assert live.live_gap(history, method="dp_sgd", notion="accuracy_parity").series


def test_seeds_are_folded_by_class_and_by_share(store: RunStore) -> None:
    keys = add_ages(store)[1:]
    found = store.records(keys)
    records, runs = [found[key].to_json() for key in keys], [read_facts(found[key]) for key in keys]
    old = fold_groups(runs, "decided/old")[1]
    mean = sum(each["metrics"]["groups"][1]["decided"]["old"] for each in records) / 2
    assert old["name"] == "B" and old["decided/old"] == pytest.approx(mean)
    folded = fold_groups(runs, "accuracy", of="class")
    assert [each["name"] for each in folded] == list(AGES)
    assert folded[0]["accuracy"] == pytest.approx(
        sum(each["metrics"]["classes"][0]["accuracy"] for each in records) / 2
    )


def test_a_model_that_gives_nearly_everybody_one_answer_is_told_of(store: RunStore) -> None:
    keys = add_ages(store)
    runs = [PaperRun.of(store.records([key])[key]) for key in keys]
    assert format_same_answers(runs) == "" and "nearly everybody" not in format_decided(runs[0].metrics)
    runs[0].metrics["largest_decided"] = 0.96
    runs[0].metrics["classes"][1]["decided"] = 0.96
    assert answers_alike(runs[0]) and runs[0].read("same_answer") == 0.96
    assert "of these 3 models 1 gives 95 of 100 people or more the same answer" in format_same_answers(runs)
    assert format_decided(runs[0].metrics) == (
        "Decided most: 'middle', for 96.00 % of the test rows. The model gives nearly everybody the same answer."
    )
    assert "same_answer" in list_paths(tiny.FIGURE)
    assert runs[0].read("metrics/classes/old/accuracy") == runs[0].metrics["classes"][2]["accuracy"]
