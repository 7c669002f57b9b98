"""K models of OneRelease in one loop, each on one release."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.training import Fitted, Training
from fairpriv_core.methods.one_release import OneRelease
from fairpriv_core.methods.rules.cell_sizes import require_rows
from fairpriv_core.methods.rules.one_release import OneReleaseRule
from fairpriv_core.methods.rules.one_release_estimate import Estimate, estimate_groups
from fairpriv_core.methods.rules.one_release_statistic import build_features, release_statistic
from fairpriv_core.methods.rules.setting import Setting


def train_one_release(
    methods: Sequence[OneRelease], trains: Sequence[Dataset], trainings: Sequence[Training]
) -> list[Fitted]:
    """Train K models, each on a release of its own, on one that it is given, or, resumed, on its first attempt's."""
    setting = Setting(methods, trains, trainings)
    known: dict[tuple[object, ...], Estimate] = {}  # models that are given one release share what follows from it
    each = zip(methods, trains, trainings, strict=True)
    return setting.run(OneReleaseRule(setting, [_share_estimate(*one, known=known) for one in each]))


def _share_estimate(
    method: OneRelease, train: Dataset, training: Training, *, known: dict[tuple[object, ...], Estimate]
) -> Estimate:
    statistic = _known_statistic(training)
    if statistic is None:
        return _estimate(method, train, training)
    name = (id(train), statistic.tobytes(), *(getattr(method, field) for field in method.info.reuses))
    if name not in known:
        known[name] = _estimate(method, train, training)
    return known[name]


def _known_statistic(training: Training) -> np.ndarray | None:
    """Return the statistic that is released already, or None; `given` is the notes of an earlier fit."""
    held = training.checkpoint if training.checkpoint is not None else training.given
    return None if held is None else np.asarray(held["statistic"])


def _estimate(method: OneRelease, train: Dataset, training: Training) -> Estimate:
    """Return the estimate from a known statistic, or from one that is released now; RunFailed for too small a cell."""
    method.steps(train.n)  # what is wrong with the settings is said before anything is released
    features, statistic = build_features(method, train), _known_statistic(training)
    if statistic is None:
        statistic = release_statistic(method, train, training, features=features)
    estimate = estimate_groups(statistic, method=method, features=features, y=train.y, groups=train.groups)
    require_rows(estimate.sizes(), training.notion, train.group_names)
    return estimate
