"""The product's own mechanism and randomness under audit: models released at once, in pieces, and of many rows.

An attack on runs watches each release, and watched models are released one by one. Here nothing is watched: real
mechanisms add their noise through `sum_together`, and the attacker knows both sums and sees what comes out.
"""

from __future__ import annotations

import numpy as np
import pytest

from fairpriv_core.audit.canary import list_pairs, make_data
from fairpriv_core.audit.lower_bound import build_tests, noise_bound
from fairpriv_core.audit.observe import SUM, RecordingMechanism
from fairpriv_core.methods.dp_sgd import DpSgd
from fairpriv_core.privacy.event import SampledGaussian
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.noise import AT_ONCE
from fairpriv_core.privacy.randomness import Randomness
from fairpriv_core.runs.audit import make_trainer
from tests.noise import scale_noise

NOISE, STEPS = 1.0, 4
RUNS = 1000


def refuted_noise(pair: np.ndarray, *, runs: int = RUNS, together: int = 100) -> float | None:
    """Return how much noise, over what is counted, an attack on `runs` real models for each of `pair` (2, P) refutes.

    Each model releases its sum STEPS times; `together` models are released at once.
    """
    scores = np.zeros((2, runs))
    towards = pair[1] - pair[0]
    for world, total in enumerate(pair):
        for start in range(0, runs, together):
            seeds = range(2 * start + world, 2 * (start + together), 2)
            scores[world, start : start + together] = attack(total, towards, seeds)
    tests = build_tests({"releases": scores}, (1e-5, 0.1), alpha=0.001 / 3)
    return noise_bound(tests, (SampledGaussian(NOISE, 1.0, STEPS),), confidence=0.999, among=3)


def attack(total: np.ndarray, towards: np.ndarray, seeds: range) -> np.ndarray:
    mechanisms, together = [Mechanism(Randomness.replay(seed)) for seed in seeds], len(seeds)
    found = np.zeros(together)
    for step in range(STEPS):
        out = Mechanism.sum_together(
            mechanisms,
            np.tile(total, (together, 1)),
            radii=[1.0] * together,
            noise_multipliers=[NOISE] * together,
            sampling_rates=[1.0] * together,
            relation="add_remove",
            step=step,
        )
        found += out @ towards
    assert all(mechanism.events == (SampledGaussian(NOISE, 1.0, STEPS),) for mechanism in mechanisms)
    return found


def neighbours(size: int) -> np.ndarray:
    """Return two sums that are 1 apart: in the last coordinate of `size`."""
    pair = np.zeros((2, size))
    pair[1, -1] = 1.0
    return pair


def rows_of(n: int) -> np.ndarray:
    """Return the sums of one real step on `n` rows, of which one is a canary or null."""
    data = make_data(rows=n, isolated=1, groups=2, seed=0)
    pair = list_pairs(data, nulled=True)[-1]
    method = DpSgd(epochs=1, batch_size=n, learning_rate=1e-5, noise_primal=NOISE, clip_primal=1.0)
    train, sums = make_trainer(method, notion="demographic_parity", seed=0), []
    for world in (0, 1):
        mechanism = RecordingMechanism(0)
        train([(pair.first, pair.second)[world]], [mechanism])
        sums.append(next(one.value for one in mechanism.releases if one.kind == SUM))
    return np.array(sums)


CASES = {"fused": (8, 100, RUNS), "one by one": (8, 1, 300), "in pieces": (AT_ONCE + 9, 4, 100)}


@pytest.mark.parametrize("name", CASES)
def test_real_noise_stands_and_comes_near_what_is_counted(name: str) -> None:
    size, together, runs = CASES[name]
    found = refuted_noise(neighbours(size), runs=runs, together=together)
    assert found is not None and 1.0 <= found < (1.6 if runs == RUNS else 8.0)


def test_sums_over_65536_rows_stand_too() -> None:
    pair = rows_of(65_536)
    assert np.linalg.norm(pair[1] - pair[0]) == pytest.approx(1.0, abs=2e-3)
    found = refuted_noise(pair)
    assert found is not None and 1.0 <= found < 1.6


def test_halved_noise_is_refuted_on_the_fused_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """The accountant is untouched; a single threshold needs several times the runs for that."""
    scale_noise(monkeypatch, 0.5)
    found = refuted_noise(neighbours(8), runs=400)
    assert found is not None and found < 0.85
