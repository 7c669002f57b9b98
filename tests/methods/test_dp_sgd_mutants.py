"""The checks of DP-SGD's relatives have teeth: each way to get them wrong that applies is caught."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fairpriv_core.engine.loop import Sampled
from fairpriv_core.engine.rows import Records
from fairpriv_core.errors import FairprivError
from fairpriv_core.methods import dpsgd_f, fairdp_adaptive, noisy_sums, opt_q
from fairpriv_core.methods.dpsgd_f import DpsgdF
from fairpriv_core.methods.fairdp_adaptive import FairDpAdaptive
from fairpriv_core.methods.opt_q import OptQ
from tests.methods.harness import RecordingMechanism, make_data, train
from tests.methods.test_dp_sgd_family import SHORT, replay_single_records

OPT_Q = OptQ(**SHORT, share_counts=0.3, quantile=0.6)
DPSGD_F = DpsgdF(**SHORT, share_counts=0.3)
FAIRDP = FairDpAdaptive(**SHORT, share_counts=0.3, lipschitz=1.0)
Rule = noisy_sums.NoisySumsRule


def _fullest(method: Any) -> float:
    _, replays = replay_single_records(method, dataclasses.replace(make_data(), X=make_data().X * 100))
    return max(float(np.linalg.norm(r.value)) / r.bound for sums in replays for r in sums)


def _bounds_differ(method: Any) -> bool:
    base, replays = replay_single_records(method, make_data())
    return any([r.bound for r in sums] != [r.bound for r in base] for sums in replays)


def _replay_differs(method: Any) -> bool:
    """Other records under the same releases: does anything else leave?"""
    base = RecordingMechanism()
    (honest,) = train(method, [make_data()], [base])
    (other,) = train(method, [make_data(seed=9)], [RecordingMechanism(replayed=base.releases)])
    return not np.array_equal(honest.parameters, other.parameters) or honest.notes != other.notes


def test_bounds_from_the_step_s_own_sample_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The published rules where the proved ones belong."""
    for module, name, published in (
        (opt_q, "OptQRule", opt_q.OptQPublishedRule),
        (fairdp_adaptive, "FairDpRule", fairdp_adaptive.FairDpPublishedRule),
    ):
        monkeypatch.setattr(module, name, published)
    assert _bounds_differ(OPT_Q)
    assert _bounds_differ(FAIRDP)


def test_counts_as_a_second_event_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def apart(
        self: Rule, totals: np.ndarray, counts: np.ndarray, bounds: np.ndarray, step: int
    ) -> tuple[np.ndarray, ...]:
        mechanism = self.setting.trainings[0].mechanism
        shared = {"sampling_rate": self.setting.rates[0], "relation": "add_remove", "noise_multiplier": 1.0}
        gradient = mechanism.sampled_gaussian(totals[0], radius=bounds[0], step=2 * step, **shared)
        return gradient[None], mechanism.sampled_gaussian(counts[0], radius=1.0, step=2 * step + 1, **shared)[None]

    monkeypatch.setattr(Rule, "_release_both", apart)
    with pytest.raises(FairprivError, match="every sample of this epoch is used"):
        train(OPT_Q, [make_data()], [RecordingMechanism()])


@pytest.mark.parametrize("method", [OPT_Q, DPSGD_F, FAIRDP], ids=["opt_q", "dpsgd_f", "fairdp"])
def test_exact_counts_are_caught(method: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    honest: Callable[..., Any] = Rule._release_both

    def exact(self: Rule, totals: np.ndarray, counts: np.ndarray, *rest: Any) -> tuple[np.ndarray, ...]:
        return honest(self, totals, counts, *rest)[0], counts

    assert not _replay_differs(method)
    monkeypatch.setattr(Rule, "_release_both", exact)
    assert _replay_differs(method)


def test_division_by_the_sample_s_own_size_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Rule.secret_update

    def realised(self: Rule, sampled: Sampled) -> np.ndarray:
        expected = self.setting.n * self.setting.methods[0].rate(self.setting.n)
        return honest(self, sampled) * expected / sampled.records.present.sum()

    monkeypatch.setattr(Rule, "secret_update", realised)
    assert _replay_differs(OPT_Q)


def test_a_record_that_is_counted_twice_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = dpsgd_f.DpsgdFRule.statistics

    def twice(self: dpsgd_f.DpsgdFRule, records: Records) -> np.ndarray | None:
        counts = honest(self, records)
        return None if counts is None else counts * 2

    monkeypatch.setattr(dpsgd_f.DpsgdFRule, "statistics", twice)
    assert _fullest(DPSGD_F) > 1.2


def test_noise_for_the_smallest_bound_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dpsgd_f.DpsgdFRule, "bounds", lambda self: self.arrays["clip_groups"].min(axis=1))
    assert _fullest(DPSGD_F) > 1.02


def test_a_radius_without_the_counts_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = RecordingMechanism.sampled_gaussian

    def narrow(self: RecordingMechanism, total: np.ndarray, *, radius: float, **how: Any) -> np.ndarray:
        return honest(self, total, radius=radius * np.sqrt(0.7), **how)

    monkeypatch.setattr(RecordingMechanism, "sampled_gaussian", narrow)
    assert _fullest(OPT_Q) > 1.15


@pytest.mark.parametrize("kind", [OptQ, FairDpAdaptive])
def test_noise_of_the_bound_that_is_set_does_not_cover_contributions(kind: type[OptQ | FairDpAdaptive]) -> None:
    """The published text can be read so: nothing is proved of it, and the proved variant refuses it."""
    more = {"lipschitz": 1e-6} if kind is FairDpAdaptive else {"quantile": 0.9}
    fixed = kind(**SHORT, variant="published", bound_of_noise="set", **more)
    assert _fullest(fixed) > 10.0
    assert _fullest(dataclasses.replace(fixed, bound_of_noise="adaptive")) <= 1.0
    recorder = RecordingMechanism()
    train(fixed, [make_data()], [recorder])
    assert {one.bound for one in recorder.releases} == {fixed.clip_primal}
    assert str(fixed.unproved_reason()).endswith("contributions exceed it.")
    with pytest.raises(FairprivError, match="'set' adds too little noise for the proved variant"):
        kind(**SHORT, bound_of_noise="set")
