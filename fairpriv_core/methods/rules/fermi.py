"""The rule of DP-FERMI, proved variant (docs/methods/dp_fermi.md): theta descends, W ascends, one release a step.

A record of group r under condition c pulls theta by a_r v, v its gradient of h and a_r = 2 (W_r1 - W_r0) / sqrt(p_r),
and W by 2 e_r F^T / sqrt(p_r). Both are summed over one secret sample, less what is public: the midrange of a_r over
r; and for W the mean u of F over the public batch, whose part the noisy counts give, and the midpoint over r.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.loop import OneSum
from fairpriv_core.engine.records import Feed, Indices, Records, join_samples
from fairpriv_core.methods.dp_fermi import DpFermi
from fairpriv_core.methods.rules import fermi_terms as terms
from fairpriv_core.methods.rules.fermi_releases import JACOBIAN, Pairs, StepRelease
from fairpriv_core.methods.rules.pf_ld_releases import release_counts
from fairpriv_core.methods.rules.setting import Setting
from fairpriv_core.notions.cells import Cells
from fairpriv_core.privacy.event import Relation
from fairpriv_core.privacy.sums import sensitivity


@dataclass
class FermiRule(OneSum):
    """Public batch: loss, psi's first term, the public remainder. Secret sample: what depends on groups, noised."""

    setting: Setting[DpFermi]
    relation: ClassVar[Relation] = "replace"
    jacobian: ClassVar[float] = JACOBIAN  # of F, over the gradient that `clip` bounds: with one logit, that of h
    uses_batches: bool = True
    conditions: terms.Conditions = field(init=False)
    pursued: list[int] = field(init=False)
    clip: np.ndarray = field(init=False)
    multiplier: np.ndarray = field(init=False)
    shares: np.ndarray = field(init=False)
    w: np.ndarray = field(init=False)
    batch: terms.Averages = field(init=False)
    slopes: np.ndarray = field(init=False)
    radius: np.ndarray = field(init=False)
    step_release: StepRelease = field(init=False)
    _expected: np.ndarray = field(init=False)
    _dual_step: np.ndarray = field(init=False)
    _dual_norm: np.ndarray = field(init=False)
    _centred: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        methods, cells = self.setting.methods, self.setting.cells
        self.conditions = self.list_conditions(cells)
        self.pursued = [k for k, method in enumerate(methods) if method.multiplier > 0]
        self.clip = self.setting.column("clip_primal") / self.jacobian
        self.multiplier = self.setting.column("multiplier")
        counts = np.ones((len(methods), cells.count))
        for k in self.pursued:
            if self.setting.trainings[k].checkpoint is None:
                counts[k] = self.sizes(k)
        self._expected = np.array(self.setting.rates) * self.setting.n
        self._dual_step, self._dual_norm = (
            self.setting.column(name).astype(np.float64)[..., None, None] for name in ("dual_step", "dual_norm")
        )
        self.step_release = StepRelease(self.setting, self.relation)
        self.shares = self.conditions.shares(counts)
        self.w = terms.independent(self.shares, self.setting.trains[0].labels)
        self.set_tables()

    def list_conditions(self, cells: Cells) -> terms.Conditions:
        """Return the notion's conditions."""
        return terms.Conditions(cells)

    def sizes(self, k: int) -> np.ndarray:
        """Return the cells' sizes of model k (cells,), noisy."""
        return release_counts(self.setting, k)

    def samples(self, epoch: int, batches: list[Indices]) -> list[Indices] | None:
        if not self.pursued:
            return None
        return join_samples([self._sample(k, epoch, len(batches)) for k in range(len(self.w))])

    def public_weights(self, records: Records) -> np.ndarray:
        if not self.pursued:
            return records.deviation / np.float32(records.count)
        self.batch = self.conditions.average(self.conditions.count_rows(records))
        return self.batch_weights(records)

    def batch_weights(self, records: Records) -> np.ndarray:
        """Return each batch record's weight (K, B): that of the loss, and psi's by `slopes`."""
        weights = terms.clipped_slopes(records, self.clip)
        weights *= records.look_up(self.slopes * self.multiplier)
        weights += records.deviation
        weights /= np.float32(records.count)
        return weights

    def secret_weights(self, records: Records) -> np.ndarray:
        weights = terms.clipped_slopes(records, self.clip)
        weights *= records.look_up(self._centred)
        return records.keep(weights)

    def release(self, totals: np.ndarray, records: Records, step: int) -> np.ndarray:
        u, shares = self.batch.means, self.shares
        pairs = Pairs(
            theta=totals,
            theta_bound=sensitivity(self.radius * self.clip[:, 0]),
            w=terms.centred_pull(self.conditions.group_sums(records, centre=u), shares),
            w_bound=terms.largest_pull(shares, u),
        )
        theta, w = self.step_release.release(pairs, step=step)
        decay = 2.0 * self.batch.weights[..., None, None] * (self.w - np.sqrt(shares)[..., None])
        ascent = terms.without_excess(w, shares) / self._expected[:, None, None, None] - decay * u[..., None, :]
        self.ascend(ascent)
        update: np.ndarray = theta * (self.multiplier / self._expected[:, None])
        return update

    def ascend(self, ascent: np.ndarray) -> None:
        """Move W of the models that pursue the notion along `ascent` (K, conditions, k, l), and set what follows."""
        moved = self.w + self._dual_step * ascent
        pursued = self.multiplier[..., None, None] > 0
        self.w = np.where(pursued, terms.project(moved, self._dual_norm), self.w)
        self.set_tables()

    def end_epoch(self, epoch: int, kernel: Kernel, feed: Feed) -> None:
        return None

    def watched(self, records: Records) -> dict[str, tuple[np.ndarray, float | None]]:
        return {
            "gradient_norm": (terms.slopes(records) * records.norms, float(self.clip[0, 0])),
            "output": (records.probability, None),
        }

    def scalars(self, model: int) -> dict[str, float]:
        return self.conditions.cells.name_curves(multiplier=self.multipliers(model))

    def notes(self, model: int) -> dict[str, object]:
        if model not in self.pursued:
            return {}
        names = self.conditions.cells.names
        return {
            "multipliers": dict(zip(names, self.multipliers(model).tolist(), strict=True)),
            "group_shares": dict(zip(names, self.shares[model].ravel().tolist(), strict=True)),
            "adversary": self.w[model].tolist(),
        }

    def state(self, model: int) -> dict[str, np.ndarray]:
        return {"adversary": self.w[model].copy(), "group_shares": self.shares[model].copy()}

    def load(self, model: int, state: Mapping[str, np.ndarray]) -> None:
        self.w[model] = state["adversary"]
        self.shares[model] = state["group_shares"]
        self.set_tables()

    def _sample(self, k: int, epoch: int, steps: int) -> list[np.ndarray]:
        if k not in self.pursued and self.setting.trainings[k].mechanism.stream_name is None:
            return [np.zeros(0, dtype=np.int64)] * steps
        rate = self.setting.methods[k].rate(self.setting.n)
        return self.setting.trainings[k].mechanism.sample(n=self.setting.n, rate=rate, epoch=epoch, steps=steps)

    def multipliers(self, model: int) -> np.ndarray:
        """Return each cell's multiplier (cells,), for the analyst."""
        return terms.multipliers(self.w[model], self.shares[model], self.setting.methods[model].multiplier)

    def set_tables(self) -> None:
        """Derive the step's tables from W and the shares, both released: slopes less their midranges, radius."""
        slopes = terms.group_slopes(self.w, self.shares)
        midrange = (slopes.max(axis=2) + slopes.min(axis=2)) / 2.0
        centred = self.conditions.by_code(slopes - midrange[..., None]).astype(np.float32)
        public = self.conditions.by_label(terms.public_slopes(self.w) + midrange)
        self.slopes = np.tile(public, self.conditions.groups).astype(np.float32)
        self._centred = centred
        self.radius = np.abs(centred).max(axis=1).astype(np.float64)
