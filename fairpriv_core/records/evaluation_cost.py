"""What a private evaluation will cost, and how that combines with training: known before a run begins."""

from __future__ import annotations

import math

from fairpriv_core.errors import BadInput
from fairpriv_core.methods.base import Method
from fairpriv_core.privacy.accountants import epsilon as proved_epsilon
from fairpriv_core.privacy.calibrate import calibrate
from fairpriv_core.privacy.event import Events, Gaussian, Parallel
from fairpriv_core.records.config import RunConfig

SPLIT_ASSUMED = (
    "The private evaluation is on test rows and training on the others; which rows are which is taken as given, and "
    "epsilon is the larger of the two costs."
)


def plan_evaluation(config: RunConfig, method: Method, n_train: int) -> Events:
    """Return what the evaluation of a run of `method` (calibrated) will release; () where none is made.

    One is made where it is asked for, and where the method certifies the exported model from it. Its noise meets the
    run's epsilon, or, where noise is set by hand, training's proved epsilon. Raises BadInput where that one is not
    finite and an evaluation is asked for.
    """
    if not config.private_evaluation and certified_failure(method) is None:
        return ()
    target = config.epsilon
    if target is None:
        target = math.inf if method.unproved_reason() else proved_epsilon(method.event(n_train), config.delta)
    if not 0 < target < math.inf:
        if not config.private_evaluation:
            return ()
        raise BadInput(
            f"private_evaluation takes its noise from a finite epsilon > 0, and this run's is {target:g}; set epsilon.",
            field="private_evaluation",
        )
    noise = calibrate(lambda level: (Gaussian(level),), epsilon=target, delta=config.delta)
    return (Gaussian(noise),)


def certified_failure(method: Method) -> float | None:
    """Return the chance that the certificate of a run of `method` may fail with; None where it makes none."""
    return getattr(method, "certified_failure", None) if method.info.certifies else None


def with_evaluation(training: Events, evaluation: Events) -> Events:
    """Return what a run releases in all: the two are on disjoint rows, which nothing protected decides."""
    return (Parallel((training, evaluation), fixed=True),) if evaluation else training
