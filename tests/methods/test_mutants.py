"""The checks of private methods have teeth: each way to get them wrong that applies is caught."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from fairpriv_core.engine.loop import public_batches
from fairpriv_core.engine.rows import Feed, Records
from fairpriv_core.errors import FairprivError
from fairpriv_core.methods import pf_ld
from fairpriv_core.methods.dp_sgd import DpSgd
from fairpriv_core.methods.lagrangian import constraint_norms
from fairpriv_core.methods.pf_ld import PfLd
from fairpriv_core.methods.setting import Setting
from fairpriv_core.privacy import mechanism
from tests.methods.harness import RecordingMechanism, make_data, train, with_group
from tests.noise import scale_noise

METHOD = PfLd(
    epochs=21,
    batch_size=20,
    sampling_rate=0.2,
    multiplier_max=1.0,
    noise_primal=2.0,
    noise_dual=2.0,
    noise_counts=1.0,
)
STEPS = 200  # of the 20 epochs whose multipliers are not 0


class SampleRecorder(RecordingMechanism):
    """Keeps the samples too."""

    def __init__(self) -> None:
        super().__init__()
        self.samples: list[np.ndarray] = []

    def sample(self, *, epoch: int, steps: int, **how: Any) -> list[np.ndarray]:
        drawn = super().sample(epoch=epoch, steps=steps, **how)
        self.samples += drawn
        return drawn


def _samples() -> list[np.ndarray]:
    recorder = SampleRecorder()
    train(METHOD, [make_data()], [recorder])
    return recorder.samples


def _size_spread(samples: list[np.ndarray]) -> float:
    """Return the variance of |S| over that of a binomial: 1 for a Poisson sample."""
    return float(np.var([len(sample) for sample in samples]) / (200 * 0.2 * 0.8))


def _overlap(samples: list[np.ndarray]) -> float:
    """Return the mean share of the step's public batch that is in its sample: q for an independent sample."""
    batches = [batch for epoch in range(1, 21) for batch in public_batches(0, n=200, batch_size=20, epoch=epoch)]
    return float(np.mean([np.isin(b, s).mean() for b, s in zip(batches, samples, strict=True)]))


def _noise_deviation(method: PfLd | DpSgd) -> float:
    """Return the pooled standard deviation of the noise over what the accountant is told: 1."""
    recorders = [RecordingMechanism() for _ in range(8)]
    train(method, [make_data()] * len(recorders), recorders)
    sums = [release for recorder in recorders for release in recorder.releases if release.kind == "sum"]
    assert method.noise_primal is not None
    return float(np.std(np.concatenate([(r.out - r.value) / (r.bound * method.noise_primal) for r in sums])))


def test_samples_are_poisson_and_independent_of_the_batches() -> None:
    samples = _samples()
    assert len(samples) == STEPS
    assert np.mean([len(sample) for sample in samples]) == pytest.approx(40, abs=2)
    assert 0.6 < _size_spread(samples) < 1.5
    assert _overlap(samples) == pytest.approx(0.2, abs=0.03)


def test_a_fixed_size_sample_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def fixed(stream: np.random.Generator, *, n: int, rate: float, steps: int) -> list[np.ndarray]:
        return [np.sort(stream.permutation(n)[: round(rate * n)]) for _ in range(steps)]

    monkeypatch.setattr(mechanism, "draw_poisson_samples", fixed)
    assert _size_spread(_samples()) < 0.01


def test_the_public_batch_as_sample_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty forced sample must give empty sums: they are not, so the sample was not the mechanism's."""
    monkeypatch.setattr(pf_ld.PfLdRule, "samples", lambda rule, epoch, batches: batches)
    recorder = RecordingMechanism(forced=lambda epoch, step: np.zeros(0, dtype=np.int64))
    train(METHOD, [make_data()], [recorder])
    assert any(release.value.any() for release in recorder.releases if release.kind == "sum")


@pytest.mark.parametrize("method", [METHOD, DpSgd(epochs=20, batch_size=20, noise_primal=1.5)])
def test_noise_has_the_scale_that_is_counted(method: PfLd | DpSgd) -> None:
    assert _noise_deviation(method) == pytest.approx(1.0, abs=0.06)


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_halved_or_doubled_noise_is_caught(factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    scale_noise(monkeypatch, factor)
    assert abs(_noise_deviation(METHOD) - 1.0) > 0.4


def test_noise_from_the_public_seed_is_caught() -> None:
    """Two runs with one seed: the noise of the second is the first's, which the contract test sees as correlation 1."""
    noise = []
    for _ in range(2):
        recorder = RecordingMechanism(seed=0)
        train(METHOD, [make_data()], [recorder])
        noise.append(np.concatenate([(r.out - r.value) / r.bound for r in recorder.releases]))
    assert np.corrcoef(noise[0], noise[1])[0, 1] > 0.999


def test_a_second_release_on_one_sample_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = pf_ld.PfLdRule.release

    def twice(rule: pf_ld.PfLdRule, totals: object, records: Records, step: int) -> object:
        honest(rule, totals, records, 2 * step)  # type: ignore[arg-type]
        return honest(rule, totals, records, 2 * step + 1)  # type: ignore[arg-type]

    monkeypatch.setattr(pf_ld.PfLdRule, "release", twice)
    with pytest.raises(FairprivError, match="every sample of this epoch is used"):
        train(METHOD, [make_data()], [RecordingMechanism()])


def test_a_clipping_bound_from_one_group_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """C_p from the members of a group: the replayed run with another sensitive column then takes another course."""

    def from_group(setting: Setting[PfLd], k: int, *, counts: np.ndarray, kernel: object, feed: Feed) -> float:
        norms = constraint_norms(k, target=setting.target, kernel=kernel, feed=feed)  # type: ignore[arg-type]
        return float(np.median(norms[setting.trains[k].group == 0]))

    monkeypatch.setattr(pf_ld, "choose_clip", from_group)
    method = dataclasses.replace(METHOD, clip_primal=None, epochs=3)
    data, base = make_data(), RecordingMechanism()
    (honest,) = train(method, [data], [base])
    other = with_group(data, 1 - data.group)
    (replayed,) = train(method, [other], [RecordingMechanism(replayed=base.releases)])
    assert honest.notes["clip_primal"] != replayed.notes["clip_primal"]
