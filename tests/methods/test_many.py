"""K models in one loop are the K models that each fit alone gives, whatever they share."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from _pytest.mark import ParameterSet

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.training import Fitted, Training, Unwatched
from fairpriv_core.errors import BadInput, RunFailed
from fairpriv_core.methods.base import Method
from fairpriv_core.methods.dp_fermi import DpFermi
from fairpriv_core.methods.dp_fermi_record import DpFermiRecord
from fairpriv_core.methods.dp_sgd import DpSgd
from fairpriv_core.methods.f_ld import FLd
from fairpriv_core.methods.none import Plain
from fairpriv_core.methods.pf_ld import PfLd
from fairpriv_core.methods.pf_ld_record import PfLdRecord
from fairpriv_core.methods.raco_dp import RacoDp
from fairpriv_core.notions.catalog import notions
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness
from tests.methods.examples.catalog import EXAMPLES
from tests.methods.harness import Watcher, make_data

DATA = make_data(n=400)
SHORT: dict[str, Any] = {"epochs": 3, "batch_size": 80, "optimizer": "sgd"}
NOISY: dict[str, Any] = {"noise_primal": 1.0, "noise_counts": 1.0}
KINDS: dict[str, list[Method]] = {
    "none": [Plain(**SHORT, learning_rate=rate) for rate in (0.1, 0.2, 0.4)],
    "f_ld": [FLd(**SHORT, multiplier_max=most, gap_target=None) for most in (0.0, 1.0, 2.0)],
    "f_ld, gaps": [FLd(**SHORT, gap_target=gap) for gap in (None, 0.01, 0.5)],
    "dp_sgd": [DpSgd(**SHORT, noise_primal=noise) for noise in (0.5, 1.0, 2.0)],
    "pf_ld": [PfLd(**SHORT, **NOISY, noise_dual=1.0, multiplier_max=most, gap_target=None) for most in (0.5, 1.0, 2.0)],
    "pf_ld, gaps": [PfLd(**SHORT, **NOISY, noise_dual=1.0, gap_target=gap) for gap in (None, 0.01, 0.5)],
    "pf_ld published": [
        PfLd(**SHORT, noise_primal=noise, noise_dual=1.0, variant="published", clip_primal=0.1, gap_target=None)
        for noise in (0.5, 1.0, 2.0)
    ],
    "pf_ld_record": [
        PfLdRecord(
            epochs=3, optimizer="sgd", sampling_rate=0.2, **NOISY, noise_dual=1.0, multiplier_max=most, gap_target=None
        )
        for most in (0.5, 1.0, 2.0)
    ],
    "raco_dp": [
        RacoDp(epochs=3, optimizer="sgd", sampling_rate=0.2, noise_primal=1.0, gap_target=gap, multiplier_max=most)
        for gap, most in ((0.01, 1.0), (0.2, 5.0), (0.04, 0.0))
    ],
    "dp_fermi": [DpFermi(**SHORT, **NOISY, multiplier=most, gap_target=None) for most in (0.0, 1.0, 3.0)],
    "dp_fermi, gaps": [DpFermi(**SHORT, **NOISY, noise_gap=1.0, gap_target=gap) for gap in (None, 0.01, 0.5)],
    "dp_fermi published": [
        DpFermi(**SHORT, noise_primal=50.0, variant="published", multiplier=most, gap_target=None)
        for most in (0.5, 1.0, 3.0)
    ],
    "dp_fermi_record": [DpFermiRecord(**SHORT, **NOISY, multiplier=most, gap_target=None) for most in (0.5, 1.0, 3.0)],
}
SHARED = [kind for kind in KINDS if not kind.startswith(("none", "f_ld")) and "published" not in kind]


def _train(
    methods: Sequence[Method], mechanisms: Sequence[Mechanism], notion: str, seeds: Sequence[int] = (0, 0, 0)
) -> list[Fitted]:
    trainings = [
        Training(notions()[notion], seed, mechanism, Unwatched())
        for seed, mechanism in zip(seeds, mechanisms, strict=True)
    ]
    return type(methods[0]).fit_many(methods, [DATA] * len(methods), trainings)


def _mechanism(k: int, stream: int | None) -> Mechanism:
    return Mechanism(Randomness.replay(7), model=k, stream=stream)


def _assert_alike(together: Sequence[Fitted], alone: Sequence[Fitted]) -> None:
    for one, other in zip(together, alone, strict=True):
        difference = np.linalg.norm(one.parameters - other.parameters)
        assert difference <= 1e-4 * np.linalg.norm(other.parameters)  # float32: products are summed in another order
        assert one.events == other.events


def _list_cases(kinds: Iterable[str], halves: list[list[tuple[Any, ...]]]) -> Iterator[ParameterSet]:
    """Yield each kind with all settings: with one half of them, the next kind with the other; what is left is long."""
    for place, kind in enumerate(kinds):
        for half, settings in enumerate(halves):
            marks = () if half == place % 2 else pytest.mark.long
            yield from (
                pytest.param(kind, *each, id="-".join(map(str, (kind, *each))), marks=marks) for each in settings
            )


PAIRS = [[(0, "demographic_parity"), (2, "equalized_odds")], [(0, "equalized_odds"), (2, "demographic_parity")]]


@pytest.mark.parametrize(("kind", "hidden_layers", "notion"), list(_list_cases(KINDS, PAIRS)))
def test_models_that_share_batches_are_as_each_alone(kind: str, hidden_layers: int, notion: str) -> None:
    methods = [dataclasses.replace(method, hidden_layers=hidden_layers, width=5) for method in KINDS[kind]]
    together = _train(methods, [_mechanism(k, None) for k in range(3)], notion)
    alone = [_train([method], [_mechanism(k, None)], notion, [0])[0] for k, method in enumerate(methods)]
    _assert_alike(together, alone)


@pytest.mark.parametrize("kind", ["dp_sgd", "pf_ld", "dp_fermi"])
def test_models_of_unlike_seeds_are_as_each_alone(kind: str) -> None:
    methods = KINDS[kind]
    together = _train(methods, [_mechanism(k, None) for k in range(3)], "demographic_parity", (0, 1, 2))
    alone = [_train([method], [_mechanism(k, None)], "demographic_parity", [k])[0] for k, method in enumerate(methods)]
    _assert_alike(together, alone)


@pytest.mark.parametrize(("kind", "hidden_layers"), list(_list_cases(SHARED, [[(0,)], [(2,)]])))
def test_models_that_share_samples_are_as_each_alone(kind: str, hidden_layers: int) -> None:
    methods = [dataclasses.replace(method, hidden_layers=hidden_layers, width=5) for method in KINDS[kind]]
    randomness = Randomness.replay(7)
    mechanisms = [Mechanism(randomness, model=k, stream=4) for k in range(3)]
    together = _train(methods, mechanisms, "demographic_parity")
    alone = [_train([method], [_mechanism(k, 4)], "demographic_parity", [0])[0] for k, method in enumerate(methods)]
    _assert_alike(together, alone)


@pytest.mark.parametrize("kind", ["pf_ld", "dp_fermi"])
def test_models_that_share_samples_go_on_bit_for_bit(kind: str) -> None:
    methods, randomness = KINDS[kind], Randomness.replay(7)
    mechanisms = [Mechanism(randomness, model=k, stream=4) for k in range(3)]
    watchers = [Watcher(commits=frozenset({6})) for _ in methods]
    notion = notions()["demographic_parity"]
    trainings = [Training(notion, 0, *pair) for pair in zip(mechanisms, watchers, strict=True)]
    whole = type(methods[0]).fit_many(methods, [DATA] * 3, trainings)
    saved = [watcher.checkpoints[6] for watcher in watchers]
    restored = [
        Training(notion, 0, mechanism, Unwatched(), checkpoint)
        for mechanism, checkpoint in zip(Mechanism.from_states(saved), saved, strict=True)
    ]
    resumed = type(methods[0]).fit_many(methods, [DATA] * 3, restored)
    for one, other in zip(whole, resumed, strict=True):
        assert np.array_equal(one.parameters, other.parameters) and one.events == other.events


def test_noise_is_independent_where_samples_are_shared() -> None:
    randomness = Randomness.fresh()
    alike: list[Method] = [DpSgd(**SHORT, noise_primal=1e4, hidden_layers=2, width=20)] * 2
    mechanisms = [Mechanism(randomness, model=k, stream=0) for k in range(2)]
    first, second = _train(alike, mechanisms, "demographic_parity", (0, 0))
    assert abs(np.corrcoef(first.parameters, second.parameters)[0, 1]) < 0.3


def test_data_that_models_share_are_held_once() -> None:
    copies: list[Dataset] = [DATA, dataclasses.replace(DATA)]
    methods: list[Method] = [Plain(**SHORT)] * 2
    trainings = [Training(notions()["demographic_parity"], 0, _mechanism(k, None), Unwatched()) for k in range(2)]
    first, second = Plain.fit_many(methods, copies, trainings)
    assert np.array_equal(first.parameters, second.parameters)


def test_models_calibrated_to_unlike_numbers_of_rows_do_not_train_together() -> None:
    trainings = [Training(notions()["demographic_parity"], 0, _mechanism(k, None), Unwatched()) for k in range(2)]
    with pytest.raises(RunFailed, match="equally many training rows, got 300, 400"):
        DpSgd.fit_many(KINDS["dp_sgd"][:2], [DATA, make_data(n=300)], trainings)


def test_samples_that_are_thinned_cannot_be_shared() -> None:
    (method, *_) = EXAMPLES["dp_is_sgd"]
    with pytest.raises(BadInput, match="samples that are thinned by group cannot be shared by several models"):
        _train([method], [_mechanism(0, 4)], method.info.notions[0], [0])
