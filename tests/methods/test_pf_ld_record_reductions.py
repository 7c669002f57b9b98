"""PF-LD for whole records: what leaves follows from the releases, ways to get it wrong are caught, and what it becomes
without multipliers, and without noise.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from fairpriv_core.engine.loop import Sampled
from fairpriv_core.engine.training import Fitted
from fairpriv_core.methods import pf_ld_record
from fairpriv_core.methods.cell_counts import release_counts
from fairpriv_core.methods.dp_sgd import DpSgd
from fairpriv_core.methods.pf_ld_record import PfLdRecord, PfLdRecordRule
from fairpriv_core.methods.shared.noisy_sums import clipped_loss_weights
from fairpriv_core.methods.shared.setting import Setting
from tests.methods.harness import RecordingMechanism, make_data, with_group
from tests.methods.test_pf_ld_record import METHOD, find_contributions, find_moves, measure_noise, ordinary, train
from tests.methods.test_reductions import write_out
from tests.noise import scale_noise


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_halved_or_doubled_noise_is_caught(factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    scale_noise(monkeypatch, factor)
    assert abs(measure_noise(METHOD)[""] - 1.0) > 0.4


@pytest.mark.parametrize("notion", PfLdRecord.info.notions)
def test_all_that_leaves_follows_from_the_releases(notion: str) -> None:
    """Features, labels and groups are other ones; the releases are replayed; the same bits come out."""
    honest, replayed = _replay_on_other_records(notion)
    assert np.array_equal(honest.parameters, replayed.parameters)
    assert honest.notes == replayed.notes


def _replay_on_other_records(notion: str) -> tuple[Fitted, Fitted]:
    data, base = ordinary(2), RecordingMechanism()
    other = with_group(make_data(n=data.n, seed=9), 1 - data.group)
    mild = dataclasses.replace(METHOD, dual_step=1.0)
    (honest,) = train(mild, [data], [base], notion)
    (replayed,) = train(mild, [other], [RecordingMechanism(replayed=base.releases)], notion)
    return honest, replayed


def test_the_mutant_with_exact_sizes_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def exact(setting: Setting[Any], k: int) -> np.ndarray:
        release_counts(setting, k)
        return setting.cells.sizes(setting.trains[k].group, setting.trains[k].y)

    monkeypatch.setattr(pf_ld_record, "release_counts", exact)
    honest, replayed = _replay_on_other_records("equalized_odds")
    assert honest.notes["multipliers"] != replayed.notes["multipliers"]


def test_the_mutant_that_clips_before_it_adds_the_constraints_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def early(rule: PfLdRecordRule, sampled: Sampled) -> np.ndarray:
        records = sampled.records
        constraints = rule._derivatives(records) - (records.probability - records.label)
        return (
            clipped_loss_weights(records, rule.column_of(rule.bounds()).astype(np.float32))
            + constraints * records.present
        )

    monkeypatch.setattr(PfLdRecordRule, "weights", early)
    assert find_contributions(METHOD, ordinary(2), "demographic_parity").max() > 1.5


def test_the_mutant_without_dual_clipping_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pf_ld_record, "MARGIN", -1e9)
    assert find_moves(METHOD, ordinary(2), "accuracy_parity").max() > 1.5


@pytest.mark.parametrize("hidden_layers", [0, 2])
def test_without_multipliers_the_method_is_dp_sgd_bit_for_bit(hidden_layers: int) -> None:
    data = make_data()
    size: dict[str, Any] = {"epochs": 6, "hidden_layers": hidden_layers, "width": 5}
    noise: dict[str, Any] = {"clip_primal": 0.3, "noise_primal": 0.8, "learning_rate": 0.02}
    (plain,) = train(DpSgd(**size, **noise, batch_size=50), [data], [RecordingMechanism(seed=1)])
    without = PfLdRecord(**size, **noise, sampling_rate=0.25, multiplier_max=0.0, gap_target=None)
    (fair,) = train(without, [data], [RecordingMechanism(seed=1)])
    assert np.array_equal(plain.parameters, fair.parameters)
    assert (plain.events, plain.notes) == (fair.events, fair.notes)


@pytest.mark.parametrize("notion", PfLdRecord.info.notions)
def test_without_noise_the_method_follows_the_exact_gradient(notion: str) -> None:
    """A sample of everyone, no clipping, no noise, one step an epoch: as the written-out Lagrangian."""
    method = dataclasses.replace(
        METHOD,
        epochs=4,
        sampling_rate=1.0,
        learning_rate=0.3,
        optimizer="sgd",
        clip_primal=1e6,
        clip_dual=10.0,
        dual_step=4.0,
        multiplier_max=0.8,
        noise_primal=0.0,
        noise_dual=0.0,
        noise_counts=0.0,
    )
    data = make_data(n=600, groups=3)
    (fitted,) = train(method, [data], [RecordingMechanism()], notion)
    assert np.allclose(fitted.parameters, write_out(data, method, notion, in_proportion=True), rtol=1e-4, atol=1e-6)
