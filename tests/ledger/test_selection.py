"""Choosing a run: what it costs, that it costs no more, and what a raw choice takes away."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from fairpriv_core.cli.ledger import answer_selection
from fairpriv_core.cli.runs import run_to_json
from fairpriv_core.errors import BadInput, RunFailed
from fairpriv_core.facts.epsilon import read_epsilon_facts
from fairpriv_core.ledger.selection import (
    Criterion,
    choose_noisily,
    divide_by,
    gap_sensitivity,
    measure_gap,
    plan_choice,
    select_run,
)
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.metrics import count_decisions, measure
from fairpriv_core.notions.notion import Notion
from fairpriv_core.privacy.accountants import epsilon
from fairpriv_core.privacy.event import Events, Gaussian, Parallel, RandomizedResponse, from_json
from fairpriv_core.privacy.ledger import compose
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness
from fairpriv_core.privacy.rdp import Cap
from fairpriv_core.store.runs import RunStore
from fairpriv_core.text import epsilon_text
from tests.launched import DELTA, config, finish, measured, name
from tests.methods.harness import RecordingMechanism

PF_LD: Events = (Gaussian(9.0),)
GAP = "demographic_parity_gap"
ALL = [notion for notion in notions().values() if notion.is_of_means]
OTHERS = [notion for notion in notions().values() if notion not in ALL]


def launch(store: RunStore, *rates: tuple[float, float], method: str = "pf_ld", **given: Any) -> list[str]:
    """Finish one run for each pair of rates; return their keys."""
    return [
        finish(store, config(method, epsilon=1 + k), PF_LD, metrics=measured(pair), **given)
        for k, pair in enumerate(rates)
    ]


def spent(store: RunStore, column: str | None = "group") -> float:
    return compose([line.planned for line in store.ledger.lines(name())], column).epsilon(DELTA)


def test_a_noisy_choice_is_paid_for_and_leaves_epsilon_proved(store: RunStore) -> None:
    keys = launch(store, (0.2, 0.8), (0.5, 0.52))
    before = spent(store)
    found = select_run(store, keys, Criterion("noisy", epsilon=1.0))
    assert found["selected"] == keys[1] and found["epsilon_reason"] is None and "values" not in found
    assert found["epsilon"] == max(before, epsilon(plan_choice(epsilon=1.0, delta=DELTA), DELTA)) == spent(store)
    [line] = [line for line in store.ledger.lines(name()) if line.status == "charged"]
    [event] = line.planned.events
    assert isinstance(event, Parallel) and event.branches == ((), plan_choice(epsilon=1.0, delta=DELTA))
    assert (line.what, line.planned.key) == ("selection", found["charge"])
    assert from_json(found["event"]) == compose([each.planned for each in store.ledger.lines(name())], "group").events


@pytest.mark.usefixtures("own_rows")
def test_the_same_choice_is_paid_for_once(store: RunStore) -> None:
    keys = launch(store, (0.2, 0.8), (0.5, 0.52))
    first = select_run(store, keys, Criterion("noisy", epsilon=0.8))
    assert select_run(store, keys[::-1], Criterion("noisy", epsilon=0.8)) == first
    assert len(store.ledger.lines(name())) == 3
    with pytest.raises(BadInput, match=f"run {first['selected']} was chosen among these by noisy numbers"):
        select_run(store, keys, Criterion("noisy", epsilon=0.9))


@pytest.mark.usefixtures("own_rows")
def test_a_choice_beyond_a_cap_draws_nothing(store: RunStore) -> None:
    keys = launch(store, (0.2, 0.8), (0.5, 0.52))
    store.ledger.set_cap(name(), "group", Cap(spent(store) + 0.1, DELTA), where="synthetic")
    for wish in (Criterion("noisy", epsilon=9.0), Criterion("raw")):
        with pytest.raises(BadInput, match=r"the cap on 'group' .* nothing was launched"):
            select_run(store, keys, wish, without_epsilon=True)
    assert len(store.ledger.lines(name())) == 2
    assert [record.epsilon for record in store.records(keys).values()] == [1.0, 1.0]


def test_a_choice_by_what_was_released_costs_nothing(store: RunStore) -> None:
    private = {"metrics_private": {GAP: 0.3, "accuracy": 0.8}}
    keys = launch(store, (0.2, 0.8), **private)
    keys.append(finish(store, config(seed=1), PF_LD, metrics=measured((0.5, 0.5)), metrics_private={GAP: 0.1}))
    before = spent(store)
    found = select_run(store, keys, Criterion("released"))
    assert found["selected"] == keys[1] and found["epsilon"] == before == spent(store) and found["charge"] is None
    assert found["values"] == dict(zip(keys, (0.3, 0.1), strict=True))


def test_a_chosen_run_says_beside_its_epsilon_what_covers_the_choice(
    store: RunStore, request: pytest.FixtureRequest
) -> None:
    certified = {"certificates": {"of": "the exported model", "demographic_parity_gap": 0.2}}
    given = {"metrics_private": {GAP: 0.3}, "notes": certified}
    keys = launch(store, (0.2, 0.8), (0.5, 0.52), (0.1, 0.9), **given)
    for criterion, words in (
        (Criterion("released"), "chosen among 3 by released numbers: ε = {} (δ = 1 in 100,000) covers all of them."),
        (Criterion("noisy", epsilon=1.0), "chosen among 3 by noisy numbers: ε = {} (δ = 1 in 100,000) covers all of"),
    ):
        found = select_run(store, keys, criterion)
        record = store.record(found["selected"])
        assert record is not None and record.epsilon == store.records(keys)[found["selected"]].epsilon
        line = read_epsilon_facts(record).line
        assert words.format(epsilon_text(found["epsilon"])) in line and line.startswith("ε = ")
        assert "chosen by numbers of the very test rows" in record.notes["certificates"]["withdrawn"]
        assert select_run(store, keys, criterion) == found
    dear = store.record(found["selected"])
    fewer = select_run(
        store, [found["selected"], next(key for key in keys if key != found["selected"])], Criterion("released")
    )
    again = store.record(found["selected"])
    assert fewer["epsilon"] < found["epsilon"] and dear == again, "a cheaper choice takes nothing back"
    request.getfixturevalue("own_rows")
    select_run(store, keys, Criterion("raw"), without_epsilon=True)
    raw, untouched = (store.record(key) for key in keys[1:])
    assert raw is not None and untouched is not None
    line, other = (read_epsilon_facts(each).line for each in (raw, untouched))
    assert "covers all" not in line, "after a raw choice none covers it"
    assert keys[2] in (found["selected"], fewer["selected"]) or "chosen" not in other


def test_estimated_gaps_of_one_release_are_post_processing(store: RunStore) -> None:
    keys = [
        finish(store, config(epsilon=1 + k), PF_LD, metrics=measured((0.4, 0.5)), notes={"released_gaps": {GAP: gap}})
        for k, gap in enumerate((0.2, 0.05, 0.4))
    ]
    found = select_run(store, keys, Criterion("released", metric=GAP))
    assert found["selected"] == keys[1] and found["epsilon"] == spent(store)


def test_accuracy_is_public_where_only_the_attribute_is_protected(
    store: RunStore, request: pytest.FixtureRequest
) -> None:
    keys = launch(store, (0.2, 0.8), (0.5, 0.52))
    for by in ("released", "raw"):
        found = select_run(store, keys, Criterion(by, metric="accuracy"))
        assert found["epsilon"] == spent(store) and found["charge"] is None
    request.getfixturevalue("own_rows")
    others = launch(store, (0.2, 0.8), (0.5, 0.52), method="dp_sgd")
    with pytest.raises(BadInput, match="accuracy has not been released by all of these runs"):
        select_run(store, others, Criterion("released", metric="accuracy"))
    raw = select_run(store, others, Criterion("raw", metric="accuracy"), without_epsilon=True)
    assert raw["epsilon"] is None


def test_a_raw_choice_of_rows_that_everybody_has_takes_nothing(store: RunStore) -> None:
    keys = launch(store, (0.2, 0.8), (0.5, 0.52))
    found = select_run(store, keys, Criterion("raw"))
    assert found["selected"] == keys[1] and found["epsilon"] == spent(store) and found["charge"] is None


@pytest.mark.usefixtures("own_rows")
def test_a_raw_choice_takes_epsilon_away_and_is_in_the_ledger(store: RunStore) -> None:
    keys = launch(store, (0.2, 0.8), (0.5, 0.52))
    with pytest.raises(BadInput, match="without-epsilon"):
        select_run(store, keys, Criterion("raw"))
    found = select_run(store, keys, Criterion("raw"), without_epsilon=True)
    assert found["selected"] == keys[1] and found["epsilon"] is None
    assert "chosen among 2 runs by raw demographic parity gap" in found["epsilon_reason"]
    record, other = store.record(keys[1]), store.records(keys)[keys[0]]
    assert record is not None and record.epsilon is None and record.epsilon_reason == found["epsilon_reason"]
    assert other.epsilon == 1.0 and store.records(keys)[keys[1]] == record
    listed = [run_to_json(*each) for each in store.read_all()[0]]
    assert {row["key"]: row["epsilon"] for row in listed} == {keys[0]: 1.0, keys[1]: None}
    assert spent(store) == math.inf
    assert select_run(store, keys, Criterion("raw")) == found and len(store.ledger.lines(name())) == 3
    store.delete(keys[1])
    assert spent(store) == math.inf


def test_what_cannot_be_chosen_from_is_refused_in_a_sentence(store: RunStore) -> None:
    keys = launch(store, (0.2, 0.8), (0.5, 0.52))
    [record] = launch(store, (0.2, 0.8), method="dp_sgd")
    [other] = [finish(store, config(seed=3), PF_LD, metrics=measured((0.5, 0.5)))]
    before = {name: value for name, value in measured((0.5, 0.5)).items() if name != "predictive_equality_gap"}
    older = finish(store, config(seed=4), PF_LD, metrics=before)
    adult = finish(store, config(dataset="adult", sensitive="sex"), PF_LD, metrics=measured((0.5, 0.5)))
    cut = finish(store, config(sensitive="region"), PF_LD, metrics=measured((0.5, 0.5)))
    queued = store.submit(config(seed=9)).key
    plain = launch(store, (0.2, 0.8), (0.5, 0.52), method="none")
    for given, wish, says in (
        (keys[:1] * 2, Criterion("raw"), "needs two runs or more"),
        ([keys[0], queued], Criterion("raw"), "is queued; only finished runs"),
        ([keys[0], record], Criterion("raw"), "protect different things"),
        ([keys[0], adult], Criterion("raw"), "differ in data, label or groups"),
        ([keys[0], cut], Criterion("raw"), "differ in data, label or groups"),
        ([keys[0], other], Criterion("noisy", epsilon=1), "needs runs on one split"),
        (keys, Criterion("noisy"), "needs --epsilon"),
        (keys, Criterion("noisy", metric="accuracy", epsilon=1), "by a notion's gap"),
        (plain, Criterion("noisy", epsilon=1), "among private runs"),
        (keys, Criterion("raw", epsilon=1), "takes none"),
        (keys, Criterion("raw", metric="beauty"), "unknown metric 'beauty'"),
        ([keys[0], older], Criterion("raw", metric="predictive_equality_gap"), f"run {older} is older than predictive"),
        (keys, Criterion("released"), "evaluate each privately"),
    ):
        with pytest.raises(BadInput, match=says):
            select_run(store, given, wish)
    assert len(store.ledger.lines(name())) == 8


def test_a_group_too_small_to_choose_by_has_paid_for_its_size(store: RunStore) -> None:
    keys = [finish(store, config(epsilon=1 + k), PF_LD, metrics=measured((0.5, 0.5), rows=4)) for k in range(2)]
    with pytest.raises(RunFailed, match="fewer than 30 noisy rows"):
        select_run(store, keys, Criterion("noisy", epsilon=5.0))
    [line] = [line for line in store.ledger.lines(name()) if line.status == "charged"]
    [event] = line.planned.events
    assert isinstance(event, Parallel) and event.branches[1] == plan_choice(epsilon=5.0, delta=DELTA)[:1]


@pytest.mark.usefixtures("own_rows")
def test_the_answer_says_what_epsilon_is_left(local: RunStore) -> None:
    keys = launch(local, (0.2, 0.8), (0.5, 0.52))
    paid = answer_selection(keys, Criterion("noisy", epsilon=0.5))
    said = " ".join(paid.text.split())  # lines are folded to the terminal's width
    assert "the smallest demographic parity gap of 2 runs" in said and "proved: all candidates" in said
    raw = answer_selection(keys, Criterion("raw"), without_epsilon=True)
    assert "none. It was chosen among 2 runs by raw" in " ".join(raw.text.split())


@pytest.mark.parametrize("notion", ALL, ids=lambda notion: notion.name)
@pytest.mark.parametrize("threat_model", ["attribute", "record"])
def test_one_person_moves_a_gap_by_no_more_than_is_accounted(notion: Notion, threat_model: str) -> None:
    """Brute force: every kind of person in tiny, uneven groups moved or taken away, over fixed denominators."""
    generator = np.random.default_rng(1)
    worst = 0.0
    for _ in range(150):
        counts = generator.integers(1, 12, size=(3, 2, 2))
        below = divide_by(counts.sum(axis=2) + generator.uniform(0.5, 9, size=(3, 2)), notion)
        sensitivity = gap_sensitivity(below, threat_model)
        before = measure_gap(counts, notion, below)
        for group, label, decision in np.ndindex(3, 2, 2):
            for other, decided in np.ndindex(3, 2) if threat_model == "attribute" else [(-1, 0)]:
                changed = counts.copy()
                changed[group, label, decision] -= 1
                if other >= 0:  # a model that is given the group may decide otherwise for another one
                    changed[other, label, decided] += 1
                worst = max(worst, abs(measure_gap(changed, notion, below) - before) / sensitivity)
    assert 0.9 < worst <= 1 + 1e-9


@pytest.mark.parametrize("notion", ALL, ids=lambda notion: notion.name)
def test_with_exact_sizes_it_is_the_gap_of_the_record(notion: Notion) -> None:
    metrics = measured((0.3, 0.6))
    counts = count_decisions(metrics)
    assert counts.sum() == 2000
    assert measure_gap(counts, notion, divide_by(counts.sum(axis=2), notion)) == pytest.approx(metrics[notion.metric])


@pytest.mark.parametrize("notion", OTHERS, ids=lambda notion: notion.name)
def test_a_gap_whose_groups_each_run_decides_itself_is_refused_before_anything_is_released(notion: Notion) -> None:
    counts = [count_decisions(measured(rates)) for rates in ((0.1, 0.9), (0.5, 0.5))]
    planned, mechanism = plan_choice(epsilon=2.0, delta=DELTA), RecordingMechanism()
    with pytest.raises(BadInput, match="rates over groups that are the same for every run"):
        choose_noisily(counts, notion, threat_model="record", planned=planned, mechanism=mechanism)
    assert mechanism.events == ()


def test_of_many_labels_it_is_the_gap_of_the_record_too() -> None:
    generator = np.random.default_rng(1)
    y, decision, group = (generator.integers(0, 4, 3000) for _ in range(3))
    metrics = measure(y, np.eye(4)[decision], group, list("abcd"))
    counts = count_decisions(metrics)
    assert counts.shape == (4, 4, 4) and counts.sum() == 3000
    for notion in ALL:
        if notion.needs_positive:
            with pytest.raises(BadInput, match="of 4 labels none is positive"):
                planned = plan_choice(epsilon=1.0, delta=DELTA)
                nothing = Mechanism(Randomness.fresh())
                choose_noisily([counts], notion, threat_model="record", planned=planned, mechanism=nothing)
        else:
            below = divide_by(counts.sum(axis=2), notion)
            assert measure_gap(counts, notion, below) == pytest.approx(metrics[notion.metric])


def test_the_choice_passes_the_mechanism_once_with_its_shift() -> None:
    planned, notion = plan_choice(epsilon=2.0, delta=DELTA), notions()["demographic_parity"]
    mechanism = RecordingMechanism()
    counts = [count_decisions(measured(rates)) for rates in ((0.1, 0.9), (0.5, 0.5))]
    assert choose_noisily(counts, notion, threat_model="attribute", planned=planned, mechanism=mechanism) == 1
    assert mechanism.events == planned and epsilon(planned, DELTA) <= 2.0
    sizes, choice = mechanism.releases
    assert (sizes.kind, sizes.bound) == ("gaussian", math.sqrt(2))
    assert choice.kind == "noisy max" and choice.bound == pytest.approx(2 / 1000, rel=0.1)


def test_the_choice_follows_from_its_releases_alone() -> None:
    planned, notion = plan_choice(epsilon=2.0, delta=DELTA), notions()["demographic_parity"]
    counts = [count_decisions(measured(rates)) for rates in ((0.1, 0.9), (0.5, 0.5))]
    first = RecordingMechanism()
    chosen = choose_noisily(counts, notion, threat_model="attribute", planned=planned, mechanism=first)
    again = RecordingMechanism(replayed=first.releases)
    garbage = counts[::-1]
    assert choose_noisily(garbage, notion, threat_model="attribute", planned=planned, mechanism=again) == chosen
    assert [each.bound for each in again.releases] == [each.bound for each in first.releases]
    assert not np.array_equal(again.releases[1].value, first.releases[1].value), "the garbage was not used"


def test_the_noisy_largest_is_drawn_as_the_exponential_mechanism_says() -> None:
    scores, sensitivity, price, draws = np.array([0.0, 0.3, 0.5]), 0.2, 1.0, 2000
    mechanism = Mechanism(Randomness.fresh())
    drawn = [
        mechanism.noisy_max(scores, sensitivity=sensitivity, epsilon=price, purpose="test", index=index)
        for index in range(draws)
    ]
    expected = np.exp(scores * price / (2 * sensitivity))
    expected /= expected.sum()
    shares = np.bincount(drawn, minlength=3) / draws
    assert np.abs(shares - expected).max() < 5 * math.sqrt(0.25 / draws)
    assert mechanism.events == (RandomizedResponse(price),) * draws


def test_no_pair_of_neighbouring_scores_tells_more_than_epsilon() -> None:
    generator = np.random.default_rng(0)
    for _ in range(1000):
        one = generator.normal(size=5)
        other = one + generator.uniform(-1, 1, size=5)
        probabilities = [np.exp(scores * 0.7 / 2) / np.exp(scores * 0.7 / 2).sum() for scores in (one, other)]
        assert np.abs(np.log(probabilities[0] / probabilities[1])).max() <= 0.7
    with pytest.raises(BadInput, match="finite numbers"):
        Mechanism(Randomness.fresh()).noisy_max(np.array([np.nan]), sensitivity=1.0, epsilon=1.0, purpose="t", index=0)
