"""The contract has teeth: what is planted in a family's rule is told of, by the part that proves the opposite.

Without it the same examples keep the contract: test_contract.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fairpriv_core.audit import contract
from fairpriv_core.audit.observe import RecordingMechanism
from fairpriv_core.audit.trials import HARD_ROWS, make_hard, strain
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine import kernel as kernel_module
from fairpriv_core.engine.loop import Sampled
from fairpriv_core.engine.rows import Records
from fairpriv_core.engine.torch.module import OpenModule
from fairpriv_core.errors import FairprivError
from fairpriv_core.methods import (
    dp2dp,
    dp_fedavg,
    dp_fermi,
    dp_fermi_record,
    dp_is_sgd,
    dpsgd_f,
    fair_pate,
    fairdp_adaptive,
    fairdp_certified,
    fairlens,
    functional_mechanism,
    jagielski_in,
    one_release_record,
    opt_q,
    pf_ld,
    pf_ld_record,
    sf_pate,
)
from fairpriv_core.methods.shared import (
    group_estimate,
    multipliers,
    noisy_sums,
    penalty,
    penalty_weight,
    releases,
    setting,
    votes,
)
from tests.methods.examples.catalog import EXAMPLES, in_two_epochs
from tests.methods.harness import make_data, shrink_networks
from tests.methods.leaks import LEAKS
from tests.methods.planted import Fault, replacing

Rule = noisy_sums.NoisySumsRule
PARITY = "demographic_parity"


def unclipped(weights: np.ndarray, norms: np.ndarray, bound: object) -> np.ndarray:
    return weights.copy()


def without_centring(honest: Callable[[pf_ld.PfLdRule], None]) -> Callable[[pf_ld.PfLdRule], None]:
    """Raw coefficients are summed while the radius is still that of the centred ones."""

    def set_tables(rule: pf_ld.PfLdRule) -> None:
        honest(rule)
        rule._centred = rule._centred - rule._remainder / np.array(rule.setting.rates)[:, None]
        rule._remainder = np.zeros_like(rule._remainder)

    return set_tables


def too_short(honest: Callable[..., Any]) -> Callable[..., Any]:
    """The norm leaves a layer out."""

    def learn(module: OpenModule, *given: Any) -> Any:
        learnt = honest(module, *given)
        learnt.cache[-1].squares.zero_()
        return learnt

    return learn


def twice(honest: Callable[..., Any]) -> Callable[..., Any]:
    def count(rule: object, records: Records) -> np.ndarray | None:
        counts: np.ndarray | None = honest(rule, records)
        return None if counts is None else 2 * counts

    return count


def double_flips(honest: Callable[..., Any]) -> Callable[..., Any]:
    return lambda mechanism, counts, **how: honest(mechanism, 2.0 * counts, **how)


def narrowed(honest: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """The mechanism is told a radius without the counts."""
    return lambda mechanism, total, *, radius, **how: honest(mechanism, total, radius=radius * np.sqrt(0.7), **how)


def declared_short(honest: Callable[..., Any]) -> Callable[..., Any]:
    """What is declared of a release is half of how far one person moves it."""
    return lambda name, sensitivity, *rest, **how: honest(name, sensitivity / 2.0, *rest, **how)


def clipped_early(_: object) -> Callable[..., np.ndarray]:
    """The loss is clipped before the method adds to it what is fair."""

    def weights(rule: Any, sampled: Sampled) -> np.ndarray:
        records = sampled.records
        regularised = isinstance(rule, fairlens.FairLensRule)
        derivatives = rule.objective_derivatives(sampled) if regularised else rule.derivatives(records)
        clipped = noisy_sums.clipped_loss_weights(records, rule.column_of(rule.bounds()).astype(np.float32))
        return clipped + (derivatives - (records.probability - records.label)) * records.present

    return weights


def uncentred(honest: Callable[[Any], None]) -> Callable[[Any], None]:
    def set_tables(rule: Any) -> None:
        honest(rule)
        rule._centred = rule.conditions.by_code(penalty.group_derivatives(rule.w, rule.shares)).astype(np.float32)

    return set_tables


def around_0(_: object) -> Callable[..., Any]:
    return lambda sums, shares: 2.0 * sums / np.sqrt(shares)[..., None]


def around_no_mean(honest: Callable[..., Any]) -> Callable[..., Any]:
    return lambda conditions, records, centre: honest(conditions, records, centre=0 * centre)


def without_last(honest: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """The last layer is not clipped."""

    def weights(rule: object, sampled: Sampled) -> np.ndarray:
        found = honest(rule, sampled)
        found[-1] = sampled.records.deviation * sampled.records.present
        return found

    return weights


def longer(honest: Callable[..., Any]) -> Callable[..., Any]:
    def build(*given: Any) -> Any:
        features = honest(*given)
        return replace(features, rows=2.0 * features.rows)

    return build


class LooksAtItsSample(fairlens.FairLensPublishedRule):
    """Statistics are those of the sample that they weigh."""

    def look(self, sampled: Sampled) -> None:
        held = {name: value.copy() for name, value in self.arrays.items()}
        super().read_sample(sampled)
        self.arrays["clipping"], self.arrays["boundary"] = held["clipping"], held["boundary"]


def dealt_by(column: Callable[[Dataset], np.ndarray]) -> Callable[..., Any]:
    """Rows are dealt to teachers in the order of what they hold."""

    def build(honest: Callable[..., Any]) -> Callable[..., Any]:
        def teach(learner: Any, data: Dataset, parts: list[np.ndarray], training: Any) -> Any:
            rows = np.sort(np.unique(np.concatenate(parts)))
            rows = rows[np.argsort(column(data)[rows], kind="stable")]
            sorted_parts = [np.resize(rows[place :: len(parts)], len(parts[0])) for place in range(len(parts))]
            return honest(learner, data, sorted_parts, training)

        return teach

    return build


MOVES: dict[str, Fault] = {
    "teachers dealt by a feature": Fault(
        replacing(fair_pate, "train_teachers", dealt_by(lambda data: data.X[:, 0])), "fair_pate-1"
    ),
    "a vote of which half is declared to move": Fault(replacing(votes, "Release", declared_short), "sf_pate-0"),
    "teachers dealt by group": Fault(replacing(sf_pate, "train_teachers", dealt_by(lambda data: data.y)), "sf_pate-0"),
    "sizes that are declared to move by half": Fault(replacing(dp_is_sgd, "Release", declared_short), "dp_is_sgd-0"),
    "sizes of which one is declared to move": Fault(replacing(pf_ld, "MOVED", lambda _: 1.0), "pf_ld-0"),
    "pf_ld without clipping": Fault(replacing(setting, "clip_positive", lambda _: unclipped), "pf_ld-0"),
    "pf_ld without centring": Fault(
        replacing(pf_ld.PfLdRule, "_set_tables", without_centring), "pf_ld-0", "a small group"
    ),
    "pf_ld on images without clipping": Fault(
        replacing(setting, "clip_positive", lambda _: unclipped), "pf_ld-images-0"
    ),
    "dp_sgd without clipping": Fault(replacing(noisy_sums, "clip_weights", lambda _: unclipped), "dp_sgd-0"),
    "dp_sgd on images without clipping": Fault(
        replacing(noisy_sums, "clip_weights", lambda _: unclipped), "dp_sgd-images-0"
    ),
    "a norm of a module that leaves a layer out": Fault(replacing(OpenModule, "learn", too_short), "dp_sgd-cnn"),
    "a record that is counted twice": Fault(replacing(dpsgd_f.DpsgdFRule, "statistics", twice), "dpsgd_f-1"),
    "noise for the smallest bound": Fault(
        replacing(dpsgd_f.DpsgdFRule, "bounds", lambda _: lambda rule: rule.arrays["clip_groups"].min(axis=1)),
        "dpsgd_f-0",
    ),
    "a radius without the counts": Fault(replacing(RecordingMechanism, "sampled_gaussian", narrowed), "opt_q-0"),
    "the public batch as sample": Fault(
        replacing(pf_ld.PfLdRule, "samples", lambda _: lambda rule, epoch, batches: batches), "pf_ld-0"
    ),
    "a bound that reads its own sample": Fault(
        lambda patch: patch.setattr(opt_q, "OptQRule", opt_q.OptQPublishedRule), "opt_q-0"
    ),
    "another bound that reads its own sample": Fault(
        lambda patch: patch.setattr(fairdp_adaptive, "FairDpRule", fairdp_adaptive.FairDpPublishedRule),
        "fairdp_adaptive-0",
    ),
    "a certificate without clipping": Fault(
        replacing(
            fairdp_certified, "clipped_loss_weights", lambda _: lambda records, _: records.deviation * records.present
        ),
        "fairdp_certified-images-0",
        "opposite gradients",
    ),
    "a row without an output that decides 0": Fault(
        replacing(multipliers, "decided", lambda _: lambda target, logits, labels: (logits > 0).astype(np.float64)),
        "pf_ld_record-2",
    ),
    "a learner that shortens no row": Fault(
        lambda patch: patch.setattr(jagielski_in, "MARGIN", -1e9), "jagielski_in-0"
    ),
    "an auditor that forgets where the person went": Fault(
        replacing(jagielski_in._Game, "_largest_move", lambda _: lambda game: float((1.0 / game._sizes).max())),
        "jagielski_in-0",
        "four groups",
    ),
    "a record that flips twice": Fault(
        replacing(one_release_record, "release_cumulative", double_flips), "one_release_record-0"
    ),
    "features longer than their bound": Fault(replacing(group_estimate, "build_features", longer), "one_release-0"),
    "dp_fermi without centring theta": Fault(
        replacing(dp_fermi.FermiRule, "set_tables", uncentred), "dp_fermi-0", "a small group"
    ),
    "dp_fermi without the midpoint of w": Fault(replacing(penalty, "derivative_of_w", around_0), "dp_fermi-0"),
    "dp_fermi without the mean of w": Fault(
        replacing(penalty.Conditions, "group_sums", around_no_mean), "dp_fermi-0", "opposite gradients"
    ),
    "dp_fermi without clipping": Fault(
        replacing(penalty, "clipped_derivatives", lambda _: lambda records, bound: penalty.derivatives(records)),
        "dp_fermi-0",
    ),
    "dp_fermi with the public batch as sample": Fault(
        replacing(dp_fermi.FermiRule, "samples", lambda _: lambda rule, epoch, batches: batches), "dp_fermi-0"
    ),
    "a penalty behind the clipping": Fault(
        replacing(dp_fermi_record.DpFermiRecordRule, "weights", clipped_early), "dp_fermi_record-0"
    ),
    "a reach that is too short": Fault(
        replacing(dp_fermi_record, "_reach", lambda _: lambda centres: 1.0 - centres),
        "dp_fermi_record-0",
        "four groups",
    ),
    "constraints behind the clipping": Fault(
        replacing(pf_ld_record.PfLdRecordRule, "weights", clipped_early), "pf_ld_record-0"
    ),
    "constraints of outputs that are not clipped": Fault(
        replacing(pf_ld_record, "MARGIN", lambda _: -1e9), "pf_ld_record-0"
    ),
    "raco_dp without clipping": Fault(replacing(noisy_sums, "clip_weights", lambda _: unclipped), "raco_dp-0"),
    "statistics that are not clipped": Fault(
        replacing(fairlens, "clip_factors", lambda _: lambda norms, bound: np.ones_like(norms)), "fairlens-0"
    ),
    "regularisers behind the clipping": Fault(
        replacing(fairlens.FairLensRule, "weights", clipped_early), "fairlens-0", "equal gradients"
    ),
    "statistics of the sample itself": Fault(
        lambda patch: patch.setattr(fairlens, "FairLensRule", LooksAtItsSample), "fairlens-0"
    ),
    "each layer clipped to all of C": Fault(
        replacing(
            dp_fedavg.DpFedAvgRule,
            "column_of",
            lambda _: lambda rule, values: np.sqrt(3.0) * dp_fedavg.DpFedAvgRule.bounds(rule)[:, None],
        ),
        "dp_fedavg-1",
    ),
    "a last layer that is not clipped": Fault(
        replacing(dp_fedavg.DpFedAvgRule, "weights", without_last), "dp_fedavg-1"
    ),
    "decisions that one cell less is told of": Fault(
        replacing(penalty_weight, "shift_of_decisions", lambda honest: lambda labels, cells: honest(labels, 1) / 1.1),
        "dp_fermi-4",
    ),
    "decisions of records that one cell less is told of": Fault(
        replacing(penalty_weight, "shift_of_decisions", lambda honest: lambda labels, cells: honest(labels, 1) / 1.1),
        "dp_fermi_record-2",
    ),
    "a row of the polynomial that is shortened too little": Fault(
        replacing(functional_mechanism, "clip_factors", lambda honest: lambda norms, bound: honest(norms, 2.0 * bound)),
        "adfc-0",
    ),
    "a penalty that is left out of the bound": Fault(
        replacing(
            functional_mechanism.FunctionalMechanism,
            "covariance_bound",
            lambda honest: lambda method, each: honest(method, each) / 2.0,
        ),
        "pflr-1",
    ),
    "pairs of the polynomial that are counted twice": Fault(
        replacing(functional_mechanism, "pack", lambda honest: lambda total, order: honest(2.0 * total, order)),
        "pflr-0",
    ),
    "decisions that are counted twice in a round": Fault(
        replacing(dp2dp, "count_decided", lambda honest: lambda *given: 2.0 * honest(*given)), "dp2dp-0"
    ),
}


@pytest.fixture(autouse=True)
def small_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Train small convolutional networks."""
    shrink_networks(monkeypatch)


@pytest.mark.parametrize("fault", MOVES.values(), ids=MOVES)
def test_what_a_person_moves_too_far_is_told_of(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    fault.plant(monkeypatch)
    method, make = fault.find()
    data = make_hard(fault.shape, make, HARD_ROWS if make is make_data else 240)
    with pytest.raises(
        contract.ContractBroken, match=r"times as much to|what bounds a release|nobody is in the sample|is not the sum"
    ):
        contract.check_bounds(strain(in_two_epochs(method)), data, PARITY)


@pytest.mark.parametrize("fault", LEAKS.values(), ids=LEAKS)
def test_what_leaves_beside_the_releases_is_told_of(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    fault.plant(monkeypatch)
    method, make = fault.find()
    with pytest.raises(contract.ContractBroken, match=r"leaves beside the releases|what bounds a release follows"):
        contract.check_replay(method, make, PARITY, contract.record(method, make, PARITY))


def released_twice(honest: Callable[..., Any]) -> Callable[..., Any]:
    def release(rule: Any, totals: Any, records: Records, step: int) -> Any:
        honest(rule, totals, records, 2 * step)
        return honest(rule, totals, records, 2 * step + 1)

    return release


def released_apart(_: object) -> Callable[..., Any]:
    """Counts are an event of their own, on the sample of the gradients."""

    def release(
        rule: Any, totals: np.ndarray, counts: np.ndarray, bounds: np.ndarray, step: int
    ) -> tuple[np.ndarray, ...]:
        mechanism = rule.setting.trainings[0].mechanism
        shared = {"sampling_rate": rule.setting.rates[0], "relation": "add_remove", "noise_multiplier": 1.0}
        gradient = mechanism.sampled_gaussian(totals[0], radius=bounds[0], step=2 * step, **shared)
        return gradient[None], mechanism.sampled_gaussian(counts[0], radius=1.0, step=2 * step + 1, **shared)[None]

    return release


@pytest.mark.parametrize(
    "fault",
    [
        Fault(replacing(pf_ld.PfLdRule, "release", released_twice), "pf_ld-0"),
        Fault(replacing(dp_fermi.FermiRule, "release", released_twice), "dp_fermi-0"),
        Fault(replacing(Rule, "_release_both", released_apart), "opt_q-0"),
    ],
    ids=["pf_ld", "dp_fermi", "opt_q"],
)
def test_a_second_release_on_one_sample_is_refused(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    fault.plant(monkeypatch)
    method, make = fault.find()
    with pytest.raises(FairprivError, match="every sample of this epoch is used"):
        contract.record(method, make, PARITY)


@pytest.mark.parametrize("name", ["pf_ld", "dp_is_sgd", "jagielski_in"])
def test_a_release_that_is_made_once_less_than_it_is_counted_is_told_of(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = releases.Release.at
    monkeypatch.setattr(releases.Release, "at", lambda own, noise: replace(at(own, noise), count=own.times + 1))
    method = EXAMPLES[name][0]
    with pytest.raises(contract.ContractBroken, match=r"event\(\) announces"):
        contract.check_releases(method, contract.record(method, make_data, PARITY))


@pytest.mark.parametrize("name", ["pf_ld", "dp_sgd"])
def test_noise_from_the_public_seed_is_told_of(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contract, "RecordingMechanism", lambda seed: RecordingMechanism(0))
    with pytest.raises(contract.ContractBroken, match="noise must come from the mechanism"):
        contract.check_fresh_noise(EXAMPLES[name][0])


@pytest.mark.parametrize("name", ["dp_sgd", "raco_dp"])
def test_a_sum_in_few_digits_is_told_of(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def add_roughly(left: np.ndarray, right: np.ndarray, out: np.ndarray) -> None:
        np.copyto(out, (left @ right).astype(np.float16))

    monkeypatch.setattr(kernel_module, "add_products", add_roughly)
    with pytest.raises(contract.ContractBroken, match="rows one moves the sum by"):
        contract.check_rounding(EXAMPLES[name][0], rows=8_192, models=2)
