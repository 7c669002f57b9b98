"""The one training loop: public batches, secret samples, one update, K models; a single run is K = 1.

A method gives a `Rule`: a weight for each record of the public batch, what becomes of the secret sample's records and
the mechanism through which their sum passes, and what happens at the end of an epoch. The loop owns the order
of things, the optimiser, what observers see, and checkpoints.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from typing import Protocol

import numpy as np
from threadpoolctl import ThreadpoolController

from fairpriv_core.engine.kernel import Kernel, Pass
from fairpriv_core.engine.layers import LayeredShape
from fairpriv_core.engine.modules import ModuleShape
from fairpriv_core.engine.networks import Shape
from fairpriv_core.engine.optimizers import GradientDescent, build_optimizer, rate_factor
from fairpriv_core.engine.rows import Feed, Indices, Records, count_streams
from fairpriv_core.engine.training import Fitted, Training
from fairpriv_core.engine.watch import Bound, build_snapshots
from fairpriv_core.errors import BadInput, RunFailed
from fairpriv_core.seeds import public_generator

_ELSEWHERE = "fairpriv_core.engine.torch.device"  # these need torch, which takes seconds to load
_LAYERED = "fairpriv_core.engine.torch.kernel"
_OWN = "fairpriv_core.engine.torch.module_kernel"


def steps_per_epoch(n: int, batch_size: int) -> int:
    """Return the number of batches that cover `n` rows; BadInput when a batch is larger than the data."""
    if batch_size > n:
        raise BadInput(f"batch_size must be at most the {n} training rows, got {batch_size}.", field="batch_size")
    return -(-n // batch_size)


def public_batches(seed: int, *, n: int, batch_size: int, epoch: int) -> list[np.ndarray]:
    """Return one epoch's batches: row indices, each row once, the last batch possibly smaller."""
    order = public_generator(seed, "batches", epoch).permutation(n)
    return [order[start : start + batch_size] for start in range(0, n, batch_size)]


@dataclass(frozen=True)
class Schedule:
    """How long and how fast to train; the same for the K models of one loop but for the learning rates (K,).

    `pace`, one of SCHEDULES, is how the rates follow the step.
    """

    epochs: int
    batch_size: int
    optimizer: str
    learning_rates: tuple[float, ...]
    pace: str = "constant"


class Rule(Protocol):
    """What a method adds to the one training step."""

    @property
    def uses_batches(self) -> bool:
        """Whether public batches are drawn."""

    @property
    def samples_batches(self) -> bool:
        """Whether what is sampled is the public batch, as published: `secret_update` is then the whole update."""

    def samples(self, epoch: int, batches: list[Indices]) -> list[Indices] | None:
        """Return the secret samples of an epoch, [step][stream] -> row indices; None when nothing will be released."""

    def public_weights(self, records: Records) -> np.ndarray:
        """Return each batch record's weight (K, B): the update is the weighted sum of the logit's gradients."""

    def secret_update(self, sampled: Sampled) -> np.ndarray:
        """Return the update (K, P) that comes of the secret sample: bounded sums, noise added, releases counted."""

    def end_epoch(self, epoch: int, kernel: Kernel, feed: Feed) -> None:
        """Do what is due between epochs, such as a dual step."""

    def watched(self, records: Records) -> dict[str, tuple[np.ndarray, Bound]]:
        """Return what the analyst's histograms show: name -> values (K, m) and the bound that clips them."""

    def scalars(self, model: int) -> dict[str, float]:
        """Return the analyst's curves of one model, beside the loss."""

    def notes(self, model: int) -> dict[str, object]:
        """Return what is exported with one model, JSON only."""

    def state(self, model: int) -> dict[str, np.ndarray]:
        """Return what a checkpoint of one model holds beside parameters and mechanism."""

    def load(self, model: int, state: Mapping[str, np.ndarray]) -> None:
        """Go on from what `state` returned."""


@dataclass(frozen=True)
class Sampled:
    """A step's secret sample, or its batch: `records`, the pass that they are `rows` of, the kernel that sums them."""

    kernel: Kernel
    passed: Pass
    rows: slice
    records: Records
    step: int

    def sum(self, weights: np.ndarray) -> np.ndarray:
        """Return the weighted sum of the logit's gradients (K, P) float64; see `Kernel.weighted_sum`, `bounded`."""
        return self.kernel.weighted_sum(self.passed, weights, self.rows, bounded=True)

    def back(self, seeds: np.ndarray) -> Sampled:
        """Return the same records, a whole pass, with the gradients of sum_c seeds_c logits_c, `seeds` (K, B, l)."""
        records = self.records.back(seeds)
        return replace(self, passed=records.passed, records=records)


class Stateful:
    """Mixin of a rule that goes on from `arrays`, by name, each array's first axis the model: all are checkpointed.

    They are changed in place.
    """

    arrays: dict[str, np.ndarray]

    def prepare(self) -> None:
        """Derive what follows from the arrays, which no checkpoint holds."""

    def state(self, model: int) -> dict[str, np.ndarray]:
        """Return a copy of what is one model's."""
        return {name: value[model].copy() for name, value in self.arrays.items()}

    def load(self, model: int, state: Mapping[str, np.ndarray]) -> None:
        """Go on from what `state` returned."""
        for name, value in self.arrays.items():
            value[model] = state[name]
        self.prepare()


class Seeding(ABC):
    """Mixin of a rule for networks with an output a label, that needs other gradients than the losses'.

    The secret sample's pass has outputs alone: `Sampled.back` gives the gradients of what the rule asks for.
    """

    @abstractmethod
    def public_update(self, batch: Sampled) -> np.ndarray:
        """Return the update (K, P) that comes of a public batch; it takes the place of `public_weights`."""


class Bounding(ABC):
    """Mixin of a rule that bounds the parameters."""

    @abstractmethod
    def bound_weights(self, parameters: np.ndarray) -> None:
        """Bound the parameters (K, P) in place, before each step."""


class Keeping(ABC):
    """Mixin of a rule that may return another iterate than the last one."""

    @abstractmethod
    def keep(self, parameters: np.ndarray, step: int) -> None:
        """Copy what is to be returned of the parameters (K, P) after `step` steps, from 1."""

    @abstractmethod
    def kept(self, model: int) -> np.ndarray | None:
        """Return a model's parameters (P,) that were copied; None where the last ones are returned."""


class Halting(ABC):
    """Mixin of a rule that may end training at the end of an epoch before the last."""

    @abstractmethod
    def has_halted(self) -> bool:
        """Return whether no model learns any more."""


class PlainLast:
    """Mixin of a rule whose last step is one of plain gradient descent, whatever the optimiser of the others."""


class OneSum(ABC):
    """Mixin of a rule that releases one sum a step: a weight for each sampled record, then the mechanism."""

    def secret_update(self, sampled: Sampled) -> np.ndarray:
        """Return the update (K, P) that comes of the sample's sum."""
        return self.release(sampled.sum(self.secret_weights(sampled.records)), sampled.records, sampled.step)

    @abstractmethod
    def secret_weights(self, records: Records) -> np.ndarray:
        """Return each sampled record's weight (K, S), 0 where not present; the sum's contributions are bounded."""

    @abstractmethod
    def release(self, totals: np.ndarray, records: Records, step: int) -> np.ndarray:
        """Return the update (K, P) that comes of the sample's sums (K, P), noise added and releases counted."""


def train(rule: Rule, *, shape: Shape, schedule: Schedule, feed: Feed, trainings: Sequence[Training]) -> list[Fitted]:
    """Train K models and return them in order; raises RunFailed when a model diverges.

    One thread multiplies: small matrices gain nothing from more, and on busy cores threads that wait for each other
    cost many times the work.
    """
    loop = _Loop(rule, shape, schedule, feed, trainings)
    quiet = np.errstate(all="ignore")  # what is not finite is dropped, or ends the run with a sentence
    with quiet, find_pools(len(sys.modules)).limit(limits=1, user_api="blas"):
        for epoch in range(loop.step // loop.steps_per_epoch, schedule.epochs):
            if isinstance(rule, Halting) and rule.has_halted():
                break
            loop.run_epoch(epoch)
    return loop.fitted()


@lru_cache(maxsize=1)
def find_pools(modules: int) -> ThreadpoolController:
    """Return the threads of the libraries that multiply: looked for again only where a module has been loaded since.

    Looking for them takes longer than a small fit.
    """
    return ThreadpoolController()


class _Loop:
    def __init__(self, rule: Rule, shape: Shape, schedule: Schedule, feed: Feed, trainings: Sequence[Training]) -> None:
        self._rule, self._schedule, self._feed, self._trainings = rule, schedule, feed, trainings
        start = np.stack([shape.initial(training.seed) for training in trainings])
        self._kernel = open_kernel(shape, start, trainings[0].device)
        rates = np.array(schedule.learning_rates, dtype=start.dtype).reshape(-1, 1)
        self._optimizer = build_optimizer(schedule.optimizer, rates, self._kernel.parameters)
        self._last = GradientDescent(rates) if isinstance(rule, PlainLast) else self._optimizer
        self.steps_per_epoch = steps_per_epoch(feed.n, schedule.batch_size)
        seeds = [training.seed for training in trainings]
        streams = count_streams([(id(columns), seed) for columns, seed in zip(feed.columns, seeds, strict=True)])
        self._seeds = seeds[:: len(seeds) // streams]  # models of one data set and seed share batches
        self.step = 0
        if all(training.checkpoint is not None for training in trainings):
            self._load([training.checkpoint for training in trainings if training.checkpoint is not None])

    def run_epoch(self, epoch: int) -> None:
        batches = self._batches(epoch)
        samples = self._rule.samples(epoch, batches)
        for index in range(self.step % self.steps_per_epoch, self.steps_per_epoch):
            self._take_step(batches[index] if batches else None, samples[index] if samples is not None else None)
            if index == self.steps_per_epoch - 1:
                self._end_epoch(epoch)
            self._commit_if_due()

    def fitted(self) -> list[Fitted]:
        return [
            Fitted(
                network=self._kernel.shape,
                parameters=self._returned(k).copy(),
                events=training.mechanism.events,
                steps=self.step,
                notes=self._rule.notes(k),
            )
            for k, training in enumerate(self._trainings)
        ]

    def _returned(self, k: int) -> np.ndarray:
        copied = self._rule.kept(k) if isinstance(self._rule, Keeping) else None
        parameters: np.ndarray = self._kernel.parameters[k] if copied is None else copied
        return parameters

    def _batches(self, epoch: int) -> list[Indices]:
        if not self._rule.uses_batches:
            return []
        size, n = self._schedule.batch_size, self._feed.n
        streams = {seed: public_batches(seed, n=n, batch_size=size, epoch=epoch) for seed in set(self._seeds)}
        return [list(step) for step in zip(*(streams[seed] for seed in self._seeds), strict=True)]

    def _take_step(self, batch: Indices | None, sample: Indices | None) -> None:
        if isinstance(self._rule, Bounding):
            self._rule.bound_weights(self._kernel.parameters)
        steps = self._schedule.epochs * self.steps_per_epoch
        optimizer = self._last if self.step == steps - 1 else self._optimizer
        factor = rate_factor(self._schedule.pace, self.step, steps)
        optimizer.update(self._kernel.parameters, self._update(batch, sample), factor)
        self.step += 1
        if isinstance(self._rule, Keeping):
            self._rule.keep(self._kernel.parameters, self.step)

    def _update(self, batch: Indices | None, sample: Indices | None) -> np.ndarray:
        if sample is not None and (batch is None or self._rule.samples_batches):
            return self._learn_secretly(sample)
        assert batch is not None, "a rule draws batches, samples or both"
        if sample is None:
            return self._learn_publicly(batch)
        apart = self._kernel.parts_at(len(batch[0]))  # no bit of the batch's rows tells how many are in the sample
        if apart and len(batch) == len(sample) and not isinstance(self._rule, Seeding):
            return self._learn_together(batch, sample)
        update = self._learn_publicly(batch).copy()
        update += self._learn_secretly(sample, losses=not isinstance(self._rule, Seeding))
        return update

    def _learn_together(self, batch: Indices, sample: Indices) -> np.ndarray:
        """Return the update of a public batch and a secret sample, gathered and passed through as one."""
        size = len(batch[0])
        passed, records = self._pass([np.concatenate(pair) for pair in zip(batch, sample, strict=True)])
        public, secret = slice(0, size), slice(size, None)
        weights = self._rule.public_weights(records.part(public))
        update = self._release(passed, records.part(secret), secret)
        update += self._kernel.weighted_sum(passed, weights, public)
        return update

    def _learn_publicly(self, batch: Indices) -> np.ndarray:
        passed, records = self._pass(batch)
        if isinstance(self._rule, Seeding):
            return self._rule.public_update(Sampled(self._kernel, passed, slice(None), records, self.step))
        return self._kernel.weighted_sum(passed, self._rule.public_weights(records), slice(None))

    def _learn_secretly(self, sample: Indices, *, losses: bool = True) -> np.ndarray:
        return self._release(*self._pass(sample, losses=losses), slice(None))

    def _pass(self, rows: Indices, *, losses: bool = True) -> tuple[Pass, Records]:
        batch = self._feed.draw(rows)
        passed = self._kernel.take(batch) if losses else self._kernel.run(batch.features)
        return passed, Records(passed, batch)

    def _release(self, passed: Pass, records: Records, rows: slice) -> np.ndarray:
        update = self._rule.secret_update(Sampled(self._kernel, passed, rows, records, self.step))
        return update.astype(self._kernel.parameters.dtype, copy=False)

    def _end_epoch(self, epoch: int) -> None:
        if not np.isfinite(self._kernel.parameters).all():
            raise RunFailed(
                f"training diverged in epoch {epoch + 1}: parameters are no longer finite; lower learning_rate "
                f"(now {self._schedule.learning_rates[0]}) or the noise."
            )
        self._rule.end_epoch(epoch, self._kernel, self._feed)
        models = [k for k, training in enumerate(self._trainings) if training.observer.watches(epoch)]
        snapshots = build_snapshots(
            models, rule=self._rule, kernel=self._kernel, feed=self._feed, epoch=epoch, step=self.step
        )
        for k, snapshot in zip(models, snapshots, strict=True):
            self._trainings[k].observer.show(snapshot)

    def _commit_if_due(self) -> None:
        for k, training in enumerate(self._trainings):
            if training.observer.due():
                training.observer.commit(
                    step=self.step, events=training.mechanism.events, checkpoint=self._checkpoint(k, training)
                )

    def _checkpoint(self, k: int, training: Training) -> dict[str, np.ndarray]:
        return {
            "step": np.array(self.step),
            "parameters": self._kernel.parameters[k].copy(),
            **{name: np.asarray(value[k]) for name, value in self._optimizer.state().items()},
            **self._rule.state(k),
            **training.mechanism.state(),
        }

    def _load(self, checkpoints: Sequence[Mapping[str, np.ndarray]]) -> None:
        self.step = int(checkpoints[0]["step"])
        stacked = {name: np.stack([checkpoint[name] for checkpoint in checkpoints]) for name in self._optimizer.state()}
        self._optimizer.load(stacked)
        for k, checkpoint in enumerate(checkpoints):
            self._kernel.parameters[k] = checkpoint["parameters"]
            self._rule.load(k, checkpoint)


def open_kernel(shape: Shape, parameters: np.ndarray, device: str) -> Kernel:
    kernel: Kernel
    if isinstance(shape, LayeredShape):
        kernel = import_module(_LAYERED).TorchKernel(shape, parameters, device)
    elif isinstance(shape, ModuleShape):
        kernel = import_module(_OWN).ModuleKernel(shape, parameters, device)
    elif device == "cpu":
        kernel = Kernel(shape, parameters)
    else:
        kernel = import_module(_ELSEWHERE).DeviceKernel(shape, parameters, device)
    return kernel
