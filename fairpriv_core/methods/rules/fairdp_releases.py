"""What FairDP with certificates releases beside its steps: group sizes; as published the paper's certificates."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.norms import with_bias
from fairpriv_core.engine.records import Feed
from fairpriv_core.errors import RunFailed
from fairpriv_core.methods.certificates import (
    OF_PAPER,
    CellSums,
    empirical_bound,
    monte_carlo_error,
    positive_chances,
    spread,
    worst_case_bound,
)
from fairpriv_core.methods.fairdp_certified import FairDpCertified
from fairpriv_core.methods.rules.setting import Setting
from fairpriv_core.notions.cells import LABELS
from fairpriv_core.notions.certified import CONDITIONS
from fairpriv_core.privacy.sums import sensitivity

FLOOR = 30.0  # noisy records that a group must have
_CHUNK = 4096
Json = dict[str, Any]
RANDOMISED = "a classifier whose last layer is drawn anew around the exported one, which is not the one exported"


def release_sizes(setting: Setting[FairDpCertified], k: int) -> np.ndarray:
    """Release the group sizes of model k, (groups,): a record zeroed out moves them by 1.

    Raises RunFailed, naming the group and its noisy size, where one is below FLOOR; that release is paid for too.
    """
    train = setting.trains[k]
    noisy = setting.trainings[k].mechanism.gaussian(
        np.bincount(train.group, minlength=train.groups).astype(np.float64),
        shift=1.0,
        noise_multiplier=setting.methods[k].noise_of("noise_counts"),
        purpose="counts",
        index=0,
    )
    least = int(noisy.argmin())
    if noisy[least] < FLOOR:
        raise RunFailed(
            f"group '{train.group_names[least]}' has about {max(noisy[least], 0.0):.0f} training rows (a noisy count); "
            f"at least {FLOOR:.0f} are needed: take a larger epsilon, or merge the group with another one."
        )
    return noisy


def bound_worst_case(setting: Setting[FairDpCertified], k: int, *, sizes: np.ndarray, scoring: np.ndarray) -> Json:
    """Return Theorem 2 of model k, proved: post-processing of noisy `sizes` (groups,) and of the released weights.

    `scoring` (inputs + 1,) is the scoring layer that is released, so its norm is the mean weights' own. The bound is
    None where it rounds to 1. It is about a classifier that is not exported, which `about` says.
    """
    deviation = _deviation(setting, k, sizes)
    bound = worst_case_bound(float(np.linalg.norm(scoring.astype(np.float64))), deviation)
    return {"about": RANDOMISED, "spread": deviation, "theorem_2": bound if bound < 1.0 else None}


def paper_certificates(setting: Setting[FairDpCertified], k: int, *, kernel: Kernel, feed: Feed) -> Json:
    """Return model k's certificates as published, JSON: Proposition 3 with Laplace noise, Theorem 2 with M + eta C.

    They are the paper's: of the randomised classifier, from the training rows, with noise that no epsilon is proved of.
    """
    method, train = setting.methods[k], setting.trains[k]
    sizes = np.bincount(train.group, minlength=train.groups).clip(1).astype(np.float64)
    deviation = _deviation(setting, k, sizes)
    cells = _cell_sums(setting, k, deviation=deviation, kernel=kernel, feed=feed)
    bounds = [empirical_bound(cells, notion, failure=method.failure, samples=method.ensemble) for notion in CONDITIONS]
    noisy = setting.trainings[k].mechanism.laplace(
        np.array([1.0 if bound is None else bound for bound in bounds]),
        shift=float(len(bounds) / sizes.min()),
        scale=method.noise_of("noise_certificate"),
        purpose="certificate",
        index=0,
    )
    worst = worst_case_bound(method.weight_bound + method.learning_rate * method.clip_primal, deviation)
    return {
        "of": OF_PAPER,
        "about": RANDOMISED,
        "bounds": dict(zip(CONDITIONS, noisy.clip(0.0, 1.0).tolist(), strict=True)),
        "failure": method.failure * train.groups,
        "theorem_2": min(worst + monte_carlo_error(method.ensemble), 1.0),
    }


def _deviation(setting: Setting[FairDpCertified], k: int, sizes: np.ndarray) -> float:
    """Return s of one model of the ensemble, its micro-batches being of groups of `sizes`."""
    method = setting.methods[k]
    return spread(
        learning_rate=method.learning_rate,
        noise=method.noise() * (sensitivity(method.clip_primal) if method.proved else method.clip_primal),
        divisors=(method.rate(setting.n) * sizes / method.ensemble).tolist(),
    )


def _cell_sums(setting: Setting[FairDpCertified], k: int, *, deviation: float, kernel: Kernel, feed: Feed) -> CellSums:
    """Return sums of chances and counts by (group, label)."""
    shape = (setting.trains[k].groups, LABELS)
    chances = positive_chances(*_scores(k, kernel, feed), deviation)
    code, cells = feed.columns[k].codes, math.prod(shape)
    sums = np.bincount(code, weights=np.where(np.isfinite(chances), chances, 0.0), minlength=cells)
    counts = np.bincount(code, minlength=cells).astype(np.float64)
    return CellSums(sums.reshape(shape), counts.reshape(shape))


def _scores(k: int, kernel: Kernel, feed: Feed) -> tuple[np.ndarray, np.ndarray]:
    """Return each training row's score at model k's weights, and the norm of its embedding with the bias's 1."""
    scores, alone = kernel.score(slice(k, k + 1), feed.columns[k].features)[0], kernel.alone(k)
    norms = []
    for start in range(0, feed.n, _CHUNK):
        embedding = alone.run(feed.columns[k].features[start : start + _CHUNK][None]).embeddings[0]
        norms.append(np.sqrt(with_bias(embedding)))
    return scores.astype(np.float64), np.concatenate(norms).astype(np.float64)
