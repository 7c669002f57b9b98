"""PF-LD's own facts about what a person moves: shifts that are met, what is not released, the published bound.

That no bound is exceeded is in test_contract.py, and what would exceed it in test_planted.py.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from fairpriv_core.audit import contract
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.pf_ld import PfLd
from tests.methods.harness import RecordingMechanism, make_data, train, with_group

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
    gap_target=None,
)
LOGIT = dataclasses.replace(PROVED, surrogate="logit", clip_primal=0.5)


def _ordinary(groups: int) -> Dataset:
    data = make_data(n=150 * groups + 100, groups=groups)
    return with_group(data, np.random.default_rng(5).integers(0, groups, data.n))


@pytest.mark.parametrize(
    "method",
    [dataclasses.replace(PROVED, gap_target=0.001), dataclasses.replace(LOGIT, clip_dual=1e-3)],
    ids=["decisions", "logits"],
)
def test_the_shift_is_met(method: PfLd) -> None:
    """A person who moves between groups that are equally large takes one half from one mean to the other.

    Logits of both signs are clipped to [-C_d, C_d]: a range twice as long as that of a probability.
    """
    data = make_data()
    half = with_group(data, np.argsort(np.argsort(data.X[:, 0])) >= data.n // 2)
    found = contract.check_bounds(dataclasses.replace(method, noise_counts=1e-6), half, "demographic_parity")
    assert found["dual"] >= 0.999


def test_nothing_is_released_of_a_group_before_multipliers_move() -> None:
    waits = dataclasses.replace(LOGIT, warmup_epochs=2)
    data, mechanism = _ordinary(2), RecordingMechanism()
    train(waits, [data], [mechanism])
    kinds = [(release.kind, release.index) for release in mechanism.releases]
    duals = [index for kind, index in kinds if kind == "gaussian" and index[0] == "dual"]
    assert [index[1] for index in duals] == [1, 2]
    steps = waits.steps(data.n) // waits.epochs
    assert sum(kind == "sum" for kind, _ in kinds) == 2 * steps
    published = PfLd(
        variant="published", epochs=4, warmup_epochs=2, batch_size=50, noise_primal=1.0, noise_dual=1.0, gap_target=None
    )
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
        gap_target=None,
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
