"""DP2DP: demographic parity of any number of classes, by prices of classes by group on a private score.

After Say, Denis and Pinot (2025, arXiv 2511.18876). A softmax of the classes is trained by DP-SGD. A row of group a is
then decided class argmax_j p_j(x) - c_aj: the form of the most accurate classifier with demographic parity that sees
the group (Denis, Elie, Hebiri and Hu, 2024, Fairness guarantees in multi-class classification with demographic parity).

*The prices.* With lambda_aj the multiplier of "group a is decided j as often as everyone", c_aj = -lambda_aj / pi_a,
pi_a the group's share. They follow by dual ascent: in each round the rows are counted by group and decision under the
prices so far, and the counts are released with noise. The prices are their mean over the later half of the rounds.

docs/methods/dp2dp.md has the argument, and what had to be read into the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from fairpriv_core import checks
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.models import Priced, take_off
from fairpriv_core.engine.predict import predict_proba
from fairpriv_core.engine.rows import Feed
from fairpriv_core.engine.training import Fitted, Snapshot, Training
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import FitsMany, MethodInfo, Style
from fairpriv_core.methods.shared.averaged_sums import AveragedSums, AveragedSumsRule
from fairpriv_core.methods.shared.multipliers import ascend
from fairpriv_core.methods.shared.releases import Release
from fairpriv_core.methods.shared.setting import Setting
from fairpriv_core.notions.rates import decide
from fairpriv_core.plain import freeze

_LEAST = 30.0  # rows that a group is taken to have, so that one which noise empties does not take over
_STEP = 2.0  # of a price, for a violation of 1
_LARGEST = 1.0  # of a multiplier: its price is then more than any chance


@dataclass(frozen=True)
class Dp2dp(AveragedSums, FitsMany):
    """Hyper-parameters. `share_counts` is of mu^2, mu the Gaussian mechanism with (epsilon, delta); steps get the rest.

    Rounds divide it equally."""

    info: ClassVar[MethodInfo] = MethodInfo(
        name="dp2dp",
        title="DP2DP",
        style=Style("orange", "longdash", "square"),
        summary="Demographic parity of any number of classes by prices of classes on a private score; needs the group "
        "at prediction; protects whole records.",
        citation="after Say, Denis and Pinot (2025), Fairness meets privacy, arXiv 2511.18876",
        threat_model="record",
        pursued=("decisions",),
        only=("demographic_parity",),
        variants=("proved",),
        calibrates="noise_primal",
        max_labels=None,
        needs_group_at_prediction=True,
    )
    FOUND_ON: ClassVar[str] = "Adult"

    network: str = fields.shared("network")
    gap_target: float = fields.gap_aimed_at("prices grow above it and shrink below, round by round")
    rounds: int = fields.iterations(30, "How often decisions are counted and prices moved; noise grows with its root.")
    share_counts: float = fields.share_of_budget(0.15, "counts", "the counts of all rounds")
    noise_counts: float | None = fields.noise_multiplier("Count noise σ_c", "the counts' shift of 1")

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.unit(gap_target=self.gap_target)
        checks.whole(low=1, high=1000, rounds=self.rounds)
        checks.shares(share_counts=self.share_counts)

    def releases(self, n_train: int, groups: int) -> tuple[Release, ...]:
        """The score's steps; in each round the rows by group and decision, of which a record is in one."""
        counts = Release("counts", 1.0, "noise_counts", "epoch", self.rounds, share="share_counts")
        return (*super().releases(n_train, groups), counts)

    @classmethod
    def fit_many(
        cls, methods: Sequence[Self], trains: Sequence[Dataset], trainings: Sequence[Training]
    ) -> list[Fitted]:
        """Train K scores in one loop, and find each one's prices; RunFailed where training diverges."""
        setting: Setting[Any] = Setting(methods, trains, trainings)
        rule = PricesRule(setting)
        return [rule.finish(k, model) for k, model in enumerate(setting.run(rule))]


class PricesRule(AveragedSumsRule):
    """DP-SGD; after the last step the prices (k, l) of each model follow from noisy counts."""

    def __init__(self, setting: Setting[Any]) -> None:
        super().__init__(setting)
        self._kinds = (setting.trains[0].groups, setting.trains[0].labels)
        self.arrays["prices"] = np.zeros((len(setting.methods), *self._kinds))

    def end_epoch(self, epoch: int, kernel: Kernel, feed: Feed) -> None:
        super().end_epoch(epoch, kernel, feed)
        if epoch + 1 == self.setting.methods[0].epochs:
            network = kernel.shape
            for k, train in enumerate(self.setting.trains):
                self.arrays["prices"][k] = self._find_prices(k, predict_proba(network, kernel.parameters[k], train.X))

    def finish(self, model: int, fitted: Fitted) -> Fitted:
        """Return the trained model with its prices."""
        train, training = self.setting.trains[model], self.setting.trainings[model]
        prices = self.arrays["prices"][model].tolist()
        network = Priced(fitted.network, freeze(prices))
        step = self.setting.methods[model].epochs + 1
        training.observer.show(Snapshot(step, fitted.steps, network, fitted.parameters, {}, {}))
        by_group = (dict(zip(train.label_names, own, strict=True)) for own in prices)
        return replace(fitted, network=network, notes={"prices": dict(zip(train.group_names, by_group, strict=True))})

    def _find_prices(self, k: int, chances: np.ndarray) -> np.ndarray:
        """Return the mean prices (k, l) of the later half of the rounds."""
        method, train = self.setting.methods[k], self.setting.trains[k]
        prices, multipliers, total = np.zeros((3, *self._kinds))
        prices_by_round = []
        for index in range(method.rounds):
            counts = count_decided(chances, train, prices).ravel()
            noisy = self.setting.release(k, "counts", counts, index=index).reshape(self._kinds)
            total = total + noisy
            multipliers = move(
                multipliers, noisy, sizes=total.sum(axis=1) / (index + 1), index=index, gap=method.gap_target
            )
            prices = price(multipliers, total.sum(axis=1))
            prices_by_round.append(prices)
        mean: np.ndarray = np.mean(prices_by_round[len(prices_by_round) // 2 :], axis=0)
        return mean


def count_decided(chances: np.ndarray, train: Dataset, prices: np.ndarray) -> np.ndarray:
    """Return the rows by group and decision (k, l) under `prices`; one without chances, group or label in none."""
    mask = (
        np.isfinite(chances).all(axis=1) if train.present is None else np.isfinite(chances).all(axis=1) & train.present
    )
    group = train.group[mask]
    decided = decide(take_off(chances[mask], prices[group]))
    counts = np.bincount(group * prices.shape[1] + decided, minlength=prices.size)
    return counts.reshape(prices.shape).astype(np.float64)


def move(multipliers: np.ndarray, counts: np.ndarray, *, sizes: np.ndarray, index: int, gap: float) -> np.ndarray:
    """Return the multipliers (k, l) after round `index`, whose noisy counts are (k, l) and groups' sizes (k,).

    A step moves a price by the violation, over the root of the rounds so far.
    """
    sizes = np.maximum(sizes, _LEAST)
    violations = counts.sum(axis=0) / sizes.sum() - counts / sizes[:, None]
    steps = np.broadcast_to((_STEP * sizes / sizes.sum() / np.sqrt(index + 1.0))[:, None], counts.shape)
    among = np.broadcast_to(np.arange(counts.shape[1]), counts.shape)
    moved = ascend(
        multipliers.ravel(),
        violations.ravel(),
        among=among.ravel(),
        steps=steps.ravel(),
        gap_target=gap,
        largest=_LARGEST,
    )
    return moved.reshape(counts.shape)


def price(multipliers: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the prices (k, l): a row of group a counts n / n_a in its group's mean."""
    sizes = np.maximum(sizes, _LEAST)
    prices: np.ndarray = -multipliers * (sizes.sum() / sizes)[:, None]
    return prices
