"""DP-IS-SGD samples groups alike, pays for the largest rate that anybody can have, and is DP-SGD for equal groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.errors import FairprivError
from fairpriv_core.methods import dp_is_sgd
from fairpriv_core.methods.dp_is_sgd import DpIsSgd
from fairpriv_core.methods.dp_sgd import DpSgd
from fairpriv_core.privacy.accountants import epsilon
from fairpriv_core.privacy.event import Gaussian, SampledGaussian
from tests.methods.harness import RecordingMechanism, make_data, train, with_group

SHARED: dict[str, Any] = {"epochs": 25, "batch_size": 20, "noise_primal": 1.0, "clip_primal": 0.4}
METHOD = DpIsSgd(**SHARED, rate_cap=3.0, noise_counts=2.0)


class Sampler(RecordingMechanism):
    """Keeps the samples and the rates that are counted; `counted` replaces the latter."""

    def __init__(self, counted: float | None = None, **how: Any) -> None:
        super().__init__(**how)
        self.samples: list[np.ndarray] = []
        self._rate = counted

    def sample(self, **how: Any) -> list[np.ndarray]:
        drawn = super().sample(**how)
        self.samples += drawn
        return drawn

    def sampled_gaussian(self, total: np.ndarray, *, sampling_rate: float, **how: Any) -> np.ndarray:
        return super().sampled_gaussian(total, sampling_rate=self._rate or sampling_rate, **how)


def _shares(data: Dataset, mechanism: Sampler) -> np.ndarray:
    """Return how many members each group had in a sample, on average."""
    found = np.array([np.bincount(data.group[sample], minlength=data.groups) for sample in mechanism.samples])
    means: np.ndarray = found.mean(axis=0)
    return means


@pytest.mark.parametrize(("minority", "rates"), [(60, (20 / 280, 20 / 120)), (10, (20 / 380, 0.3))])
def test_groups_are_sampled_alike_up_to_the_cap(minority: int, rates: tuple[float, float]) -> None:
    """250 steps; the second group is so small that q_max binds."""
    data = with_group(make_data(), np.arange(200) < minority)
    mechanism = Sampler()
    train(METHOD, [data], [mechanism])
    expected = np.array([(200 - minority) * rates[0], minority * rates[1]])
    assert len(mechanism.samples) == 250
    assert np.allclose(_shares(data, mechanism), expected, rtol=0.2)


@pytest.mark.parametrize("minority", [0, 1, 3, 100])
def test_nobody_s_rate_exceeds_the_one_that_is_counted(minority: int) -> None:
    """Whatever the sizes and their noise are, empty groups included."""
    data = with_group(make_data(), np.arange(200) < minority)
    (fitted,) = train(METHOD, [data], [RecordingMechanism()])
    assert max(fitted.notes["sampling_rates"].values()) <= METHOD.rate(200) == pytest.approx(0.3)
    assert set(fitted.events) == {Gaussian(2.0), SampledGaussian(1.0, METHOD.rate(200), 250)}


def test_the_sizes_are_released_once_with_noise_for_one_record() -> None:
    data, recorder = make_data(groups=3), RecordingMechanism()
    train(METHOD, [data], [recorder])
    counts = [release for release in recorder.releases if release.kind == "gaussian"]
    assert len(counts) == 1
    assert np.array_equal(counts[0].value, np.bincount(data.group, minlength=3))
    assert counts[0].bound == 1.0


def test_counting_at_the_largest_group_s_rate_is_refused() -> None:
    """The mutant: the largest group has the smallest chance, and that is not everybody's."""
    data = with_group(make_data(), np.arange(200) < 60)
    with pytest.raises(FairprivError, match=r"drawn at rate 0\.3.*cannot be counted at 0\.07"):
        train(METHOD, [data], [Sampler(counted=20 / 280)])
    assert epsilon((SampledGaussian(1.0, 0.3, 250),), 1e-5) > 2 * epsilon((SampledGaussian(1.0, 20 / 280, 250),), 1e-5)


def test_exact_sizes_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant: other groups under the same releases give another model."""
    honest = dp_is_sgd.DpIsSgdRule._sizes

    def exact(rule: dp_is_sgd.DpIsSgdRule, model: int) -> np.ndarray:
        honest(rule, model)
        return np.bincount(rule.setting.trains[model].group, minlength=2).astype(np.float64)

    def differs() -> bool:
        base = RecordingMechanism()
        (own,) = train(METHOD, [make_data()], [base])
        other = with_group(make_data(), np.arange(200) < 30)
        (replayed,) = train(METHOD, [other], [RecordingMechanism(replayed=base.releases)])
        return not np.array_equal(own.parameters, replayed.parameters)

    assert not differs()
    monkeypatch.setattr(dp_is_sgd.DpIsSgdRule, "_sizes", exact)
    assert differs()


def test_for_equal_groups_it_is_dp_sgd() -> None:
    data = with_group(make_data(), np.arange(200) % 2)
    (plain,) = train(DpSgd(**SHARED), [data], [RecordingMechanism(seed=4)])
    (found,) = train(DpIsSgd(**SHARED, rate_cap=1.0, noise_counts=0.0), [data], [RecordingMechanism(seed=4)])
    assert np.allclose(found.parameters, plain.parameters, rtol=1e-6)


def test_the_sum_is_divided_by_the_expected_size() -> None:
    """Without noise or clipping, everybody alike: the update is the groups' mean of mean gradients."""
    data = with_group(make_data(), np.arange(200) < 50)
    method = DpIsSgd(
        epochs=1,
        batch_size=100,
        learning_rate=1.0,
        optimizer="sgd",
        clip_primal=1e3,
        noise_primal=0.0,
        noise_counts=0.0,
        rate_cap=2.0,
    )
    everybody = RecordingMechanism(forced=lambda epoch, step: np.flatnonzero(data.group == step))
    train(method, [data], [everybody])
    rows = np.concatenate([data.X, np.ones((200, 1))], axis=1)
    first = data.group == 0
    sums = (0.5 - data.y[first]) @ rows[first]
    assert np.allclose(everybody.releases[1].value, sums, rtol=1e-4)
    (fitted,) = train(method, [data], [RecordingMechanism(seed=1)])
    assert fitted.notes["sampling_rates"] == {"rate/A": pytest.approx(1 / 3), "rate/B": 1.0}
