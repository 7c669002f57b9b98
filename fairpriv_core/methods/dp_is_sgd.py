"""DP-IS-SGD: small groups are sampled more often, so that every group counts alike (Kulynych et al., 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairpriv_core import checks
from fairpriv_core.engine.loop import Rule
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import MethodInfo, Style, parameter
from fairpriv_core.methods.shared.noisy_sums import NoisySums, NoisySumsRule
from fairpriv_core.methods.shared.releases import Release
from fairpriv_core.methods.shared.setting import Setting


@dataclass(frozen=True)
class DpIsSgd(NoisySums):
    """A record of group k is in a sample with chance q_k = min(q_max, q / (groups share_k)), q_max = rate_cap q.

    Proved: shares come from noisy group sizes, which are paid for first; every step is counted at q_max, the largest
    chance that anybody can have, whatever the sizes. Published: shares are exact.
    """

    info: ClassVar[MethodInfo] = MethodInfo(
        name="dp_is_sgd",
        title="DP-IS-SGD",
        style=Style("yellow", "dashdot", "diamond"),
        summary="DP-SGD that samples small groups more often; protects whole records.",
        citation="Kulynych et al. (2022), What you see is what you get",
        threat_model="record",
        variants=fields.VARIANTS,
        calibrates="noise_primal",
        max_labels=None,
    )
    FOUND_ON: ClassVar[str] = "Adult"
    UNPROVED: ClassVar[str] = (
        "The published accounting leaves out the group sizes, which set the sampling rates without noise."
    )

    network: str = fields.shared("network")
    variant: str = fields.shared("variant")
    rate_cap: float = parameter(
        1.6,
        "Largest rate q_max",
        "In units of batch size / rows. Accounting takes this rate for every step; smaller groups stay under-sampled.",
        low=1.0,
        high=100.0,
        log=True,
    )
    share_counts: float = fields.shared("share_counts", 0.01)
    noise_counts: float | None = fields.noise_multiplier("Count noise σ_c", "the sizes' shift 1")

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of(fields.VARIANTS, variant=self.variant)
        checks.positive(rate_cap=self.rate_cap)
        checks.open_unit(share_counts=self.share_counts)

    def rate(self, n_train: int) -> float:
        """The largest chance of a row to be in a sample, q_max: the one that is drawn at and counted."""
        return min(1.0, self.rate_cap * super().rate(n_train))

    def releases(self, n_train: int, groups: int) -> tuple[Release, ...]:
        """The group sizes, which a record moves by at most 1 in L2, if they are noisy; and the steps, at q_max.

        The paper does not pay for the sizes: `published_event` has the steps alone.
        """
        share = "share_counts" if self.proved else None
        counts = Release("counts", 1.0, "noise_counts", share=share, needed=self.proved)
        return (counts, *super().releases(n_train, groups))

    @classmethod
    def rule(cls, setting: Setting[Any]) -> Rule:
        return DpIsSgdRule(setting)


class DpIsSgdRule(NoisySumsRule):
    """Samples are drawn at q_max and thinned, in secret, to each group's rate; sums are divided by sum_k q_k n_k."""

    def __init__(self, setting: Setting[DpIsSgd]) -> None:
        super().__init__(setting)
        self.arrays["sizes"] = np.array(
            [
                self._sizes(k) if training.checkpoint is None else np.ones(setting.trains[k].groups)
                for k, training in enumerate(setting.trainings)
            ]
        )

    def draw(self, model: int, epoch: int) -> list[np.ndarray]:
        method, n, train = self.setting.methods[model], self.setting.n, self.setting.trains[model]
        keep = (self.rates(model) / method.rate(n))[train.group]
        return self.setting.trainings[model].mechanism.sample(
            n=n,
            rate=method.rate(n),
            epoch=epoch,
            steps=method.steps_per_epoch(n),
            keep=keep if train.present is None else np.where(train.present, keep, 1.0),
        )

    def divisor(self, model: int) -> float:
        return max(float(self.rates(model) @ self.arrays["sizes"][model]), 1.0)

    def rates(self, model: int) -> np.ndarray:
        """Return each group's chance to be in a sample (groups,), from sizes that are released; at most q_max."""
        method, sizes, n = self.setting.methods[model], self.arrays["sizes"][model], self.setting.n
        alike = fields.count_batch(method, n) / (sizes.size * np.maximum(sizes, 1.0))  # q / (groups share_k)
        rates: np.ndarray = np.minimum(alike, method.rate(n))
        return rates

    def scalars(self, model: int) -> dict[str, float]:
        names = self.setting.trains[model].group_names
        return {f"rate/{name}": float(rate) for name, rate in zip(names, self.rates(model), strict=True)}

    def notes(self, model: int) -> dict[str, object]:
        names, sizes = self.setting.trains[model].group_names, self.arrays["sizes"][model].tolist()
        return {"sampling_rates": self.scalars(model), "group_sizes": dict(zip(names, sizes, strict=True))}

    def _sizes(self, model: int) -> np.ndarray:
        """Release the sizes of the groups (groups,), none below 0; as published they are exact."""
        exact = self.setting.trains[model].group_sizes
        if not self.setting.methods[model].proved:
            return exact
        return self.setting.release(model, "counts", exact).clip(min=0.0)
