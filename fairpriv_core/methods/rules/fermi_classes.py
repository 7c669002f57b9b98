"""The rules of DP-FERMI for networks with an output a label (docs/methods/dp_fermi.md): any number of labels l.

psi's gradient in theta is J^T u for the Jacobian J of the record's F (l,), one back-propagation of the seed of u . F:
u is 2 W_s / sqrt(p_s) for the part of a record that depends on its group, and -sum_r W_r^2 for the part that does not.
Each is scaled down to L_theta |u|, which is no change where J is not larger than L_theta. Components of u along (1, ..,
1) do nothing, since F sums to 1, and are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from fairpriv_core.engine.clipping import clip_factors
from fairpriv_core.engine.loop import Sampled, Seeding
from fairpriv_core.engine.records import Records
from fairpriv_core.methods.rules.fermi import FermiRule
from fairpriv_core.methods.rules.fermi_published import PublishedFermiRule
from fairpriv_core.methods.rules.fermi_sums import ClassConditions
from fairpriv_core.notions.cells import Cells


@dataclass(frozen=True)
class Pulls:
    """For each code what u a record has: its direction (K, codes, l), of length 1 or 0, and its length (K, codes)."""

    directions: np.ndarray
    lengths: np.ndarray

    @staticmethod
    def of(pulls: np.ndarray) -> Pulls:
        """Return u of each code (K, codes, l) as directions and lengths."""
        lengths = np.sqrt((pulls**2).sum(axis=-1))
        return Pulls(pulls / np.where(lengths > 0, lengths, 1.0)[..., None], lengths.astype(np.float32))

    def seeds(self, records: Records) -> np.ndarray:
        """Return the derivatives of u . F, u of length 1, with respect to the outputs of each record (K, B, l)."""
        chances = records.chances
        own = self.directions[np.arange(len(chances))[:, None], records.code]
        seeds: np.ndarray = chances * (own - (chances * own).sum(axis=-1, keepdims=True))
        return seeds


@dataclass
class FermiClassesRule(Seeding, FermiRule):
    """The proved variant: a step propagates back the batch's losses, its part of psi, and the secret sample's."""

    jacobian: ClassVar[float] = 1.0
    conditions: ClassConditions = field(init=False)
    public: Pulls = field(init=False)
    secret: Pulls = field(init=False)

    def list_conditions(self, cells: Cells) -> ClassConditions:
        return ClassConditions(cells)

    def public_update(self, batch: Sampled) -> np.ndarray:
        records = batch.records
        weights = records.deviation / np.float32(records.count)
        update = batch.kernel.weighted_sum(batch.passed, weights, batch.rows).copy()
        if self.pursued:
            self.batch = self.conditions.average(self.conditions.count_labels(records))
            update += self.multiplier / np.float32(records.count) * self.pull(batch, self.public)
        return update

    def secret_update(self, sampled: Sampled) -> np.ndarray:
        return self.release(self.pull(sampled, self.secret), sampled.records, sampled.step)

    def pull(self, sampled: Sampled, pulls: Pulls) -> np.ndarray:
        """Return the sum (K, P) of the records' J^T u, each scaled down to L_theta |u|; overwritten by the next."""
        records = sampled.records
        derived = sampled.back(pulls.seeds(records))
        weights = clip_factors(derived.records.norms, self.clip) * records.look_up(pulls.lengths)
        return derived.sum(records.keep(weights))

    def watched(self, records: Records) -> dict[str, tuple[np.ndarray, float | None]]:
        """Return the norms of the secret part's J^T u over |u|, which L_theta bounds."""
        return {"gradient_norm": (records.back(self.secret.seeds(records)).norms, float(self.clip[0, 0]))}

    def multipliers(self, model: int) -> np.ndarray:
        """Return how hard each cell is pulled (cells,): of two labels the size of PF-LD's multiplier."""
        pulls = group_pulls(self.w[model], self.shares[model])
        sizes = np.sqrt(2.0 * (pulls**2).sum(axis=-1))
        each: np.ndarray = float(self.multiplier[model, 0]) * (self.shares[model] * sizes).ravel()
        return each

    def set_tables(self) -> None:
        """Derive u of each code from W and the shares, both released; what all groups share of it is public."""
        pulls = group_pulls(self.w, self.shares)
        centre = self.centre(pulls)
        self.public = Pulls.of(self.conditions.spread_labels(_across(centre - (self.w**2).sum(axis=-2))))
        self.secret = Pulls.of(self.conditions.spread_groups(_across(pulls - centre[..., None, :])))
        self.radius = self.secret.lengths.max(axis=1).astype(np.float64)

    def centre(self, pulls: np.ndarray) -> np.ndarray:
        """Return the midpoint over groups of u's entries (K, conditions, l)."""
        midpoint: np.ndarray = (pulls.max(axis=-2) + pulls.min(axis=-2)) / 2.0
        return midpoint


@dataclass
class PublishedFermiClassesRule(FermiClassesRule, PublishedFermiRule):
    """As published: the secret sample is the public batch, and nothing is centred.

    The part that depends on the group is at most L_theta 2 |W_s| / sqrt(p_s) long, so that a changed attribute moves
    the sum by no more than the proof of Theorem 3.3 has it.
    """

    def secret_update(self, sampled: Sampled) -> np.ndarray:
        update = self.public_update(sampled)
        update += self.multiplier / np.float32(sampled.records.count) * self.pull(sampled, self.secret)
        return self.release(update, sampled.records, sampled.step)

    def centre(self, pulls: np.ndarray) -> np.ndarray:
        return np.zeros_like(pulls[..., 0, :])


def group_pulls(w: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return 2 W_r / sqrt(p_r) of each group, less its mean over labels: (..., conditions, k, l)."""
    return _across(2.0 * w / np.sqrt(shares)[..., None])


def _across(pulls: np.ndarray) -> np.ndarray:
    centred: np.ndarray = pulls - pulls.mean(axis=-1, keepdims=True)
    return centred
