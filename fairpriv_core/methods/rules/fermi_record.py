"""The rule of DP-FERMI for whole records (docs/methods/dp_fermi.md): DP-SGD on loss + lambda psi, W by noisy sums.

A record of group r under condition c adds dh times lambda (|W_.0|^2 - |W_.1|^2 + 2 (W_r1 - W_r0) / sqrt(p_r)) to the
gradient of its loss; both are multiples of the logit's gradient and are clipped as one. Of the same sample the sums of
h - m_c over the cells are released: with the noisy sizes d they give P(r, yhat, c), and so psi's gradient in W.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairpriv_core.engine.clipping import clip_weights
from fairpriv_core.engine.loop import Sampled
from fairpriv_core.engine.records import Records
from fairpriv_core.methods.rules import fermi_terms as terms
from fairpriv_core.methods.rules.noisy_sums import NoisySumsRule
from fairpriv_core.methods.rules.pf_ld_releases import release_counts
from fairpriv_core.methods.rules.setting import Setting

_MEMORY = 0.9  # weight of the past in the centres m_c


class DpFermiRecordRule(NoisySumsRule):
    """DP-SGD on every record's share of the objective; a step's noisy sums move W, and the centres of the next sums."""

    def __init__(self, setting: Setting[Any]) -> None:
        super().__init__(setting)
        self.conditions = terms.Conditions(setting.cells)
        models, cells = len(setting.methods), setting.cells
        self._multiplier = setting.column("multiplier")
        self.kept["noisy_counts"] = np.ones((models, cells.count))
        self.kept["centres"] = np.full((models, self.conditions.count), 0.5)
        for k, method in enumerate(setting.methods):
            if method.multiplier > 0 and setting.trainings[k].checkpoint is None:
                self.kept["noisy_counts"][k] = release_counts(setting, k, shift=1.0)
        self.kept["adversary"] = terms.independent(self.conditions.shares(self.kept["noisy_counts"]))
        self._set_table()

    def share(self, model: int) -> float:
        return float(self.setting.methods[model].share_of_w)

    def secret_update(self, sampled: Sampled) -> np.ndarray:
        update = super().secret_update(sampled)
        self._set_table()
        return update

    def weights(self, sampled: Sampled) -> np.ndarray:
        records = sampled.records
        weights = self._slopes(records)
        return records.keep(clip_weights(weights, records.norms, self.column_of(self.bounds()).astype(np.float32)))

    def statistics(self, records: Records) -> np.ndarray | None:
        if not bool(self._multiplier.any()):
            return None
        centres = self.kept["centres"]
        both = np.stack([1.0 - centres, centres], axis=-1)
        sums = self.conditions.group_sums(records, centre=both)[..., 1]
        values: np.ndarray = (sums / _reach(centres)[..., None]).reshape(len(centres), -1)
        return values

    def learn(self, model: int, statistics: np.ndarray, gradient: np.ndarray) -> None:
        method = self.setting.methods[model]
        if method.multiplier == 0:
            return
        centres, w = self.kept["centres"], self.kept["adversary"]
        sums = statistics.reshape(self.conditions.count, -1) * _reach(centres[model])[:, None]
        sizes = self.kept["noisy_counts"][model].reshape(sums.shape) / self.setting.n
        positive = (sums / self.divisor(model) + centres[model][:, None] * sizes).clip(0.0, sizes)
        joint = np.stack([sizes - positive, positive], axis=-1)
        shares = (sizes / sizes.sum(axis=1, keepdims=True))[..., None]
        ascent = 2.0 * joint / np.sqrt(shares) - 2.0 * w[model] * joint.sum(axis=1, keepdims=True)
        w[model] = terms.project(w[model] + method.dual_step * ascent, method.dual_norm)
        centres[model] += (1.0 - _MEMORY) * (positive.sum(axis=1) / sizes.sum(axis=1) - centres[model])

    def watched(self, records: Records) -> dict[str, tuple[np.ndarray, float | None]]:
        return {
            "gradient_norm": (np.abs(self._slopes(records)) * records.norms, float(self.bounds()[0])),
            "output": (records.probability, None),
        }

    def scalars(self, model: int) -> dict[str, float]:
        return self.conditions.cells.name_curves(multiplier=self._multipliers(model))

    def notes(self, model: int) -> dict[str, object]:
        if self.setting.methods[model].multiplier == 0:
            return {}
        names = self.conditions.cells.names
        return {
            "multipliers": dict(zip(names, self._multipliers(model).tolist(), strict=True)),
            "noisy_counts": dict(zip(names, self.kept["noisy_counts"][model].tolist(), strict=True)),
            "adversary": self.kept["adversary"][model].tolist(),
        }

    def load(self, model: int, state: Mapping[str, np.ndarray]) -> None:
        super().load(model, state)
        self._set_table()

    def _slopes(self, records: Records) -> np.ndarray:
        """Return each record's derivative of loss + lambda psi with respect to the logit (K, B)."""
        penalty = records.look_up(self._table) * terms.slopes(records)
        values: np.ndarray = records.deviation + self._multiplier * penalty
        return values

    def _multipliers(self, model: int) -> np.ndarray:
        shares = self.conditions.shares(self.kept["noisy_counts"])[model]
        return terms.multipliers(self.kept["adversary"][model], shares, self.setting.methods[model].multiplier)

    def _set_table(self) -> None:
        """Derive each (group, label)'s factor of dh from W and the sizes, both released."""
        shares, w = self.conditions.shares(self.kept["noisy_counts"]), self.kept["adversary"]
        factors = terms.group_slopes(w, shares) + terms.public_slopes(w)[..., None]
        self._table = self.conditions.by_code(factors).astype(np.float32)


def _reach(centres: np.ndarray) -> np.ndarray:
    """Return how far a probability can be from each centre."""
    reach: np.ndarray = np.maximum(centres, 1.0 - centres)
    return reach
