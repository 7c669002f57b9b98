"""Private evaluation: the joint counts of (decision, group, label) on the test split, released once and paid for.

A person is moved from one count to another (attribute) or leaves one (record): L2 sensitivity sqrt(2) or 1. Test people
are not training people, so a run costs the larger of training and evaluation (evaluation_cost.py). The noise has a
stream of its own under the run's key: a run that is interrupted between this release and its end, and goes on from its
checkpoint, makes the identical release again; without a checkpoint nothing had left the process.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.evaluate import decisions
from fairpriv_core.engine.training import Fitted
from fairpriv_core.notions.noisy import measure_noisy
from fairpriv_core.notions.rates import count_cells
from fairpriv_core.privacy.event import Events, Gaussian, subtract
from fairpriv_core.privacy.mechanism import Mechanism

_SHIFTS = {"attribute": math.sqrt(2.0), "record": 1.0}


def evaluate_privately(
    fitted: Fitted, test: Dataset, *, planned: Events, mechanism: Mechanism, threat_model: str | None
) -> tuple[Events, dict[str, Any] | None]:
    """Return what was released and the record's `metrics_private`; ((), None) where nothing is planned."""
    if not planned:
        return (), None
    [release] = planned
    assert isinstance(release, Gaussian)
    shift = _SHIFTS[threat_model or "record"]
    decided = decisions(fitted.network, fitted.parameters, test)
    counts = count_cells(decided, test.y, test.group, test.groups, test.labels)
    before = mechanism.events
    noisy = mechanism.gaussian(
        counts.ravel(), shift=shift, noise_multiplier=release.noise_multiplier, purpose="evaluation", index=0
    )
    deviation = shift * release.noise_multiplier
    found = measure_noisy(np.reshape(noisy, counts.shape), deviation, test.group_names, test.label_names)
    return subtract(mechanism.events, before), found
