"""What FairDP with certificates releases beside its steps: group sizes, and what the certificates are made of."""

from __future__ import annotations

import math

import numpy as np

from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.norms import with_bias
from fairpriv_core.engine.records import Feed
from fairpriv_core.errors import RunFailed
from fairpriv_core.methods.certificates import (
    EVENTS,
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
from fairpriv_core.privacy.sums import sensitivity

FLOOR = 30.0  # noisy records that a group must have
_CHUNK = 4096
_ABOUT = "the randomised classifier whose last layer is drawn anew, on data like the training data"


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


def certify(
    setting: Setting[FairDpCertified], k: int, *, sizes: np.ndarray, kernel: Kernel, feed: Feed
) -> dict[str, object]:
    """Return model k's certificates, JSON only, from what is released: its weights, `sizes`, and noisy cell sums."""
    method, train = setting.methods[k], setting.trains[k]
    used = sizes if method.proved else np.bincount(train.group, minlength=train.groups).clip(1).astype(np.float64)
    deviation = spread(
        learning_rate=method.learning_rate,
        noise=method.noise() * (sensitivity(method.clip_primal) if method.proved else method.clip_primal),
        divisors=(method.rate(setting.n) * used / method.ensemble).tolist(),
    )
    cells = _cell_sums(setting, k, deviation=deviation, kernel=kernel, feed=feed)
    bounds = {
        notion: empirical_bound(cells, notion, failure=method.failure, samples=method.ensemble) for notion in EVENTS
    }
    if method.proved:
        released = bounds
    else:
        raw = np.array([1.0 if bound is None else bound for bound in bounds.values()])
        noisy = setting.trainings[k].mechanism.laplace(
            raw,
            shift=float(len(raw) / used.min()),
            scale=method.noise_of("noise_certificate"),
            purpose="certificate",
            index=0,
        )
        released = dict(zip(bounds, noisy.clip(0.0, 1.0).tolist(), strict=True))
    return {
        "about": _ABOUT,
        "proposition_3": released,
        "failure": method.failure * train.groups,
        "monte_carlo_error": monte_carlo_error(method.ensemble),
        **_worst_case(method, deviation),
    }


def _worst_case(method: FairDpCertified, deviation: float) -> dict[str, object]:
    """Return Theorem 2's bound; None where it is 1 or more."""
    worst = worst_case_bound(
        weight_bound=method.weight_bound,
        learning_rate=method.learning_rate,
        clip=method.clip_primal,
        deviation=deviation,
    )
    bound = worst + monte_carlo_error(method.ensemble)
    reason = None if bound < 1.0 else "no information: the bound is 1 or more"
    return {"theorem_2": bound if bound < 1.0 else None, "theorem_2_reason": reason}


def _cell_sums(setting: Setting[FairDpCertified], k: int, *, deviation: float, kernel: Kernel, feed: Feed) -> CellSums:
    """Return sums of chances and counts by (group, label); proved: released with noise, a record moves them by √2."""
    method, train = setting.methods[k], setting.trains[k]
    chances = positive_chances(*_scores(k, kernel, feed), deviation)
    code = feed.columns[k].codes
    sums = np.bincount(code, weights=np.where(np.isfinite(chances), chances, 0.0), minlength=train.groups * LABELS)
    counts = np.bincount(code, minlength=train.groups * LABELS).astype(np.float64)
    noise = 0.0
    if method.proved:
        multiplier = method.noise_of("noise_certificate")
        noise = multiplier * math.sqrt(2.0)
        released = setting.trainings[k].mechanism.gaussian(
            np.concatenate([sums, counts]),
            shift=math.sqrt(2.0),
            noise_multiplier=multiplier,
            purpose="certificate",
            index=0,
        )
        sums, counts = np.split(released, 2)
    shape = (train.groups, LABELS)
    return CellSums(sums.reshape(shape), counts.reshape(shape), noise)


def _scores(k: int, kernel: Kernel, feed: Feed) -> tuple[np.ndarray, np.ndarray]:
    """Return each training row's score at model k's weights, and the norm of its embedding with the bias's 1."""
    scores, alone = kernel.score(slice(k, k + 1), feed.columns[k].features)[0], kernel.alone(k)
    norms = []
    for start in range(0, feed.n, _CHUNK):
        embedding = alone.run(feed.columns[k].features[start : start + _CHUNK][None]).embeddings[0]
        norms.append(np.sqrt(with_bias(embedding)))
    return scores.astype(np.float64), np.concatenate(norms).astype(np.float64)
