"""Sensitivity by brute force, at the mechanism during the real fit.

A run is replayed: all models see the same releases, so they take the same course, while the sample is forced to one
record and the sensitive column differs from model to model. What a record adds to a sum is then the mechanism's input
itself, relative to the record being absent; it must lie in the ball that the mechanism was told.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.errors import BadInput
from fairpriv_core.methods import pf_ld
from fairpriv_core.methods import setting as setting_module
from fairpriv_core.methods.cell_counts import release_counts
from fairpriv_core.methods.dp_sgd import DpSgd
from fairpriv_core.methods.pf_ld import PfLd
from fairpriv_core.methods.setting import Setting
from fairpriv_core.notions.catalog import notions
from tests.methods.harness import RecordingMechanism, Release, make_data, train, with_group

MODELS = 8
PROVED = PfLd(
    epochs=4,
    batch_size=25,
    sampling_rate=0.2,
    clip_primal=0.05,
    clip_dual=0.4,
    multiplier_max=3.0,
    dual_step=20.0,
    noise_primal=1.0,
    noise_dual=2.0,
    noise_counts=1.0,
)
DEEP = dataclasses.replace(PROVED, hidden_layers=2, width=6)
AIMS = dataclasses.replace(PROVED, gap_target=0.001)
LOGIT = dataclasses.replace(PROVED, surrogate="logit", clip_primal=0.5)


def _ordinary(groups: int) -> Dataset:
    data = make_data(n=150 * groups + 100, groups=groups)
    return with_group(data, np.random.default_rng(5).integers(0, groups, data.n))


def _tiny_group() -> Dataset:
    data = make_data(n=500)
    group = np.zeros(500, dtype=np.int64)
    group[:70] = 1
    return with_group(data, group)


def _equal_gradients() -> Dataset:
    data = make_data(n=400)
    return dataclasses.replace(data, X=np.full_like(data.X, 30.0))


def _opposite_gradients() -> Dataset:
    data = make_data(n=400)
    sign = np.where(np.arange(400) % 2, 1.0, -1.0).astype(np.float32)
    return with_group(dataclasses.replace(data, X=data.X * 0 + 50.0 * sign[:, None]), np.arange(400) // 200)


SHAPES: dict[str, Callable[[], Dataset]] = {
    "two groups": lambda: _ordinary(2),
    "four groups": lambda: _ordinary(4),
    "tiny group": _tiny_group,
    "equal gradients": _equal_gradients,
    "opposite gradients": _opposite_gradients,
}


def _columns(data: Dataset) -> list[np.ndarray]:
    """Return MODELS sensitive columns: the true one, every constant one, and random ones."""
    draw = np.random.default_rng(3)
    constant = [np.full(data.n, group) for group in range(data.groups)]
    random = [draw.integers(0, data.groups, data.n) for _ in range(MODELS)]
    return [data.group, *constant, *random][:MODELS]


def _contributions(method: PfLd, data: Dataset, notion: str) -> tuple[list[Release], float]:
    """Return what single records add to the sums, and the largest share of its ball that one fills."""
    base = RecordingMechanism(forced=lambda epoch, step: np.array([0]))
    train(method, [data], [base], notion=notion)
    order = np.random.default_rng(4).permutation(data.n)
    mechanisms = [
        RecordingMechanism(
            forced=lambda epoch, step: order[[(epoch * 1000 + step * 7) % data.n]], replayed=base.releases
        )
        for _ in range(MODELS)
    ]
    train(method, [with_group(data, column) for column in _columns(data)], mechanisms, notion=notion)
    sums = [release for mechanism in mechanisms for release in mechanism.releases if release.kind == "sum"]
    return sums, max(float(np.linalg.norm(release.value)) / release.bound for release in sums)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("notion", list(notions()))
@pytest.mark.parametrize("method", [PROVED, DEEP, AIMS, LOGIT], ids=["logistic", "deep", "aims at a gap", "logit"])
def test_each_contribution_lies_in_its_ball(method: PfLd, notion: str, shape: str) -> None:
    sums, fullest = _contributions(method, SHAPES[shape](), notion)
    assert len(sums) >= 300
    assert fullest <= 1.0


def test_the_ball_is_not_needlessly_large() -> None:
    _, fullest = _contributions(PROVED, _opposite_gradients(), "demographic_parity")
    assert fullest >= 0.99


def test_an_absent_record_adds_nothing() -> None:
    data = _ordinary(2)
    empty = RecordingMechanism(forced=lambda epoch, step: np.zeros(0, dtype=np.int64))
    train(PROVED, [data], [empty])
    assert all(not release.value.any() for release in empty.releases if release.kind == "sum")


def test_a_sum_is_the_sum_of_its_contributions() -> None:
    """So the ball of one contribution is all that a person can add, whoever else is in the sample."""
    data, chosen = _ordinary(2), np.array([3, 77, 140])
    base = RecordingMechanism(forced=lambda epoch, step: chosen)
    train(PROVED, [data], [base])
    parts = [
        RecordingMechanism(forced=lambda epoch, step, row=row: np.array([row]), replayed=base.releases)
        for row in chosen
    ]
    train(PROVED, [data] * 3, parts)
    for whole, *single in zip(base.releases, *(part.releases for part in parts), strict=True):
        if whole.kind == "sum":
            assert np.allclose(whole.value, sum(release.value for release in single), atol=1e-5 * whole.bound)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("notion", list(notions()))
@pytest.mark.parametrize("method", [PROVED, AIMS, LOGIT], ids=["equality", "aims at a gap", "logit"])
def test_one_changed_attribute_moves_counts_and_violations_within_their_shift(
    method: PfLd, notion: str, shape: str
) -> None:
    moves = _moves(method, SHAPES[shape](), notion)
    assert len(moves) >= 160
    assert max(moves) <= 1.0 + 1e-9
    if not notions()[notion].needs_positive:
        assert max(moves) >= 0.99  # the counts' shift is met exactly


def test_the_shift_of_decisions_is_met() -> None:
    """A person who moves between groups that are equally large takes one half from one mean to the other."""
    data = make_data()
    half = with_group(data, np.argsort(np.argsort(data.X[:, 0])) >= data.n // 2)
    quiet = dataclasses.replace(AIMS, noise_counts=1e-6)
    assert 0.999 <= max(_moves(quiet, half, "demographic_parity", purpose="dual")) <= 1.0


def test_the_shift_of_logits_is_met_and_half_of_it_is_not_enough() -> None:
    """Logits of both signs are clipped to [-C_d, C_d]: a range twice as long as that of a probability."""
    data = make_data()
    half = with_group(data, np.argsort(np.argsort(data.X[:, 0])) >= data.n // 2)
    quiet = dataclasses.replace(LOGIT, noise_counts=1e-6, clip_dual=1e-3)
    assert 0.999 <= max(_moves(quiet, half, "demographic_parity", purpose="dual")) <= 1.0


def test_nothing_is_released_of_a_group_before_multipliers_move() -> None:
    waits = dataclasses.replace(LOGIT, warmup_epochs=2)
    data, mechanism = _ordinary(2), RecordingMechanism()
    train(waits, [data], [mechanism])
    kinds = [(release.kind, release.index) for release in mechanism.releases]
    duals = [index for kind, index in kinds if kind == "gaussian" and index[0] == "dual"]
    assert [index[1] for index in duals] == [1, 2]
    steps = waits.steps(data.n) // waits.epochs
    assert sum(kind == "sum" for kind, _ in kinds) == 2 * steps
    published = PfLd(variant="published", epochs=4, warmup_epochs=2, batch_size=50, noise_primal=1.0, noise_dual=1.0)
    waiting = RecordingMechanism()
    train(published, [data], [waiting])
    assert sum(release.kind == "sum" for release in waiting.releases) == published.steps(data.n) // 2


@pytest.mark.parametrize("variant", ["proved", "published"])
def test_a_warmup_that_leaves_no_epoch_pursues_nothing_and_says_so(variant: str) -> None:
    method = dataclasses.replace(PROVED, variant=variant, warmup_epochs=4)
    assert method.idle_reason() == (
        "With 4 epochs before fairness and 4 in all no fairness is pursued; take more epochs."
    )
    mechanism = RecordingMechanism()
    train(method, [_ordinary(2)], [mechanism])
    released = [release.index[0] for release in mechanism.releases if release.kind == "gaussian"]
    assert released == (["counts"] if variant == "proved" else [])
    assert not [release for release in mechanism.releases if release.kind == "sum"]


def test_a_surrogate_that_is_none_is_refused() -> None:
    with pytest.raises(BadInput, match="surrogate must be one of"):
        dataclasses.replace(PROVED, surrogate="margin")


def _moves(method: PfLd, data: Dataset, notion: str, purpose: str = "") -> list[float]:
    """Return how far 40 changed attributes move the counts and violations, or one of them, over their shifts."""
    base = RecordingMechanism()
    train(method, [data], [base], notion=notion)
    moves = []
    for first in range(0, 40, MODELS):
        neighbours = [_neighbour(data, row) for row in range(first, first + MODELS)]
        mechanisms = [RecordingMechanism(replayed=base.releases) for _ in neighbours]
        train(method, neighbours, mechanisms, notion=notion)
        for mechanism in mechanisms:
            moves += [
                float(np.linalg.norm(other.value - own.value)) / own.bound
                for own, other in zip(base.releases, mechanism.releases, strict=True)
                if own.kind == "gaussian" and purpose in ("", own.index[0])
            ]
    return moves


def test_dp_sgd_contributions_lie_in_the_clip() -> None:
    method = DpSgd(epochs=6, batch_size=25, noise_primal=1.0, clip_primal=0.2, hidden_layers=1, width=5)
    data = make_data(n=400)
    base = RecordingMechanism(forced=lambda epoch, step: np.array([epoch * 16 + step]))
    train(method, [data], [base])
    norms = [float(np.linalg.norm(release.value)) for release in base.releases]
    assert len(norms) == 96
    assert max(norms) <= 0.2
    assert max(norms) >= 0.199


def test_the_published_bound_is_exceeded() -> None:
    """docs/privacy.md: two groups of 50 with opposite gradients, one record changes its group."""
    ratio = published_excess()
    assert ratio == pytest.approx(1.94, abs=0.02), f"the constraint gradient moves by {ratio:.2f} times the bound"


def published_excess() -> float:
    """Return by how much the published bound (eq. 7) is exceeded on the pair of data sets of docs/privacy.md."""
    method = PfLd(
        variant="published",
        epochs=2,
        batch_size=100,
        clip_primal=0.1,
        multiplier_max=1.0,
        dual_step=1e6,
        noise_primal=1e-3,
        noise_dual=1e-6,
    )
    data = make_data(n=100, d=2)
    group = np.arange(100) // 50
    rows = np.where(group == 0, 40.0, 60.0).astype(np.float32).reshape(-1, 1).repeat(2, axis=1)
    rows[0] = -40.0
    base_data = dataclasses.replace(with_group(data, group), X=rows)
    base = RecordingMechanism()
    train(method, [base_data], [base])
    other = RecordingMechanism(replayed=base.releases)
    train(method, [_neighbour(base_data, 0)], [other])
    last = [(own, new) for own, new in zip(base.releases, other.releases, strict=True) if own.kind == "sum"][-1]
    return float(np.linalg.norm(last[1].value - last[0].value)) / last[0].bound


def _neighbour(data: Dataset, row: int) -> Dataset:
    group = data.group.copy()
    group[row] = (group[row] + 1) % data.groups
    return with_group(data, group)


def _without_centring(rule: pf_ld.PfLdRule) -> None:
    """The mutant: raw coefficients are summed while the radius is still that of the centred ones."""
    centred_tables(rule)
    rule._centred = rule._centred - rule._remainder / np.array(rule.setting.rates)[:, None]
    rule._remainder = np.zeros_like(rule._remainder)


centred_tables = pf_ld.PfLdRule._set_tables


def test_the_mutant_without_centring_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pf_ld.PfLdRule, "_set_tables", _without_centring)
    _, fullest = _contributions(dataclasses.replace(PROVED, dual_step=5.0), _tiny_group(), "demographic_parity")
    assert fullest > 1.5


def test_the_mutant_without_clipping_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setting_module, "clip_positive", lambda weights, norms, bound: weights.copy())
    _, fullest = _contributions(PROVED, _ordinary(2), "demographic_parity")
    assert fullest > 1.5


def test_the_mutant_with_exact_counts_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dividing by the exact sizes: replaying with another sensitive column then gives other parameters."""

    def exact(setting: Setting[PfLd], k: int) -> np.ndarray:
        release_counts(setting, k)
        return setting.cells.sizes(setting.trains[k].group, setting.trains[k].y)

    monkeypatch.setattr(pf_ld, "release_counts", exact)
    data = _ordinary(2)
    base = RecordingMechanism()
    (honest,) = train(PROVED, [data], [base])
    (other,) = train(PROVED, [_neighbour(data, 0)], [RecordingMechanism(replayed=base.releases)])
    assert not np.array_equal(honest.parameters, other.parameters)
