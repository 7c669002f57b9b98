"""The rule of F-LD and of PF-LD as published: Algorithm 1, with eq. 8 and 10 in place of lines 4 and 5 when private."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.loop import OneSum
from fairpriv_core.engine.records import Feed, Indices, Records
from fairpriv_core.methods.rules.batch_terms import BatchTerms, CellTable, batch_terms
from fairpriv_core.methods.rules.setting import Setting
from fairpriv_core.methods.rules.violations import cell_means, finite, outputs
from fairpriv_core.notions.cells import Cells
from fairpriv_core.notions.surrogates import output, slope


@dataclass
class LagrangianRule(OneSum):
    """theta follows J(B) + sum_i lambda_i |mu(B_P,i) - mu(B_G,i)|; lambda rises with the violation after each epoch.

    With `private`, the group terms' per-record gradients are clipped to C_p and their sum passes the mechanism at the
    paper's scale; docs/privacy.md says what that scale leaves unprotected.
    """

    setting: Setting[Any]
    private: bool
    uses_batches: bool = True
    _cells: Cells = field(init=False)
    _table: CellTable = field(init=False)
    _multipliers: np.ndarray = field(init=False)
    _violations: np.ndarray = field(init=False)
    _limits: np.ndarray = field(init=False)
    _terms: BatchTerms = field(init=False)
    _clip: np.ndarray = field(init=False)
    _shifts: np.ndarray = field(init=False)
    _noises: list[float] = field(init=False)
    _rates: list[float] = field(init=False)

    def __post_init__(self) -> None:
        self._cells = self.setting.cells
        self._table = CellTable.of(self._cells)
        self._multipliers = np.zeros((len(self.setting.methods), self._cells.count))
        self._violations = np.zeros_like(self._multipliers)
        self._limits = np.array([method.multiplier_max for method in self.setting.methods])
        if self.private and self._limits.any():
            methods, n = self.setting.methods, self.setting.n
            self._clip = self.setting.column("clip_primal")
            self._shifts = 2.0 * self._clip[:, 0].astype(np.float64) * self._limits
            self._noises = [method.noise("noise_primal") if method.multiplier_max else 0.0 for method in methods]
            self._rates = [method.published_rate(n) for method in methods]

    def samples(self, epoch: int, batches: list[Indices]) -> list[Indices] | None:
        return batches if self.private and self._limits.any() else None

    def public_weights(self, records: Records) -> np.ndarray:
        loss = records.deviation / np.float32(records.count)
        if self._limits.any():
            terms = self._batch_terms(records)
            loss += self._slope(records) * records.look_up(terms.population - terms.group)
        return loss

    def secret_weights(self, records: Records) -> np.ndarray:
        """Return the weights of the whole update: the sample is the public batch itself.

        The group terms alone are clipped, and the noise is scaled to them: the paper takes all else as public.
        """
        self._terms, slopes = self._batch_terms(records), self._slope(records)
        clipped = self.setting.clip_slopes(slopes, records, self._clip)
        clipped *= records.look_up(self._terms.group)
        slopes *= records.look_up(self._terms.population)
        slopes -= clipped
        slopes += records.deviation * np.float32(1.0 / records.count)
        return slopes

    def release(self, totals: np.ndarray, records: Records, step: int) -> np.ndarray:
        radii = self._shifts / (self._terms.smallest - 1.0)  # eq. 7
        noisy = self.setting.release_sums(
            totals,
            radii=radii.tolist(),
            noise_multipliers=self._noises,
            sampling_rates=self._rates,
            relation="add_remove",
            step=step,
        )
        if not self._limits.all():  # models without a multiplier release nothing
            noisy[self._limits == 0] = totals[self._limits == 0]
        return noisy

    def end_epoch(self, epoch: int, kernel: Kernel, feed: Feed) -> None:
        for k in np.flatnonzero(self._limits).tolist():
            method = self.setting.methods[k]
            self._violations[k] = self._violation(k, epoch, kernel, feed)
            raised = self._multipliers[k] + method.dual_step * self._violations[k]
            self._multipliers[k] = raised.clip(0.0, method.multiplier_max)

    def watched(self, records: Records) -> dict[str, tuple[np.ndarray, float | None]]:
        first = self.setting.methods[0]
        norms = np.abs(self._slope(records)) * records.norms
        values = output(self.setting.target, records.logits, records.label)
        return {
            "gradient_norm": (norms, first.clip_primal if self.private else None),
            "output": (values, first.clip_dual if self.private else None),
        }

    def scalars(self, model: int) -> dict[str, float]:
        return self._cells.name_curves(multiplier=self._multipliers[model], violation=self._violations[model])

    def notes(self, model: int) -> dict[str, object]:
        return {"multipliers": dict(zip(self._cells.names, self._multipliers[model].tolist(), strict=True))}

    def state(self, model: int) -> dict[str, np.ndarray]:
        return {"multipliers": self._multipliers[model].copy(), "violations": self._violations[model].copy()}

    def load(self, model: int, state: Mapping[str, np.ndarray]) -> None:
        self._multipliers[model] = state["multipliers"]
        self._violations[model] = state["violations"]

    def _batch_terms(self, records: Records) -> BatchTerms:
        score = self.setting.target == "score"
        values = records.probability if score else output("loss", records.logits, records.label)
        return batch_terms(self._table, multipliers=self._multipliers, records=records, values=values)

    def _slope(self, records: Records) -> np.ndarray:
        return slope(self.setting.target, records.probability, records.label)

    def _violation(self, k: int, epoch: int, kernel: Kernel, feed: Feed) -> np.ndarray:
        method, mechanism = self.setting.methods[k], self.setting.trainings[k].mechanism
        values = finite(outputs(k, target=self.setting.target, kernel=kernel, feed=feed))
        clipped = np.minimum(values, method.clip_dual) if self.private else values
        means = cell_means(k, cells=self._cells, values=values, group_values=clipped, feed=feed)
        violation: np.ndarray = np.abs(means.population - means.sum / np.maximum(means.size, 1.0))
        if not self.private:
            return violation
        return mechanism.gaussian(
            violation,
            shift=float(np.sqrt(2.0)) * method.clip_dual / max(float(means.size.min()) - 1.0, 1.0),  # eq. 9
            noise_multiplier=method.noise("noise_dual"),
            purpose="dual",
            index=epoch,
        )
