"""PF-LD for whole records at the mechanism during the real fit: what a record adds, what follows from what, the noise.

A run is recorded, then replayed on other data: all models see the same releases and take the same course, so what a
record adds to a sum is the mechanism's input itself, relative to the record being absent.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.training import Fitted, Training, Unwatched
from fairpriv_core.errors import RunFailed
from fairpriv_core.methods import multipliers
from fairpriv_core.methods.base import Method
from fairpriv_core.methods.pf_ld_record import PfLdRecord
from fairpriv_core.notions.catalog import notions
from fairpriv_core.privacy.event import Gaussian
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.sums import sensitivity
from tests.methods.harness import RecordingMechanism, Release, make_data, with_group

MODELS = 8
METHOD = PfLdRecord(
    epochs=9,
    sampling_rate=0.2,
    clip_primal=0.3,
    clip_dual=0.4,
    multiplier_max=50.0,
    dual_step=1e4,
    noise_primal=1.0,
    noise_dual=1.0,
    noise_counts=1.0,
)
AIMS = dataclasses.replace(METHOD, gap_target=0.001)
DEEP = dataclasses.replace(METHOD, dual_step=1.0, hidden_layers=2, width=5, optimizer="sgd", learning_rate=0.2)


def ordinary(groups: int) -> Dataset:
    data = make_data(n=150 * groups + 100, groups=groups)
    return with_group(data, np.random.default_rng(5).integers(0, groups, data.n))


def _tiny_group() -> Dataset:
    data = make_data(n=600)
    group = np.zeros(600, dtype=np.int64)
    group[np.flatnonzero(data.y == 0)[:40]] = group[np.flatnonzero(data.y == 1)[:40]] = 1
    return with_group(data, group)


def huge() -> Dataset:
    data = ordinary(2)
    return dataclasses.replace(data, X=data.X * np.geomspace(1e-3, 1e6, data.n)[:, None].astype(np.float32))


def _opposite() -> Dataset:
    data = ordinary(2)
    sign = np.where(data.group, 1.0, -1.0).astype(np.float32)
    return dataclasses.replace(data, X=data.X * 0 + 50.0 * sign[:, None])


SHAPES: dict[str, Callable[[], Dataset]] = {
    "four groups": lambda: ordinary(4),
    "tiny group": _tiny_group,
    "huge norms": huge,
    "opposite gradients": _opposite,
}


def train(
    method: Method, datasets: Sequence[Dataset], mechanisms: Sequence[Mechanism], notion: str = "demographic_parity"
) -> list[Fitted]:
    """Train one model for each data set, unwatched."""
    trainings = [Training(notions()[notion], 0, mechanism, Unwatched()) for mechanism in mechanisms]
    return type(method).fit_many([method] * len(datasets), datasets, trainings)


def of_kind(mechanism: RecordingMechanism, kind: str) -> list[Release]:
    return [release for release in mechanism.releases if release.index[0] == kind]


def find_contributions(method: Method, data: Dataset, notion: str) -> np.ndarray:
    """Return the lengths of what single records of any label and group add to the sums, over the ball's radius."""
    base = RecordingMechanism()
    train(method, [data], [base], notion)
    draw = np.random.default_rng(4)
    order = draw.permutation(data.n)
    mechanisms = [
        RecordingMechanism(
            forced=lambda epoch, step, k=k: order[[(epoch * 5 + step + 45 * k) % data.n]], replayed=base.releases
        )
        for k in range(MODELS)
    ]
    others = [
        dataclasses.replace(data, y=draw.integers(0, 2, data.n), group=draw.integers(0, data.groups, data.n))
        for _ in mechanisms
    ]
    train(method, others, mechanisms, notion)
    sums = [release for mechanism in mechanisms for release in of_kind(mechanism, "")]
    return np.array([float(np.linalg.norm(release.value)) / release.bound for release in sums])


def find_moves(method: PfLdRecord, data: Dataset, notion: str) -> np.ndarray:
    """Return how far single records move the dual sums, over their shift; a row that is not finite adds nothing."""
    base = RecordingMechanism()
    train(method, [data], [base], notion)
    rows = np.random.default_rng(6).permutation(data.n)[: 3 * MODELS]
    mechanisms = [RecordingMechanism(forced=lambda epoch, step: np.array([0]), replayed=base.releases) for _ in rows]
    train(method, [_without(data, row) for row in rows], mechanisms, notion)
    pairs = [
        pair for mechanism in mechanisms for pair in zip(of_kind(base, "dual"), of_kind(mechanism, "dual"), strict=True)
    ]
    return np.array([float(np.linalg.norm(whole.value - rest.value)) / whole.bound for whole, rest in pairs])


def _without(data: Dataset, row: int) -> Dataset:
    rows = data.X.copy()
    rows[row] = np.nan
    return dataclasses.replace(data, X=rows)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("notion", list(notions()))
def test_each_contribution_lies_in_its_ball(notion: str, shape: str) -> None:
    lengths = find_contributions(METHOD, SHAPES[shape](), notion)
    assert len(lengths) >= 300
    assert lengths.max() <= 1.0
    assert lengths.max() >= 0.999 / sensitivity(1.0)


def test_each_contribution_of_a_network_lies_in_its_ball() -> None:
    assert 0.999 / sensitivity(1.0) <= find_contributions(DEEP, ordinary(4), "equalized_odds").max() <= 1.0


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("notion", list(notions()))
@pytest.mark.parametrize("method", [METHOD, AIMS], ids=["equality", "aims at a gap"])
def test_a_record_moves_the_dual_sums_within_their_shift(method: PfLdRecord, notion: str, shape: str) -> None:
    moves = find_moves(method, SHAPES[shape](), notion)
    assert len(moves) >= 150
    assert moves.max() <= 1.0 + 1e-9


@pytest.mark.parametrize("method", [METHOD, AIMS], ids=["equality", "aims at a gap"])
def test_the_dual_shift_is_met(method: PfLdRecord) -> None:
    assert find_moves(method, huge(), "accuracy_parity").max() >= 0.999


def test_the_mutant_whose_decisions_are_not_numbers_for_a_row_that_is_none_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A row without an output counts as absent; read as a decision 0 it would add what an absent row does not."""
    monkeypatch.setattr(multipliers, "decided", lambda target, logits, labels: (logits > 0).astype(np.float64))
    assert find_moves(AIMS, huge(), "demographic_parity").max() > 1.2


@pytest.mark.parametrize("notion", list(notions()))
def test_a_record_is_counted_once(notion: str) -> None:
    data, recorder = ordinary(4), RecordingMechanism()
    train(METHOD, [data], [recorder], notion)
    (whole,) = of_kind(recorder, "counts")
    for row in range(5):
        other = RecordingMechanism()
        train(METHOD, [data.take(np.arange(data.n) != row)], [other], notion)
        (rest,) = of_kind(other, "counts")
        moved = whole.value - rest.value
        expected = float(any(data.y[row] in labels for labels in notions()[notion].populations))
        assert [float(np.linalg.norm(moved)), float(moved.sum()), whole.bound] == [expected, expected, 1.0]


def test_an_absent_record_adds_nothing_and_sums_add_up() -> None:
    data, chosen = ordinary(2), np.array([3, 77, 140])
    base = RecordingMechanism(forced=lambda epoch, step: chosen)
    train(METHOD, [data], [base])
    forced = [np.zeros(0, dtype=np.int64), *chosen.reshape(3, 1)]
    parts = [RecordingMechanism(forced=lambda epoch, step, rows=rows: rows, replayed=base.releases) for rows in forced]
    train(METHOD, [data] * 4, parts)
    for whole, nothing, *single in zip(*(of_kind(mechanism, "") for mechanism in [base, *parts]), strict=True):
        assert not nothing.value.any()
        assert np.allclose(whole.value, sum(release.value for release in single), atol=1e-5 * whole.bound)


def measure_noise(method: PfLdRecord) -> dict[str, float]:
    """Return the pooled deviation of each kind of noise over what the accountant is told: 1."""
    recorder = RecordingMechanism()
    train(dataclasses.replace(method, epochs=150), [ordinary(4)], [recorder])
    return {
        kind: float(np.std(np.concatenate([(r.out - r.value) / r.bound for r in of_kind(recorder, kind)])))
        for kind in ("", "dual")
    }


def test_noise_has_the_scale_that_is_counted() -> None:
    """Pooled over 3,750 and 596 values: five standard errors."""
    measured = measure_noise(METHOD)
    assert measured[""] == pytest.approx(1.0, abs=0.06)
    assert measured["dual"] == pytest.approx(1.0, abs=0.15)


def test_a_group_that_is_too_small_ends_the_run_and_is_paid_for() -> None:
    mechanism = RecordingMechanism()
    with pytest.raises(RunFailed, match=r"group 'B' has about -?\d+ training rows \(a noisy count\); at least 30"):
        train(METHOD, [with_group(make_data(), np.arange(200) < 3)], [mechanism])
    assert mechanism.events == (Gaussian(1.0),)


def test_small_data_get_as_many_steps_as_large_ones() -> None:
    assert {METHOD.steps(n) for n in (500, 5_000, 50_000, 5_000_000)} == {9 * 5}
