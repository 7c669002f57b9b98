"""Faults by which more leaves a method than it releases, each planted in one method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from fairpriv_core.audit.observe import RecordingMechanism
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.rows import Feed, Records
from fairpriv_core.methods import (
    dp2dp,
    dp_fermi,
    dp_fermi_record,
    fair_pate,
    fairdp_certified,
    fairlens,
    functional_mechanism,
    jagielski_in,
    jagielski_post,
    one_release_record,
    pf_ld,
    pf_ld_record,
    raco_dp,
)
from fairpriv_core.methods.shared import (
    answer_estimate,
    noisy_sums,
    penalty_weight,
    votes,
)
from fairpriv_core.methods.shared.lagrangian import constraint_norms
from tests.methods.planted import Fault, replacing

Rule = noisy_sums.NoisySumsRule


def exact_sizes(honest: Callable[..., Any]) -> Callable[..., Any]:
    def release(of: Any, k: int, **how: Any) -> np.ndarray:
        honest(of, k, **how)
        sizes: np.ndarray = of.cells.sizes(of.trains[k].group, of.trains[k].y)
        return sizes

    return release


def clip_of_one_group(_: object) -> Callable[..., float]:
    def choose(of: Any, k: int, *, counts: np.ndarray, kernel: Any, feed: Feed) -> float:
        norms = constraint_norms(k, target=of.target, kernel=kernel, feed=feed)
        return float(np.median(norms[of.trains[k].group == 0]))

    return choose


def exact_counts(honest: Callable[..., Any]) -> Callable[..., Any]:
    return lambda rule, totals, counts, *rest: (honest(rule, totals, counts, *rest)[0], counts)


def own_size(honest: Callable[..., Any]) -> Callable[..., Any]:
    """A step is divided by its own sample's size in place of the expected one."""

    def update(rule: Any, sampled: Any) -> Any:
        expected = rule.setting.n * rule.setting.methods[0].rate(rule.setting.n)
        return honest(rule, sampled) * expected / sampled.records.present.sum()

    return update


def exact_answer(honest: Callable[..., Any]) -> Callable[..., Any]:
    """As where the noise's scale is passed as its location: the answer follows from the groups themselves."""

    def respond(game: Any, prices: np.ndarray, index: int) -> Any:
        public, centred = game._costs(prices)
        honest(game, prices, index)
        return game._oracle.answer(public, game._oracle.group_term(centred))

    return respond


def exact_flips(honest: Callable[..., Any]) -> Callable[..., Any]:
    def release(mechanism: Any, counts: np.ndarray, **how: Any) -> np.ndarray:
        honest(mechanism, counts, **how)
        return counts.cumsum(axis=1)

    return release


def exact_decisions(honest: Callable[..., Any]) -> Callable[..., Any]:
    """Lambda follows the exact sums; what was released is thrown away."""

    def release(weights: Any, k: int, *rest: Any) -> tuple[np.ndarray, float]:
        released, deviation = honest(weights, k, *rest)
        mechanism = weights._setting.trainings[k].mechanism
        assert isinstance(mechanism, RecordingMechanism)
        return mechanism.releases[-1].value.reshape(released.shape), deviation

    return release


def exact_certified_sizes(honest: Callable[..., Any]) -> Callable[..., Any]:
    def release(of: Any, k: int) -> np.ndarray:
        honest(of, k)
        return np.bincount(of.trains[k].group).astype(float)

    return release


def exact_decisions_of_groups(honest: Callable[..., Any]) -> Callable[..., Any]:
    def release(method: Any, data: Dataset, training: Any, *, parameters: np.ndarray) -> np.ndarray:
        honest(method, data, training, parameters=parameters)
        return np.asarray(training.mechanism.releases[-1].value)

    return release


def exact_histogram(patch: pytest.MonkeyPatch) -> None:
    """Multipliers follow the sample's own counts."""
    count, learn = raco_dp.RacoDpRule.statistics, raco_dp.RacoDpRule.learn

    def statistics(rule: Any, records: Records) -> Any:
        rule.exact = count(rule, records)
        return rule.exact

    def follow(rule: Any, model: int, released: np.ndarray, gradient: np.ndarray) -> None:
        learn(rule, model, rule.exact[model].astype(float), gradient)

    patch.setattr(raco_dp.RacoDpRule, "statistics", statistics)
    patch.setattr(raco_dp.RacoDpRule, "learn", follow)


def exact_statistics(honest: Callable[..., Any]) -> Callable[..., Any]:
    def release(rule: Any, k: int, epoch: int, kernel: Any, feed: Feed) -> Any:
        honest(rule, k, epoch, kernel, feed)
        method = rule.setting.methods[k]
        exact = partial(fairlens.sum_everyone, groups=2, bound=method.clip_primal, reach=method.reach)
        return exact(k, kernel=kernel, feed=feed)

    return release


def exact_shares(honest: Callable[..., Any]) -> Callable[..., Any]:
    def share(given: Any) -> np.ndarray:
        honest(given)
        shares: np.ndarray = given._train.group_sizes / given._train.group_sizes.sum()
        return shares

    return share


def exact_covariances(honest: Callable[..., Any]) -> Callable[..., Any]:
    """Features get their shares by covariances without noise."""

    def release(given: Any, name: str, compute: Callable[[], np.ndarray], bound: float) -> np.ndarray:
        released: np.ndarray = honest(given, name, compute, bound)
        return compute() if name == "covariances" else released

    return release


def prices_of_exact_counts(honest: Callable[..., Any]) -> Callable[..., Any]:
    def find(rule: Any, k: int, chances: np.ndarray) -> np.ndarray:
        honest(rule, k, chances)
        counts = dp2dp.count_decided(chances, rule.setting.trains[k], np.zeros(rule._kinds))
        shares: np.ndarray = counts / counts.sum()
        return shares

    return find


def exact_answers(honest: Callable[..., Any]) -> Callable[..., Any]:
    def ask(method: Any, questions: np.ndarray, labels: int, teach: Any, train: Dataset, training: Any) -> np.ndarray:
        honest(method, questions, labels, teach, train, training)
        exact: np.ndarray = votes.count_votes(teach(), questions, labels).argmax(axis=1)
        return exact

    return ask


def used_by_labels(honest: Callable[..., Any]) -> Callable[..., Any]:
    """An answer is not used where it is wrong."""

    def fit(method: Any, train: Dataset, training: Any) -> Any:
        pool = train.take(method._draw_public(train.n, training.seed)[: method.asked(train.n)])
        chosen = fair_pate.choose_answers
        fair_pate.choose_answers = lambda answers, *rest, **how: chosen(answers, *rest, **how) & (answers == pool.y)
        try:
            return honest(method, train, training)
        finally:
            fair_pate.choose_answers = chosen

    return fit


def true_answers(honest: Callable[..., Any]) -> Callable[..., Any]:
    return lambda train, training, epsilon: replace(honest(train, training, epsilon), answers=train.group)


LEAKS: dict[str, Fault] = {
    "answers that are the truth": Fault(
        replacing(answer_estimate, "release_responses", true_answers), "one_release_local-0"
    ),
    "answers of exact votes on groups": Fault(replacing(votes.Votes, "ask", exact_answers), "sf_pate-0"),
    "answers of exact votes on labels": Fault(replacing(votes.Votes, "ask", exact_answers), "fair_pate-0"),
    "answers judged by labels of the public part": Fault(
        replacing(fair_pate.FairPate, "fit", used_by_labels), "fair_pate-0"
    ),
    "exact shares of groups": Fault(replacing(functional_mechanism.Released, "_share_groups", exact_shares), "pflr-0"),
    "shares of features by exact covariances": Fault(
        replacing(functional_mechanism.Released, "release", exact_covariances), "adfc-0"
    ),
    "prices of exact counts": Fault(replacing(dp2dp.PricesRule, "_find_prices", prices_of_exact_counts), "dp2dp-0"),
    "exact sizes of groups": Fault(replacing(pf_ld, "release_counts", exact_sizes), "pf_ld-0"),
    "exact counts of a certificate": Fault(
        replacing(fairdp_certified, "release_sizes", exact_certified_sizes), "fairdp_certified-0"
    ),
    "exact decisions of groups": Fault(
        replacing(jagielski_post, "_release_counts", exact_decisions_of_groups), "jagielski_post-0"
    ),
    "dp_fermi with exact sizes": Fault(replacing(dp_fermi, "release_counts", exact_sizes), "dp_fermi-0"),
    "dp_fermi_record with exact sizes": Fault(
        replacing(dp_fermi_record, "release_counts", exact_sizes), "dp_fermi_record-0"
    ),
    "pf_ld_record with exact sizes": Fault(replacing(pf_ld_record, "release_counts", exact_sizes), "pf_ld_record-0"),
    "multipliers of exact counts": Fault(exact_histogram, "raco_dp-0"),
    "exact statistics": Fault(replacing(fairlens.FairLensRule, "_release_sums", exact_statistics), "fairlens-0"),
    "a clipping bound from one group": Fault(replacing(pf_ld, "choose_clip", clip_of_one_group), "pf_ld-1"),
    "opt_q with exact counts": Fault(replacing(Rule, "_release_both", exact_counts), "opt_q-0"),
    "fairdp_adaptive with exact counts": Fault(replacing(Rule, "_release_both", exact_counts), "fairdp_adaptive-0"),
    "a step divided by its sample's own size": Fault(replacing(Rule, "secret_update", own_size), "dp_sgd-0"),
    "a learner that adds no noise": Fault(replacing(jagielski_in._Game, "_respond", exact_answer), "jagielski_in-0"),
    "exact flips": Fault(replacing(one_release_record, "release_cumulative", exact_flips), "one_release_record-0"),
    "lambda of exact decisions": Fault(
        replacing(penalty_weight.PenaltyWeights, "_release", exact_decisions), "dp_fermi-4"
    ),
    "lambda of exact decisions of records": Fault(
        replacing(penalty_weight.PenaltyWeights, "_release", exact_decisions), "dp_fermi_record-2"
    ),
}
