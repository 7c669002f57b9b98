"""The rule of DP-FERMI as published: Algorithm 1 on one public batch a step, exact shares, Theorem 3.3's noise."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

import numpy as np

from fairpriv_core.engine.records import Indices, Records
from fairpriv_core.errors import RunFailed
from fairpriv_core.methods.rules import fermi_terms as terms
from fairpriv_core.methods.rules.fermi import FermiRule
from fairpriv_core.methods.rules.fermi_releases import Pairs
from fairpriv_core.privacy.event import Relation


class PublishedFermiRule(FermiRule):
    """Loss and psi of the same batch; noise on psi's gradients, lambda times both (lines 5 and 6).

    docs/methods/dp_fermi.md says what this leaves unprotected.
    """

    relation: ClassVar[Relation] = "add_remove"

    def sizes(self, k: int) -> np.ndarray:
        """Return the cells' exact sizes (cells,); RunFailed, naming the cell, where one is empty."""
        train, cells = self.setting.trains[k], self.setting.cells
        sizes = cells.sizes(train.group, train.y)
        if not sizes.all():
            raise RunFailed(
                f"group '{cells.names[int(sizes.argmin())]}' has no training rows; at least 1 is needed: leave the "
                "group out or merge it with another one."
            )
        return sizes

    def samples(self, epoch: int, batches: list[Indices]) -> list[Indices] | None:
        return batches if self.pursued else None

    def secret_weights(self, records: Records) -> np.ndarray:
        """Return the weights of the whole update: the sample is the public batch itself.

        Psi's terms alone are clipped, and the noise is scaled to them: the paper takes the loss as public.
        """
        return self.batch_weights(records)

    def release(self, totals: np.ndarray, records: Records, step: int) -> np.ndarray:
        sums, shares = self.conditions.count_rows(records), self.shares
        scale = self.multiplier / records.count
        shift = np.sqrt(8.0 / shares.min(axis=(1, 2)))  # of W's sum, in the proof of Theorem 3.3
        pairs = Pairs(
            theta=totals,
            theta_bound=shift * self._norm_bound * scale[:, 0],
            w=2.0 * self.conditions.total(sums) / np.sqrt(shares)[..., None],
            w_bound=shift,
        )
        theta, w = self.step_release.release(pairs, step=step)
        averages = self.conditions.average(sums)
        mean = averages.means * averages.weights[..., None]
        ascent = w / records.count - 2.0 * self.w * mean[..., None, :]
        self.ascend(self.multiplier[..., None, None] * ascent)
        return np.where(scale > 0, theta, totals)

    @cached_property
    def _norm_bound(self) -> np.ndarray:
        """D times the bound on |dF| of each model (K,)."""
        bound: np.ndarray = (self.setting.column("dual_norm") * self.clip)[:, 0].astype(np.float64) * self.jacobian
        return bound

    def set_tables(self) -> None:
        """Derive the step's table from W and the shares."""
        of_label = self.conditions.by_label(terms.public_slopes(self.w))
        of_group = self.conditions.by_code(terms.group_slopes(self.w, self.shares))
        self.slopes = (np.tile(of_label, self.conditions.groups) + of_group).astype(np.float32)
