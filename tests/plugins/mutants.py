"""Methods that declare themselves rightly and do wrong: each breaks one part of the contract, and should be told so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from examples.plugin.fairpriv_automatic_clipping.method import AutomaticClipping, AutomaticClippingRule
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.loop import Sampled
from fairpriv_core.engine.training import Fitted, Training
from fairpriv_core.methods.base import MethodInfo
from fairpriv_core.methods.shared.setting import Setting
from fairpriv_core.privacy.event import Events, SampledGaussian


@dataclass(frozen=True)
class Mutant(AutomaticClipping):
    """As the example, with another name; what fits hand out can be changed in `finish`."""

    info: ClassVar[MethodInfo] = replace(AutomaticClipping.info, name="mutant")
    rule: ClassVar[Any] = AutomaticClippingRule

    @classmethod
    def fit_many(
        cls, methods: Sequence[Self], trains: Sequence[Dataset], trainings: Sequence[Training]
    ) -> list[Fitted]:
        """Train K models in one loop."""
        setting = Setting(methods, trains, trainings)
        fitted = setting.run(cls.rule(setting))
        return [cls.finish(one, data) for one, data in zip(fitted, trains, strict=True)]

    @classmethod
    def finish(cls, fitted: Fitted, data: Dataset) -> Fitted:
        """Return what leaves the fit."""
        return fitted


class WithoutClipping(AutomaticClippingRule):
    """Adds whole gradients."""

    def weights(self, sampled: Sampled) -> np.ndarray:
        """Return each record's weight as it is."""
        return sampled.records.keep(50.0 * sampled.records.deviation)


@dataclass(frozen=True)
class Unclipped(Mutant):
    rule: ClassVar[Any] = WithoutClipping


class CountsNullsRule(AutomaticClippingRule):
    """Adds the gradients of those without a group, too."""

    def weights(self, sampled: Sampled) -> np.ndarray:
        """Return each record's weight, there or not."""
        sampled.records.present = np.ones_like(sampled.records.present)
        return super().weights(sampled)


@dataclass(frozen=True)
class CountsNulls(Mutant):
    rule: ClassVar[Any] = CountsNullsRule


@dataclass(frozen=True)
class Understated(Mutant):
    """Announces half of its steps."""

    def event(self, n_train: int) -> Events:
        """Return half of what is released."""
        (whole,) = super().event(n_train)
        assert isinstance(whole, SampledGaussian)
        return (replace(whole, count=whole.count // 2),)


@dataclass(frozen=True)
class Leaking(Mutant):
    """Exports the exact share of a label in its notes."""

    @classmethod
    def finish(cls, fitted: Fitted, data: Dataset) -> Fitted:
        return replace(fitted, notes={"share": float(data.y.mean())})


@dataclass(frozen=True)
class Warm(Mutant):
    """Adds the mean of a feature, exact, to a parameter."""

    @classmethod
    def finish(cls, fitted: Fitted, data: Dataset) -> Fitted:
        moved = fitted.parameters.copy()
        moved.ravel()[0] += data.X.mean()
        return replace(fitted, parameters=moved)


class QuietRule(AutomaticClippingRule):
    """Takes less noise than the settings say."""

    def __init__(self, setting: Setting[Any]) -> None:
        super().__init__(setting)
        self._noises = [noise / 2 for noise in self._noises]


@dataclass(frozen=True)
class Quiet(Mutant):
    rule: ClassVar[Any] = QuietRule


class SmallRadiusRule(AutomaticClippingRule):
    """Tells the mechanism a radius that is too small, so that noise is too."""

    def noise_bounds(self) -> np.ndarray:
        """Return half of what a record can add."""
        return 0.5 * super().noise_bounds()


@dataclass(frozen=True)
class SmallRadius(Mutant):
    rule: ClassVar[Any] = SmallRadiusRule


class ForgetfulRule(AutomaticClippingRule):
    """Keeps a state that no checkpoint holds."""

    def __init__(self, setting: Setting[Any]) -> None:
        super().__init__(setting)
        self._seen = 0

    def weights(self, sampled: Sampled) -> np.ndarray:
        """Return weights that shrink with each step made in this process."""
        self._seen += 1
        return super().weights(sampled) / np.float32(self._seen)


@dataclass(frozen=True)
class Forgetful(Mutant):
    rule: ClassVar[Any] = ForgetfulRule


@dataclass(frozen=True)
class Dear(Mutant):
    """Calibrates to more than it is asked for."""

    def calibrated(self, *, epsilon: float, delta: float, n_train: int) -> Self:
        """Return a copy that costs twice as much."""
        return super().calibrated(epsilon=2 * epsilon, delta=delta, n_train=n_train)


class GroupedRule(AutomaticClippingRule):
    """Weighs one group double, within the bound."""

    def weights(self, sampled: Sampled) -> np.ndarray:
        """Return half the weight for group 0."""
        return super().weights(sampled) * np.where(sampled.records.group == 0, 0.5, 1.0).astype(np.float32)


@dataclass(frozen=True)
class Grouped(Mutant):
    rule: ClassVar[Any] = GroupedRule


@dataclass(frozen=True)
class Careless(Mutant):
    """Takes any setting."""

    def __post_init__(self) -> None:
        return None


@dataclass(frozen=True)
class Broken(Mutant):
    """Raises while it trains."""

    @classmethod
    def finish(cls, fitted: Fitted, data: Dataset) -> Fitted:
        raise KeyError("momentum")


@dataclass(frozen=True)
class Unstated(Mutant):
    """States no sensitivity."""

    def sensitivities(self, n_train: int, groups: int) -> dict[str, float]:
        return {}
