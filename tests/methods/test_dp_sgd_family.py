"""DP-SGD's relatives at the mechanism during the real fit: bounds that adapt, the noise, and what a sample costs.

What a record adds is in test_contract.py. `replay_single_records` shows it: a run is recorded, then other models see
the same releases while their samples are forced to one record of other data.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fairpriv_core.audit import contract
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.training import Training
from fairpriv_core.errors import BadInput, FairprivError
from fairpriv_core.methods.dp_fedavg import DpFedAvg
from fairpriv_core.methods.dp_is_sgd import DpIsSgd
from fairpriv_core.methods.dpsgd_f import DpsgdF
from fairpriv_core.methods.dpsgd_global_adapt import DpsgdGlobalAdapt
from fairpriv_core.methods.fairdp_adaptive import FairDpAdaptive
from fairpriv_core.methods.fairlens import FairLens
from fairpriv_core.methods.opt_q import OptQ
from fairpriv_core.methods.shared.noisy_sums import NoisySums, NoisySumsRule, SumsWithCounts
from fairpriv_core.notions.catalog import notions
from fairpriv_core.privacy.accountants import epsilon
from fairpriv_core.privacy.event import SampledGaussian
from tests.methods.harness import (
    RecordingMechanism,
    Release,
    Watcher,
    make_data,
    train,
)

PARITY, MODELS = "demographic_parity", 8
SHORT = {"epochs": 5, "batch_size": 10, "clip_primal": 0.3, "noise_primal": 0.5, "learning_rate": 0.2}
FAMILY: dict[str, NoisySums] = {
    "opt_q": OptQ(**SHORT, share_counts=0.2, quantile=0.7),
    "opt_q, deep": OptQ(**SHORT, share_counts=0.4, quantile=0.5, hidden_layers=2, width=5),
    "dp_fedavg, deep": DpFedAvg(**SHORT, hidden_layers=2, width=5),
    "dpsgd_f": DpsgdF(**SHORT, share_counts=0.3),
    "dpsgd_global_adapt": DpsgdGlobalAdapt(**SHORT, share_counts=0.2, strict_clip=0.5, threshold=0.8),
    "dp_is_sgd": DpIsSgd(**SHORT, noise_counts=2.0),
    "fairlens": FairLens(**SHORT, noise_statistics=0.1, multiplier_gradient=30.0, multiplier_boundary=5.0),
    "fairlens, deep": FairLens(**SHORT, noise_statistics=1.0, hidden_layers=2, width=5),
    "fairdp, class": FairDpAdaptive(**SHORT, share_counts=0.3, lipschitz=1.0),
    "fairdp, group": FairDpAdaptive(**SHORT, share_counts=0.3, clip_by="group", hidden_layers=1, width=5),
}


def replay_single_records(method: NoisySums, data: Dataset) -> tuple[list[Release], list[list[Release]]]:
    """Return a run's sums, and for each of MODELS replays the sums of samples that are forced to one record."""
    base = RecordingMechanism()
    train(method, [data], [base])
    order = np.random.default_rng(4).permutation(data.n)
    steps, apart = math.ceil(data.n / method.batch_size), data.n // MODELS
    mechanisms = [
        RecordingMechanism(
            forced=lambda epoch, step, k=k: order[[(epoch * steps + step + apart * k) % data.n]],
            replayed=base.releases,
        )
        for k in range(MODELS)
    ]
    labels = np.random.default_rng(5).integers(0, data.labels, (MODELS, data.n))
    train(method, [dataclasses.replace(data, y=y) for y in labels], mechanisms)
    return _sums(base), [_sums(mechanism) for mechanism in mechanisms]


def _sums(mechanism: RecordingMechanism) -> list[Release]:
    return [release for release in mechanism.releases if release.kind == "sum"]


@pytest.mark.parametrize("method", FAMILY.values(), ids=FAMILY)
def test_bounds_move_where_they_adapt_and_noise_has_the_scale_that_is_counted(method: NoisySums) -> None:
    """On gradients and on counts: sigma over the radius, which is sigma / sqrt(share) over what each is bounded by."""
    recorder = RecordingMechanism()
    train(dataclasses.replace(method, epochs=10), [make_data()], [recorder])
    bounds = {release.bound for release in _sums(recorder)}
    assert (len(bounds) > 1) == isinstance(method, OptQ | DpsgdF | FairDpAdaptive)
    noise = np.stack([(r.out - r.value) / (r.bound * method.noise()) for r in _sums(recorder)])
    for part in (noise[:, :5], noise[:, -1]):
        assert part.std() == pytest.approx(1.0, abs=5.0 / np.sqrt(2.0 * part.size))


def _check_replay(method: NoisySums) -> None:
    contract.check_replay(method, make_data, PARITY, contract.record(method, make_data, PARITY))


@pytest.mark.parametrize("method", FAMILY.values(), ids=FAMILY)
def test_nothing_leaves_beside_the_releases_where_bounds_move_too(method: NoisySums) -> None:
    """The contract's examples have so much noise that some bounds stay where they are."""
    _check_replay(method)


def test_what_is_for_the_analyst_leaves_with_no_model_unless_a_rule_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NoisySumsRule, "scalars", lambda rule, model: {"loss of one": 1.0})
    watcher = Watcher()
    fitted = FAMILY["dp_fedavg, deep"].fit(make_data(), Training(notions()[PARITY], 0, RecordingMechanism(), watcher))
    assert watcher.shown[-1].scalars["loss of one"] == 1.0 and fitted.notes == {}


def test_a_rule_that_became_a_dataclass_ends_the_run_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    class Late(NoisySumsRule):
        """A rule in a file that its method imports late."""

    monkeypatch.setattr(DpFedAvg, "rule", dataclasses.dataclass(Late))
    with pytest.raises(BadInput, match=r"Late is a dataclass; write __init__\(self, setting\) in a plain class"):
        train(FAMILY["dp_fedavg, deep"], [make_data()], [RecordingMechanism()])


def test_exact_counts_that_move_a_bound_are_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    honest: Callable[..., Any] = NoisySumsRule._release_both

    def exact(rule: NoisySumsRule, totals: np.ndarray, counts: np.ndarray, *rest: Any) -> tuple[np.ndarray, ...]:
        return honest(rule, totals, counts, *rest)[0], counts

    monkeypatch.setattr(NoisySumsRule, "_release_both", exact)
    with pytest.raises(contract.ContractBroken, match=r"leaves beside the releases|what bounds a release follows"):
        _check_replay(FAMILY["dpsgd_f"])


@pytest.mark.parametrize("share", [0.05, 0.5])
def test_gradients_and_counts_are_one_gaussian(share: float) -> None:
    """(sigma_g^-2 + sigma_c^-2)^(-1/2) = sigma, which costs more than two events of their own would claim."""
    method = OptQ(epochs=1, batch_size=10, noise_primal=1.0 / np.sqrt(2.0), share_counts=share)
    counts = method.count_noise()
    assert counts is not None
    assert (method.gradient_noise() ** -2 + counts**-2) ** -0.5 == pytest.approx(method.noise())


def test_one_sample_costs_more_than_two_would() -> None:
    together = (SampledGaussian(1.0 / np.sqrt(2.0), 0.0075, 6600),)
    apart = (SampledGaussian(1.0, 0.0075, 2 * 6600),)
    assert epsilon(together, 1e-5) == pytest.approx(7.99, abs=0.01)
    assert epsilon(apart, 1e-5) == pytest.approx(5.18, abs=0.01)


@pytest.mark.parametrize("method", [m for m in FAMILY.values() if isinstance(m, SumsWithCounts)])
def test_the_published_claim_is_for_other_releases(method: SumsWithCounts) -> None:
    published = dataclasses.replace(method, variant="published")
    assert published.unproved_reason()
    assert method.unproved_reason() is None


def _fullest(method: NoisySums) -> float:
    _, replays = replay_single_records(method, dataclasses.replace(make_data(), X=make_data().X * 100))
    return max(float(np.linalg.norm(r.value)) / r.bound for sums in replays for r in sums)


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


def test_norms_are_drawn_with_the_bound_that_cuts_them() -> None:
    watcher, method = Watcher(), FAMILY["dpsgd_global_adapt"]
    method.fit(make_data(), Training(notions()[PARITY], 0, RecordingMechanism(), watcher))
    last = watcher.shown[-1]
    assert last.histograms["gradient_norm"].bound == last.scalars["strict_clip"] != method.clip_primal


@pytest.mark.parametrize("method", [FAMILY["dpsgd_f"], FairDpAdaptive(**SHORT, clip_by="group", lipschitz=10.0)])
def test_each_groups_norms_are_drawn_with_its_own_bound(method: DpsgdF | FairDpAdaptive) -> None:
    """A share cut off that is counted against the largest bound is too small for all other groups."""
    watcher = Watcher()
    method.fit(make_data(), Training(notions()[PARITY], 0, RecordingMechanism(seed=1), watcher))
    norms = watcher.shown[-1].histograms["gradient_norm"]
    own = {group: each for group, (each,) in norms.bounds.items()}
    assert {*own} == {*norms.counts} and max(own.values()) == norms.bound and len({*own.values()}) > 1
    edges = np.array(norms.edges)
    for group, counts in norms.counts.items():
        above = edges[:-1] >= own[group], edges[1:] > own[group]
        least, most = (sum(np.array(counts)[rows]) / sum(counts) for rows in above)
        assert least <= norms.clipped[group] <= most
