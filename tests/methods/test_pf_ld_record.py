"""PF-LD for whole records at the mechanism during the real fit: who is counted.

What a record adds is in test_contract.py, and what would add too much in test_planted.py.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.training import Fitted, Training, Unwatched
from fairpriv_core.methods.base import Method
from fairpriv_core.methods.pf_ld_record import PfLdRecord
from fairpriv_core.notions.catalog import notions
from fairpriv_core.privacy.mechanism import Mechanism
from tests.methods.harness import RecordingMechanism, Release, make_data, with_group

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
    gap_target=None,
)


def ordinary(groups: int) -> Dataset:
    data = make_data(n=150 * groups + 100, groups=groups)
    return with_group(data, np.random.default_rng(5).integers(0, groups, data.n))


def huge() -> Dataset:
    data = ordinary(2)
    return dataclasses.replace(data, X=data.X * np.geomspace(1e-3, 1e6, data.n)[:, None].astype(np.float32))


def train(
    method: Method, datasets: Sequence[Dataset], mechanisms: Sequence[Mechanism], notion: str = "demographic_parity"
) -> list[Fitted]:
    """Train one model for each data set, unwatched."""
    trainings = [Training(notions()[notion], 0, mechanism, Unwatched()) for mechanism in mechanisms]
    return type(method).fit_many([method] * len(datasets), datasets, trainings)


def of_kind(mechanism: RecordingMechanism, kind: str) -> list[Release]:
    return [release for release in mechanism.releases if release.index[0] == kind]


@pytest.mark.parametrize("notion", PfLdRecord.info.notions)
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


def test_small_data_get_as_many_steps_as_large_ones() -> None:
    assert {METHOD.steps(n) for n in (500, 5_000, 50_000, 5_000_000)} == {9 * 5}
