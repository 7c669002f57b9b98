"""Votes of teachers: what one person moves, what an answer is, what it costs; and the two students."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from fairpriv_core.audit import contract
from fairpriv_core.audit.attack import replay_worlds
from fairpriv_core.audit.canary import choose_pair, list_pairs, measure_distance
from fairpriv_core.audit.canary import make_data as make_canaries
from fairpriv_core.audit.observe import RecordingMechanism as ObservedMechanism
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.predict import evaluate, predict_proba
from fairpriv_core.engine.training import Fitted, Training, Unwatched
from fairpriv_core.errors import BadInput, RunFailed
from fairpriv_core.methods.fair_pate import FairPate, choose_answers
from fairpriv_core.methods.none import Plain
from fairpriv_core.methods.sf_pate import SfPate, give_groups, join_labels
from fairpriv_core.methods.shared.votes import TEACHING, count_votes, deal, train_teachers
from fairpriv_core.notions.catalog import notions
from fairpriv_core.privacy.accountants import epsilon
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness
from fairpriv_core.runs.audit import make_trainer
from tests.methods.harness import RecordingMechanism, make_data, make_three, train

DELTA = 1e-5
PARITY = notions()["demographic_parity"]
LOUD = {"teachers": 40, "noise_votes": 0.5}


def _training() -> Training:
    return Training(PARITY, 0, Mechanism(Randomness.replay(0)), Unwatched())


def _unfair(rows: int = 4000, groups: int = 2) -> Dataset:
    """Return data on which the last group's scores are higher, and a feature nearly tells the group."""
    draw = np.random.default_rng(0)
    group = draw.integers(0, groups, rows)
    far = group / (groups - 1)
    X = np.stack([draw.normal(size=rows) + far, 2.0 * far + 0.3 * draw.normal(size=rows)], axis=1).astype(np.float32)
    y = (X[:, 0] + 0.5 * draw.normal(size=rows) > 0.7).astype(np.int64)
    return dataclasses.replace(make_data(n=10, d=2, groups=groups), X=X, y=y, group=group)


def _changes(data: Dataset, row: int) -> list[Dataset]:
    """Return data that differ in one row: null, of another label and group, or with features beyond all bounds."""
    present = np.arange(data.n) != row
    y, group = data.y.copy(), data.group.copy()
    y[row], group[row] = (y[row] + 1) % data.labels, (group[row] + 1) % data.groups
    changed = [dataclasses.replace(data, present=present), dataclasses.replace(data, y=y, group=group)]
    for value in (60.0, -1e30, np.inf, np.nan):
        X = data.X.copy()
        X[row] = value
        changed.append(dataclasses.replace(data, X=X))
    return changed


@pytest.mark.parametrize("rows", [97, 200])
def test_every_row_has_one_teacher_and_parts_are_equally_large_whatever_rows_hold(rows: int) -> None:
    parts = deal(np.arange(1000, 1000 + rows), 7, seed=3)
    sizes = {len(part) for part in parts}
    assert sizes == {math.ceil(rows / 7)}
    owners = [set(part.tolist()) for part in parts]
    assert sum(map(len, owners)) == rows and set.union(*owners) == set(range(1000, 1000 + rows))


@pytest.mark.parametrize("make", [make_data, make_three])
def test_one_person_changes_one_teacher_and_no_bit_of_the_others(make: type) -> None:
    data = make(n=300)
    parts = deal(np.arange(data.n), 12, seed=0)
    learner = Plain(**TEACHING)

    def teach(changed: Dataset) -> list[bytes]:
        return [each.parameters.tobytes() for each in train_teachers(learner, changed, parts, _training())]

    with_nulls = dataclasses.replace(data, present=np.ones(data.n, dtype=bool))
    for row in (0, 299):
        owner = next(place for place, part in enumerate(parts) if row in part)
        for changed in _changes(data, row):
            base = teach(data if changed.present is None else with_nulls)
            moved = [place for place, (one, other) in enumerate(zip(base, teach(changed), strict=True)) if one != other]
            assert moved == [owner]


def test_no_teacher_ends_a_run_whatever_its_rows_hold() -> None:
    """A run that ends tells everybody that some teacher could not go on."""
    data = make_data(n=300)
    X = data.X.copy()
    X[:150] *= np.float32(1e30)
    X[100:200, 1] = np.nan
    X[200:, 2] = np.inf
    wild = dataclasses.replace(data, X=X)
    taught = train_teachers(Plain(**TEACHING), wild, deal(np.arange(300), 6, seed=0), _training())
    assert all(np.isfinite(each.parameters).all() for each in taught)
    assert count_votes(taught, X, 2).sum(axis=1).tolist() == [6.0] * 300


def test_votes_are_one_a_teacher_and_an_answer_has_the_most_noisy_ones() -> None:
    """Beside an independent few lines: each teacher's labels, counted one by one."""
    data, recorder = make_data(n=200), RecordingMechanism()
    method = SfPate(teachers=9, queries=12, epochs=2, noise_votes=1.5)
    (fitted,) = train(method, [data], [recorder])
    values = np.array([release.value for release in recorder.releases])
    assert [release.index for release in recorder.releases] == [("votes", place) for place in range(12)]
    assert {release.bound for release in recorder.releases} == {math.sqrt(2.0)}
    assert values.shape == (12, 2) and (values.sum(axis=1) == 9).all()
    assert fitted.steps == method.steps(200)
    taught = train_teachers(Plain(**TEACHING), data, deal(np.arange(200), 9, seed=0), _training())
    expected = [[0, 0] for _ in range(200)]
    for teacher in taught:
        for row, chances in enumerate(predict_proba(teacher.network, teacher.parameters, data.X)):
            expected[row][0 if chances[0] >= chances[1] else 1] += 1
    assert count_votes(taught, data.X, 2).tolist() == expected


@pytest.mark.parametrize("method", [SfPate(queries=700), FairPate(queries=700)])
@pytest.mark.parametrize("target", [0.5, 4.0])
def test_each_question_is_one_gaussian_over_the_whole_shift(method: SfPate | FairPate, target: float) -> None:
    """Q Gaussians of noise s over the shift are one of noise s / sqrt(Q), whose delta Balle and Wang (2018) give."""
    known = method.calibrated(epsilon=target, delta=DELTA, n_train=20_000)
    (event,) = known.event(20_000)
    mu = math.sqrt(700) / known.noise()

    def excess(guess: float) -> float:
        tail = norm.cdf(-guess / mu - mu / 2.0)
        return float(norm.cdf(-guess / mu + mu / 2.0) - math.exp(guess) * tail) - DELTA

    exact = brentq(excess, 1e-6, 50.0)
    assert event.count == 700  # type: ignore[union-attr]
    assert exact <= epsilon((event,), DELTA) * (1 + 1e-9)
    assert exact == pytest.approx(target, rel=2e-3)
    orders = 1.0 + np.geomspace(1e-2, 1e4, 2000)
    by_rdp = float((orders * mu**2 / 2.0 + math.log(1.0 / DELTA) / (orders - 1.0)).min())
    assert exact < by_rdp
    assert known.published_epsilon(20_000, DELTA) is None


def test_an_epsilon_too_small_for_its_questions_is_refused_in_one_sentence() -> None:
    method = SfPate().calibrated(epsilon=0.1, delta=DELTA, n_train=5000)
    with pytest.raises(BadInput, match=r"^epsilon is too small for 5,000 questions to 62 teachers: all noisy answers"):
        method.require_possible(PARITY, n_train=5000, groups=2)
    few = SfPate(queries=15, teachers=8, noise_votes=1.0)
    few.require_possible(PARITY, n_train=240, groups=2)  # where so few are asked, noise is not what lacks
    with pytest.raises(BadInput, match=r"15 questions to 8 teachers: .* as 1 exact ones at best, and 8 are needed"):
        dataclasses.replace(few, noise_votes=12.0).require_possible(PARITY, n_train=240, groups=2)
    enough = SfPate().calibrated(epsilon=4.0, delta=DELTA, n_train=5000)
    enough.require_possible(PARITY, n_train=5000, groups=2)


def test_a_group_is_voted_on_by_features_and_label_and_the_student_closes_the_gap() -> None:
    data = _unfair()
    gaps = {}
    for name, method in {
        "plain": SfPate(gap_target=1.0, **LOUD),
        "groups": SfPate(gap_target=0.02, **LOUD),
        "labels": SfPate(vote="labels", gap_target=0.02, vote_weight=100.0, **LOUD),
    }.items():
        (fitted,) = train(method, [data], [RecordingMechanism()])
        gaps[name] = evaluate(fitted.network, fitted.parameters, data)["demographic_parity_gap"]
    assert gaps["plain"] > 0.3
    assert gaps["groups"] < 0.06 and gaps["labels"] < gaps["plain"] / 2.0


def test_several_groups_are_told_and_one_that_nobody_is_told_to_be_in_is_left_out() -> None:
    data = _unfair(groups=3)
    (fitted,) = train(SfPate(epochs=2, **LOUD), [data], [RecordingMechanism()])
    assert sum(fitted.notes["rows_told"].values()) == data.n and set(fitted.notes["rows_told"]) == {"A", "B", "C"}
    told = give_groups(data, np.where(data.group == 1, 0, data.group))
    assert told.group_names == ("A", "C") and told.group.max() == 1


def test_a_row_of_two_labels_counts_once() -> None:
    data = make_data(n=60)
    voted = np.where(np.arange(60) < 20, 1 - data.y, data.y)
    joined = join_labels(data, voted, 3.0)
    assert joined.n == 80 and joined.weight is not None
    assert joined.weight.sum() == pytest.approx(60.0)
    assert (joined.y[60:] == voted[:20]).all() and set(joined.weight[60:].tolist()) == {0.75}


def _used_by_hand(answers: list[int], group: list[int], gap: float) -> list[bool]:
    """FairPATE's rejection for two groups and two labels, written out: the share of label 1 says it all."""
    ones, sizes, used = [0, 0], [0, 0], []

    def distance(ones: list[int], sizes: list[int]) -> float:
        return abs(ones[0] / sizes[0] - ones[1] / sizes[1]) if min(sizes) else 0.0

    for answer, a in zip(answers, group, strict=True):
        more, one = list(sizes), list(ones)
        more[a] += 1
        one[a] += answer
        fair = distance(one, more) <= max(gap, distance(ones, sizes)) + 1e-12
        used.append(more[a] <= 10 or fair)
        if used[-1]:
            sizes, ones = more, one
    return used


@pytest.mark.parametrize("gap", [0.0, 0.05, 1.0])
def test_answers_that_would_part_the_groups_are_not_used(gap: float) -> None:
    draw = np.random.default_rng(1)
    group = draw.integers(0, 2, 600)
    answers = (draw.random(600) < 0.2 + 0.3 * group).astype(np.int64)
    used = choose_answers(answers, group, np.ones(600, dtype=bool), gap=gap)
    assert used.tolist() == _used_by_hand(answers.tolist(), group.tolist(), gap)
    shares = [answers[used & (group == a)].mean() for a in (0, 1)]
    assert abs(shares[0] - shares[1]) <= gap + 0.05
    assert used.all() == (gap == 1.0)


@pytest.mark.parametrize(
    ("method", "rows"),
    [
        (SfPate(teachers=24, queries=5, epochs=1), 24),
        (FairPate(teachers=30, queries=5, epochs=1, public_share=0.25), 40),
    ],
)
def test_one_person_moves_all_answers_by_as_much_as_is_counted_and_noise_is_no_less(
    method: SfPate | FairPate, rows: int
) -> None:
    """Teachers have a row each, so that one person turns a vote on every question: all that is counted can be seen."""
    known = method.calibrated(epsilon=12.0, delta=DELTA, n_train=rows)
    fit = make_trainer(known, notion="demographic_parity", seed=0)
    data = make_canaries(rows=rows, isolated=2, groups=2, seed=0)
    pair = choose_pair(fit, list_pairs(data, nulled=known.info.threat_model == "record"), seed=0)
    recorder = ObservedMechanism(0)
    fit([pair.first], [recorder])
    (first,), (second,) = replay_worlds(fit, [pair], [recorder.releases])
    assert measure_distance(first, second) == pytest.approx(5 / known.noise() ** 2)
    assert contract.check_noise(fit, data, runs=40, seed=0) is not None


def test_public_rows_are_in_no_part_and_their_labels_are_not_read() -> None:
    data, method = make_data(n=400), FairPate(teachers=20, public_share=0.3, epochs=2, noise_votes=2.0)
    public = method.public_rows(data.n, 0)
    assert public.sum() == 120
    y = np.where(public, 1 - data.y, data.y)

    def fit(data: Dataset) -> Fitted:
        return method.fit(data, Training(PARITY, 0, Mechanism(Randomness.replay(1)), Unwatched()))

    assert fit(data).parameters.tobytes() == fit(dataclasses.replace(data, y=y)).parameters.tobytes()
    said = [sentence for sentence in method.assumptions() if "is public" in sentence]
    assert len(said) == 1 and "0.3 of the training rows" in said[0] and "does not protect them" in said[0]


def test_every_question_is_paid_for_and_few_of_the_answers_are_used() -> None:
    data, recorder = _unfair(), RecordingMechanism()
    method = FairPate(teachers=40, public_share=0.5, queries=800, answers_gap=0.0, noise_votes=1.0)
    (fitted,) = train(method, [data], [recorder])
    assert len(recorder.releases) == 800 and fitted.notes["answers_used"] < 800
    (loose,) = train(dataclasses.replace(method, answers_gap=1.0), [data], [RecordingMechanism()])
    gaps = [evaluate(each.network, each.parameters, data)["demographic_parity_gap"] for each in (fitted, loose)]
    assert gaps[0] < 0.8 * gaps[1]


def test_a_public_part_without_groups_ends_the_run_with_a_sentence() -> None:
    data, method = make_data(n=200), FairPate(teachers=4, epochs=2, noise_votes=1.0)
    nobody = dataclasses.replace(data, present=~method.public_rows(data.n, 0))
    with pytest.raises(RunFailed, match="no row of the public part has a group"):
        train(method, [nobody], [RecordingMechanism()])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"teachers": 1}, "teachers must be"),
        ({"vote": "both"}, "vote must be one of"),
        ({"queries": 0}, "queries must"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        SfPate(**settings)  # type: ignore[arg-type]
