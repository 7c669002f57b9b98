"""FairDP with certificates: each group's clipped gradients are noised on their own and averaged, group by group.

After "FairDP: Achieving fairness certification with differential privacy" (2024), Algorithms 1 and 2. With plain
gradient descent, averaging the group models after each step is one step along the mean of the groups' noisy gradients.
The paper trains by Adam, which can be read in two ways: "adam" is given that mean, and under "adam_by_group" each
group's model has an Adam of its own, before the models are averaged.

Neither the optimiser nor the schedule changes an epsilon. What leaves a step is its noisy sums alone, at one sampling
rate and noise multiplier throughout. Adam's moments are computed from noisy sums, a schedule from the public number of
the step: both are post-processing, and so are the points at which later gradients are taken, the bound M included. The
proved certificate counts the exported model's decisions on test rows, which training never sees: it holds of any model.
The paper's certificates take the last step's noise to be Gaussian around the mean weights (eq. 7). So the last step is
one of plain gradient descent under Adam too, and their spread has that step's rate, as the schedule leaves it.

The proved variant divides by constants, the expected sizes q n_k with n_k from noisy counts, and gives each record a
micro-batch of the last step by its row number; the published one divides by realised sizes and splits evenly, which a
record's presence shifts. A run of the proved variant certifies the model that it exports (runs/certificate.py), and may
end training at a look at its gap (certificate_looks.py); the published one makes the paper's certificates, for the
paper's figures alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from fairpriv_core import checks
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.clipping import with_bias
from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.loop import Bounding, Halting, PlainLast, Rule, Sampled
from fairpriv_core.engine.networks import NETWORKS
from fairpriv_core.engine.optimizers import SCHEDULES, Adam, rate_factor
from fairpriv_core.engine.rows import Feed, Indices, Records
from fairpriv_core.engine.training import Fitted, Training
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import MethodInfo, Style, parameter
from fairpriv_core.methods.cell_counts import check_sizes
from fairpriv_core.methods.shared import certificate_looks
from fairpriv_core.methods.shared.certificates import (
    OF_PAPER,
    CellSums,
    empirical_bound,
    monte_carlo_error,
    positive_probabilities,
    spread,
    worst_case_bound,
)
from fairpriv_core.methods.shared.noisy_sums import NoisySums, NoisySumsRule, clipped_loss_weights
from fairpriv_core.methods.shared.releases import Release
from fairpriv_core.methods.shared.setting import Setting
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.cells import LABELS
from fairpriv_core.notions.notion import Notion
from fairpriv_core.privacy.sums import on_grid, sensitivity
from fairpriv_core.seeds import public_generator

BY_GROUP = "adam_by_group"
_CHUNK = 4096
RANDOMISED = "a classifier whose last layer is drawn anew around the exported one, which is not the one exported"


@dataclass(frozen=True)
class FairDpCertified(NoisySums):
    """Hyper-parameters. `share_counts` is a share of mu^2 as for PF-LD (proved variant)."""

    info: ClassVar[MethodInfo] = MethodInfo(
        name="fairdp_certified",
        title="FairDP, certified",
        style=Style("purple", "dashdot", "triangle-up"),
        summary="Every group contributes equally under its own noise; a run bounds the gap of the model it exports.",
        citation="FairDP: Achieving fairness certification with differential privacy (2024), Algorithms 1 and 2",
        threat_model="record",
        source="paper",
        only=("demographic_parity", "equal_opportunity", "equalized_odds"),
        variants=fields.VARIANTS,
        calibrates="noise_primal",
        certifies=True,
        counts_groups=True,
    )
    OPTIMIZERS: ClassVar[tuple[str, ...]] = (*fields.OPTIMIZERS, BY_GROUP)
    FOUND_ON: ClassVar[str] = "Adult, Bank, COMPAS, credit default and synthetic data"
    UNPROVED: ClassVar[str] = (
        "The published accounting does not hold: sums are divided by the realised sizes of secret samples, one "
        "more record shifts the even split of the last step, and the certificate's noise ignores its divisors."
    )

    batch_size: int = fields.shared("batch_size", 1024)
    learning_rate: float = fields.shared("learning_rate", 0.2)
    hidden_layers: int = fields.shared("hidden_layers", 1)
    width: int = fields.shared("width", 32)
    network: str = fields.shared("network")
    optimizer: str = parameter(
        "sgd",
        "Optimizer",
        "How a step follows the noisy gradients; ε is the same. adam follows the groups' mean, adam_by_group each "
        "group's own. The last step is always plain (sgd), as the paper's certificates need its noise to be Gaussian.",
        choices=OPTIMIZERS,
        paper="adam",
        expert=True,
    )
    schedule: str = parameter(
        "constant",
        "Schedule of the learning rate",
        "constant; halved: half of it in the second half of the steps, where the paper reduces it; inverse_sqrt: "
        "divided by √t at step t, as the paper's Theorem 6 asks.",
        choices=SCHEDULES,
        paper="reduced half-way",
        expert=True,
    )
    variant: str = fields.shared("variant")
    weight_bound: float = parameter(
        0.7,
        "Weight bound M",
        "Largest norm of the scoring layer before each step. Small: fairer, and closer to the constant classifier.",
        low=0.01,
        high=100.0,
        log=True,
        paper="0.25 to 1",
    )
    ensemble: int = parameter(
        100, "Ensemble n", "Micro-batches of the last step, each a noisy scoring layer.", low=2, high=10_000, log=True
    )
    failure: float = parameter(
        0.05,
        "Failure β",
        "Chance that the certificate does not hold; as published, that one group's rate leaves its interval.",
        low=1e-6,
        high=0.5,
        log=True,
        paper="0.05",
    )
    noise_counts: float | None = fields.noise_multiplier("Count noise σ_c", "the counts' shift of 1")
    noise_certificate: float | None = fields.noise_multiplier(
        "Certificate noise", "the shift that the paper gives its certificate (published variant)"
    )
    share_counts: float = fields.shared("share_counts", 0.02)
    certificate_target: float | None = certificate_looks.certificate_target()
    looks: int = certificate_looks.looks()
    share_looks: float = certificate_looks.share_looks()
    noise_looks: float | None = certificate_looks.noise_looks()

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of(SCHEDULES, schedule=self.schedule)
        checks.one_of(NETWORKS, network=self.network)  # the certificate is one of the scoring layer, which they end in
        checks.one_of(fields.VARIANTS, variant=self.variant)
        checks.positive(weight_bound=self.weight_bound)
        checks.whole(low=2, ensemble=self.ensemble)
        checks.open_unit(failure=self.failure)
        checks.open_unit(share_counts=self.share_counts)
        certificate_looks.check_looks(self)

    def last_rate(self, n_train: int) -> float:
        """Return the learning rate of the last step, a plain one, as the schedule leaves it."""
        steps = self.steps(n_train)
        return self.learning_rate * rate_factor(self.schedule, steps - 1, steps)

    def releases(self, n_train: int, groups: int) -> tuple[Release, ...]:
        """The group sizes, which a record zeroed out moves by 1; all planned looks; a step's sum a group, in parallel.

        As published: the steps, and the paper's certificate; sizes are read in clear.
        """
        steps = self.step_sum(n_train, self.clip_primal)
        assert steps.sample is not None
        return (
            Release("counts", 1.0, "noise_counts", share="share_counts", needed=self.proved),
            *certificate_looks.releases_of_looks(self),
            replace(steps, sample=replace(steps.sample, by_group=True)),
            Release("certificate", None, "noise_certificate", needed=not self.proved, laplace=True),
        )

    def count_deviation(self) -> float | None:
        """A record zeroed out leaves one size; the published variant needs none."""
        return self.noise("noise_counts") if self.proved else None

    def require_possible(self, notion: Notion, *, n_train: int, groups: int) -> None:
        """Raise BadInput for a target that no look can be below."""
        certificate_looks.require_reachable(self, notion, n_train=n_train, groups=groups)

    @property
    def certified_failure(self) -> float | None:
        """The chance that the exported model's certificate may fail with; None as published, where none is made."""
        return self.failure if self.proved else None

    def calibrated(self, *, epsilon: float, delta: float, n_train: int) -> Self:
        """Return a copy with every noise set that is not set by hand.

        As published by Theorem 1: the moments accountant on one group's steps, which counts nothing else.
        """
        known = self
        if not self.proved and self.noise_certificate is None:
            known = replace(self, noise_certificate=1.0)
        return super(FairDpCertified, known).calibrated(epsilon=epsilon, delta=delta, n_train=n_train)

    def taken_as_given(self) -> tuple[str, ...]:
        """What is public, and what a neighbour is."""
        return (*super().taken_as_given(), "The list of groups is public; a record zeroed out belongs to none of them.")

    @classmethod
    def rule(cls, setting: Setting[Any]) -> Rule:
        return FairDpCertifiedRule(setting)

    @classmethod
    def fit_many(cls, methods: Sequence[Any], trains: Sequence[Dataset], trainings: Sequence[Training]) -> list[Fitted]:
        """Train K models in one loop; one that ended at a look states its planned length. Errors as for all."""
        n = trains[0].n
        return [
            certificate_looks.as_planned(fitted, planned=method.event(n), steps_per_epoch=method.steps_per_epoch(n))
            for method, fitted in zip(methods, super().fit_many(methods, trains, trainings), strict=True)
        ]


class FairDpCertifiedRule(Bounding, Halting, PlainLast, NoisySumsRule):
    """One noisy sum a step for each group, on its own part of the data; the last step's in micro-batches."""

    def __init__(self, setting: Setting[Any]) -> None:
        super().__init__(setting)
        self._samples: list[Indices] = []
        self._looks = certificate_looks.Looks(self.setting)
        models, first = self.setting.methods, self.setting.trains[0]
        self._shape = self.setting.shape
        rate, start = np.ones((1, 1)), self._shape.initial(0)[None].astype(np.float64)
        groups = range(first.groups if models[0].optimizer == BY_GROUP else 0)
        self._adams = [[Adam(rate, start) for _ in groups] for _ in models]  # one a group; none under another optimiser
        self.arrays["noisy_counts"] = np.ones((len(models), first.groups))
        self._notes: list[dict[str, object]] = [{} for _ in models]
        for k, training in enumerate(self.setting.trainings):
            if training.checkpoint is None and models[k].proved:
                self.arrays["noisy_counts"][k] = release_sizes(self.setting, k)

    def samples(self, epoch: int, batches: list[Indices]) -> list[Indices] | None:
        epoch_samples = super().samples(epoch, batches)
        assert epoch_samples is not None
        self._samples = epoch_samples
        return epoch_samples

    def secret_update(self, sampled: Sampled) -> np.ndarray:
        weights = clipped_loss_weights(sampled.records, self.column_of(self.bounds()).astype(np.float32))
        members = sampled.records.group
        last = sampled.step == self.setting.methods[0].steps(self.setting.n) - 1
        groups = self.arrays["noisy_counts"].shape[1]
        update = np.zeros(sampled.kernel.parameters.shape)
        for group in range(groups):
            own = weights * (members == group)
            sums = self._micro_sums(sampled, own, group) if last else sampled.sum(own)[:, None]
            for k in np.flatnonzero(~self._looks.ended).tolist():
                total = sums[k]
                released = self._release_part(k, total, sampled, group).reshape(total.shape)
                mean = (released / self._divisors(k, sampled, group, len(total))).mean(axis=0)
                if self._adams[k] and not last:
                    mean = self._adams[k][group].find_step(mean[None], np.ones((1, 1)))[0]
                update[k, -mean.size :] += mean / groups
        return update

    def end_epoch(self, epoch: int, kernel: Kernel, feed: Feed) -> None:
        self._looks.end_epoch(epoch, kernel, feed)
        if epoch + 1 == self.setting.methods[0].epochs:
            for k in np.flatnonzero(~self._looks.ended).tolist():
                self._notes[k] = self._conclude(k, kernel, feed)

    def has_halted(self) -> bool:
        return bool(self._looks.ended.all())

    def notes(self, model: int) -> dict[str, object]:
        names, method = self.setting.trains[model].group_names, self.setting.methods[model]
        counts = dict(zip(names, self.arrays["noisy_counts"][model].tolist(), strict=True)) if method.proved else {}
        return {"noisy_counts": counts, **self._notes[model], **self._looks.notes(model)}

    def state(self, model: int) -> dict[str, np.ndarray]:
        notes = json.dumps(self._notes[model]).encode()
        own = {**super().state(model), **self._looks.state(model)}
        for group, adam in enumerate(self._adams[model]):
            own |= {f"{name}_{group}": value for name, value in adam.state().items()}
        return {**own, "notes": np.frombuffer(notes, dtype=np.uint8)}

    def load(self, model: int, state: Mapping[str, np.ndarray]) -> None:
        super().load(model, state)
        self._looks.load(model, state)
        for group, adam in enumerate(self._adams[model]):
            adam.load({name: state[f"{name}_{group}"] for name in adam.state()})
        self._notes[model] = json.loads(state["notes"].tobytes())

    def bound_weights(self, parameters: np.ndarray) -> None:
        """Scale each model's scoring layer to a norm of at most M, in place (Algorithm 1, line 4)."""
        bound_scoring_layer(parameters, self._inputs(parameters), self.setting.column("weight_bound"))

    def _inputs(self, parameters: np.ndarray) -> int:
        """Return how many values the scoring layer of models (K, P) is fed, without the bias's 1."""
        return int(self._shape.views(parameters)[-1][0].shape[2])

    def _conclude(self, k: int, kernel: Kernel, feed: Feed) -> dict[str, object]:
        """Return what a trained model's notes say of the paper's certificates."""
        if not self.setting.methods[k].proved:
            return {"certificates": paper_certificates(self.setting, k, kernel=kernel, feed=feed)}
        scoring = kernel.parameters[k, -(self._inputs(kernel.parameters) + 1) :]
        sizes = self.arrays["noisy_counts"][k]
        return {"randomised": bound_worst_case(self.setting, k, sizes=sizes, scoring=scoring)}

    def _micro_sums(self, sampled: Sampled, weights: np.ndarray, group: int) -> np.ndarray:
        """Return the sums of the scoring layer's gradients over each micro-batch (K, n_mc, inputs + 1)."""
        step = sampled.step % self.setting.methods[0].steps_per_epoch(self.setting.n)
        micro = []
        for k, (method, training) in enumerate(zip(self.setting.methods, self.setting.trainings, strict=True)):
            streams = self._samples[step]
            index = streams[k * len(streams) // len(self.setting.methods)]
            if method.proved:
                micro.append(draw_micro_batches(training.seed, n=self.setting.n, parts=method.ensemble)[index])
            else:
                inside = self._members_of(sampled.records, k, group)[: len(index)]
                micro.append(deal_micro_batches(inside, method.ensemble))
        reach = float(self.bounds().max())
        return sum_by_micro_batch(sampled, weights, micro, parts=self.setting.methods[0].ensemble, bound=reach)

    def _release_part(self, model: int, total: np.ndarray, sampled: Sampled, group: int) -> np.ndarray:
        sample = self.setting.sums[model][1]
        return self.setting.trainings[model].mechanism.sampled_gaussian(
            total.reshape(-1),
            radius=float(self.noise_bounds()[model]),
            noise_multiplier=self._noises[model],
            sampling_rate=sample.rate,
            relation=sample.relation,
            step=sampled.step,
            part=str(group),
        )

    def _divisors(self, model: int, sampled: Sampled, group: int, parts: int) -> float | np.ndarray:
        """Return what a group's sums are divided by: the expected size, or as published the realised ones."""
        method = self.setting.methods[model]
        if method.proved:
            return float(method.rate(self.setting.n) * self.arrays["noisy_counts"][model, group] / parts)
        records = sampled.records
        members = int(self._members_of(records, model, group).sum())
        sizes = np.array([len(range(part, members, parts)) for part in range(parts)], dtype=np.float64)
        divisors: np.ndarray = sizes.clip(min=1.0).reshape(-1, 1)
        return divisors

    def _members_of(self, records: Records, model: int, group: int) -> np.ndarray:
        """Return whether each record is there and in `group`."""
        inside = (records.group == group) & (records.present > 0)
        members: np.ndarray = np.broadcast_to(inside, records.logits.shape)[model]
        return members


def release_sizes(setting: Setting[FairDpCertified], k: int) -> np.ndarray:
    """Release the group sizes of model k, (groups,).

    Raises RunFailed, naming the group and its noisy size, where one is too small; that release is paid for too.
    """
    train = setting.trains[k]
    noisy = setting.release(k, "counts", train.group_sizes)
    check_sizes(train.group_names, noisy)
    return noisy


def bound_worst_case(
    setting: Setting[FairDpCertified], k: int, *, sizes: np.ndarray, scoring: np.ndarray
) -> dict[str, object]:
    """Return Theorem 2 of model k, proved: post-processing of noisy `sizes` (groups,) and of the released weights.

    `scoring` (inputs + 1,) is the scoring layer that is released, so its norm is the mean weights' own. The bound is
    None where it rounds to 1. It is about a classifier that is not exported, which `about` says.
    """
    deviation = _deviation(setting, k, sizes)
    bound = worst_case_bound(float(np.linalg.norm(scoring.astype(np.float64))), deviation)
    return {
        "about": _format_subject(setting.methods[k]),
        "spread": deviation,
        "theorem_2": bound if bound < 1.0 else None,
    }


def paper_certificates(setting: Setting[FairDpCertified], k: int, *, kernel: Kernel, feed: Feed) -> dict[str, object]:
    """Return model k's certificates as published, JSON: Proposition 3 with Laplace noise, Theorem 2 with M + eta C.

    They are the paper's: of the randomised classifier, from the training rows, with noise that no epsilon is proved of.
    """
    method, train = setting.methods[k], setting.trains[k]
    sizes = train.group_sizes.clip(1.0)
    deviation = _deviation(setting, k, sizes)
    cells = _cell_sums(setting, k, deviation=deviation, kernel=kernel, feed=feed)
    wanted_notions = [notions()[name] for name in method.info.notions]
    bounds = [
        empirical_bound(cells, notion, failure=method.failure, samples=method.ensemble) for notion in wanted_notions
    ]
    finite = np.array([1.0 if bound is None else bound for bound in bounds])
    noisy = setting.release(k, "certificate", finite, sensitivity=float(len(bounds) / sizes.min()))
    worst = worst_case_bound(method.weight_bound + method.last_rate(setting.n) * method.clip_primal, deviation)
    return {
        "of": OF_PAPER,
        "about": _format_subject(method),
        "bounds": dict(zip(method.info.notions, noisy.clip(0.0, 1.0).tolist(), strict=True)),
        "failure": method.failure * train.groups,
        "theorem_2": min(worst + monte_carlo_error(method.ensemble), 1.0),
    }


def _format_subject(method: FairDpCertified) -> str:
    """Return what the paper's certificates are about; of Adam's steps, that the last one was plain."""
    return RANDOMISED if method.optimizer == "sgd" else f"{RANDOMISED}; all steps were Adam's but for a plain last one"


def _deviation(setting: Setting[FairDpCertified], k: int, sizes: np.ndarray) -> float:
    """Return s of one model of the ensemble, its micro-batches being of groups of `sizes`."""
    method = setting.methods[k]
    return spread(
        learning_rate=method.last_rate(setting.n),
        noise=method.noise() * (sensitivity(method.clip_primal) if method.proved else method.clip_primal),
        divisors=(method.rate(setting.n) * sizes / method.ensemble).tolist(),
    )


def _cell_sums(setting: Setting[FairDpCertified], k: int, *, deviation: float, kernel: Kernel, feed: Feed) -> CellSums:
    """Return sums of chances and counts by (group, label)."""
    shape = (setting.trains[k].groups, LABELS)
    probabilities = positive_probabilities(*_scores(k, kernel, feed), deviation)
    columns, cells = feed.columns[k], math.prod(shape)
    code, chances = columns.codes[columns.present], probabilities[columns.present]
    sums = np.bincount(code, weights=np.where(np.isfinite(chances), chances, 0.0), minlength=cells)
    counts = np.bincount(code, minlength=cells).astype(np.float64)
    return CellSums(sums.reshape(shape), counts.reshape(shape))


def _scores(k: int, kernel: Kernel, feed: Feed) -> tuple[np.ndarray, np.ndarray]:
    """Return each training row's score at model k's weights, and the norm of its embedding with the bias's 1."""
    scores, alone = kernel.score(slice(k, k + 1), feed.columns[k].features)[0], kernel.alone(k)
    norms = []
    for start in range(0, feed.n, _CHUNK):
        embedding = alone.run(feed.columns[k].features[start : start + _CHUNK][None]).embeddings[0]
        norms.append(np.sqrt(with_bias(embedding)))
    return scores.astype(np.float64), np.concatenate(norms).astype(np.float64)


def bound_scoring_layer(parameters: np.ndarray, inputs: int, bounds: np.ndarray) -> None:
    """Scale each model's last layer (K, P), inputs + 1 values with its bias, to a norm of at most `bounds` (K, 1)."""
    scoring = parameters[:, -(inputs + 1) :]
    norms = np.linalg.norm(scoring, axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        scoring *= np.nan_to_num(np.minimum(bounds / norms, 1.0), nan=1.0)


def draw_micro_batches(seed: int, *, n: int, parts: int) -> np.ndarray:
    """Return each row's micro-batch (n,), drawn publicly and independently: no row's depends on another's presence."""
    return public_generator(seed, "micro-batches").integers(0, parts, n)


def deal_micro_batches(inside: np.ndarray, parts: int) -> np.ndarray:
    """Return each sampled row's micro-batch, dealt in turn among the rows `inside` (S,): as even as can be."""
    dealt: np.ndarray = (np.cumsum(inside) - 1).clip(0) % parts
    return dealt


def sum_by_micro_batch(
    sampled: Sampled, weights: np.ndarray, micro: Sequence[np.ndarray], *, parts: int, bound: float
) -> np.ndarray:
    """Return the sums of weight times the last layer's gradient over each micro-batch: (K, parts, inputs + 1).

    `weights` (K, S), 0 where a record is left out; `micro[k]` gives the micro-batches of model k's own records. A
    gradient times its weight is at most `bound` long.
    """
    inputs = sampled.passed.embeddings[:, sampled.rows]
    factors = np.nan_to_num(weights, nan=0.0)[:, :, None]
    gradients = np.concatenate([inputs, np.ones_like(inputs[:, :, :1])], axis=2) * factors
    clipped = on_grid(np.where(factors != 0, gradients, 0.0), bound)
    sums = np.zeros((len(clipped), parts, clipped.shape[2]))
    for total, of, rows in zip(sums, micro, clipped, strict=True):
        np.add.at(total, of, rows[: len(of)])
    return sums
