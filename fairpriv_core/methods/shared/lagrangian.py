"""F-LD and PF-LD as published: Algorithm 1, with eq. 8 and 10 in place of lines 4 and 5 when private.

A primal step has the constraint terms |mu(B_P) - mu(B_G)| of one public batch, a dual step the violations over all
training rows, in float64. Where F-LD aims at a gap, multipliers have signs of their own and the terms are
mu(B_P) - mu(B_G) (see multipliers.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.loop import OneSum, Stateful
from fairpriv_core.engine.rows import Feed, Indices, Records
from fairpriv_core.engine.watch import Bound
from fairpriv_core.methods.shared.multipliers import Output, measured, move_multipliers
from fairpriv_core.methods.shared.setting import Setting, SettingRule
from fairpriv_core.notions.cells import LABELS, NO_CELL, Cells
from fairpriv_core.notions.surrogates import Surrogate, derivative, output, sigmoid

_LEAST = 2  # a group with fewer members in a batch gives no term in that step
_CHUNK = 4096


class LagrangianRule(SettingRule, Stateful, OneSum):
    """theta follows J(B) + sum_i lambda_i |mu(B_P,i) - mu(B_G,i)|; lambda rises with the violation after each epoch.

    Models that aim at a gap have signed multipliers, which take the place of lambda and its sign. With `private`, the
    group terms' per-record gradients are clipped to C_p and their sum passes the mechanism at the paper's scale;
    docs/privacy.md says what that scale leaves unprotected.
    """

    samples_batches: ClassVar[bool] = True
    uses_batches: ClassVar[bool] = True

    def __init__(self, setting: Setting[Any], *, private: bool) -> None:
        self.setting, self.private, self._cells, self._first = setting, private, setting.cells, 0
        self._table = CellTable.of(self._cells)
        self._multipliers = np.zeros((len(self.setting.methods), self._cells.count))
        self._violations = np.zeros_like(self._multipliers)
        self.arrays = {"multipliers": self._multipliers, "violations": self._violations}
        self._limits = np.array([method.multiplier_max for method in self.setting.methods])
        self._signed = np.array([[method.gap_target is not None] for method in self.setting.methods])
        if self.private and self._limits.any():
            self._clip = self.setting.column("clip_primal")
            self._sensitivities = 2.0 * self._clip[:, 0].astype(np.float64) * self._limits
            self._first = self.setting.methods[0].warmup_epochs

    def samples(self, epoch: int, batches: list[Indices]) -> list[Indices] | None:
        return batches if self.private and self._limits.any() and epoch >= self._first else None

    def public_weights(self, records: Records) -> np.ndarray:
        loss = records.deviation / np.float32(records.count)
        if self._limits.any():
            terms = self._batch_terms(records)
            loss += self._derivatives(records) * records.look_up(terms.population - terms.group)
        return loss

    def secret_weights(self, records: Records) -> np.ndarray:
        """Return the weights of the whole update: the sample is the public batch itself.

        The group terms alone are clipped, and the noise is scaled to them: the paper takes all else as public.
        """
        self._terms, derivatives = self._batch_terms(records), self._derivatives(records)
        clipped = self.setting.clip_derivatives(derivatives, records, self._clip)
        clipped *= records.look_up(self._terms.group)
        derivatives *= records.look_up(self._terms.population)
        derivatives -= clipped
        derivatives += records.deviation * np.float32(1.0 / records.count)
        return derivatives

    def release(self, totals: np.ndarray, records: Records, step: int) -> np.ndarray:
        radii = self._sensitivities / (self._terms.smallest - 1.0)  # eq. 7
        noisy = self.setting.release_sums(totals, radii=radii.tolist(), step=step)
        if not self._limits.all():  # models without a multiplier release nothing
            noisy[self._limits == 0] = totals[self._limits == 0]
        return noisy

    def end_epoch(self, epoch: int, kernel: Kernel, feed: Feed) -> None:
        if epoch + 1 < self._first:
            return
        for k in np.flatnonzero(self._limits).tolist():
            if self.private and not self.setting.methods[k].pursues:
                continue
            method, violations = self.setting.methods[k], self._violation(k, epoch, kernel, feed)
            self._violations[k] = violations
            self._multipliers[k] = move_multipliers(
                self._multipliers[k],
                violations,
                among=self._cells.label,
                shares=np.ones(len(violations)),
                method=method,
            ).clip(-np.inf if self._signed[k] else 0.0)

    def watched(self, records: Records) -> dict[str, tuple[np.ndarray, Bound]]:
        norms = np.abs(self._derivatives(records)) * records.norms
        values = output(self.setting.target, records.logits, records.label)
        return {
            "gradient_norm": (norms, self.setting.bounds("clip_primal") if self.private else None),
            "output": (values, self.setting.bounds("clip_dual") if self.private else None),
        }

    def scalars(self, model: int) -> dict[str, float]:
        return self._cells.name_curves(multiplier=self._multipliers[model], violation=self._violations[model])

    def notes(self, model: int) -> dict[str, object]:
        return {"multipliers": dict(zip(self._cells.names, self._multipliers[model].tolist(), strict=True))}

    def _batch_terms(self, records: Records) -> BatchTerms:
        target = self.setting.target
        values = records.probability if target == "score" else output(target, records.logits, records.label)
        return batch_terms(
            self._table, multipliers=self._multipliers, signed=self._signed, records=records, values=values
        )

    def _derivatives(self, records: Records) -> np.ndarray:
        return derivative(self.setting.target, records.probability, records.label)

    def _violation(self, k: int, epoch: int, kernel: Kernel, feed: Feed) -> np.ndarray:
        method = self.setting.methods[k]
        values = finite(outputs(k, h=measured(method), target=self.setting.target, kernel=kernel, feed=feed))
        clipped = values.clip(-method.clip_dual, method.clip_dual) if self.private else values
        means = cell_means(k, cells=self._cells, values=values, group_values=clipped, feed=feed)
        violation: np.ndarray = means.population - means.sum / np.maximum(means.size, 1.0)
        if self._signed[k]:
            return violation
        if not self.private:
            distance: np.ndarray = np.abs(violation)
            return distance
        moved = float(np.sqrt(2.0)) * method.clip_dual / max(float(means.size.min()) - 1.0, 1.0)  # eq. 9
        return self.setting.release(k, "dual", np.abs(violation), sensitivity=moved, index=epoch)


@dataclass(frozen=True)
class CellTable:
    """A notion's cells as a 0/1 matrix: which codes (group * 2 + label) are in each G_i, then in each P_i."""

    inside: np.ndarray

    @staticmethod
    def of(cells: Cells) -> CellTable:
        """Return the matrix of `cells`: (2 cells, codes)."""
        codes = cells.of.reshape(-1)
        members = codes == np.arange(cells.count)[:, None]
        label = np.arange(len(codes)) % LABELS
        people = (cells.label[:, None] == NO_CELL) | (cells.label[:, None] == label)
        return CellTable(np.concatenate([members, people]).astype(np.float64))


@dataclass(frozen=True)
class BatchTerms:
    """Per code and model (K, codes): `group` and `population` are the factors of dh in the gradient of the penalty.

    `smallest`, (K,) or (1,) of shared rows, is the smallest number of members among the groups that give a term,
    `_LEAST` if none does.
    """

    group: np.ndarray
    population: np.ndarray
    smallest: np.ndarray


def batch_terms(
    table: CellTable, *, multipliers: np.ndarray, signed: np.ndarray, records: Records, values: np.ndarray
) -> BatchTerms:
    """Return the terms of sum_i lambda_i |mu(B_P,i) - mu(B_G,i)| for h = `values` (K, B); `multipliers` (K, cells).

    Of models that are `signed` (K, 1) those of sum_i lambda_i (mu(B_P,i) - mu(B_G,i)).
    """
    inside, cells = table.inside, multipliers.shape[1]
    sizes = records.count_codes(inside.shape[1]) @ inside.T
    people = np.maximum(sizes, 1.0)
    means = records.sum_by_code(values, inside.shape[1]) @ inside.T
    means /= people
    members = sizes[:, :cells]
    mask = members >= _LEAST
    factors = np.where(signed, 1.0, np.sign(means[:, cells:] - means[:, :cells]))
    factors *= multipliers
    factors *= mask
    smallest = np.where(mask, members, np.inf).min(axis=1)
    smallest[smallest == np.inf] = _LEAST
    return BatchTerms(
        group=((factors / people[:, :cells]) @ inside[:cells]).astype(np.float32),
        population=((factors / people[:, cells:]) @ inside[cells:]).astype(np.float32),
        smallest=smallest,
    )


@dataclass(frozen=True)
class Means:
    """For each cell i: `population` mean of h over P_i (public under `attribute`), `sum` and exact `size` of G_i."""

    population: np.ndarray
    sum: np.ndarray
    size: np.ndarray


def outputs(model: int, *, h: Output, target: Surrogate, kernel: Kernel, feed: Feed) -> np.ndarray:
    """Return `h` of every training row of one model (n,), float64."""
    columns = feed.columns[model]
    scores = kernel.score(slice(model, model + 1), columns.features)[0]
    return h(target, scores, columns.labels).astype(np.float64)


def constraint_norms(model: int, *, target: Surrogate, kernel: Kernel, feed: Feed) -> np.ndarray:
    """Return |dh| of every training row of one model (n,), float64, 0 where not finite; public where x and y are."""
    alone = kernel.alone(model)
    columns, parts = feed.columns[model], []
    for start in range(0, feed.n, _CHUNK):
        rows = slice(start, start + _CHUNK)
        passed = alone.run(columns.features[rows][None])
        parts.append(np.abs(derivative(target, sigmoid(passed.logits[0]), columns.labels[rows])) * passed.norms[0])
    return finite(np.concatenate(parts).astype(np.float64))


def cell_means(model: int, *, cells: Cells, values: np.ndarray, group_values: np.ndarray, feed: Feed) -> Means:
    """Return population means of `values` and group sums of `group_values`, both (n,), over the cells."""
    cell_of, codes = cells.of.reshape(-1), feed.columns[model].codes
    by_label, people = np.zeros(LABELS), np.zeros(LABELS, dtype=np.int64)
    sums, sizes = np.zeros(cells.count), np.zeros(cells.count)
    for start in range(0, feed.n, _CHUNK):
        rows = slice(start, start + _CHUNK)
        label, cell = codes[rows] % LABELS, cell_of[codes[rows]]
        inside = cell != NO_CELL
        by_label = _add_in_order(by_label, label, values[rows])
        people += np.bincount(label, minlength=LABELS)
        sums = _add_in_order(sums, cell[inside], group_values[rows][inside])
        sizes += np.bincount(cell[inside], minlength=cells.count)
    population = [
        by_label.sum() / people.sum() if condition < 0 else by_label[condition] / max(people[condition], 1)
        for condition in cells.label
    ]
    return Means(population=np.array(population), sum=sums, size=sizes)


def _add_in_order(totals: np.ndarray, places: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return `totals` with each value added at its place, one after the other: no bit depends on where chunks end."""
    first = np.arange(len(totals))
    return np.bincount(np.concatenate([first, places]), np.concatenate([totals, values]), len(totals))


def finite(values: np.ndarray) -> np.ndarray:
    """Return `values` with what is not finite at 0: such a row contributes nothing."""
    return np.where(np.isfinite(values), values, 0.0)
