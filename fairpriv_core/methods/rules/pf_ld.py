"""The rule of PF-LD, proved variant (docs/privacy.md): signed multipliers, a secret sample, noise that covers it.

Notation. d_i are noisy cell counts, constants once released. A record with label y and group a has coefficient
c_a = lambda_i / (q d_i) for its cell i, 0 without one; the midrange over a, cbar_y, is public, and so is its part of
the sum. What remains of any record lies in the ball of radius r C_p, r = max |c_a - cbar_y|.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.loop import OneSum
from fairpriv_core.engine.records import Feed, Indices, Records, join_samples
from fairpriv_core.methods.pf_ld import PfLd
from fairpriv_core.methods.rules.pf_ld_releases import choose_clip, release_counts, release_violations
from fairpriv_core.methods.rules.setting import Setting
from fairpriv_core.notions.cells import LABELS, NO_CELL, Cells
from fairpriv_core.notions.surrogates import output, slope
from fairpriv_core.privacy.sums import sensitivity


@dataclass
class PfLdRule(OneSum):
    """Public batch: loss, population terms and the public remainder. Secret sample: the group terms, noised."""

    setting: Setting[PfLd]
    uses_batches: bool = True
    _cells: Cells = field(init=False)
    _counts: np.ndarray = field(init=False)
    _multipliers: np.ndarray = field(init=False)
    _violations: np.ndarray = field(init=False)
    _clip: np.ndarray = field(init=False)
    _everyone: bool = field(init=False)
    _noises: list[float] = field(init=False)
    _multiplier_sum: np.ndarray = field(init=False)
    _remainder: np.ndarray = field(init=False)
    _centred: np.ndarray = field(init=False)
    _radius: list[float] = field(init=False)
    _reach: list[float] = field(init=False)

    def __post_init__(self) -> None:
        self._cells = self.setting.cells
        self._everyone = bool((self._cells.label == NO_CELL).all())
        self._clip = np.array([[_chosen(method.clip_primal)] for method in self.setting.methods], dtype=np.float32)
        self._multipliers = np.zeros((len(self.setting.methods), self._cells.count))
        self._violations = np.zeros_like(self._multipliers)
        self._counts = np.ones_like(self._multipliers)
        for k, training in enumerate(self.setting.trainings):
            if training.checkpoint is None:
                self._counts[k] = release_counts(self.setting, k)
        self._noises = [method.noise("noise_primal") if method.pursues else 0.0 for method in self.setting.methods]
        self._set_tables()

    def samples(self, epoch: int, batches: list[Indices]) -> list[Indices] | None:
        if not any(self._radius):
            return None
        return join_samples([self._sample(k, epoch, len(batches)) for k in range(len(self._radius))])

    def public_weights(self, records: Records) -> np.ndarray:
        loss = records.deviation / np.float32(records.count)
        if not any(self._radius):
            return loss
        slopes = slope(self.setting.target, records.probability, records.label)
        remainder = self.setting.clip_slopes(slopes, records, self._clip)
        remainder *= records.look_up(self._remainder * np.float32(self.setting.n / records.count))
        slopes *= self._population_terms(records)
        slopes += loss
        slopes -= remainder
        return slopes

    def _population_terms(self, records: Records) -> np.ndarray:
        """Return each record's factor of dh in sum_i lambda_i grad mu(B_P,i): (K, B), or (K, 1) where all are alike."""
        if self._everyone:
            return self._multiplier_sum / np.float32(records.count)
        of_label = (
            records.count_codes(len(self._cells.of) * LABELS).reshape(-1, len(self._cells.of), LABELS).sum(axis=1)
        )
        people = np.maximum(of_label @ self._cells.conditions.T, 1.0)
        factors = (self._multipliers / people) @ self._cells.conditions
        return records.look_up(np.tile(factors, len(self._cells.of)).astype(np.float32))

    def secret_weights(self, records: Records) -> np.ndarray:
        slopes = slope(self.setting.target, records.probability, records.label)
        weights = self.setting.clip_slopes(slopes, records, self._clip)
        weights *= records.look_up(self._centred)
        return records.keep(weights)

    def release(self, totals: np.ndarray, records: Records, step: int) -> np.ndarray:
        return self.setting.release_sums(
            totals,
            radii=self._reach,
            noise_multipliers=self._noises,
            sampling_rates=self.setting.rates,
            relation="replace",
            step=step,
        )

    def end_epoch(self, epoch: int, kernel: Kernel, feed: Feed) -> None:
        if epoch + 1 >= self.setting.methods[0].epochs:
            return  # multipliers after the last epoch would change nothing: not released
        for k, method in enumerate(self.setting.methods):
            counts = self._counts[k]
            if epoch == 0 and method.clip_primal is None:
                self._clip[k] = choose_clip(self.setting, k, counts=counts, kernel=kernel, feed=feed)
            if method.multiplier_max > 0:
                self._violations[k] = release_violations(
                    self.setting, k, counts=counts, epoch=epoch, kernel=kernel, feed=feed
                )
                moved = self._multipliers[k] + method.dual_step * self._violations[k]
                self._multipliers[k] = moved.clip(-method.multiplier_max, method.multiplier_max)
        self._set_tables()

    def watched(self, records: Records) -> dict[str, tuple[np.ndarray, float | None]]:
        norms = np.abs(slope(self.setting.target, records.probability, records.label)) * records.norms
        values = output(self.setting.target, records.logits, records.label)
        bound = float(self._clip[0, 0])
        return {
            "gradient_norm": (norms, bound if np.isfinite(bound) else None),
            "output": (values, self.setting.methods[0].clip_dual),
        }

    def scalars(self, model: int) -> dict[str, float]:
        return self._cells.name_curves(multiplier=self._multipliers[model], violation=self._violations[model])

    def notes(self, model: int) -> dict[str, object]:
        names = self._cells.names
        return {
            "multipliers": dict(zip(names, self._multipliers[model].tolist(), strict=True)),
            "noisy_counts": dict(zip(names, self._counts[model].tolist(), strict=True)),
            "clip_primal": float(self._clip[model, 0]) if np.isfinite(float(self._clip[model, 0])) else None,
        }

    def state(self, model: int) -> dict[str, np.ndarray]:
        return {
            "multipliers": self._multipliers[model].copy(),
            "violations": self._violations[model].copy(),
            "noisy_counts": self._counts[model].copy(),
            "clip_primal": self._clip[model].copy(),
        }

    def load(self, model: int, state: Mapping[str, np.ndarray]) -> None:
        self._multipliers[model] = state["multipliers"]
        self._violations[model] = state["violations"]
        self._counts[model] = state["noisy_counts"]
        self._clip[model] = state["clip_primal"]
        self._set_tables()

    def _sample(self, k: int, epoch: int, steps: int) -> list[np.ndarray]:
        if not self._radius[k] and self.setting.trainings[k].mechanism.stream_name is None:
            return [np.zeros(0, dtype=np.int64)] * steps
        rate = self.setting.methods[k].rate(self.setting.n)
        return self.setting.trainings[k].mechanism.sample(n=self.setting.n, rate=rate, epoch=epoch, steps=steps)

    def _set_tables(self) -> None:
        """Derive the step's tables from multipliers and counts, both released: coefficients, midranges, radius."""
        groups = len(self._cells.of)
        rates = np.array(self.setting.rates)[:, None]
        per_cell = np.append(self._multipliers / (rates * self._counts), np.zeros((len(rates), 1)), axis=1)
        coefficients = per_cell[:, self._cells.of]  # (K, groups, 2); NO_CELL takes the appended zero
        midrange = (coefficients.max(axis=1) + coefficients.min(axis=1)) / 2.0
        centred = (coefficients - midrange[:, None, :]).astype(np.float32)
        self._multiplier_sum = self._multipliers.sum(axis=1, keepdims=True).astype(np.float32)
        self._remainder = np.tile(midrange * rates, groups).astype(np.float32)
        self._centred = -centred.reshape(len(rates), groups * LABELS)  # group terms are taken off
        radius = np.abs(centred).max(axis=(1, 2)).astype(np.float64)
        self._radius = radius.tolist()
        reach = sensitivity(np.where(radius > 0, radius, 1.0) * self._clip[:, 0].astype(np.float64))
        self._reach = np.where(radius > 0, reach, 0.0).tolist()


def _chosen(bound: float | None) -> float:
    return np.inf if bound is None else bound
