"""The rule of FairDP with certificates (methods/fairdp_certified.py)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.loop import Sampled
from fairpriv_core.engine.presets import AnyShape
from fairpriv_core.engine.records import Feed, Indices, Records
from fairpriv_core.methods.rules.fairdp_releases import bound_worst_case, paper_certificates, release_sizes
from fairpriv_core.methods.rules.noisy_sums import NoisySumsRule, clipped_loss_weights
from fairpriv_core.methods.rules.scoring_layer import (
    bound_scoring_layer,
    deal_micro_batches,
    draw_micro_batches,
    sum_by_micro_batch,
)


@dataclass
class FairDpCertifiedRule(NoisySumsRule):
    """One noisy sum a step for each group, on its own part of the data; the last step's in micro-batches."""

    _samples: list[Indices] = field(init=False, default_factory=list)
    _notes: list[dict[str, object]] = field(init=False)
    _shape: AnyShape = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        models, first = self.setting.methods, self.setting.trains[0]
        self._shape = self.setting.shape
        self.kept["noisy_counts"] = np.ones((len(models), first.groups))
        self._notes = [{} for _ in models]
        for k, training in enumerate(self.setting.trainings):
            if training.checkpoint is None and models[k].proved:
                self.kept["noisy_counts"][k] = release_sizes(self.setting, k)

    def samples(self, epoch: int, batches: list[Indices]) -> list[Indices] | None:
        drawn = super().samples(epoch, batches)
        assert drawn is not None
        self._samples = drawn
        return drawn

    def secret_update(self, sampled: Sampled) -> np.ndarray:
        weights = clipped_loss_weights(sampled.records, self.column_of(self.bounds()).astype(np.float32))
        members = sampled.records.group
        last = sampled.step == self.setting.methods[0].steps(self.setting.n) - 1
        groups = self.kept["noisy_counts"].shape[1]
        update = np.zeros(sampled.kernel.parameters.shape)
        for group in range(groups):
            own = weights * (members == group)
            sums = self._micro_sums(sampled, own, group) if last else sampled.sum(own)[:, None]
            for k, total in enumerate(sums):
                released = self._release_part(k, total, sampled, group).reshape(total.shape)
                mean = (released / self._divisors(k, sampled, group, len(total))).mean(axis=0)
                update[k, -mean.size :] += mean / groups
        return update

    def end_epoch(self, epoch: int, kernel: Kernel, feed: Feed) -> None:
        if epoch + 1 == self.setting.methods[0].epochs:
            for k in range(len(self.setting.methods)):
                self._notes[k] = self._conclude(k, kernel, feed)

    def notes(self, model: int) -> dict[str, object]:
        names, method = self.setting.trains[model].group_names, self.setting.methods[model]
        counts = dict(zip(names, self.kept["noisy_counts"][model].tolist(), strict=True)) if method.proved else {}
        return {"noisy_counts": counts, **self._notes[model]}

    def state(self, model: int) -> dict[str, np.ndarray]:
        notes = json.dumps(self._notes[model]).encode()
        return {**super().state(model), "notes": np.frombuffer(notes, dtype=np.uint8)}

    def load(self, model: int, state: Mapping[str, np.ndarray]) -> None:
        super().load(model, state)
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
        sizes = self.kept["noisy_counts"][k]
        return {"randomised": bound_worst_case(self.setting, k, sizes=sizes, scoring=scoring)}

    def _micro_sums(self, sampled: Sampled, weights: np.ndarray, group: int) -> np.ndarray:
        """Return the sums of the scoring layer's gradients over each micro-batch (K, n_mc, inputs + 1)."""
        step = sampled.step % self.setting.methods[0].steps_per_epoch(self.setting.n)
        micro = []
        for k, (method, training) in enumerate(zip(self.setting.methods, self.setting.trainings, strict=True)):
            drawn = self._samples[step]
            index = drawn[k * len(drawn) // len(self.setting.methods)]
            if method.proved:
                micro.append(draw_micro_batches(training.seed, n=self.setting.n, parts=method.ensemble)[index])
            else:
                inside = self._group_of(sampled.records, k)[: len(index)] == group
                micro.append(deal_micro_batches(inside, method.ensemble))
        reach = float(self.bounds().max())
        return sum_by_micro_batch(sampled, weights, micro, parts=self.setting.methods[0].ensemble, bound=reach)

    def _release_part(self, model: int, total: np.ndarray, sampled: Sampled, group: int) -> np.ndarray:
        method = self.setting.methods[model]
        return self.setting.trainings[model].mechanism.sampled_gaussian(
            total.reshape(-1),
            radius=float(self.noise_bounds()[model]),
            noise_multiplier=method.noise(),
            sampling_rate=method.rate(self.setting.n),
            relation="add_remove",
            step=sampled.step,
            part=str(group),
        )

    def _divisors(self, model: int, sampled: Sampled, group: int, parts: int) -> float | np.ndarray:
        """Return what a group's sums are divided by: the expected size, or as published the realised ones."""
        method = self.setting.methods[model]
        if method.proved:
            return float(method.rate(self.setting.n) * self.kept["noisy_counts"][model, group] / parts)
        records = sampled.records
        present = np.broadcast_to(records.present, records.logits.shape)[model]
        inside = (self._group_of(records, model) == group) * present
        members = int(inside.sum())
        sizes = np.array([len(range(part, members, parts)) for part in range(parts)], dtype=np.float64)
        divisors: np.ndarray = sizes.clip(min=1.0).reshape(-1, 1)
        return divisors

    def _group_of(self, records: Records, model: int) -> np.ndarray:
        groups: np.ndarray = np.broadcast_to(records.group, records.logits.shape)[model]
        return groups
